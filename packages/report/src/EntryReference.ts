/** Finds the entry that a person means: by its id, or by the beginning of its id. */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import { type SessionTree } from "@pi-sessions/core/SessionTree"
import { counted } from "./Counted.ts"
import * as TerminalText from "./TerminalText.ts"

/** No id in the session begins with the reference. */
export class EntryNotFound extends Schema.TaggedError<EntryNotFound>()("EntryNotFound", {
  reference: Schema.String,
  /** Number of entries in the session. */
  entries: Schema.Int
}) {
  override get message(): string {
    return `no entry ${TerminalText.line(this.reference, 80)}: no id of the session's ${counted(this.entries, "entry", "entries")} begins with it`
  }
}

export const EntryCandidate = Schema.Struct({
  id: Schema.String,
  type: Schema.String,
  role: Schema.optionalKey(Schema.String),
  timestamp: Schema.optionalKey(Schema.String),
  line: Schema.Int
})
export type EntryCandidate = typeof EntryCandidate.Type

/** Candidates listed in the message. */
const LISTED = 10

/** Several ids begin with the reference. */
export class AmbiguousEntry extends Schema.TaggedError<AmbiguousEntry>()("AmbiguousEntry", {
  reference: Schema.String,
  /** All of them, in file order. */
  candidates: Schema.Array(EntryCandidate)
}) {
  override get message(): string {
    const more = this.candidates.length - LISTED
    return [
      `${TerminalText.line(this.reference, 80)} is the beginning of ${this.candidates.length} entry ids; give more of it:`,
      ...this.candidates
        .slice(0, LISTED)
        .map(({ id, line, role, timestamp, type }) =>
          ["", id, role ?? type, ...(timestamp === undefined ? [] : [timestamp]), `line ${line}`]
            .map((cell) => TerminalText.line(cell, 80))
            .join("  ")
        ),
      ...(more > 0 ? [`  and ${more} more`] : [])
    ].join("\n")
  }
}

/** The entry with that id, else the only one whose id begins with the reference. */
export const resolve = (
  tree: SessionTree,
  reference: string
): Result.Result<SessionEntry, EntryNotFound | AmbiguousEntry> => {
  const exact = tree.getEntry(reference)
  if (exact !== undefined) return Result.succeed(exact)
  const entries = tree.getEntries()
  const found = new Map<string, SessionEntry>()
  // Where entries share an id, the last one is in the tree.
  for (const entry of entries) if (entry.id?.startsWith(reference) === true) found.set(entry.id, entry)
  const [only] = found.values()
  if (only === undefined || reference === "") {
    return Result.fail(new EntryNotFound({ reference, entries: entries.length }))
  }
  if (found.size === 1) return Result.succeed(only)
  return Result.fail(
    new AmbiguousEntry({ reference, candidates: [...found].map(([id, entry]) => candidate(id, entry)) })
  )
}

const candidate = (id: string, { line, role, timestamp, type }: SessionEntry): EntryCandidate => ({
  id,
  type,
  ...(role === undefined ? {} : { role }),
  ...(timestamp === undefined ? {} : { timestamp }),
  line
})
