/** Filters of walks through both Pis, compared with the real Pis. */
import "./EntryFilter.test.ts"
