/** What a power cut can make of one unfinished operation. */
import type { SeededRandom } from "../../SeededRandom.ts"
import type { ContentOperation, EntryOperation, WriteOperation } from "./diskOperation.ts"
import * as fileContent from "./fileContent.ts"

/** The part of a write that is there, and how long the file is at least; all of it for other operations. */
export interface Outcome {
  readonly from: number
  readonly to: number
  readonly length: number
  readonly text: string
}

/** An operation that may be missing, and all that may become of it; the first two outcomes are lost and done. */
export interface Undecided {
  readonly sequence: number
  readonly label: string
  readonly outcomes: ReadonlyArray<Outcome>
  /** The file whose content it changes. */
  readonly inode?: number
  readonly content?: ContentOperation
  readonly entry?: EntryOperation
}

const lost: Outcome = { from: 0, to: 0, length: 0, text: "not done" }
/** All of an operation, however long it is. */
export const done: Outcome = { from: 0, to: Infinity, length: 0, text: "done" }

// More cuts in one write find nothing new: the first and last sectors, and some between.
const cutsAtMost = 8

const sectorCuts = ({ offset, bytes }: WriteOperation, sector: number, random: SeededRandom): ReadonlyArray<number> => {
  const first = sector - (offset % sector)
  const count = bytes.length <= first ? 0 : Math.ceil((bytes.length - first) / sector)
  if (count <= cutsAtMost) return Array.from({ length: count }, (_, index) => first + index * sector)
  const chosen = new Set([0, 1, count - 2, count - 1])
  while (chosen.size < cutsAtMost) chosen.add(random.int(count))
  return [...chosen].sort((a, b) => a - b).map((index) => first + index * sector)
}

const byteCuts = (length: number, count: number, random: SeededRandom): ReadonlyArray<number> => {
  if (length <= count + 3) return Array.from({ length: length - 1 }, (_, index) => index + 1)
  return [1, length >> 1, length - 1, ...Array.from({ length: count }, () => 1 + random.int(length - 1))]
}

/** The outcomes of a write: lost, done, cut off, only its end there, and longer but with zeros in place of bytes. */
const ofWrite = (
  operation: WriteOperation,
  isLast: boolean,
  options: { readonly sectorBytes: number; readonly byteCuts: number },
  random: SeededRandom
): ReadonlyArray<Outcome> => {
  const { offset, bytes, lengthBefore } = operation
  const { length } = bytes
  const end = offset + length
  const sectors = sectorCuts(operation, options.sectorBytes, random)
  const cuts = new Set([...sectors, ...(isLast ? byteCuts(length, options.byteCuts, random) : [])])
  const extends_ = end > lengthBefore
  const outcomes = [lost, done]
  for (const cut of cuts) {
    outcomes.push({ from: 0, to: cut, length: 0, text: `torn at ${cut} of ${length}` })
    if (!extends_) continue
    outcomes.push({ from: 0, to: cut, length: end, text: `torn at ${cut} of ${length}, with zeros after it` })
  }
  if (extends_) outcomes.push({ from: 0, to: 0, length: end, text: `zeros in place of its ${length} bytes` })
  for (const cut of new Set([sectors[0], sectors.at(-1)])) {
    if (cut !== undefined) outcomes.push({ from: cut, to: length, length: end, text: `only there from ${cut} on` })
  }
  return outcomes
}

/** The outcomes of an operation on content; `isLast` allows cuts at any byte. */
export const ofContent = (
  operation: ContentOperation,
  isLast: boolean,
  options: { readonly sectorBytes: number; readonly byteCuts: number },
  random: SeededRandom
): ReadonlyArray<Outcome> => (operation.kind === "write" ? ofWrite(operation, isLast, options, random) : [lost, done])

/** The outcomes of an operation on names: all or nothing. */
export const ofEntry: ReadonlyArray<Outcome> = [lost, done]

/** The content with what an outcome left of the operation. */
export const apply = (
  content: fileContent.FileContent,
  operation: ContentOperation,
  outcome: Outcome
): fileContent.FileContent => {
  if (outcome.text === lost.text) return content
  if (operation.kind === "truncate") return fileContent.truncate(content, operation.length)
  const { from, to, length } = outcome
  const longer = length > content.length ? fileContent.truncate(content, length) : content
  return to > from ? fileContent.write(longer, operation.offset + from, operation.bytes.subarray(from, to)) : longer
}
