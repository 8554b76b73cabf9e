/** Families and splits of many sessions. */
import "./Splits.test.ts"
