/**
 * A finding of the doctor: position, severity, what each Pi does, and what a repair does. An error loses or hides
 * history, or stops Pi or the provider. A warning is a fault that harms neither Pi at present. A note needs no action.
 */
import * as Schema from "effect/Schema"
import { Code as DiagnosticCode } from "@pi-sessions/core/SessionDiagnostic"

export const Code = Schema.Literals([
  ...DiagnosticCode.literals,
  /** The line is `null`. */
  "null-line",
  /** The header shares its line with another value, so Pi does not see it. */
  "header-glued",
  /** `{"type":"session"}` without an id; Pi does not accept it as a header. */
  "header-without-id",
  /** Version 1 (a list) or 2 (hook messages): Pi migrates it and rewrites the file. */
  "old-version",
  /** The entries form a tree, but the header lacks version 3, so Pi reads them as a list. */
  "unversioned-tree",
  /** Higher than any version that a known Pi writes. */
  "newer-version",
  /** Pi cannot compare the version with a number. */
  "odd-version",
  "missing-cwd",
  /** The directory is not a string. */
  "odd-cwd",
  /** The header's directory does not exist (only if the caller checked). */
  "cwd-gone",
  /** Longer than what Pi reads when it lists sessions: 512 bytes in 0.78, 1 MiB in 1.5. */
  "long-header",
  /** An empty id, which Pi treats as missing when it follows parents. */
  "empty-id",
  /** The last value of the file is not an entry, so Pi has no leaf. */
  "no-leaf",
  "missing-timestamp",
  /** The parent comes later in the file, without a cycle. */
  "parent-later",
  "missing-message",
  /** Absent, not a string, or unknown to Pi. */
  "missing-role",
  /** Absent or null. */
  "missing-content",
  /** Neither a string nor a list, for example a number. */
  "odd-content",
  /** A string where an assistant's message or a tool result needs blocks. */
  "text-content",
  "null-block",
  /** A block of a type that Pi does not know in this message, or an image without data. */
  "unknown-block",
  /** A block of text or thinking without its text. */
  "empty-block",
  /** A block of text or thinking whose text is not a string. */
  "odd-text",
  /** A call without name or arguments. */
  "broken-call",
  /** A call or result without an id, or with an empty one. */
  "missing-call-id",
  "missing-usage",
  /** The usage contains a value that is not a number. */
  "odd-usage",
  /** The error of a failed turn cannot be converted to a string. */
  "odd-error",
  /** A command of the user (bashExecution) without its text or output. */
  "missing-command",
  /** A command of the user whose text or output is not a string. */
  "odd-command",
  "missing-summary",
  /** The summary of a compaction or branch is not a string. */
  "odd-summary",
  /** A system message (1.5) whose content, sections or tools have the wrong type. */
  "odd-system",
  /** Cannot be converted to a date. */
  "odd-timestamp",
  /** The name of a model or provider cannot be converted to a string. */
  "odd-model",
  /** A context edit without a replacement that has a content. */
  "broken-edit",
  /** A tool result without a call on its branch. */
  "orphan-result",
  /** The call of the result is in a failed or aborted turn, which Pi does not send. */
  "failed-turn-result",
  /** A call without a result. */
  "unanswered-call",
  /** The first entry that a compaction keeps is not before it. */
  "unknown-first-kept",
  /** A compaction keeps a result but not its call. */
  "split-tool-pair",
  /** A label or context edit for an entry that does not exist. */
  "unknown-target"
])
export type Code = typeof Code.Type

export const Severity = Schema.Literals(["error", "warning", "note"])
export type Severity = typeof Severity.Type

export const Does = Schema.Literals([
  /** Opens the file and continues with all of it. */
  "reads",
  /** Opens the file and migrates it to version 3 in place, with its history. */
  "migrates",
  /** Opens the file and rewrites its branches as one, with new ids, in place. */
  "flattens",
  /** Opens the file and silently continues without a part of the history. */
  "loses",
  /** Opens the file, but its next append damages the last line. */
  "glues",
  /** Opens the file and sends a request that providers reject. */
  "missends",
  /** Exits with an error and leaves the file unchanged. */
  "refuses",
  /** Replaces the whole file by a new header. */
  "overwrites",
  /** Exits with an exception. */
  "crashes",
  /** Loops until memory is exhausted. */
  "hangs"
])
export type Does = typeof Does.Type

export const PiReaction = Schema.Struct({ does: Does, says: Schema.String })
export type PiReaction = typeof PiReaction.Type

export const Finding = Schema.Struct({
  code: Code,
  severity: Severity,
  /** Line number, from 1. */
  line: Schema.Int,
  byteOffset: Schema.Int,
  entryId: Schema.optionalKey(Schema.String),
  message: Schema.String,
  /** What each version of Pi does. */
  pi: Schema.Struct({ "0.78": PiReaction, "1.5": PiReaction }),
  /** What a repair does; null if it changes nothing. */
  mend: Schema.NullOr(Schema.String),
  /** Further findings of this kind that are not listed; only on the 1,000th. */
  more: Schema.optionalKey(Schema.Struct({ count: Schema.Int, lastLine: Schema.Int }))
})
export type Finding = typeof Finding.Type

/** Number of findings that this one counts for: itself and those not listed. */
export const countOf = ({ more }: Finding): number => 1 + (more?.count ?? 0)

/** `line 12, byte 3456: error: glued-line: ...` */
export const format = ({ line, byteOffset, severity, code, message }: Finding): string =>
  `line ${line}, byte ${byteOffset}: ${severity}: ${code}: ${message}`
