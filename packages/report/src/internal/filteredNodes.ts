/** The nodes of a tree without some of its entries. */
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import { type SessionTree, type TreeNode } from "@pi-sessions/core/SessionTree"

/** A node whose children are still being added. */
interface OpenNode extends TreeNode {
  children: Array<TreeNode>
}

/** Shared by all nodes without children: most nodes get one child at most, and empty arrays would use memory. */
const NO_CHILDREN: Array<TreeNode> = []

/** The roots of the tree of admitted entries; children of others move up to the nearest admitted ancestor. */
export const filteredNodes = (tree: SessionTree, admits: (entry: SessionEntry) => boolean): ReadonlyArray<TreeNode> => {
  const labels = tree.labels()
  const roots: Array<TreeNode> = []
  const order = [...tree.roots()]
  /** For each entry of `order` the nearest admitted ancestor. */
  const ancestors: Array<OpenNode | undefined> = order.map(() => undefined)
  for (let at = 0; at < order.length; at++) {
    const entry = order[at]
    if (entry === undefined) continue
    let ancestor = ancestors[at]
    if (admits(entry)) {
      const label = entry.id === null ? undefined : labels.get(entry.id)
      const node: OpenNode = { entry, children: NO_CHILDREN, label: label?.label, labelTimestamp: label?.timestamp }
      if (ancestor === undefined) roots.push(node)
      else if (ancestor.children === NO_CHILDREN) ancestor.children = [node]
      else ancestor.children.push(node)
      ancestor = node
    }
    for (const child of entry.id === null ? [] : inOrderOfTime(tree.children(entry.id))) {
      order.push(child)
      ancestors.push(ancestor)
    }
  }
  return roots
}

/** Pi's order of children. */
const inOrderOfTime = (entries: ReadonlyArray<SessionEntry>): ReadonlyArray<SessionEntry> => {
  if (entries.length < 2) return entries
  const time = new Map(entries.map((entry) => [entry, Date.parse(entry.timestamp ?? "")]))
  return entries.toSorted((a, b) => (time.get(a) ?? Number.NaN) - (time.get(b) ?? Number.NaN))
}
