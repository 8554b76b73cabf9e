/** Whether a compaction keeps what it says it keeps, and whole. */
import { stringAt } from "@pi-sessions/core/Json"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import { type Forest, ROOT } from "./Forest.ts"
import { NO_CALL, type ToolLinks } from "./ToolLinks.ts"

export interface CompactionFault {
  readonly code: "unknown-first-kept" | "split-tool-pair"
  readonly message: string
  /** Index of the entry from which on things should be kept; `ROOT` for none. */
  readonly keepFrom: number
}

/** How entries are found by id. */
interface Lookup {
  readonly indexOf: (id: string) => number | undefined
  readonly entries: ReadonlyArray<SessionEntry>
}

/**
 * Undefined when there is no fault. A compaction that keeps itself keeps nothing (1.5); so does one that does not say,
 * which is what becomes of version 1 where nothing was kept.
 */
export const compactionFault = (
  entry: SessionEntry,
  index: number,
  { indexOf, entries }: Lookup,
  forest: Forest,
  links: ToolLinks
): CompactionFault | undefined => {
  const id = stringAt(entry.decode(), "firstKeptEntryId")
  if (id === undefined || id === entry.id) return undefined
  const first = indexOf(id)
  if (first === index) return undefined
  if (first === undefined || !forest.isAncestor(first, index)) {
    const message = `it keeps what is from entry ${JSON.stringify(id)} on, which is not before it`
    const turn = lastTurn(index, entries, forest)
    const keepFrom = turn === ROOT ? ROOT : wholeFrom(turn, index, forest, links)
    return { code: "unknown-first-kept", message, keepFrom }
  }
  const keepFrom = wholeFrom(first, index, forest, links)
  if (keepFrom === first) return undefined
  return { code: "split-tool-pair", message: "it keeps a tool's result, and not the call", keepFrom }
}

/** From where on the results that are kept have their calls. */
const wholeFrom = (first: number, index: number, forest: Forest, links: ToolLinks): number => {
  let from = first
  for (const at of forest.up(forest.parents[index]!)) {
    const call = links.callOf[at]!
    if (call !== NO_CALL && !links.orphans.has(at) && forest.isAncestor(call, from)) from = call
    if (at === from) break
  }
  return from
}

/** The last turn of a person above an entry, without going past an earlier compaction. */
const lastTurn = (index: number, entries: ReadonlyArray<SessionEntry>, forest: Forest): number => {
  let last = ROOT
  for (const at of forest.up(forest.parents[index]!)) {
    if (entries[at]?.type === "compaction") break
    last = at
    if (entries[at]?.role === "user") break
  }
  return last
}
