/** Mirroring to a server, with every Pi version. */
import "./server.test.ts"
