/** Which child a branch goes straight on with: the one towards the active leaf, else the one with most entries. */
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import { type TreeNode } from "@pi-sessions/core/SessionTree"

export interface Trunks {
  /** The child that goes straight on; undefined at the end of a branch. */
  readonly next: (node: TreeNode) => TreeNode | undefined
  /** Whether the node is on the way from its root to the active leaf. */
  readonly isActive: (node: TreeNode) => boolean
}

/** No recursion: a session may be as deep as it is long. */
export const trunksOf = (roots: ReadonlyArray<TreeNode>, leaf: SessionEntry | undefined): Trunks => {
  const order: Array<TreeNode> = [...roots]
  /** Where the parent of each stands in `order`; -1 for roots. */
  const parents: Array<number> = roots.map(() => -1)
  let towards = -1
  for (let at = 0; at < order.length; at++) {
    const node = order[at]
    if (towards < 0 && leaf !== undefined && node?.entry === leaf) towards = at
    for (const child of node?.children ?? []) {
      order.push(child)
      parents.push(at)
    }
  }
  const active = new Set<TreeNode>()
  for (let at = towards; at >= 0; at = parents[at] ?? -1) {
    const node = order[at]
    if (node !== undefined) active.add(node)
  }
  const sizes = new Int32Array(order.length).fill(1)
  /** Of nodes with several children; what has one goes on with that. */
  const best = new Map<TreeNode, { readonly child: TreeNode; readonly size: number }>()
  // Children stand after their parents, and the last of them comes first here.
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
  /** Of equal ones the first counts, which comes last. */
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
