/** Samples of mirrored sessions, with every Pi version. */
import "./samples.test.ts"
