/** Every command on sessions of extreme shapes, with many repetitions. */
import "./ExtremeSessions.test.ts"
