/**
 * Finds the first entry that a compaction must keep so that all kept results have their calls.
 *
 * A session may have as many compactions as entries, each keeping most of the entries before it. Every entry therefore
 * has a skip pointer up its branch, with the topmost call on the way: a query takes O(log n) steps per pair that
 * crosses the boundary, instead of a walk along the branch.
 */
import { type Forest, ROOT } from "./Forest.ts"
import { NO_CALL, type ToolLinks } from "./ToolLinks.ts"

/** Greater than any depth. */
const NONE = 0x7fffffff

interface Pointers {
  readonly depth: Int32Array
  /** A far ancestor; a root points to itself. */
  readonly far: Int32Array
  /** Depth of the call that an entry answers; `NONE` without one. */
  readonly own: Int32Array
  /** The least `own` from an entry up to `far`, exclusive. */
  readonly least: Int32Array
}

export class KeptPairs {
  readonly forest: Forest
  readonly #links: ToolLinks
  #pointers: Pointers | undefined
  /** Steps so far, for tests. */
  steps = 0

  constructor(forest: Forest, links: ToolLinks) {
    this.forest = forest
    this.#links = links
  }

  /** The first entry to keep: `first`, or a call above it that a result before `below` answers, transitively. */
  wholeFrom(first: number, below: number): number {
    const { depth } = (this.#pointers ??= this.#made())
    const parent = this.forest.parents[below]!
    let from = first
    let [, topmost] = this.#climb(parent, depth[first]!)
    while (topmost < depth[from]!) [from, topmost] = this.#climb(from, topmost)
    return from
  }

  /** Goes up to a depth. Returns the entry there, and the least `own` on the way, inclusive. */
  #climb(start: number, to: number): readonly [at: number, least: number] {
    const { depth, far, least, own } = (this.#pointers ??= this.#made())
    let at = start
    let found = NONE
    while (depth[at]! > to) {
      this.steps++
      const isFar = depth[far[at]!]! >= to
      found = Math.min(found, isFar ? least[at]! : own[at]!)
      at = isFar ? far[at]! : this.forest.parents[at]!
    }
    return [at, Math.min(found, own[at]!)]
  }

  #made(): Pointers {
    const { parents } = this.forest
    const made = (): Int32Array => new Int32Array(parents.length)
    const pointers = { depth: made(), far: made(), own: made(), least: made() }
    const { depth, far, least, own } = pointers
    for (const at of this.forest.downwards()) {
      const parent = parents[at]!
      const call = this.#links.callOf[at]!
      own[at] = call === NO_CALL || this.#links.orphans.has(at) ? NONE : depth[call]!
      if (parent === ROOT) {
        far[at] = at
        least[at] = NONE
        continue
      }
      depth[at] = depth[parent]! + 1
      const beyond = far[parent]!
      // Skew binary lengths: a pointer is as long as the two before it together, plus one.
      const gap = depth[parent]! - depth[beyond]!
      const joins = gap === depth[beyond]! - depth[far[beyond]!]!
      far[at] = joins ? far[beyond]! : parent
      least[at] = joins ? Math.min(own[at]!, least[parent]!, least[beyond]!) : own[at]!
    }
    return pointers
  }
}
