/** Damage that reading a session found: where, what, and how it was handled. The damaged bytes are kept and written back. */
import * as Schema from "effect/Schema"

export const Code = Schema.Literals([
  /** A line that is not JSON; Pi skips it silently. */
  "malformed-line",
  /** Two or more JSON objects on one line; each is read as an entry (Pi skips the whole line). */
  "glued-line",
  /** The last line ends in the middle of a JSON value. */
  "torn-line",
  /** The last line is whole but has no newline: Pi 0.78 appends its next entry to the same line. */
  "missing-final-newline",
  /** `null`, a number, a string or an array instead of an entry. */
  "not-an-object",
  /** An entry whose `type` is not a string. Pi keeps it in the tree and does not send it to the model. */
  "missing-type",
  /** An entry without an `id` (a string, a number or `true`) in a file of version 2 or later. */
  "missing-id",
  /** A line longer than the longest string; Pi fails when it reads the file. */
  "line-too-long",
  "bom",
  "crlf",
  "invalid-utf8",
  /** No line `{"type":"session","id":...}`; Pi refuses such a file (1.5) or overwrites it (0.78). */
  "missing-header",
  /** The header is not the first JSON line. */
  "header-not-first",
  "duplicate-header",
  /** Two entries have the same id; the last one is in the tree, as in Pi. */
  "duplicate-id",
  /** No entry has the id in `parentId`; the entry becomes a root and older history is lost, as in Pi. */
  "unknown-parent",
  /** The parents of some entries form a cycle; the earliest of them becomes a root. */
  "cycle"
])
export type Code = typeof Code.Type

export const SessionDiagnostic = Schema.Struct({
  code: Code,
  /** Line number from 1. */
  line: Schema.Int,
  /** Offset in bytes from the start of the file. */
  byteOffset: Schema.Int,
  entryId: Schema.optionalKey(Schema.String),
  message: Schema.String
})
export type SessionDiagnostic = typeof SessionDiagnostic.Type

/** `line 12, byte 3456: glued-line: ...` */
export const format = (diagnostic: SessionDiagnostic): string =>
  `line ${diagnostic.line}, byte ${diagnostic.byteOffset}: ${diagnostic.code}: ${diagnostic.message}`
