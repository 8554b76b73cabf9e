/** Parents and ancestors of entries, by index in the file. Each question takes constant time. */
import { type SessionTree } from "@pi-sessions/core/SessionTree"

/** Index in `parents` of an entry without a parent. */
export const ROOT = -1

/** The parent of each entry of a tree, by index. Cycles are cut where the tree cuts them. */
export const parentsOf = (tree: SessionTree): Int32Array => {
  const entries = tree.getEntries()
  const indexById = new Map<string, number>()
  for (const [index, { id }] of entries.entries()) if (id !== null) indexById.set(id, index)
  const parents = new Int32Array(entries.length).fill(ROOT)
  for (const [index, { parentId }] of entries.entries()) {
    if (parentId !== null && parentId !== "") parents[index] = indexById.get(parentId) ?? ROOT
  }
  for (const { code, entryId } of tree.diagnostics) {
    const index = code === "cycle" && entryId !== undefined ? indexById.get(entryId) : undefined
    if (index !== undefined) parents[index] = ROOT
  }
  return parents
}

export class Forest {
  readonly parents: Int32Array
  /** The times at which a depth-first walk enters and leaves each entry. */
  readonly #entered: Int32Array
  readonly #left: Int32Array

  /** `parents` must not contain cycles. */
  constructor(parents: Int32Array) {
    const count = parents.length
    this.parents = parents
    this.#entered = new Int32Array(count)
    this.#left = new Int32Array(count)
    const firstChild = new Int32Array(count).fill(ROOT)
    const nextSibling = new Int32Array(count).fill(ROOT)
    for (let index = count - 1; index >= 0; index--) {
      const parent = parents[index]!
      if (parent === ROOT) continue
      nextSibling[index] = firstChild[parent]!
      firstChild[parent] = index
    }
    let time = 0
    for (let root = 0; root < count; root++) {
      if (parents[root] !== ROOT) continue
      for (let index = root; index !== ROOT;) {
        this.#entered[index] = time++
        if (firstChild[index] !== ROOT) {
          index = firstChild[index]!
          continue
        }
        // Go up to the next sibling.
        for (;;) {
          this.#left[index] = time
          if (index === root || nextSibling[index] !== ROOT) break
          index = parents[index]!
        }
        index = index === root ? ROOT : nextSibling[index]!
      }
    }
  }

  /** An entry is not its own ancestor. */
  isAncestor(ancestor: number, of: number): boolean {
    return (
      ancestor !== of && this.#entered[ancestor]! <= this.#entered[of]! && this.#entered[of]! < this.#left[ancestor]!
    )
  }

  hasChildren(index: number): boolean {
    return this.#left[index]! > this.#entered[index]! + 1
  }

  /** All indexes in depth-first order: each is followed by its descendants. */
  downwards(): Int32Array {
    const order = new Int32Array(this.parents.length)
    for (let index = 0; index < order.length; index++) order[this.#entered[index]!] = index
    return order
  }

  /** The indexes from an entry up to its root. */
  *up(from: number): Generator<number> {
    for (let index = from; index !== ROOT; index = this.parents[index]!) yield index
  }
}
