/** A session that is larger than V8's longest string, with a heap of 256 MB. */
import "./FieldCases.test.ts"
