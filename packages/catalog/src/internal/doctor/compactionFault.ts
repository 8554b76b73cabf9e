/**
 * Checks the entries that a compaction keeps: the first must be before it, and calls must be kept with their results.
 */
import * as EntryId from "@pi-sessions/core/EntryId"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import { type Forest, ROOT } from "./Forest.ts"
import { type KeptPairs } from "./KeptPairs.ts"

export interface CompactionFault {
  readonly code: "unknown-first-kept" | "split-tool-pair"
  readonly message: string
  /** Index of the first entry to keep; `ROOT` for none. */
  readonly keepFrom: number
}

/** Entries and their indexes by id. */
interface Lookup {
  readonly indexOf: (id: string) => number | undefined
  readonly entries: ReadonlyArray<SessionEntry>
}

/**
 * The fault of a compaction; undefined if it has none. A compaction that names itself keeps nothing (1.5); so does one
 * without a first kept entry, which a migrated version 1 may have.
 */
export const compactionFault = (
  entry: SessionEntry,
  index: number,
  { indexOf, entries }: Lookup,
  pairs: KeptPairs
): CompactionFault | undefined => {
  const { forest } = pairs
  const given = entry.decode()["firstKeptEntryId"]
  if (given === undefined || given === null || given === "" || given === entry.id) return undefined
  const id = EntryId.read(given) ?? undefined
  if (id === entry.id) return undefined
  const first = id === undefined ? undefined : indexOf(id)
  if (first === index) return undefined
  if (first === undefined || !forest.isAncestor(first, index)) {
    const named = id === undefined ? "what it keeps first is not named by an id" : undefined
    const message = named ?? `it keeps what is from entry ${JSON.stringify(id)} on, which is not before it`
    const turn = lastTurn(index, entries, forest)
    const keepFrom = turn === ROOT ? ROOT : pairs.wholeFrom(turn, index)
    return { code: "unknown-first-kept", message, keepFrom }
  }
  const keepFrom = pairs.wholeFrom(first, index)
  if (keepFrom === first) return undefined
  return { code: "split-tool-pair", message: "it keeps a tool's result, and not the call", keepFrom }
}

/** The last user message above an entry, but not above an earlier compaction. */
const lastTurn = (index: number, entries: ReadonlyArray<SessionEntry>, forest: Forest): number => {
  let last = ROOT
  for (const at of forest.up(forest.parents[index]!)) {
    if (entries[at]?.type === "compaction") break
    last = at
    if (entries[at]?.role === "user") break
  }
  return last
}
