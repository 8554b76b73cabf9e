/**
 * From which entry on the results that a compaction keeps have their calls.
 *
 * A session may have as many compactions as entries, each keeping most of what is before it. Every entry therefore has a
 * pointer far up its branch, with the topmost call of the results on the way: a question takes a logarithmic number of
 * steps for each pair that lies across, not a walk along the branch.
 */
import { type Forest, ROOT } from "./Forest.ts"
import { NO_CALL, type ToolLinks } from "./ToolLinks.ts"

/** Deeper than any entry. */
const NONE = 0x7fffffff

interface Pointers {
  readonly depth: Int32Array
  /** An ancestor; a root's is the root itself. */
  readonly far: Int32Array
  /** Least depth of the call that an entry answers; `NONE` without one. */
  readonly own: Int32Array
  /** The least `own` from an entry up to `far`, without `far`. */
  readonly least: Int32Array
}

export class KeptPairs {
  readonly forest: Forest
  readonly #links: ToolLinks
  #pointers: Pointers | undefined
  /** Steps taken, for tests of the cost. */
  steps = 0

  constructor(forest: Forest, links: ToolLinks) {
    this.forest = forest
    this.#links = links
  }

  /** `first` itself, or the call above it that a result between the two answers, as far up as that leads. */
  wholeFrom(first: number, below: number): number {
    const { depth } = (this.#pointers ??= this.#made())
    const parent = this.forest.parents[below]!
    let from = first
    let [, topmost] = this.#climb(parent, depth[first]!)
    while (topmost < depth[from]!) [from, topmost] = this.#climb(from, topmost)
    return from
  }

  /** Goes up to a depth: the entry there, and the least `own` on the way, both ends included. */
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
      // Lengths as in skew binary numbers: each pointer is as long as the two before it together, plus one.
      const gap = depth[parent]! - depth[beyond]!
      const joins = gap === depth[beyond]! - depth[far[beyond]!]!
      far[at] = joins ? far[beyond]! : parent
      least[at] = joins ? Math.min(own[at]!, least[parent]!, least[beyond]!) : own[at]!
    }
    return pointers
  }
}
