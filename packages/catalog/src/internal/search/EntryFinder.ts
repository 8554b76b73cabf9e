/**
 * Finds the entries that may match, in pieces of a file. Only lines with the needle are parsed. The parser is
 * SessionReader, so entries that it recovers from damaged lines are searched too.
 */
import { SessionEntry, type SessionLine } from "@pi-sessions/core/SessionLine"
import { SessionReader } from "@pi-sessions/core/SessionReader"
import { type Needle, mayMatch } from "./needle.ts"
import type { ScanMemory } from "./byteScan.ts"
import { NEWLINE, type Piece } from "./wholeLines.ts"

/** Receives an entry, whose bytes are valid during the call only, and its offset in the file. */
export type OnEntry = (entry: SessionEntry, byteOffset: number) => void

export class EntryFinder {
  /** Every matching line contains all of them. The first is searched for, the others are checked. */
  readonly #needles: ReadonlyArray<Needle>
  readonly #onEntry: OnEntry
  readonly #reader = new SessionReader()
  /** Bytes given to the reader. */
  #read = 0

  constructor(needles: ReadonlyArray<Needle>, onEntry: OnEntry) {
    this.#needles = needles
    this.#onEntry = onEntry
  }

  /** Searches the next piece of the file. */
  push(piece: Piece): void {
    const [needle, ...others] = this.#needles
    if (needle === undefined) this.#readLines(piece, 0, piece.end)
    else this.#find(needle, others, piece)
  }

  #find(needle: Needle, others: ReadonlyArray<Needle>, piece: Piece): void {
    const { end, memory } = piece
    const { bytes } = memory
    for (let at = memory.find(needle.pair, 0, end); at < end; at = memory.find(needle.pair, at, end)) {
      if (!mayMatch(needle, bytes, at)) {
        at++
        continue
      }
      const start = at === 0 ? 0 : bytes.lastIndexOf(NEWLINE, at - 1) + 1
      const newline = bytes.indexOf(NEWLINE, at)
      at = newline < 0 || newline >= end ? end : newline + 1
      if (others.every((other) => holds(other, memory, start, at))) this.#readLines(piece, start, at)
    }
  }

  /** Parses whole lines of a piece. */
  #readLines({ end, fileOffset, memory: { bytes } }: Piece, from: number, to: number): void {
    this.#push(bytes.subarray(from, to), fileOffset + from)
    if (to === end && bytes[to - 1] !== NEWLINE)
      this.#take(this.#reader.end(), fileOffset + from - this.#read + to - from)
  }

  #push(bytes: Uint8Array, fileOffset: number): void {
    const moved = fileOffset - this.#read
    this.#read += bytes.length
    this.#take(this.#reader.push(bytes), moved)
  }

  #take(lines: ReadonlyArray<SessionLine>, moved: number): void {
    for (const line of lines) if (line instanceof SessionEntry) this.#onEntry(line, line.byteOffset + moved)
  }
}

const holds = (needle: Needle, memory: ScanMemory, start: number, end: number): boolean => {
  for (let at = memory.find(needle.pair, start, end); at < end; at = memory.find(needle.pair, at + 1, end)) {
    if (mayMatch(needle, memory.bytes, at)) return true
  }
  return false
}
