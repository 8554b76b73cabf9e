/**
 * A session's tree drawn in lines of text, top down. One branch goes straight down, the others leave it to the right:
 * the active branch where it passes, elsewhere the larger one, so that a line is indented no more than the logarithm of
 * the number of entries, whatever the session looks like. A side branch is drawn whole before its trunk goes on.
 *
 * Entries that say nothing about the branching are folded, a run of them into one line with counts. Branch points, ends
 * of branches, the leaf, labelled entries, compactions, branch summaries and damage have lines of their own, and so have
 * the beginnings where there are several. Entries that are not in the tree (their id was used again, or they have none)
 * are listed after it.
 */
import { objectAt, stringAt } from "@pi-sessions/core/Json"
import { contentText } from "@pi-sessions/core/ModelContext"
import { type SessionDiagnostic } from "@pi-sessions/core/SessionDiagnostic"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import { type SessionTree, type TreeNode } from "@pi-sessions/core/SessionTree"
import * as TerminalText from "./TerminalText.ts"
import { describe } from "./EntryDescription.ts"
import { type Trunks, trunksOf } from "./internal/trunks.ts"

export interface TreeDrawingOptions {
  /** Lines are cut to so many columns; never unless told. */
  readonly columns?: number
  /** Draws with ASCII characters only; what the session says stays as it is. */
  readonly ascii?: boolean
  /** One line for each entry: nothing is folded. */
  readonly all?: boolean
}

/** A line of a drawing, in pieces that a terminal may colour; `textOf` puts them together. */
export interface DrawnLine {
  /** The lines that lead here, and the mark of the entry. */
  readonly rail: string
  /** Ids and kinds, of one entry or the first and last of a fold. */
  readonly name: string
  /** `[label]`, or "". */
  readonly label: string
  /** What it says, cut to what is left of the columns. */
  readonly text: string
  /** `leaf`, what is damaged. */
  readonly note: string
  /** The entries that the line stands for, in order. */
  readonly entries: ReadonlyArray<SessionEntry>
  /** On the way to the active leaf. */
  readonly active: boolean
  /** The tree is not whole here. */
  readonly damaged: boolean
}

/** The line as it is printed. */
export const textOf = ({ label, name, note, rail, text }: DrawnLine): string =>
  `${rail} ${[name, label, text, note].filter((piece) => piece !== "").join("  ")}`.trimEnd()

const MARKS = {
  unicode: { rail: "│ ", fork: "├─", entry: "●", fold: "┆", leaf: "◉", lost: "✗", ellipsis: "…", to: "…" },
  ascii: { rail: "| ", fork: "|-", entry: "*", fold: ":", leaf: "@", lost: "x", ellipsis: "...", to: ".." }
}

/** Damage that says already why the entry is a beginning. */
const CUTS: ReadonlySet<SessionDiagnostic["code"]> = new Set(["unknown-parent", "cycle"])

/** How much of what an entry says is looked at where columns do not limit it. */
const EXCERPT = 60

/** Draws a tree, line by line. The tree is that of a session in the current version: entries have ids. */
export function* draw(tree: SessionTree, options: TreeDrawingOptions = {}): Generator<DrawnLine> {
  const drawing = new Drawing(tree, options)
  for (const row of rows(tree, options)) yield drawing.line(row)
}

/** What a line of the picture stands for, before a word of it is read. */
export interface TreeRow {
  /** `lost`: in the file and not in the tree. */
  readonly kind: "entry" | "fold" | "lost"
  /** One, or those of a fold in order. */
  readonly entries: ReadonlyArray<SessionEntry>
  readonly label: string | undefined
  /** How far to the right its branch runs, from 0. */
  readonly column: number
  /** It leaves the branch to its left here. */
  readonly leaves: boolean
  /** How many entries follow the last of them. */
  readonly children: number
  /** No entry stands before the first of them. */
  readonly isRoot: boolean
  /** It is one of several beginnings. */
  readonly isBeginning: boolean
  readonly active: boolean
  readonly damage: ReadonlyArray<SessionDiagnostic>
}

/** Which entries have lines. */
export interface TreeRowsOptions extends Pick<TreeDrawingOptions, "all"> {
  /** Takes others out of the picture; what follows them follows what stands before them then. The leaf stays. */
  readonly admits?: (entry: SessionEntry) => boolean
}

/** The tree's lines without their words: nothing is decoded but labels. The tree is that of the current version. */
export function* rows(tree: SessionTree, options: TreeRowsOptions = {}): Generator<TreeRow> {
  const { admits } = options
  const leaf = tree.getLeafEntry()
  const roots = admits === undefined ? tree.toNodes() : admitted(tree, (entry) => entry === leaf || admits(entry))
  const walk = new Walk(tree, roots, trunksOf(roots, leaf), options)
  for (const root of roots) yield* walk.component(root)
  yield* walk.lost()
}

/** A node to go on from, and where it stands. */
interface Open {
  readonly node: TreeNode
  readonly column: number
  /** It leaves its trunk here. */
  readonly leaves: boolean
}

class Walk {
  readonly #tree: SessionTree
  readonly #trunks: Trunks
  readonly #options: TreeRowsOptions
  readonly #damage = new Map<number, ReadonlyArray<SessionDiagnostic>>()
  readonly #roots: ReadonlySet<TreeNode>

  constructor(tree: SessionTree, roots: ReadonlyArray<TreeNode>, trunks: Trunks, options: TreeRowsOptions) {
    this.#tree = tree
    this.#trunks = trunks
    this.#roots = new Set(roots)
    this.#options = options
    for (const diagnostic of tree.diagnostics) {
      this.#damage.set(diagnostic.byteOffset, [...(this.#damage.get(diagnostic.byteOffset) ?? []), diagnostic])
    }
  }

  /** One root and everything that grows from it. */
  *component(root: TreeNode): Generator<TreeRow> {
    const open: Array<Open> = [{ node: root, column: 0, leaves: false }]
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      const trunk = yield* this.#run(at)
      if (trunk === undefined) continue
      // Last in, first out: the side branches in their order, then the trunk.
      open.push({ node: this.#trunks.next(trunk) ?? trunk, column: at.column, leaves: false })
      const sides = trunk.children.filter((child) => child !== this.#trunks.next(trunk))
      for (const side of sides.toReversed()) open.push({ node: side, column: at.column + 1, leaves: true })
    }
  }

  /** Walks from a node down to the next branch point, which it returns, or to the end of the branch. */
  *#run(from: Open): Generator<TreeRow, TreeNode | undefined> {
    let { leaves } = from
    let folded: Array<TreeNode> = []
    let node: TreeNode | undefined = from.node
    while (node !== undefined) {
      if (this.#isFolded(node)) folded.push(node)
      else {
        if (folded.length > 0) {
          yield this.#row(folded, from.column, leaves)
          leaves = false
        }
        folded = []
        yield this.#row([node], from.column, leaves)
        leaves = false
      }
      if (node.children.length > 1) return node
      node = node.children[0]
    }
    return undefined
  }

  /** Several beginnings are said of; of one there is nothing to say. */
  #isBeginning(node: TreeNode | undefined): boolean {
    return this.#roots.size > 1 && node !== undefined && this.#roots.has(node)
  }

  #isFolded(node: TreeNode): boolean {
    if (this.#options.all === true) return false
    const { entry, children, label } = node
    return (
      children.length === 1 &&
      label === undefined &&
      !this.#isBeginning(node) &&
      entry.type !== "compaction" &&
      entry.type !== "branch_summary" &&
      !this.#damage.has(entry.byteOffset) &&
      entry !== this.#tree.getLeafEntry()
    )
  }

  #row(nodes: ReadonlyArray<TreeNode>, column: number, leaves: boolean): TreeRow {
    const [first] = nodes
    return {
      kind: nodes.length > 1 ? "fold" : "entry",
      entries: nodes.map(({ entry }) => entry),
      label: nodes.length > 1 ? undefined : first?.label,
      column,
      leaves,
      children: nodes.at(-1)?.children.length ?? 0,
      isRoot: first !== undefined && this.#roots.has(first),
      isBeginning: this.#isBeginning(first),
      active: first !== undefined && this.#trunks.isActive(first),
      damage: nodes.length > 1 ? [] : (this.#damage.get(first?.entry.byteOffset ?? -1) ?? [])
    }
  }

  /** Entries that are in the file but not in the tree. */
  *lost(): Generator<TreeRow> {
    for (const entry of this.#tree.getEntries()) {
      if (this.#tree.has(entry)) continue
      yield {
        kind: "lost",
        entries: [entry],
        label: undefined,
        column: 0,
        leaves: false,
        children: 0,
        isRoot: true,
        isBeginning: false,
        active: false,
        damage: []
      }
    }
  }
}

/** A node while what follows it is found. */
interface Growing extends TreeNode {
  children: Array<TreeNode>
}

/** Most nodes have one child, and an empty list of their own would have room for many. */
const NO_CHILDREN: Array<TreeNode> = []

/** The nodes that are taken; what follows others follows the nearest one taken before them. */
const admitted = (tree: SessionTree, admits: (entry: SessionEntry) => boolean): ReadonlyArray<TreeNode> => {
  const labels = tree.labels()
  const roots: Array<TreeNode> = []
  const order = [...tree.roots()]
  /** For each of `order` the nearest taken before it. */
  const befores: Array<Growing | undefined> = order.map(() => undefined)
  for (let at = 0; at < order.length; at++) {
    const entry = order[at]
    if (entry === undefined) continue
    let before = befores[at]
    if (admits(entry)) {
      const label = entry.id === null ? undefined : labels.get(entry.id)
      const node: Growing = { entry, children: NO_CHILDREN, label: label?.label, labelTimestamp: label?.timestamp }
      if (before === undefined) roots.push(node)
      else if (before.children === NO_CHILDREN) before.children = [node]
      else before.children.push(node)
      before = node
    }
    for (const child of entry.id === null ? [] : inOrderOfTime(tree.children(entry.id))) {
      order.push(child)
      befores.push(before)
    }
  }
  return roots
}

/** As Pi sorts them. */
const inOrderOfTime = (entries: ReadonlyArray<SessionEntry>): ReadonlyArray<SessionEntry> => {
  if (entries.length < 2) return entries
  const time = new Map(entries.map((entry) => [entry, Date.parse(entry.timestamp ?? "")]))
  return entries.toSorted((a, b) => (time.get(a) ?? Number.NaN) - (time.get(b) ?? Number.NaN))
}

/** What an entry or a run of entries is and says, in words; cut by whoever shows them. */
export interface RowWords {
  /** Kind, and what is in it; of a run the counts. */
  readonly what: string
  readonly says: string
  /** `leaf`, how many branches, what is damaged. */
  readonly note: string
}

/** Puts a row into words, which decodes one entry. */
export const wordsOf = (tree: SessionTree, row: TreeRow, ellipsis = MARKS.unicode.ellipsis): RowWords => {
  const [entry] = row.entries
  if (entry === undefined) return { what: "", says: "", note: "" }
  if (row.kind === "fold") {
    const counts = new Map<string, number>()
    for (const { role, type } of row.entries) {
      const what = COUNTED.get(role ?? type) ?? OTHER
      counts.set(what, (counts.get(what) ?? 0) + 1)
    }
    const spoken = row.entries.find(({ role }) => role === "user")
    return {
      what: `${counted(row.entries.length, "entry", "entries")}: ${[...counts].map(([what, count]) => `${counted(count)} ${what}`).join(", ")}`,
      says: spoken === undefined ? "" : whatItSays(spoken, ellipsis).excerpt,
      note: ""
    }
  }
  const { about, excerpt, kind } = whatItSays(entry, ellipsis)
  return { what: [kind, about].filter((word) => word !== "").join(" "), says: excerpt, note: noteOf(tree, row, entry) }
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

/** Draws rows in characters. */
class Drawing {
  readonly #tree: SessionTree
  readonly #options: TreeDrawingOptions
  readonly #marks: (typeof MARKS)["unicode"]

  constructor(tree: SessionTree, options: TreeDrawingOptions) {
    this.#tree = tree
    this.#options = options
    this.#marks = options.ascii === true ? MARKS.ascii : MARKS.unicode
  }

  line(row: TreeRow): DrawnLine {
    const { entries, label } = row
    const [first] = entries
    const words = wordsOf(this.#tree, row, this.#marks.ellipsis)
    const ids =
      row.kind === "fold"
        ? [first, entries.at(-1)].map((entry) => entry?.id ?? "").join(this.#marks.to)
        : (first?.id ?? "")
    return this.#line({
      rail: this.#rail(row),
      name: [ids, words.what].filter((word) => word !== "").join(" "),
      label: label === undefined ? "" : `[${label}]`,
      text: words.says,
      note: words.note,
      entries,
      active: row.active,
      damaged: row.kind === "lost" || row.damage.length > 0
    })
  }

  #rail({ column, entries, kind, leaves }: TreeRow): string {
    const { entry, fold, fork, leaf, lost, rail } = this.#marks
    const isLeaf = entries[0] !== undefined && entries[0] === this.#tree.getLeafEntry()
    const mark = kind === "lost" ? lost : kind === "fold" ? fold : isLeaf ? leaf : entry
    return `${leaves ? rail.repeat(column - 1) + fork : rail.repeat(column)}${mark}`
  }

  /** Makes the pieces harmless, and the line as short as it has to be: the text gives way first. */
  #line(line: DrawnLine): DrawnLine {
    const { columns = Number.POSITIVE_INFINITY } = this.#options
    const name = TerminalText.line(line.name)
    const { ellipsis } = this.#marks
    const label = TerminalText.line(line.label, EXCERPT, ellipsis)
    const note = TerminalText.line(line.note)
    const unquoted = TerminalText.line(line.text, EXCERPT, ellipsis)
    const whole = { ...line, name, label, note, text: unquoted === "" ? "" : `"${unquoted}"` }
    const over = TerminalText.width(textOf(whole)) - columns
    if (over <= 0) return whole
    const room = TerminalText.width(unquoted) - over
    if (room > ellipsis.length) return { ...whole, text: `"${TerminalText.cut(unquoted, room, ellipsis)}"` }
    const bare = { ...whole, text: "" }
    const left = columns - TerminalText.width(line.rail) - 1
    const rest = [name, label, note].filter((piece) => piece !== "").join("  ")
    return TerminalText.width(textOf(bare)) <= columns
      ? bare
      : {
          ...bare,
          rail: TerminalText.cut(line.rail, columns, ""),
          name: TerminalText.cut(rest, left, ellipsis),
          label: "",
          note: ""
        }
  }
}

/** What folds count: by role, else by type. */
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

const counted = (count: number, one = "", many = one): string =>
  [count.toLocaleString("en-US"), count === 1 ? one : many].filter((word) => word !== "").join(" ")

/** An entry in a few words. */
const whatItSays = (
  entry: SessionEntry,
  ellipsis: string
): { readonly kind: string; readonly about: string; readonly excerpt: string } => {
  const payload = entry.decode()
  const { about, kind } = describe(entry, payload)
  const isSpoken = kind === "user" || kind === "assistant"
  const message = objectAt(payload, "message")
  const said = entry.type === "message" ? (message?.["content"] ?? message?.["command"]) : payload["content"]
  return {
    kind: kind.replaceAll("_", " "),
    about: isSpoken ? "" : TerminalText.line(about, EXCERPT, ellipsis),
    excerpt: contentText(said) || (stringAt(payload, "summary") ?? "")
  }
}
