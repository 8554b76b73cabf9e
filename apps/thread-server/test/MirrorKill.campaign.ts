/** Many kills of the server under a mirror. */
import "./MirrorKill.test.ts"
