/** The samples of every fixture in every format, and of many walks of both real Pis. */
import "./SessionSamples.test.ts"
