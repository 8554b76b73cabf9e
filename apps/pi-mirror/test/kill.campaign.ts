/** Many kills of Pi at random moments, with every Pi version. */
import "./kill.test.ts"
