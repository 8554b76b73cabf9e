/** What a person may call an entry: its id, or the beginning of one. */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import { type SessionTree } from "@pi-sessions/core/SessionTree"
import * as TerminalText from "./TerminalText.ts"

/** No entry of the session has such an id. */
export class EntryNotFound extends Schema.TaggedError<EntryNotFound>()("EntryNotFound", {
  reference: Schema.String,
  /** How many entries the session has. */
  entries: Schema.Int
}) {
  override get message(): string {
    const of = this.entries === 1 ? "its one entry does not" : `none of its ${this.entries} entries does`
    return `no entry ${TerminalText.line(this.reference, 80)}: an id that begins so is looked for, and ${of}`
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

/** How many candidates a message lists. */
const LISTED = 10

/** The ids of several entries begin so. */
export class AmbiguousEntry extends Schema.TaggedError<AmbiguousEntry>()("AmbiguousEntry", {
  reference: Schema.String,
  /** In file order, all of them. */
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

/** The entry with that id, or the only one whose id begins so. */
export const resolve = (
  tree: SessionTree,
  reference: string
): Result.Result<SessionEntry, EntryNotFound | AmbiguousEntry> => {
  const exact = tree.getEntry(reference)
  if (exact !== undefined) return Result.succeed(exact)
  const entries = tree.getEntries()
  const found = new Map<string, SessionEntry>()
  // Of several entries with one id the last is in the tree.
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
