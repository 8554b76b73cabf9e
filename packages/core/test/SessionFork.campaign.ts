/** Forks of many walks, beside both real Pis. */
import "./SessionFork.test.ts"
