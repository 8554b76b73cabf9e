/** The rows of a session's tree. Rows are laid out once per list; their words are read when they are requested. */
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import * as EntryFilter from "@pi-sessions/report/EntryFilter"
import * as TerminalText from "@pi-sessions/report/TerminalText"
import { wordsOf } from "@pi-sessions/report/TreeRowWords"
import * as TreeRows from "@pi-sessions/report/TreeRows"
import { MOST_AT_ONCE } from "../ViewLimits.ts"
import { type TreePage, type TreeRow } from "../ViewModel.ts"
import { type TreeOptions } from "../ViewQuestion.ts"
import { indexOf } from "./ViewedEntry.ts"
import { type ViewedSession } from "./ViewedSession.ts"

/** Columns of an excerpt. */
const EXCERPT = 160

/** Characters; longer than any kind that Pi writes. */
const KIND = 40

/** Lists kept for each session. */
const KEPT = 2

type Rows = ReadonlyArray<TreeRows.TreeRow>

/** The rows of open sessions. */
export class TreeRowCache {
  readonly #lists = new WeakMap<ViewedSession, Map<string, Rows>>()

  page(session: ViewedSession, options: TreeOptions & { readonly from: number; readonly count: number }): TreePage {
    const { count, from } = options
    const rows = this.#rows(session, options)
    const shown = rows.slice(from, from + Math.min(count, MOST_AT_ONCE))
    return { total: rows.length, rows: shown.map((row) => shownRow(session, row)) }
  }

  #rows(session: ViewedSession, { all, filter }: TreeOptions): Rows {
    const lists = this.#lists.get(session) ?? new Map<string, Rows>()
    this.#lists.set(session, lists)
    const name = `${filter} ${all}`
    const known = lists.get(name)
    if (known !== undefined) return known
    const [oldest] = lists.keys()
    if (lists.size >= KEPT && oldest !== undefined) lists.delete(oldest)
    const rows = layout(session, { all, filter })
    lists.set(name, rows)
    return rows
  }
}

const layout = ({ filterFacts, tree }: ViewedSession, { all, filter }: TreeOptions): Rows => {
  // Folds hide answers that only call tools anyway; asking for them would decode every answer.
  const passes = all ? EntryFilter.lists : EntryFilter.takes
  const admits = (entry: SessionEntry): boolean => passes(filter, entry, filterFacts)
  return [...TreeRows.rows(tree, { all, admits })]
}

const shownRow = ({ text, tree }: ViewedSession, row: TreeRows.TreeRow): TreeRow => {
  const [first] = row.entries
  const { note, says, what } = wordsOf(tree, row)
  return {
    kind: row.kind,
    entry: indexOf(first) ?? 0,
    last: indexOf(row.entries.at(-1)) ?? 0,
    count: row.entries.length,
    column: row.column,
    leaves: row.leaves,
    begins: row.isRoot,
    ends: row.children === 0,
    active: row.active,
    isLeaf: first !== undefined && first === tree.getLeafEntry(),
    what: TerminalText.line(what, EXCERPT),
    entryKind: (first?.role ?? first?.type ?? "").slice(0, KIND),
    ...(row.label === undefined ? {} : { label: TerminalText.line(row.label, EXCERPT) }),
    says: TerminalText.line(says, EXCERPT),
    note: TerminalText.line(text(note))
  }
}
