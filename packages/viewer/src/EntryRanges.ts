/** Indexes of entries as ranges, in answers and in URLs. The page uses this module too. */
import type * as ViewModel from "./ViewModel.ts"

/** Ranges of ascending indexes. */
export const of = (indexes: Iterable<number>): ViewModel.Ranges => {
  const ranges: Array<number> = []
  let next = -1
  for (const index of indexes) {
    if (index === next) ranges[ranges.length - 1] = (ranges.at(-1) ?? 0) + 1
    else ranges.push(index, 1)
    next = index + 1
  }
  return ranges
}

/** Bounds the work on ranges from a request: no session has so many entries. */
const MOST_COUNT = 10_000_000

export function* indexes(ranges: ViewModel.Ranges): Generator<number> {
  for (let at = 0; at + 1 < ranges.length; at += 2) {
    const first = ranges[at] ?? 0
    const count = Math.min(ranges[at + 1] ?? 0, MOST_COUNT)
    for (let index = first; index < first + count; index++) yield index
  }
}

/** `first-count,first-count` */
export const toText = (ranges: ViewModel.Ranges): string =>
  ranges.map((number, at) => (at % 2 === 0 ? `${at === 0 ? "" : ","}${number}` : `-${number}`)).join("")

/** The inverse of `toText`. */
export const fromText = (text: string): ViewModel.Ranges =>
  text
    .split(/[-,]/u)
    .filter((number) => number !== "")
    .map(Number)
