/** Mirrored sessions come back byte for byte, with every Pi version. */
import "./lossless.test.ts"
