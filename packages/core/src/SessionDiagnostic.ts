/**
 * What a tolerant reader noticed about a session: where, what, and what it did with it. A diagnostic never stops
 * reading; the bytes it speaks of are kept and written back.
 */
import * as Schema from "effect/Schema"

export const Code = Schema.Literals([
  /** A line that is no JSON; Pi skips it silently. */
  "malformed-line",
  /** Two or more JSON objects on one line; each is read as an entry of its own (Pi loses them all). */
  "glued-line",
  /** The last line ends in the middle of a JSON value. */
  "torn-line",
  /** The last line is whole but has no newline: Pi 0.78 would glue its next entry to it. */
  "missing-final-newline",
  /** `null`, a number, a string or an array where an entry should be. */
  "not-an-object",
  /** An entry whose `type` is missing or no text. Pi keeps it in the tree, and shows none of it to the model. */
  "missing-type",
  /** An entry without an `id` (a string, a number or `true`) in a file whose version says there should be one. */
  "missing-id",
  /** Longer than any string can be, so nobody can decode it; Pi fails when it reads the file. */
  "line-too-long",
  "bom",
  "crlf",
  "invalid-utf8",
  /** No line `{"type":"session","id":...}`; Pi refuses such a file (1.5) or overwrites it (0.78). */
  "missing-header",
  /** The header is there but not the first JSON line. */
  "header-not-first",
  "duplicate-header",
  /** Two entries share an id; the last one is the one in the tree, as in Pi. */
  "duplicate-id",
  /** `parentId` names no entry; the entry becomes a root and older history is cut off, as in Pi. */
  "unknown-parent",
  /** The parents of some entries lead round in a circle; the link of the earliest of them is cut. */
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
