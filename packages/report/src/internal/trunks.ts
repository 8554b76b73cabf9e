/** Chooses the child that continues a branch in a drawing: the one towards the active leaf, else the largest subtree. */
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import { type TreeNode } from "@pi-sessions/core/SessionTree"

export interface Trunks {
  /** The child that continues the branch; undefined at its end. */
  readonly next: (node: TreeNode) => TreeNode | undefined
  /** Whether the node is on the active branch. */
  readonly isActive: (node: TreeNode) => boolean
}

/** Iterative, because a branch can be as long as the session. */
export const trunksOf = (roots: ReadonlyArray<TreeNode>, leaf: SessionEntry | undefined): Trunks => {
  const order: Array<TreeNode> = [...roots]
  /** Index in `order` of each node's parent; -1 for roots. */
  const parents: Array<number> = roots.map(() => -1)
  let leafAt = -1
  for (let at = 0; at < order.length; at++) {
    const node = order[at]
    if (leafAt < 0 && leaf !== undefined && node?.entry === leaf) leafAt = at
    for (const child of node?.children ?? []) {
      order.push(child)
      parents.push(at)
    }
  }
  const active = new Set<TreeNode>()
  for (let at = leafAt; at >= 0; at = parents[at] ?? -1) {
    const node = order[at]
    if (node !== undefined) active.add(node)
  }
  const sizes = new Int32Array(order.length).fill(1)
  /** For nodes with several children. */
  const best = new Map<TreeNode, { readonly child: TreeNode; readonly size: number }>()
  // Backwards: children come after their parents in `order`, so a subtree's size is complete before its parent's.
  for (let at = order.length - 1; at >= 0; at--) {
    const child = order[at]
    const parentAt = parents[at] ?? -1
    const parent = order[parentAt]
    if (child === undefined || parent === undefined) continue
    const size = sizes[at] ?? 1
    sizes[parentAt] = (sizes[parentAt] ?? 1) + size
    if (parent.children.length < 2) continue
    const known = best.get(parent)
    if (known === undefined || isNoWorse(child, size, known)) best.set(parent, { child, size })
  }
  /** Among equals the first child wins; it is visited last. */
  function isNoWorse(
    child: TreeNode,
    size: number,
    than: { readonly child: TreeNode; readonly size: number }
  ): boolean {
    if (active.has(child) !== active.has(than.child)) return active.has(child)
    return size >= than.size
  }
  return {
    next: (node) => best.get(node)?.child ?? node.children[0],
    isActive: (node) => active.has(node)
  }
}
