/** The rows of the tree's picture, kept small: what a row says is read when it is shown. */
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import * as EntryFilter from "@pi-sessions/report/EntryFilter"
import * as TerminalText from "@pi-sessions/report/TerminalText"
import * as TreeRows from "@pi-sessions/report/TreeRows"
import { wordsOf } from "@pi-sessions/report/TreeRowWords"
import { type TreeRow } from "../ViewModel.ts"
import { ViewedEntry } from "./ViewedEntry.ts"
import { type ViewedSession } from "./ViewedSession.ts"

/** Columns of what a row says. */
const SAYS = 160

/** No kind of Pi's is longer. */
const KIND = 40

export const treeRows = (
  { filterFacts, tree }: ViewedSession,
  filter: EntryFilter.EntryFilter,
  all: boolean
): ReadonlyArray<TreeRows.TreeRow> => {
  // Whether an answer only calls tools is in its payload: where runs are folded, that makes no row more or less.
  const passes = all ? EntryFilter.lists : EntryFilter.takes
  const admits = (entry: SessionEntry): boolean => passes(filter, entry, filterFacts)
  return [...TreeRows.rows(tree, { all, admits })]
}

export const shownRow = ({ text, tree }: ViewedSession, row: TreeRows.TreeRow): TreeRow => {
  const [first] = row.entries
  const last = row.entries.at(-1)
  const { note, says, what } = wordsOf(tree, row)
  return {
    kind: row.kind,
    entry: first instanceof ViewedEntry ? first.index : 0,
    last: last instanceof ViewedEntry ? last.index : 0,
    count: row.entries.length,
    column: row.column,
    leaves: row.leaves,
    begins: row.isRoot,
    ends: row.children === 0,
    active: row.active,
    isLeaf: first !== undefined && first === tree.getLeafEntry(),
    what: TerminalText.line(what, SAYS),
    entryKind: (first?.role ?? first?.type ?? "").slice(0, KIND),
    ...(row.label === undefined ? {} : { label: TerminalText.line(row.label, SAYS) }),
    says: TerminalText.line(says, SAYS),
    note: TerminalText.line(text(note))
  }
}
