/** The overview of a session: facts of its header, branches, labels and compactions. */
import { stringAt } from "@pi-sessions/core/Json"
import { versionOf } from "@pi-sessions/core/SessionHeader"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import { counted, numberText } from "@pi-sessions/report/Counted"
import * as TerminalText from "@pi-sessions/report/TerminalText"
import { entryWords } from "@pi-sessions/report/TreeRowWords"
import { type BranchEnd, type SessionPage } from "../ViewModel.ts"
import { shownJson } from "@pi-sessions/report/ShownJson"
import { ViewedEntry, indexOf } from "./ViewedEntry.ts"
import { type ViewedSession } from "./ViewedSession.ts"

/** Branches in the list; the tree has all. */
const BRANCHES_LISTED = 200
/** Columns of an excerpt. */
const EXCERPT = 100

export const sessionPage = (key: string, session: ViewedSession, isTooLarge: boolean): SessionPage => {
  const { entries, ref, tree } = session
  const leaves = tree.leaves()
  const active = tree.getLeafEntry()
  const ends = [...new Set([...(active === undefined ? [] : [active]), ...leaves.toReversed()])]
  const depths = depthsOf(session)
  return {
    key,
    id: ref.id,
    title: tree.name() ?? firstWords(session),
    facts: factsOf(session),
    entries: entries.length,
    leaf: indexOf(active) ?? null,
    branches: ends.slice(0, BRANCHES_LISTED).flatMap((end) => branchEnd(session, end, depths)),
    branchCount: ends.length,
    labels: [...tree.labels()].flatMap(([id, { label }]) => {
      const entry = indexOf(tree.getEntry(id))
      return entry === undefined ? [] : [{ entry, label }]
    }),
    compactions: entries.flatMap(({ index, type }) => (type === "compaction" ? [index] : [])),
    ...(isTooLarge ? { sampleProblem: "too large to be cut into samples here" } : {})
  }
}

/** Excerpt of the first user message. */
const firstWords = ({ entries }: ViewedSession): string => {
  const first = entries.find(({ role, type }) => type === "message" && role === "user")
  return first === undefined ? "" : TerminalText.line(entryWords(first).says, EXCERPT)
}

/** Number of entries from the root to each entry; 0 if a parent comes later in the file. */
const depthsOf = ({ entries, tree }: ViewedSession): Int32Array => {
  const depths = new Int32Array(entries.length)
  for (const { index, parentId } of entries) {
    const parent = parentId === null ? undefined : tree.getEntry(parentId)
    if (!(parent instanceof ViewedEntry)) depths[index] = 1
    else if (parent.index < index)
      depths[index] = (depths[parent.index] ?? 0) === 0 ? 0 : (depths[parent.index] ?? 0) + 1
  }
  return depths
}

const branchEnd = ({ tree }: ViewedSession, end: SessionEntry, depths: Int32Array): ReadonlyArray<BranchEnd> => {
  if (!(end instanceof ViewedEntry)) return []
  const { id, index, timestamp } = end
  const { says, what } = entryWords(end)
  return [
    {
      entry: index,
      id,
      ...(timestamp === undefined ? {} : { time: timestamp }),
      entries: depths[index] || tree.branchTo(end).length,
      isActive: end === tree.getLeafEntry(),
      says: TerminalText.line(says === "" ? what : says, EXCERPT)
    }
  ]
}

const factsOf = ({ damages, entries, header, ref, text, tree }: ViewedSession): SessionPage["facts"] => {
  const facts: Array<readonly [string, string]> = []
  const fact = (name: string, value: string | undefined): void => {
    if (value !== undefined && value !== "") facts.push([name, value])
  }
  fact("id", ref.id)
  fact("begun", stringAt(header, "timestamp"))
  fact("directory", stringAt(header, "cwd"))
  fact("file", text(ref.path))
  fact("format", ref.format === "jsonl" ? `file, version ${versionOf(header)}` : ref.format)
  fact("forked from", stringAt(header, "parentSession"))
  if (header["hydratedFrom"] !== undefined) fact("hydrated from", shownJson(header["hydratedFrom"]))
  fact("written by", stringAt(header, "harness"))
  fact("size", `${numberText(ref.sizeBytes)} bytes`)
  fact("entries", numberText(entries.length))
  fact("branches", numberText(tree.leaves().length))
  if (damages > 0) fact("damage", counted(damages, "finding"))
  return facts
}
