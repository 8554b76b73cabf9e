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
import { describe } from "./internal/describeEntry.ts"
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
  const roots = tree.toNodes()
  const drawing = new Drawing(tree, roots, trunksOf(roots, tree.leafId), options)
  for (const root of roots) yield* drawing.component(root)
  yield* drawing.lost()
}

/** A node to go on from, and where it stands. */
interface Open {
  readonly node: TreeNode
  readonly column: number
  /** It leaves its trunk here. */
  readonly leaves: boolean
}

class Drawing {
  readonly #tree: SessionTree
  readonly #trunks: Trunks
  readonly #options: TreeDrawingOptions
  readonly #marks: (typeof MARKS)["unicode"]
  readonly #damage = new Map<number, ReadonlyArray<SessionDiagnostic>>()
  /** Empty where there is but one: then nothing need be said of it. */
  readonly #beginnings: ReadonlySet<TreeNode>

  constructor(tree: SessionTree, roots: ReadonlyArray<TreeNode>, trunks: Trunks, options: TreeDrawingOptions) {
    this.#tree = tree
    this.#trunks = trunks
    this.#beginnings = new Set(roots.length > 1 ? roots : [])
    this.#options = options
    this.#marks = options.ascii === true ? MARKS.ascii : MARKS.unicode
    for (const diagnostic of tree.diagnostics) {
      this.#damage.set(diagnostic.byteOffset, [...(this.#damage.get(diagnostic.byteOffset) ?? []), diagnostic])
    }
  }

  /** One root and everything that grows from it. */
  *component(root: TreeNode): Generator<DrawnLine> {
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

  /** Draws from a node down to the next branch point, which it returns, or to the end of the branch. */
  *#run(from: Open): Generator<DrawnLine, TreeNode | undefined> {
    let { leaves } = from
    let folded: Array<TreeNode> = []
    let node: TreeNode | undefined = from.node
    while (node !== undefined) {
      if (this.#isFolded(node)) folded.push(node)
      else {
        if (folded.length > 0) {
          yield this.#fold(folded, from.column, leaves)
          leaves = false
        }
        folded = []
        yield this.#entry(node, from.column, leaves)
        leaves = false
      }
      if (node.children.length > 1) return node
      node = node.children[0]
    }
    return undefined
  }

  #isFolded(node: TreeNode): boolean {
    if (this.#options.all === true) return false
    const { entry, children, label } = node
    return (
      children.length === 1 &&
      label === undefined &&
      !this.#beginnings.has(node) &&
      entry.type !== "compaction" &&
      entry.type !== "branch_summary" &&
      !this.#damage.has(entry.byteOffset) &&
      entry.id !== this.#tree.leafId
    )
  }

  #rail(column: number, leaves: boolean, mark: string): string {
    const { fork, rail } = this.#marks
    return `${leaves ? rail.repeat(column - 1) + fork : rail.repeat(column)}${mark}`
  }

  #entry(node: TreeNode, column: number, leaves: boolean): DrawnLine {
    const { entry, label } = node
    const isLeaf = entry.id === this.#tree.leafId
    const { about, excerpt, kind } = whatItSays(entry, this.#marks.ellipsis)
    const damage = this.#damage.get(entry.byteOffset) ?? []
    return this.#line({
      rail: this.#rail(column, leaves, isLeaf ? this.#marks.leaf : this.#marks.entry),
      name: [entry.id ?? "", kind, about].filter((word) => word !== "").join(" "),
      label: label === undefined ? "" : `[${label}]`,
      text: excerpt,
      note: [
        ...(isLeaf ? ["<- leaf"] : []),
        ...(this.#beginnings.has(node) && !damage.some(({ code }) => CUTS.has(code)) ? ["a beginning"] : []),
        ...(node.children.length > 1 ? [`${node.children.length} branches`] : []),
        ...damage.map(({ message }) => `! ${message}`)
      ].join("; "),
      entries: [entry],
      active: this.#trunks.isActive(node),
      damaged: damage.length > 0
    })
  }

  #fold(nodes: ReadonlyArray<TreeNode>, column: number, leaves: boolean): DrawnLine {
    const [first] = nodes
    if (nodes.length === 1 && first !== undefined) return this.#entry(first, column, leaves)
    const entries = nodes.map((node) => node.entry)
    const counts = new Map<string, number>()
    for (const entry of entries) {
      const what = COUNTED.get(entry.role ?? entry.type) ?? OTHER
      counts.set(what, (counts.get(what) ?? 0) + 1)
    }
    const spoken = entries.find(({ role }) => role === "user")
    return this.#line({
      rail: this.#rail(column, leaves, this.#marks.fold),
      name: `${entries[0]?.id ?? ""}${this.#marks.to}${entries.at(-1)?.id ?? ""} ${counted(entries.length, "entry", "entries")}: ${[...counts].map(([what, count]) => `${counted(count)} ${what}`).join(", ")}`,
      label: "",
      text: spoken === undefined ? "" : whatItSays(spoken, this.#marks.ellipsis).excerpt,
      note: "",
      entries,
      active: first !== undefined && this.#trunks.isActive(first),
      damaged: false
    })
  }

  /** Entries that are in the file but not in the tree. */
  *lost(): Generator<DrawnLine> {
    for (const entry of this.#tree.getEntries()) {
      if (entry.id !== null && this.#tree.getEntry(entry.id) === entry) continue
      const { about, excerpt, kind } = whatItSays(entry, this.#marks.ellipsis)
      const why = entry.id === null ? "it has no id" : "its id is used again further down"
      yield this.#line({
        rail: this.#marks.lost,
        name: [entry.id ?? "", kind, about].filter((word) => word !== "").join(" "),
        label: "",
        text: excerpt,
        note: `! not in the tree: ${why} (line ${entry.line})`,
        entries: [entry],
        active: false,
        damaged: true
      })
    }
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
