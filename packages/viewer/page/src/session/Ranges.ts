/** The entries of a branch by place, without a list of all entries. */
import type * as ViewModel from "../../../src/ViewModel.ts"

/** Ranges as in EntryRanges.ts, ascending. */
export class Ranges {
  readonly count: number
  readonly #firsts: ReadonlyArray<number>
  /** Number of entries before each range. */
  readonly #before: ReadonlyArray<number>

  constructor(ranges: ViewModel.Ranges) {
    const firsts: Array<number> = []
    const before: Array<number> = []
    let count = 0
    for (let at = 0; at + 1 < ranges.length; at += 2) {
      firsts.push(ranges[at] ?? 0)
      before.push(count)
      count += ranges[at + 1] ?? 0
    }
    this.#firsts = firsts
    this.#before = before
    this.count = count
  }

  /** The entry at a place. */
  at(place: number): number | undefined {
    if (place < 0 || place >= this.count) return undefined
    const range = last(this.#before, place)
    return (this.#firsts[range] ?? 0) + place - (this.#before[range] ?? 0)
  }

  /** The place of an entry, else of the nearest entry before it; -1 if there is none. */
  placeOf(entry: number): number {
    const range = last(this.#firsts, entry)
    if (range < 0) return -1
    const size = (this.#before[range + 1] ?? this.count) - (this.#before[range] ?? 0)
    return (this.#before[range] ?? 0) + Math.min(entry - (this.#firsts[range] ?? 0), size - 1)
  }
}

/** Index of the last of ascending numbers that is at most `than`; -1 if there is none. */
const last = (numbers: ReadonlyArray<number>, than: number): number => {
  let low = 0
  let high = numbers.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((numbers[middle] ?? 0) <= than) low = middle + 1
    else high = middle
  }
  return low - 1
}
