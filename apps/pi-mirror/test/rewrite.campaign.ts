/** Rewritten session files, with every Pi version. */
import "./rewrite.test.ts"
