/** Thousands of ways to read a growing file. */
import "./SessionFollower.test.ts"
