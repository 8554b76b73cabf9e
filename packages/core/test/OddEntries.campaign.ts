/** Every entry of small fixtures with other types, and many walks with other ids and lines, beside both real Pis. */
import "./OddEntries.test.ts"
