/** Every order of kinds of entries before a checkpoint. */
import "./ReaderContext.test.ts"
