/** Every order of kinds of entries before a checkpoint. */
import "./ReaderFaults.test.ts"
