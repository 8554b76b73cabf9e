/** The minimum of any range of a list of numbers. Reads and writes take logarithmic time (a segment tree). */
export class RangeMinimum {
  readonly #size: number
  /** The elements, from `#size` on; before them, the minimum of each node's two children. */
  readonly #nodes: Float64Array

  /** All elements are Infinity at first. */
  constructor(size: number) {
    this.#size = size
    this.#nodes = new Float64Array(2 * size).fill(Infinity)
  }

  set(at: number, value: number): void {
    const nodes = this.#nodes
    let node = at + this.#size
    nodes[node] = value
    for (node >>= 1; node >= 1; node >>= 1) nodes[node] = Math.min(nodes[2 * node]!, nodes[2 * node + 1]!)
  }

  /** The minimum from `from` to before `to`; Infinity if there is no element. */
  of(from: number, to: number): number {
    let least = Infinity
    for (let [left, right] = [from + this.#size, to + this.#size]; left < right; left >>= 1, right >>= 1) {
      if (left % 2 === 1) least = Math.min(least, this.#nodes[left++]!)
      if (right % 2 === 1) least = Math.min(least, this.#nodes[--right]!)
    }
    return least
  }
}
