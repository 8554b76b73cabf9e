/** Refreshes a large index from several processes. */
import "./IndexRefresh.test.ts"
