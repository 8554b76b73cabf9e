/**
 * For each finding code: severity, what each Pi does, what a repair does. Tests compare the rows with Pi 0.78.0 and
 * 1.5.2 on fixtures. A row describes its own fault only; a file with several faults has several findings.
 */
import type { Code, Does, Finding, Severity } from "./SessionFinding.ts"

export interface FindingRule {
  readonly severity: Severity
  readonly pi: Finding["pi"]
  readonly mend: string | null
}

const row = (severity: Severity, pi: Finding["pi"], mend: string | null = null): FindingRule => ({ severity, pi, mend })

export const both = (does: Does, says: string): Finding["pi"] => ({ "0.78": { does, says }, "1.5": { does, says } })

export const each = (old: readonly [Does, string], now: readonly [Does, string]): Finding["pi"] => ({
  "0.78": { does: old[0], says: old[1] },
  "1.5": { does: now[0], says: now[1] }
})

const noSession = each(
  ["overwrites", "takes it for an empty session: the whole file is replaced by a new header"],
  ["refuses", "says that it is not a valid session, and leaves it as it is"]
)
const noParent = "cannot follow a parent to it: history before the entry after it is cut off"
/** What Pi does with a last value that has no id. */
export const LEAFLESS = "goes on after that value, which has no history: the model is sent none"
const unpaired = "which providers do not take"

const LEFT_OUT = "the line is left out"
const PREVIOUS = "the entry follows the one before it in the file"
const RENAMED = "the entry gets an id of its own, and the entries after it in the file that name it follow it"
const AS_TEXT = "each text in it becomes a block of text of the same message; without text it is left out"
const ASIDE = "the result stays on a branch of its own, and what followed it follows the entry before it"

export const rules: { readonly [code in Code]: FindingRule } = {
  // Lines
  "malformed-line": row(
    "error",
    both("reads", "skips the line without a word"),
    "bytes that are no entry are left out"
  ),
  "glued-line": row(
    "error",
    both("loses", "skips the whole line: entries on it are lost, and history that hangs on them"),
    "each entry gets a line of its own"
  ),
  "torn-line": row(
    "error",
    each(
      ["glues", "skips the line, and writes its next entry behind it on the same line: both are lost"],
      ["reads", "skips the line, and ends it before it appends"]
    ),
    "what is not whole is left out"
  ),
  "missing-final-newline": row(
    "warning",
    each(
      ["glues", "reads the last line, and writes its next entry behind it on the same line: both are lost"],
      ["reads", "adds the newline when it opens the file"]
    ),
    "the newline is added"
  ),
  "not-an-object": row(
    "warning",
    both("reads", "takes it for an entry without id and type, and sends nothing of it"),
    LEFT_OUT
  ),
  "null-line": row(
    "error",
    each(["crashes", "fails where it asks the null for its type"], ["reads", "skips it"]),
    LEFT_OUT
  ),
  "missing-type": row(
    "warning",
    both("reads", "keeps it in the tree and sends nothing of it"),
    "with an id it becomes a custom entry, without one it is left out"
  ),
  "no-leaf": row("error", both("loses", LEAFLESS), LEFT_OUT),
  "line-too-long": row(
    "error",
    both("crashes", "fails when it reads the file, for no string can be so long"),
    LEFT_OUT
  ),
  bom: row(
    "error",
    each(["reads", "skips it"], ["refuses", "takes the header for no JSON and says that it is not a valid session"]),
    "it is left out"
  ),
  crlf: row("note", both("reads", "reads such lines, and writes LF")),
  "invalid-utf8": row("warning", both("reads", "reads U+FFFD for the bytes that are no UTF-8")),
  // Header
  "missing-header": row("error", noSession, "a header is made, with an id derived from the entries"),
  "header-not-first": row("error", noSession, "the header becomes the first line"),
  "header-glued": row("error", noSession, "the header gets a line of its own"),
  "header-without-id": row("error", noSession, "the header gets an id, derived from the file"),
  "duplicate-header": row("warning", both("reads", "skips it"), LEFT_OUT),
  "old-version": row("note", both("migrates", "brings the file to version 3 when it opens it, in place")),
  "unversioned-tree": row(
    "error",
    both(
      "flattens",
      "takes the tree for a list of version 1 and rewrites the file: branches become one, all ids change"
    ),
    "the header says version 3"
  ),
  "newer-version": row("warning", both("reads", "reads it as version 3")),
  "odd-version": row(
    "error",
    both("crashes", "fails where it compares the version with its own"),
    "the header says version 3"
  ),
  "odd-cwd": row(
    "error",
    each(["crashes", "fails where it makes a path of it"], ["reads", "runs in the directory it is started from"]),
    "it is left out"
  ),
  "missing-cwd": row(
    "note",
    both("reads", "runs in the directory it is started from; --continue in a session directory of its own skips it")
  ),
  "cwd-gone": row("warning", both("refuses", "in print, JSON and RPC mode says that the directory is not there")),
  "long-header": row(
    "note",
    each(
      ["reads", "opens it by its path; --continue does not find it, for it looks at the first 512 bytes only"],
      ["reads", "finds headers of up to 1 MiB"]
    )
  ),
  // Links
  "missing-id": row("error", both("loses", noParent), RENAMED),
  "empty-id": row("error", both("loses", noParent), RENAMED),
  "duplicate-id": row(
    "error",
    both("loses", "knows only the last entry with an id; the others are out of reach"),
    RENAMED
  ),
  "unknown-parent": row(
    "error",
    both("loses", "takes the entry for the first one: history before it is cut off"),
    PREVIOUS
  ),
  cycle: row("error", both("hangs", "follows the parents round and round until memory is used up"), PREVIOUS),
  "parent-later": row("note", both("reads", "follows it (`store migrate` refuses such a file)")),
  "missing-timestamp": row("note", both("reads", "needs it only to sort branches")),
  "unknown-target": row("note", both("reads", "leaves it alone")),
  "unknown-first-kept": row(
    "error",
    both("loses", "keeps nothing but the summary of what was before the compaction"),
    "the turn before the compaction is kept"
  ),
  // Messages
  "missing-message": row(
    "error",
    both("crashes", "fails where it asks the message for its role"),
    "it becomes a custom entry, with what it says as data"
  ),
  "missing-role": row(
    "error",
    both("loses", "does not send the message"),
    "it gets the role that its members suggest; without one it becomes a custom message"
  ),
  "missing-content": row(
    "error",
    each(["crashes", "fails where it looks through the content"], ["reads", "takes it for an empty content"]),
    "the content is empty"
  ),
  "odd-content": row("error", both("crashes", "fails where it looks through the content"), AS_TEXT),
  "text-content": row(
    "error",
    both("crashes", "fails where it looks through the blocks of the content"),
    "the text becomes a block"
  ),
  "null-block": row("error", both("crashes", "fails where it asks the null for its type"), "it is left out"),
  "unknown-block": row("error", both("loses", "leaves out its text without a word"), AS_TEXT),
  "empty-block": row("error", both("crashes", "fails where it looks at the text"), AS_TEXT),
  "odd-text": row("error", both("crashes", "fails where it looks at the text"), AS_TEXT),
  "broken-call": row(
    "error",
    both("missends", "sends the call as it is, which providers do not take"),
    "what is missing is added: empty arguments, `unknown` for a name"
  ),
  "missing-call-id": row(
    "error",
    both("missends", "sends it as it is, which providers do not take"),
    "the call and the result that follows it get one id"
  ),
  "missing-usage": row("error", both("crashes", "fails where it adds up the tokens"), "a usage of zeros is added"),
  "odd-usage": row("error", both("crashes", "fails where it adds up the tokens"), "what is no number becomes zero"),
  "odd-error": row(
    "error",
    both("crashes", "fails where it looks whether the error was a full context"),
    "what can be read of it becomes the text"
  ),
  "missing-command": row("error", both("reads", "sends `undefined`, or no output"), "what is missing becomes empty"),
  "odd-command": row(
    "error",
    both("crashes", "fails where it makes text of it"),
    "what can be read of it becomes the text"
  ),
  "missing-summary": row(
    "error",
    both("loses", "sends `undefined` for the history before it"),
    "it becomes a custom entry, and the history before it is sent again"
  ),
  "odd-summary": row(
    "error",
    both("loses", "sends something else than its text"),
    "what can be read of it becomes the summary; without that it becomes a custom entry, and history before it is sent again"
  ),
  "odd-system": row(
    "error",
    each(["reads", "does not send system messages"], ["crashes", "fails where it looks through it"]),
    "its text is kept; what Pi cannot read is left out"
  ),
  "odd-timestamp": row("error", both("crashes", "fails where it makes a date of it"), "it is left out"),
  "odd-model": row(
    "error",
    both("crashes", "fails where it says that it cannot restore the model"),
    "it becomes `unknown`"
  ),
  "broken-edit": row(
    "error",
    each(["reads", "knows no context edits"], ["crashes", "fails where it applies it"]),
    "its text becomes the replacement; without any it becomes a custom entry, and what it was to edit is sent as it was"
  ),
  "orphan-result": row("error", both("missends", `sends it without its call, ${unpaired}`), ASIDE),
  "failed-turn-result": row(
    "error",
    both("missends", `leaves out the failed turn and sends its results, ${unpaired}`),
    ASIDE
  ),
  "unanswered-call": row("note", both("reads", "sends a result of its own making, `No result provided`")),
  "split-tool-pair": row(
    "error",
    both("missends", `sends the result without its call, ${unpaired}`),
    "the compaction keeps the call too"
  )
}
