/** Timelines of 100,000 entries and of walks through both Pis. */
import "./Timeline.test.ts"
