/** Many damaged sessions, and lines cut at more bytes. */
import "./ReaderFuzz.test.ts"
