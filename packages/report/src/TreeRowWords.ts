/** Describes rows of a tree in words. The words are not shortened, and not safe for terminals. */
import { objectAt, stringAt } from "@pi-sessions/core/Json"
import { contentText } from "@pi-sessions/core/ModelContext"
import { type SessionDiagnostic } from "@pi-sessions/core/SessionDiagnostic"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import { type SessionTree } from "@pi-sessions/core/SessionTree"
import { counted } from "./Counted.ts"
import { describe } from "./EntryDescription.ts"
import * as TerminalText from "./TerminalText.ts"
import { type TreeRow } from "./TreeRows.ts"

/** Columns of an excerpt where the width of the drawing does not limit it. */
export const EXCERPT = 60

export interface EntryWords {
  /** Kind and details; for a fold, the counts. */
  readonly what: string
  /** Text of the entry; for a fold, of its first user message. */
  readonly says: string
}

export interface RowWords extends EntryWords {
  /** Leaf, number of branches, damage. */
  readonly note: string
}

/** Damage that already says why the entry is a root. */
const CUTS: ReadonlySet<SessionDiagnostic["code"]> = new Set(["unknown-parent", "cycle"])

/** Decodes one entry. `ellipsis` marks where details were cut; default: "…". */
export const wordsOf = (tree: SessionTree, row: TreeRow, ellipsis?: string): RowWords => {
  const [entry] = row.entries
  if (entry === undefined) return { what: "", says: "", note: "" }
  if (row.kind === "fold") return { ...foldWords(row.entries, ellipsis), note: "" }
  return { ...entryWords(entry, ellipsis), note: noteOf(tree, row, entry) }
}

/** Names in the counts of a fold, by role, else by type. */
const COUNTED: ReadonlyMap<string, string> = new Map([
  ["user", "user"],
  ["assistant", "assistant"],
  ["toolResult", "tool"],
  ["bashExecution", "bash"],
  ["custom_message", "custom message"],
  ["label", "label"],
  ["model_change", "setting"],
  ["thinking_level_change", "setting"]
])
const OTHER = "other"

const foldWords = (entries: ReadonlyArray<SessionEntry>, ellipsis?: string): EntryWords => {
  const groups = Map.groupBy(entries, ({ role, type }) => COUNTED.get(role ?? type) ?? OTHER)
  const counts = [...groups].map(([name, group]) => counted(group.length, name, name))
  const spoken = entries.find(({ role }) => role === "user")
  return {
    what: `${counted(entries.length, "entry", "entries")}: ${counts.join(", ")}`,
    says: spoken === undefined ? "" : entryWords(spoken, ellipsis).says
  }
}

/** Decodes the entry. */
export const entryWords = (entry: SessionEntry, ellipsis = "…"): EntryWords => {
  const payload = entry.decode()
  const { about, kind } = describe(entry, payload)
  const isSpoken = kind === "user" || kind === "assistant"
  const message = objectAt(payload, "message")
  const said = entry.type === "message" ? (message?.["content"] ?? message?.["command"]) : payload["content"]
  return {
    what: [kind.replaceAll("_", " "), isSpoken ? "" : TerminalText.line(about, EXCERPT, ellipsis)]
      .filter((word) => word !== "")
      .join(" "),
    says: contentText(said) || (stringAt(payload, "summary") ?? "")
  }
}

const noteOf = (tree: SessionTree, row: TreeRow, entry: SessionEntry): string => {
  if (row.kind === "lost") {
    return `! not in the tree: its id is used again further down (line ${entry.line})`
  }
  return [
    ...(entry === tree.getLeafEntry() ? ["<- leaf"] : []),
    ...(row.isBeginning && !row.damage.some(({ code }) => CUTS.has(code)) ? ["a beginning"] : []),
    ...(row.children > 1 ? [`${row.children} branches`] : []),
    ...row.damage.map(({ message }) => `! ${message}`)
  ].join("; ")
}
