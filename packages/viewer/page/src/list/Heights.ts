/**
 * Heights of many rows, most of them guessed: where a row begins, which row stands at a place, and how high all are, each
 * in the logarithm of their number (a Fenwick tree).
 */
export class Heights {
  readonly count: number
  readonly #heights: Float64Array
  readonly #sums: Float64Array
  readonly #top: number

  constructor(count: number, guess: number) {
    this.count = count
    this.#heights = new Float64Array(count).fill(guess)
    this.#sums = new Float64Array(count + 1)
    // A node holds the sum of as many rows as the lowest bit of its number says.
    for (let at = 1; at <= count; at++) this.#sums[at] = guess * (at & -at)
    this.#top = count === 0 ? 0 : 2 ** Math.floor(Math.log2(count))
  }

  get total(): number {
    return this.before(this.count)
  }

  /** The height of all rows before one. */
  before(row: number): number {
    let sum = 0
    for (let at = Math.min(row, this.count); at > 0; at -= at & -at) sum += this.#sums[at] ?? 0
    return sum
  }

  of(row: number): number {
    return this.#heights[row] ?? 0
  }

  /** Sets a row's height, and returns by how much it grew. */
  set(row: number, height: number): number {
    const grown = height - this.of(row)
    if (grown === 0 || row < 0 || row >= this.count) return 0
    this.#heights[row] = height
    for (let at = row + 1; at <= this.count; at += at & -at) this.#sums[at] = (this.#sums[at] ?? 0) + grown
    return grown
  }

  /** The row at a place from the top; the last one below all of them. */
  at(place: number): number {
    let row = 0
    let left = place
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
