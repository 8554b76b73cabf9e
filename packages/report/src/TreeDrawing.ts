/** Draws a session's tree in lines of text: the rows of TreeRows.ts with rails, ids, labels and excerpts. */
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import { type SessionTree } from "@pi-sessions/core/SessionTree"
import * as TerminalText from "./TerminalText.ts"
import { type TreeRow, rows } from "./TreeRows.ts"
import { EXCERPT, wordsOf } from "./TreeRowWords.ts"

export interface TreeDrawingOptions {
  /** Width to cut lines to. Default: lines are not cut. */
  readonly columns?: number
  /** Draws in ASCII only; text of the session may still hold other characters. */
  readonly ascii?: boolean
  /** One line for each entry. Default: false, runs are folded. */
  readonly all?: boolean
}

/** A line in pieces that a terminal may colour; `textOf` joins them. */
export interface DrawnLine {
  /** The lines that lead to the entry, and its mark. */
  readonly rail: string
  /** Id and kind; for a fold, the first and last id. */
  readonly name: string
  /** `[label]`, or "". */
  readonly label: string
  /** Excerpt, cut to the remaining columns. */
  readonly text: string
  /** Leaf, number of branches, damage. */
  readonly note: string
  /** The entries that the line represents, in order. */
  readonly entries: ReadonlyArray<SessionEntry>
  /** On the active branch. */
  readonly active: boolean
  readonly damaged: boolean
}

/** The line as text. */
export const textOf = ({ label, name, note, rail, text }: DrawnLine): string =>
  `${rail} ${[name, label, text, note].filter((piece) => piece !== "").join("  ")}`.trimEnd()

const MARKS = {
  unicode: { rail: "│ ", fork: "├─", entry: "●", fold: "┆", leaf: "◉", lost: "✗", ellipsis: "…", to: "…" },
  ascii: { rail: "| ", fork: "|-", entry: "*", fold: ":", leaf: "@", lost: "x", ellipsis: "...", to: ".." }
}
type Marks = (typeof MARKS)["unicode"]

/** Draws the tree of a session in the current version, line by line. */
export function* draw(tree: SessionTree, options: TreeDrawingOptions = {}): Generator<DrawnLine> {
  const { all = false, ascii = false, columns = Number.POSITIVE_INFINITY } = options
  const marks = ascii ? MARKS.ascii : MARKS.unicode
  for (const row of rows(tree, { all })) yield fitted(lineOf(tree, row, marks), columns, marks.ellipsis)
}

/** The line at full length. */
const lineOf = (tree: SessionTree, row: TreeRow, marks: Marks): DrawnLine => {
  const { active, damage, entries, kind, label } = row
  const [first] = entries
  const { note, says, what } = wordsOf(tree, row, marks.ellipsis)
  const last = entries.at(-1)
  const ids = kind === "fold" ? `${first?.id ?? ""}${marks.to}${last?.id ?? ""}` : (first?.id ?? "")
  return {
    rail: railOf(row, first !== undefined && first === tree.getLeafEntry(), marks),
    name: [ids, what].filter((word) => word !== "").join(" "),
    label: label === undefined ? "" : `[${label}]`,
    text: says,
    note,
    entries,
    active,
    damaged: kind === "lost" || damage.length > 0
  }
}

const railOf = ({ column, kind, leaves }: TreeRow, isLeaf: boolean, marks: Marks): string => {
  const { entry, fold, fork, leaf, lost, rail } = marks
  const mark = kind === "lost" ? lost : kind === "fold" ? fold : isLeaf ? leaf : entry
  return `${leaves ? rail.repeat(column - 1) + fork : rail.repeat(column)}${mark}`
}

/** Makes the pieces safe for terminals and cuts the line to `columns`: first the excerpt, then the rest. */
const fitted = (line: DrawnLine, columns: number, ellipsis: string): DrawnLine => {
  const name = TerminalText.line(line.name)
  const label = TerminalText.line(line.label, EXCERPT, ellipsis)
  const note = TerminalText.line(line.note)
  const excerpt = TerminalText.line(line.text, EXCERPT, ellipsis)
  const whole = { ...line, name, label, note, text: excerpt === "" ? "" : `"${excerpt}"` }
  const over = TerminalText.width(textOf(whole)) - columns
  if (over <= 0) return whole
  const room = TerminalText.width(excerpt) - over
  if (room > ellipsis.length) return { ...whole, text: `"${TerminalText.cut(excerpt, room, ellipsis)}"` }
  const bare = { ...whole, text: "" }
  if (TerminalText.width(textOf(bare)) <= columns) return bare
  const rest = [name, label, note].filter((piece) => piece !== "").join("  ")
  return {
    ...bare,
    rail: TerminalText.cut(line.rail, columns, ""),
    name: TerminalText.cut(rest, columns - TerminalText.width(line.rail) - 1, ellipsis),
    label: "",
    note: ""
  }
}
