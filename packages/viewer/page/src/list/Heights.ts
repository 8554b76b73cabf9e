/**
 * Heights of rows in pixels, most of them guessed, as a Fenwick tree: the top of a row, the row at an offset, and a new
 * height each take logarithmic time.
 */
export class Heights {
  readonly count: number
  readonly #heights: Float64Array
  readonly #sums: Float64Array
  /** The largest power of two up to `count`. */
  readonly #top: number

  constructor(count: number, guess: number) {
    this.count = count
    this.#heights = new Float64Array(count).fill(guess)
    this.#sums = new Float64Array(count + 1)
    // Node `at` has the sum of the last `at & -at` rows up to `at`.
    for (let at = 1; at <= count; at++) this.#sums[at] = guess * (at & -at)
    this.#top = count === 0 ? 0 : 2 ** Math.floor(Math.log2(count))
  }

  get total(): number {
    return this.before(this.count)
  }

  /** The height of all rows before `row`. */
  before(row: number): number {
    let sum = 0
    for (let at = Math.min(row, this.count); at > 0; at -= at & -at) sum += this.#sums[at] ?? 0
    return sum
  }

  of(row: number): number {
    return this.#heights[row] ?? 0
  }

  /** Sets a row's height; returns the change. */
  set(row: number, height: number): number {
    const grown = height - this.of(row)
    if (grown === 0 || row < 0 || row >= this.count) return 0
    this.#heights[row] = height
    for (let at = row + 1; at <= this.count; at += at & -at) this.#sums[at] = (this.#sums[at] ?? 0) + grown
    return grown
  }

  /** The row at an offset from the top; the last row if the offset is below all rows. */
  at(offset: number): number {
    let row = 0
    let left = offset
    for (let step = this.#top; step > 0; step >>= 1) {
      const sum = this.#sums[row + step] ?? Number.POSITIVE_INFINITY
      if (row + step <= this.count && sum <= left) {
        row += step
        left -= sum
      }
    }
    return Math.max(0, Math.min(row, this.count - 1))
  }
}
