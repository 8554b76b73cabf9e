/** `extract` over a thousand sessions that are hard to read. */
import "./HostileSessions.test.ts"
