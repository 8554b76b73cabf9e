/** Runs of more random walks. */
import "./TargetRuns.test.ts"
