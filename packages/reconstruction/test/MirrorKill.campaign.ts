/** Many kills of a mirror. */
import "./MirrorKill.test.ts"
