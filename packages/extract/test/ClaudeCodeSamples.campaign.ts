/** Samples of many random and damaged transcripts of Claude Code. */
import "./ClaudeCodeSamples.test.ts"
