/**
 * Turns a text that every match contains into bytes to search for in lines of JSON.
 *
 * A line is a candidate if it contains two bytes of the text at their distance, or a JSON escape of a character between
 * them: every match has one of the two. The bytes around the pair are then compared, as far as their spelling is fixed.
 */
import { type BytePair, DISTANCE_MAX } from "./byteScan.ts"

export interface Needle {
  readonly pair: BytePair
  /** Bytes around the pair, with the bits of `masks` set. */
  readonly run: Uint8Array
  /** 0x20 for letters of either case, else 0. */
  readonly masks: Uint8Array
  /** 1 if a longer character may replace this byte, else 0. */
  readonly longer: Uint8Array
  /** Index of the pair's first byte in `run`. */
  readonly at: number
  /** UTF-16 code units whose escapes can hide the pair. */
  readonly units: ReadonlySet<number>
}

/** Bytes of sessions, most frequent first. Others are rarer. */
const COMMON = ' etaoinsr"ldcu,:mhpf01234567890gy{}[]._-/wbvk()=>;xjqzTSCEAIPRMNDFOLBUGWHVKXYJQZ'
const RANKS = Uint8Array.from({ length: 256 }, (_, byte) => {
  const rank = COMMON.indexOf(String.fromCharCode(byte))
  // Bytes of multi-byte characters are frequent in the languages that use them.
  return rank >= 0 ? rank : byte >= 0x80 ? 40 : COMMON.length
})

/** No character from here on has cases. */
const CASED_BELOW = 0x1f000
let cased: string | undefined
const caseless = new Map<string, boolean>()

/** Whether a non-ASCII character matches only itself in a regular expression with the flags `i` and `u`. */
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

/** The spellings of a character in JSON without escapes. */
type Spelling = "one" | "cases" | "cases-and-longer" | "many"

const spellingOf = (character: string, ignoreCase: boolean): Spelling => {
  // JSON must escape these; U+FFFD may represent any invalid bytes.
  if (character < " " || character === '"' || character === "\\" || /[\ud800-\udfff\ufffd]/u.test(character))
    return "many"
  if (!ignoreCase) return "one"
  if (character >= "\u0080") return isCaseless(character) ? "one" : "many"
  if (!/[a-z]/i.test(character)) return "one"
  // The Kelvin sign and the long s fold to k and s.
  return /[ks]/i.test(character) ? "cases-and-longer" : "cases"
}

interface RunBytes {
  readonly bytes: Array<number>
  readonly masks: Array<number>
  readonly longer: Array<number>
  /** The characters and the index of their first byte. */
  readonly characters: Array<{ readonly text: string; readonly at: number }>
}

/** Splits a text at characters with many spellings. */
const runsOf = (text: string, ignoreCase: boolean): ReadonlyArray<RunBytes> => {
  const runs: Array<RunBytes> = []
  let run: RunBytes | undefined
  for (const character of text) {
    const spelling = spellingOf(character, ignoreCase)
    if (spelling === "many") {
      run = undefined
      continue
    }
    if (run === undefined) runs.push((run = { bytes: [], masks: [], longer: [], characters: [] }))
    run.characters.push({ text: character, at: run.bytes.length })
    const mask = spelling === "one" ? 0 : 0x20
    for (const byte of Buffer.from(character)) {
      run.bytes.push(byte | mask)
      run.masks.push(mask)
      run.longer.push(spelling === "cases-and-longer" ? 1 : 0)
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

/** Pairs of bytes in a run, ranked by rarity. Every character between them has a fixed length. */
function* pairsOf(run: RunBytes): Generator<Candidate> {
  const rank = (at: number): number => RANKS[run.bytes[at] ?? 0] ?? 0
  for (let first = 0; first < run.bytes.length; first++) {
    if (run.longer[first] === 1) continue
    // A single byte has a low rank: it is used only if there is no pair.
    yield { run, first, second: first, rank: rank(first) / 4 }
    const end = Math.min(run.bytes.length, first + DISTANCE_MAX + 1)
    for (let second = first + 1; second < end && run.longer[second] === 0; second++) {
      yield { run, first, second, rank: rank(first) + rank(second) }
    }
  }
}

/** The rarest needle of texts that every match contains; undefined if none of them has a fixed byte. */
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
    longer: Uint8Array.from(run.longer),
    at: first,
    units
  }
}

const SOLIDUS = 0x2f
const BACKSLASH = 0x5c
const U = 0x75

/** Whether the pair or escape at `at` may belong to a match. */
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

const HEX = Int8Array.from({ length: 256 }, (_, byte) =>
  "0123456789abcdef".indexOf(String.fromCharCode(byte).toLowerCase())
)

/** The longest escape of a code unit. */
const ESCAPE_LENGTH = 6

const fitsAround = ({ run, masks, longer, at: anchor }: Needle, bytes: Uint8Array, at: number): boolean => {
  const start = at - anchor
  for (let i = anchor + 1; i < run.length; i++) {
    const byte = bytes[start + i] ?? 0
    if ((byte | masks[i]!) === run[i]) continue
    // The rest may be spelled with an escape or a longer character.
    if (byte === BACKSLASH || (longer[i] === 1 && byte >= 0x80)) break
    return false
  }
  for (let i = anchor - 1; i >= 0; i--) {
    const place = start + i
    const byte = bytes[place] ?? 0
    if ((byte | masks[i]!) === run[i]) continue
    if (longer[i] === 1 && byte >= 0x80) return true
    // An escape may end here, and its last bytes can be anything.
    for (let back = 0; back < ESCAPE_LENGTH; back++) if (bytes[place - back] === BACKSLASH) return true
    return false
  }
  return true
}
