/**
 * Searches a text for many literals in one pass. The cost hardly depends on the number of literals.
 *
 * The scan keeps a rolling hash of the last four characters and looks it up in a table of 64 K. The table has the rarest
 * four characters of each literal. Each hit is compared with the text. The text is read from a byte buffer, several times
 * faster than from the string; characters above 255 lose their high byte there, which the comparison corrects.
 */
import { Buffer } from "node:buffer"

export interface Literal {
  /** At least three characters; lower case unless `caseSensitive`. */
  readonly text: string
  /** Default: false. */
  readonly caseSensitive?: boolean
}

interface Window {
  readonly index: number
  readonly text: string
  readonly caseSensitive: boolean
  /** Offset of the window's last character in the literal. */
  readonly end: number
}

const WINDOW = 4
const CHUNK = 1 << 16
/** Shorter texts are read from the string, because filling the buffer costs more than it saves. */
const SHORT = 48

/** Lower case of each byte, multiplied so that the hash uses all bits. */
const FOLDED = Uint8Array.from({ length: 256 }, (_, byte) => (byte >= 65 && byte <= 90 ? byte + 32 : byte) * 37)

const COMMON = " etaoinsrhldcumfpgwy_-bv./:"
const rarity = (character: string): number => {
  const rank = COMMON.indexOf(character.toLowerCase())
  return rank < 0 ? COMMON.length : rank
}

/** The offset of the rarest window of a literal. */
const rarest = (text: string): number => {
  let best = 0
  let bestScore = -1
  for (let start = 0; start + WINDOW <= text.length; start++) {
    let score = 0
    for (let i = start; i < start + WINDOW; i++) score += rarity(text.charAt(i))
    if (score > bestScore) [best, bestScore] = [start, score]
  }
  return best
}

const step = (hash: number, code: number): number => ((hash << 4) ^ FOLDED[code & 255]!) & 0xffff

const fold = (code: number): number => (code >= 65 && code <= 90 ? code + 32 : code)

const matchesAt = (text: string, start: number, { caseSensitive, text: literal }: Window): boolean => {
  if (start < 0 || start + literal.length > text.length) return false
  if (caseSensitive) return text.startsWith(literal, start)
  for (let i = 0; i < literal.length; i++) {
    if (fold(text.charCodeAt(start + i)) !== literal.charCodeAt(i)) return false
  }
  return true
}

/**
 * Returns the next offset from `from` on where a window may end, or `end`. The loop makes no calls, which makes it twice
 * as fast.
 */
const nextPlace = (flags: Uint8Array, bytes: Uint8Array, from: number, end: number): number => {
  let hash = 0
  for (let i = Math.max(0, from - WINDOW + 1); i < from; i++) hash = (hash << 4) ^ FOLDED[bytes[i]!]!
  for (let i = from; i < end; i++) {
    hash = ((hash << 4) ^ FOLDED[bytes[i]!]!) & 0xffff
    if (flags[hash] !== 0) return i
  }
  return end
}

/** As `nextPlace`, but reads the string. */
const nextPlaceIn = (flags: Uint8Array, text: string, from: number): number => {
  let hash = 0
  for (let i = Math.max(0, from - WINDOW + 1); i < from; i++) hash = step(hash, text.charCodeAt(i))
  for (let i = from; i < text.length; i++) {
    hash = step(hash, text.charCodeAt(i))
    if (flags[hash] !== 0) return i
  }
  return text.length
}

export class LiteralScan {
  /** By hash: 1 if a window has it. */
  readonly #flags = new Uint8Array(1 << 16)
  /** By hash: index in `#buckets`; 0 if none. */
  readonly #bucketOf = new Uint16Array(1 << 16)
  readonly #buckets: Array<Array<Window>> = [[]]
  readonly #bytes = Buffer.allocUnsafeSlow(CHUNK)

  constructor(literals: ReadonlyArray<Literal>) {
    for (const [index, { caseSensitive = false, text }] of literals.entries()) {
      const isShort = text.length < WINDOW
      const start = isShort ? -1 : rarest(text)
      const window: Window = { index, text, caseSensitive, end: start + WINDOW - 1 }
      // A literal of three characters needs a fourth, any one. Only four of its bits remain in the hash.
      for (let before = 0; before < (isShort ? 16 : 1); before++) {
        let hash = isShort ? before : 0
        for (let i = Math.max(start, 0); i <= window.end; i++) hash = step(hash, text.charCodeAt(i))
        this.#flags[hash] = 1
        const bucket = this.#bucketOf[hash]! || this.#buckets.push([]) - 1
        this.#bucketOf[hash] = bucket
        this.#buckets[bucket]?.push(window)
      }
    }
  }

  /** Calls `found` with the index and the start of each occurrence. */
  scan(text: string, found: (literal: number, start: number) => void): void {
    const { length } = text
    const flags = this.#flags
    if (length < SHORT) {
      for (let at = nextPlaceIn(flags, text, 0); at < length; at = nextPlaceIn(flags, text, at + 1)) {
        this.#compare(text, at, found)
      }
      return
    }
    const bytes = this.#bytes
    // Chunks overlap, so that each window is whole in one of them.
    for (let from = 0; from < length; from += CHUNK - WINDOW + 1) {
      const end = Math.min(CHUNK, length - from)
      bytes.write(end === length ? text : text.slice(from, from + end), 0, "latin1")
      const first = from === 0 ? 0 : WINDOW - 1
      for (let at = nextPlace(flags, bytes, first, end); at < end; at = nextPlace(flags, bytes, at + 1, end)) {
        this.#compare(text, from + at, found)
      }
    }
  }

  #compare(text: string, last: number, found: (literal: number, start: number) => void): void {
    let hash = 0
    for (let i = Math.max(0, last - WINDOW + 1); i <= last; i++) hash = step(hash, text.charCodeAt(i))
    const bucket = this.#buckets[this.#bucketOf[hash]!]!
    for (let i = 0; i < bucket.length; i++) {
      const window = bucket[i]!
      const start = last - window.end
      if (matchesAt(text, start, window)) found(window.index, start)
    }
  }
}
