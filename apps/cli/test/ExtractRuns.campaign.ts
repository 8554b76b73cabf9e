/** `extract` killed many times. */
import "./ExtractRuns.test.ts"
