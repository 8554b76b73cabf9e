/** Which child a branch goes straight on with: the one towards the active leaf, else the one with most entries. */
import { type TreeNode } from "@pi-sessions/core/SessionTree"

export interface Trunks {
  /** The child that goes straight on; undefined at the end of a branch. */
  readonly next: (node: TreeNode) => TreeNode | undefined
  /** Whether the node is on the way from its root to the active leaf. */
  readonly isActive: (node: TreeNode) => boolean
}

/** No recursion: a session may be as deep as it is long. */
export const trunksOf = (roots: ReadonlyArray<TreeNode>, leafId: string | null): Trunks => {
  const order: Array<TreeNode> = [...roots]
  const parents = new Map<TreeNode, TreeNode>()
  for (let at = 0; at < order.length; at++) {
    const node = order[at]
    for (const child of node?.children ?? []) {
      if (node !== undefined) parents.set(child, node)
      order.push(child)
    }
  }
  const active = new Set<TreeNode>()
  let towards = leafId === null ? undefined : order.find(({ entry }) => entry.id === leafId)
  for (; towards !== undefined; towards = parents.get(towards)) active.add(towards)

  const sizes = new Map<TreeNode, number>()
  const next = new Map<TreeNode, TreeNode>()
  for (const node of order.toReversed()) {
    let size = 1
    let trunk: TreeNode | undefined
    for (const child of node.children) {
      size += sizes.get(child) ?? 0
      if (trunk === undefined || isBetter(child, trunk)) trunk = child
    }
    sizes.set(node, size)
    if (trunk !== undefined) next.set(node, trunk)
  }
  function isBetter(child: TreeNode, than: TreeNode): boolean {
    if (active.has(child) !== active.has(than)) return active.has(child)
    return (sizes.get(child) ?? 0) > (sizes.get(than) ?? 0)
  }
  return { next: (node) => next.get(node), isActive: (node) => active.has(node) }
}
