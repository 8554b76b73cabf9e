/**
 * Lays out a session's tree in rows, top down. One branch goes straight down, the others leave it to the right: the active
 * branch where it passes, elsewhere the larger one, so the number of columns is at most logarithmic in the number of
 * entries. A side branch is complete before its trunk goes on.
 *
 * A run of entries that do not affect the branching is folded into one row. Branch points, ends of branches, the leaf,
 * labelled entries, compactions, branch summaries, damaged entries and, if there are several roots, the roots have rows of
 * their own. Entries that are not in the tree (their id was reused, or they have none) come last.
 */
import * as EntryType from "@pi-sessions/core/EntryType"
import { type SessionDiagnostic } from "@pi-sessions/core/SessionDiagnostic"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import { type SessionTree, type TreeNode } from "@pi-sessions/core/SessionTree"
import { filteredNodes } from "./internal/filteredNodes.ts"
import { type Trunks, trunksOf } from "./internal/trunks.ts"

export interface TreeRow {
  /** `lost`: in the file and not in the tree. */
  readonly kind: "entry" | "fold" | "lost"
  /** One entry, or the entries of a fold in order. */
  readonly entries: ReadonlyArray<SessionEntry>
  readonly label: string | undefined
  /** Column of its branch, from 0. */
  readonly column: number
  /** The branch leaves the column to its left here. */
  readonly leaves: boolean
  /** Number of children of the last entry. */
  readonly children: number
  /** The first entry has no parent. */
  readonly isRoot: boolean
  /** The first entry is one of several roots. */
  readonly isBeginning: boolean
  /** On the active branch. */
  readonly active: boolean
  readonly damage: ReadonlyArray<SessionDiagnostic>
}

export interface TreeRowsOptions {
  /** One row for each entry. Default: false, runs are folded. */
  readonly all?: boolean
  /**
   * Entries to lay out; children of others move up to the nearest admitted ancestor. The leaf is always laid out.
   * Default: all entries.
   */
  readonly admits?: (entry: SessionEntry) => boolean
}

/** The rows of a session in the current version. Decodes labels only. */
export function* rows(tree: SessionTree, options: TreeRowsOptions = {}): Generator<TreeRow> {
  const { admits } = options
  const leaf = tree.getLeafEntry()
  const roots = admits === undefined ? tree.toNodes() : filteredNodes(tree, (entry) => entry === leaf || admits(entry))
  const layout = new Layout(tree, roots, trunksOf(roots, leaf), options.all ?? false)
  for (const root of roots) yield* layout.component(root)
  for (const entry of tree.getEntries()) if (!tree.has(entry)) yield lostRow(entry)
}

/** A subtree that is still to be laid out. */
interface Pending {
  readonly node: TreeNode
  readonly column: number
  readonly leaves: boolean
}

class Layout {
  readonly #leaf: SessionEntry | undefined
  readonly #trunks: Trunks
  readonly #all: boolean
  readonly #damage: ReadonlyMap<number, ReadonlyArray<SessionDiagnostic>>
  readonly #roots: ReadonlySet<TreeNode>

  constructor(tree: SessionTree, roots: ReadonlyArray<TreeNode>, trunks: Trunks, all: boolean) {
    this.#leaf = tree.getLeafEntry()
    this.#trunks = trunks
    this.#roots = new Set(roots)
    this.#all = all
    this.#damage = Map.groupBy(tree.diagnostics, ({ byteOffset }) => byteOffset)
  }

  /** A root and all its descendants. */
  *component(root: TreeNode): Generator<TreeRow> {
    const pending: Array<Pending> = [{ node: root, column: 0, leaves: false }]
    for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
      const branching = yield* this.#run(at)
      if (branching === undefined) continue
      const trunk = this.#trunks.next(branching) ?? branching
      // Last in, first out: the side branches in their order, then the trunk.
      pending.push({ node: trunk, column: at.column, leaves: false })
      for (const side of branching.children.filter((child) => child !== trunk).toReversed()) {
        pending.push({ node: side, column: at.column + 1, leaves: true })
      }
    }
  }

  /** Lays out a branch down to the next branch point, which it returns, or to its end. */
  *#run(from: Pending): Generator<TreeRow, TreeNode | undefined> {
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

  #isBeginning(node: TreeNode | undefined): boolean {
    return this.#roots.size > 1 && node !== undefined && this.#roots.has(node)
  }

  #isFolded(node: TreeNode): boolean {
    const { entry, children, label } = node
    return (
      !this.#all &&
      children.length === 1 &&
      label === undefined &&
      !this.#isBeginning(node) &&
      !EntryType.of(entry.type).hasSummary &&
      !this.#damage.has(entry.byteOffset) &&
      entry !== this.#leaf
    )
  }

  #row(nodes: ReadonlyArray<TreeNode>, column: number, leaves: boolean): TreeRow {
    const [first] = nodes
    const isFold = nodes.length > 1
    return {
      kind: isFold ? "fold" : "entry",
      entries: nodes.map(({ entry }) => entry),
      label: isFold ? undefined : first?.label,
      column,
      leaves,
      children: nodes.at(-1)?.children.length ?? 0,
      isRoot: first !== undefined && this.#roots.has(first),
      isBeginning: this.#isBeginning(first),
      active: first !== undefined && this.#trunks.isActive(first),
      damage: isFold ? [] : (this.#damage.get(first?.entry.byteOffset ?? -1) ?? [])
    }
  }
}

const lostRow = (entry: SessionEntry): TreeRow => ({
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
})
