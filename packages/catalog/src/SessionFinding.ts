/**
 * What the doctor says about one damage: where it is, how bad, what the two Pis do with it, and whether a repair mends
 * it. How bad is measured by what is at stake: an error loses or hides history, or keeps Pi or the provider from going
 * on; a warning is worth a look; a note says what happens and needs nothing done.
 */
import * as Schema from "effect/Schema"
import { Code as DiagnosticCode } from "@pi-sessions/core/SessionDiagnostic"

export const Code = Schema.Literals([
  ...DiagnosticCode.literals,
  /** A line that says `null`. */
  "null-line",
  /** The header shares its line with something else, so Pi does not see it. */
  "header-glued",
  /** `{"type":"session"}` without an id is no header to Pi. */
  "header-without-id",
  /** A list (1) or a session with hook messages (2): Pi migrates it and rewrites the file. */
  "old-version",
  /** A tree whose header does not say version 3: Pi takes it for a list. */
  "unversioned-tree",
  /** Above the version that any known Pi writes. */
  "newer-version",
  /** A version that Pi cannot compare with a number. */
  "odd-version",
  "missing-cwd",
  /** A directory that is no text. */
  "odd-cwd",
  /** The header's directory is not there (told by whoever can look). */
  "cwd-gone",
  /** Above 512 bytes, where 0.78 stops looking when it lists sessions, or above 1 MiB, where 1.5 does. */
  "long-header",
  /** An id of no characters, which Pi takes for none where it follows parents. */
  "empty-id",
  /** The last value of the file is no entry, so Pi has no leaf. */
  "no-leaf",
  "missing-timestamp",
  /** The parent stands further down; no circle. */
  "parent-later",
  "missing-message",
  /** Absent, no text, or none that Pi knows. */
  "missing-role",
  /** Absent or null. */
  "missing-content",
  /** A number, say. */
  "odd-content",
  /** Text where an assistant's message or a tool's result holds blocks. */
  "text-content",
  "null-block",
  /** A block of a kind that Pi does not know where it stands, or an image without its data. */
  "unknown-block",
  /** A block of text or thinking whose text is not there. */
  "empty-block",
  /** A block of text or thinking whose text is a list, an object, a number. */
  "odd-text",
  /** A call without its name or its arguments. */
  "broken-call",
  /** A call or a result without the id that ties them, or with an empty one. */
  "missing-call-id",
  "missing-usage",
  /** A usage that holds what is no number. */
  "odd-usage",
  /** The error of a failed turn is no text, and none can be made of it. */
  "odd-error",
  /** A command that a person ran (bashExecution), without its text or its output. */
  "missing-command",
  /** The same, with something else where its text or output belongs. */
  "odd-command",
  "missing-summary",
  /** A summary of a compaction or a branch that is no text. */
  "odd-summary",
  /** A system message (1.5) whose content, sections or tools are of the wrong kind. */
  "odd-system",
  /** No date can be made of it. */
  "odd-timestamp",
  /** The name of a model or of its provider, of which no text can be made. */
  "odd-model",
  /** A context edit without a replacement, or with one that has no content. */
  "broken-edit",
  /** A tool's result without a call on its branch. */
  "orphan-result",
  /** A result whose call is in a turn that failed or was aborted; Pi does not send that turn. */
  "failed-turn-result",
  /** A call that no result answers. */
  "unanswered-call",
  /** A compaction keeps entries from one on that is not before it. */
  "unknown-first-kept",
  /** A compaction keeps a result, and not its call. */
  "split-tool-pair",
  /** A label or context edit for an entry that is not there. */
  "unknown-target"
])
export type Code = typeof Code.Type

export const Severity = Schema.Literals(["error", "warning", "note"])
export type Severity = typeof Severity.Type

export const Does = Schema.Literals([
  /** Opens the file and goes on with all that is in it. */
  "reads",
  /** Opens the file and brings it to version 3 in place, keeping the history. */
  "migrates",
  /** Opens the file and makes one line of its branches, with other ids, in place. */
  "flattens",
  /** Opens the file and goes on without a part of the history, without a word. */
  "loses",
  /** Opens the file, but what it appends next makes a line that nobody can read. */
  "glues",
  /** Opens the file and sends the model a request that a provider does not take. */
  "missends",
  /** Ends with an error; the file stays as it was. */
  "refuses",
  /** Takes the file for an empty one: everything in it is replaced by a new header. */
  "overwrites",
  /** Ends with an exception of its own. */
  "crashes",
  /** Does not end until memory does. */
  "hangs"
])
export type Does = typeof Does.Type

export const PiReaction = Schema.Struct({ does: Does, says: Schema.String })
export type PiReaction = typeof PiReaction.Type

export const Finding = Schema.Struct({
  code: Code,
  severity: Severity,
  /** From 1. */
  line: Schema.Int,
  byteOffset: Schema.Int,
  entryId: Schema.optionalKey(Schema.String),
  message: Schema.String,
  /** By version. */
  pi: Schema.Struct({ "0.78": PiReaction, "1.5": PiReaction }),
  /** What `repair` does about it; null where it leaves things as they are. */
  mend: Schema.NullOr(Schema.String),
  /** Further findings of this kind in the file that are not listed; only where there are more than 1,000. */
  more: Schema.optionalKey(Schema.Struct({ count: Schema.Int, lastLine: Schema.Int }))
})
export type Finding = typeof Finding.Type

/** How many findings one stands for: itself, and those that are not listed. */
export const countOf = ({ more }: Finding): number => 1 + (more?.count ?? 0)

/** `line 12, byte 3456: error: glued-line: ...` */
export const format = ({ line, byteOffset, severity, code, message }: Finding): string =>
  `line ${line}, byte ${byteOffset}: ${severity}: ${code}: ${message}`
