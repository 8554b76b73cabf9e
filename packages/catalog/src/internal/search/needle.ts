/**
 * From the text that must stand in every match to the bytes to look for in JSON lines.
 *
 * A line is looked at closer when it holds two of the text's bytes at their distance, or a JSON escape of one of the
 * characters from the one to the other: no match can be without either. What surrounds the two bytes is then compared as
 * far as it must be spelt in one way.
 */
import { type BytePair, DISTANCE_MAX } from "./byteScan.ts"

export interface Needle {
  readonly pair: BytePair
  /** Bytes around the pair, with the bits of `masks` set. */
  readonly run: Uint8Array
  /** 0x20 for letters in either case. */
  readonly masks: Uint8Array
  /** 1 where the character may also stand there as one that is longer than a byte. */
  readonly others: Uint8Array
  /** The pair's first byte in `run`. */
  readonly at: number
  /** UTF-16 code units whose escapes may hide the pair. */
  readonly units: ReadonlySet<number>
}

/** From the most common byte of sessions in JSON on; what is not here is rarer. */
const COMMON = ' etaoinsr"ldcu,:mhpf01234567890gy{}[]._-/wbvk()=>;xjqzTSCEAIPRMNDFOLBUGWHVKXYJQZ'
const RANKS = Uint8Array.from({ length: 256 }, (_, byte) => {
  const rank = COMMON.indexOf(String.fromCharCode(byte))
  // Lead and inner bytes of UTF-8 are common together, in languages that need them.
  return rank >= 0 ? rank : byte >= 0x80 ? 40 : COMMON.length
})

/** Beyond it no script has cases. */
const CASED_BELOW = 0x1f000
let cased: string | undefined
const caseless = new Map<string, boolean>()

/** Whether a regular expression with the flags `i` and `u` takes nothing else for the character, which is not ASCII. */
const isCaseless = (character: string): boolean => {
  const known = caseless.get(character)
  if (known !== undefined) return known
  if (cased === undefined) {
    cased = ""
    for (let code = 0; code < CASED_BELOW; code++) {
      if (code === 0xd800) code = 0xe000
      cased += String.fromCodePoint(code)
    }
  }
  const found = [...cased.matchAll(new RegExp(character, "giu"))].length <= 1
  caseless.set(character, found)
  return found
}

/** How a character may be spelt without a JSON escape. */
type Spelling = "one" | "cases" | "cases-and-longer" | "many"

const spellingOf = (character: string, ignoreCase: boolean): Spelling => {
  // JSON must escape these, and U+FFFD stands for any bytes that are no UTF-8.
  if (character < " " || character === '"' || character === "\\" || /[\ud800-\udfff\ufffd]/u.test(character))
    return "many"
  if (!ignoreCase) return "one"
  if (character >= "\u0080") return isCaseless(character) ? "one" : "many"
  if (!/[a-z]/i.test(character)) return "one"
  // The Kelvin sign and the long s.
  return /[ks]/i.test(character) ? "cases-and-longer" : "cases"
}

interface RunBytes {
  readonly bytes: Array<number>
  readonly masks: Array<number>
  readonly others: Array<number>
  /** The characters, and where their bytes begin. */
  readonly characters: Array<{ readonly text: string; readonly at: number }>
}

/** The stretches of a text whose characters have few spellings. */
const runsOf = (text: string, ignoreCase: boolean): ReadonlyArray<RunBytes> => {
  const runs: Array<RunBytes> = []
  let run: RunBytes | undefined
  for (const character of text) {
    const spelling = spellingOf(character, ignoreCase)
    if (spelling === "many") {
      run = undefined
      continue
    }
    if (run === undefined) runs.push((run = { bytes: [], masks: [], others: [], characters: [] }))
    run.characters.push({ text: character, at: run.bytes.length })
    const mask = spelling === "one" ? 0 : 0x20
    for (const byte of Buffer.from(character)) {
      run.bytes.push(byte | mask)
      run.masks.push(mask)
      run.others.push(spelling === "cases-and-longer" ? 1 : 0)
    }
  }
  return runs
}

interface Candidate {
  readonly run: RunBytes
  readonly first: number
  readonly second: number
  readonly rank: number
}

/** The rarest two bytes of a run between which nothing is longer than a byte in another spelling. */
function* pairsOf(run: RunBytes): Generator<Candidate> {
  const rank = (at: number): number => RANKS[run.bytes[at] ?? 0] ?? 0
  for (let first = 0; first < run.bytes.length; first++) {
    if (run.others[first] === 1) continue
    // One byte alone is better than nothing only.
    yield { run, first, second: first, rank: rank(first) / 4 }
    const end = Math.min(run.bytes.length, first + DISTANCE_MAX + 1)
    for (let second = first + 1; second < end && run.others[second] === 0; second++) {
      yield { run, first, second, rank: rank(first) + rank(second) }
    }
  }
}

/** What to look for where every match holds all of `texts`; undefined where none of them has a byte that must be there. */
export const needleOf = (texts: ReadonlyArray<string>, ignoreCase: boolean): Needle | undefined => {
  let best: Candidate | undefined
  for (const text of texts) {
    for (const run of runsOf(text, ignoreCase)) {
      for (const pair of pairsOf(run)) if (best === undefined || pair.rank > best.rank) best = pair
    }
  }
  if (best === undefined) return undefined
  const { run, first, second } = best
  const units = new Set<number>()
  for (const [index, { text, at }] of run.characters.entries()) {
    const end = run.characters[index + 1]?.at ?? run.bytes.length
    if (end <= first || at > second) continue
    for (const spelt of run.masks[at] === 0 ? [text] : [text.toLowerCase(), text.toUpperCase()]) {
      for (let unit = 0; unit < spelt.length; unit++) units.add(spelt.charCodeAt(unit))
    }
  }
  const byteAt = (at: number): number => run.bytes[at] ?? 0
  return {
    pair: {
      first: byteAt(first),
      firstMask: run.masks[first] ?? 0,
      second: byteAt(second),
      secondMask: run.masks[second] ?? 0,
      distance: second - first,
      escape: units.has(SOLIDUS) ? SOLIDUS : U
    },
    run: Uint8Array.from(run.bytes),
    masks: Uint8Array.from(run.masks),
    others: Uint8Array.from(run.others),
    at: first,
    units
  }
}

const SOLIDUS = 0x2f
const BACKSLASH = 0x5c
const U = 0x75

/** Whether the pair or escape that stands at `at` may belong to a match. */
export const mayMatch = (needle: Needle, bytes: Uint8Array, at: number): boolean =>
  bytes[at] === BACKSLASH ? isEscapeOf(needle, bytes, at) : fitsAround(needle, bytes, at)

const isEscapeOf = ({ units }: Needle, bytes: Uint8Array, at: number): boolean => {
  if (bytes[at + 1] === SOLIDUS) return units.has(SOLIDUS)
  let unit = 0
  for (let digit = at + 2; digit < at + 6; digit++) {
    const value = HEX[bytes[digit] ?? 0] ?? -1
    if (value < 0) return false
    unit = unit * 16 + value
  }
  return units.has(unit)
}

const HEX = Int8Array.from({ length: 256 }, (_, byte) => {
  const digit = "0123456789abcdef".indexOf(String.fromCharCode(byte).toLowerCase())
  return digit
})

/** The longest escape of a code unit. */
const ESCAPE_LENGTH = 6

const fitsAround = ({ run, masks, others, at: anchor }: Needle, bytes: Uint8Array, at: number): boolean => {
  const start = at - anchor
  for (let i = anchor + 1; i < run.length; i++) {
    const byte = bytes[start + i] ?? 0
    if ((byte | masks[i]!) === run[i]) continue
    // From here on it is spelt with an escape, or with a longer character.
    if (byte === BACKSLASH || (others[i] === 1 && byte >= 0x80)) break
    return false
  }
  for (let i = anchor - 1; i >= 0; i--) {
    const place = start + i
    const byte = bytes[place] ?? 0
    if ((byte | masks[i]!) === run[i]) continue
    if (others[i] === 1 && byte >= 0x80) return true
    // The end of an escape may look like anything.
    for (let back = 0; back < ESCAPE_LENGTH; back++) if (bytes[place - back] === BACKSLASH) return true
    return false
  }
  return true
}
