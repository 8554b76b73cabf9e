/** Counts of walks through both Pis, compared with the real Pis. */
import "./SessionStatistics.test.ts"
