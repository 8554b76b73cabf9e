/** Which entries are on a branch, and which branch to show an entry on. */
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import * as EntryFilter from "@pi-sessions/report/EntryFilter"
import * as EntryRanges from "../EntryRanges.ts"
import type * as ViewModel from "../ViewModel.ts"
import { indexOf, indexesOf } from "./ViewedEntry.ts"
import { type ViewedSession } from "./ViewedSession.ts"

/** The entries from the root to `leaf` that pass the filter. */
export const branchRanges = (
  { entries, filterFacts, tree }: ViewedSession,
  leaf: number,
  filter: EntryFilter.EntryFilter
): ViewModel.Ranges => {
  const end = entries[leaf]
  const branch = end === undefined ? [] : tree.branchTo(end)
  // Unlike Pi's tree, a conversation shows answers that only call tools, unless tools are hidden.
  const passes = filter === "no-tools" ? EntryFilter.lists : EntryFilter.takes
  return EntryRanges.of(indexesOf(branch.filter((entry) => passes(filter, entry, filterFacts))))
}

/** The end of the branch to show an entry on: `leaf` or the session's leaf if the entry is on that branch, else its own. */
export const branchEndOf = (session: ViewedSession, index: number, leaf: number): number => {
  const { entries, tree } = session
  const entry = entries[index]
  if (entry === undefined) return index
  const ends = [entries[leaf], tree.getLeafEntry()]
  const end = ends.find((end) => end !== undefined && tree.branchTo(end).includes(entry))
  return indexOf(end ?? lastBelow(session, entry)) ?? index
}

/** The end of the branch that follows the last child of each entry. */
const lastBelow = ({ tree }: ViewedSession, entry: SessionEntry): SessionEntry => {
  let end = entry
  for (;;) {
    const next = end.id === null ? undefined : tree.children(end.id).at(-1)
    if (next === undefined) return end
    end = next
  }
}
