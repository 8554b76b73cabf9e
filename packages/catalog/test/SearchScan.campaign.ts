/** Compares the byte scanner with naive searches in many cases. */
import "./SearchScan.test.ts"
