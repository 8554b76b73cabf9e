/**
 * A session whose long texts are replaced by short marks. Code that copies texts works on the outline as on any session,
 * and restores the texts in its JSON output: they are neither decoded nor encoded.
 *
 * Only well-formed texts that `JSON.stringify` writes with the same bytes are replaced, so that the restored output equals
 * that of the session itself. Equal texts have equal marks. Names (ids, tools, models) and texts that may be white space
 * are not replaced. A mark contains a random number of the process, so that no session can contain one.
 */
import { Buffer } from "node:buffer"
import { randomBytes } from "node:crypto"
import { type Json, isArray } from "./Json.ts"
import * as ByteHash from "./ByteHash.ts"
import * as EntryType from "./EntryType.ts"
import * as Session from "./Session.ts"
import { SessionEntry, type SessionLine } from "./SessionLine.ts"
import { concat, decodeUtf8, encodeUtf8 } from "./internal/utf8.ts"

export interface SessionOutline {
  /** The original lines, with marks in place of long texts. */
  readonly session: Session.Session
  readonly texts: LongTexts
}

/** A mark is `OPEN`, the number of its text in base 36, and `CLOSE`; all ASCII. */
const OPEN = `\u007f${randomBytes(9).toString("base64url")}.`
const CLOSE = "."
const MARK = new RegExp(`${OPEN.slice(0, -1)}[.]([0-9a-z]+)[.]`, "gu")
const OPEN_BYTES = encodeUtf8(OPEN)
const CLOSE_BYTE = 0x2e
const RADIX = 36

/** Members that are never replaced: code compares their values. */
const NAMES = new Set([
  "id",
  "name",
  "toolCallId",
  "toolName",
  "provider",
  "model",
  "api",
  "type",
  "role",
  "stopReason",
  "customType",
  "thinkingLevel",
  "timestamp",
  "parentId",
  "targetId",
  "firstKeptEntryId"
])
/** Most bytes that JSON takes for a UTF-16 unit. */
const UNIT_BYTES = 6
/** Most bytes of a member in `NAMES`, written with escapes. */
const NAME_BYTES = UNIT_BYTES * Math.max(...[...NAMES].map((name) => name.length))

/** The outline of a session. It refers to the session's bytes: do not change them. */
export const of = (session: Session.Session): SessionOutline => {
  const texts = new LongTexts()
  const lines: Array<SessionLine> = []
  for (const line of session.lines) {
    lines.push(
      line instanceof SessionEntry && EntryType.of(line.type).context !== "none" ? outlined(line, texts) : line
    )
  }
  return { session: Session.withLines(session, lines), texts }
}

const outlined = (entry: SessionEntry, texts: LongTexts): SessionEntry => {
  const { end, longStrings, source, start } = entry
  const pieces: Array<Uint8Array> = []
  let from = start
  for (let at = 0; at < longStrings.length; at += 2) {
    const [first = 0, last = 0] = [longStrings[at], longStrings[at + 1]]
    if (isBlank(source, first) || isName(source, first - 1)) continue
    pieces.push(source.subarray(from, first), encodeUtf8(texts.set(source, first, last)))
    from = last
  }
  return from === start ? entry : entry.withLine(concat([...pieces, source.subarray(from, end)]))
}

/** Bytes of a text that `isBlank` checks. */
const LOOK_BYTES = 64

/** Whether the beginning of a text may be white space only: escapes and non-ASCII characters count as white space. */
const isBlank = (bytes: Uint8Array, start: number): boolean => {
  for (let at = start; at < start + LOOK_BYTES; at++) {
    const byte = bytes[at] ?? 0
    if (byte === BACKSLASH) at += bytes[at + 1] === 0x75 ? 5 : 1
    else if (byte > SPACE && byte < 0x7f) return false
  }
  return true
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const SPACE = 0x20

const beforeSpace = (bytes: Uint8Array, at: number): number => {
  let before = at - 1
  while (before >= 0 && (bytes[before] ?? 0) <= SPACE) before--
  return before
}

/** Whether the string that starts at `quote` is the value of a member in `NAMES`, or may be. */
const isName = (bytes: Uint8Array, quote: number): boolean => {
  const colon = beforeSpace(bytes, quote)
  if (bytes[colon] !== COLON) return false
  const end = beforeSpace(bytes, colon)
  for (let start = end - 1; start >= end - NAME_BYTES - 1; start--) {
    // A key with escapes may be any of them.
    if (bytes[start] === BACKSLASH) return true
    if (bytes[start] === QUOTE) return NAMES.has(decodeUtf8(bytes, start + 1, end))
  }
  return false
}

/** A text as JSON without its quotes: `source[start, end)`, and its hash. */
interface Place extends ByteHash.ByteHash {
  readonly source: Uint8Array
  readonly start: number
  readonly end: number
}

/** A replacement in a text; `start` and `end` count UTF-16 units. */
export interface TextEdit {
  readonly start: number
  readonly end: number
  readonly by: string
}

/** The long texts of an outline, by mark. */
export class LongTexts {
  readonly #places: Array<Place> = []
  /** By hash. */
  readonly #numbers = new Map<number, number>()
  readonly #words = new Map<string, Uint8Array>()

  /** The mark of the text `source[start, end)`, which is JSON without its quotes. */
  set(source: Uint8Array, start: number, end: number): string {
    const { high, low } = ByteHash.of(source, start, end)
    const key = low + (high & 0xfffff) * 2 ** 32
    const known = this.#numbers.get(key)
    const place = known === undefined ? undefined : this.#places[known]
    if (known !== undefined && place !== undefined && isEqual(place, source, start, end)) return markOf(known)
    const number = this.#places.push({ source, start, end, low, high }) - 1
    this.#numbers.set(key, number)
    return markOf(number)
  }

  /** The mark of a well-formed text of any length. */
  put(text: string): string {
    const json = encodeUtf8(JSON.stringify(text))
    return this.set(json, 1, json.length - 1)
  }

  /** The mark of a mark's text with edits in order, without decoding it. Undefined when `text` is not a mark. */
  edit(text: string, edits: ReadonlyArray<TextEdit>): string | undefined {
    const place = this.#placeOf(text)
    if (place === undefined) return undefined
    const { source } = place
    const pieces: Array<Uint8Array> = []
    // With the quote before it.
    let [at, unit, from] = [place.start, 0, place.start - 1]
    for (const { by, end, start } of edits) {
      at = forward(source, at, start - unit)
      pieces.push(source.subarray(from, at), this.#json(by))
      from = at = forward(source, at, end - start)
      unit = end
    }
    const bytes = concat([...pieces, source.subarray(from, place.end + 1)])
    return this.set(bytes, 1, bytes.length - 1)
  }

  /** JSON of a replacement, without quotes; cached, because many texts have the same. */
  #json(text: string): Uint8Array {
    const known = this.#words.get(text)
    if (known !== undefined) return known
    const json = encodeUtf8(JSON.stringify(text))
    const bytes = json.subarray(1, json.length - 1)
    this.#words.set(text, bytes)
    return bytes
  }

  /** The hash of a mark's text; undefined when `text` is not a mark. */
  hashOf(text: string): ByteHash.ByteHash | undefined {
    return this.#placeOf(text)
  }

  #placeOf(text: string): Place | undefined {
    if (!text.startsWith(OPEN) || text.indexOf(CLOSE, OPEN.length) !== text.length - CLOSE.length) return undefined
    return this.#places[parseInt(text.slice(OPEN.length), RADIX)]
  }

  /** Whether a text or JSON contains a mark. */
  has(text: string): boolean {
    return text.includes(OPEN)
  }

  /** The text with marks replaced by their texts. */
  restore(text: string): string {
    return text.includes(OPEN) ? text.replaceAll(MARK, (_, number: string) => this.#decode(number)) : text
  }

  /** As `restore`, but may return only the beginning of the text, of at least `units` UTF-16 units. */
  restoreStart(text: string, units: number): string {
    const place = this.#placeOf(text)
    if (place === undefined) return this.restore(text)
    // Ends at a space, which is never inside an escape or a character.
    const to = place.source
      .subarray(place.start, Math.min(place.end, place.start + units * UNIT_BYTES))
      .lastIndexOf(SPACE)
    const start = to < 0 ? "" : parse(`"${decodeUtf8(place.source, place.start, place.start + to)}"`)
    return start.length < units ? this.restore(text) : start
  }

  /** The value with all its texts restored. */
  restoreJson(value: Json): Json {
    if (typeof value === "string") return this.restore(value)
    if (typeof value !== "object" || value === null) return value
    if (isArray(value)) return value.map((one) => this.restoreJson(one))
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => [
        this.restore(key),
        member === undefined ? member : this.restoreJson(member)
      ])
    )
  }

  /** The bytes of JSON with marks replaced by their texts. */
  toBytes(json: string): Uint8Array {
    const outline = Buffer.from(json)
    const found: Array<Place> = []
    /** Start and end of each mark, in pairs. */
    const marks: Array<number> = []
    let length = outline.length
    for (let at = outline.indexOf(OPEN_BYTES); at >= 0; at = outline.indexOf(OPEN_BYTES, at)) {
      const start = at
      at += OPEN_BYTES.length
      let number = 0
      for (; outline[at] !== CLOSE_BYTE; at++) number = number * RADIX + digitOf(outline[at] ?? 0)
      at++
      const place = this.#places[number]
      if (place === undefined) throw new RangeError(`no long text ${number}`)
      found.push(place)
      marks.push(start, at)
      length += place.end - place.start - (at - start)
    }
    if (found.length === 0) return outline
    const bytes = Buffer.allocUnsafe(length)
    let to = 0
    let from = 0
    for (const [i, { end, source, start }] of found.entries()) {
      const mark = marks[2 * i] ?? 0
      outline.copy(bytes, to, from, mark)
      to += mark - from
      bytes.set(source.subarray(start, end), to)
      to += end - start
      from = marks[2 * i + 1] ?? 0
    }
    outline.copy(bytes, to, from)
    return bytes
  }

  #decode(number: string): string {
    const place = this.#places[parseInt(number, RADIX)]
    if (place === undefined) throw new RangeError(`no long text ${number}`)
    return parse(decodeUtf8(place.source, place.start - 1, place.end + 1))
  }
}

const parse = (json: string): string => {
  const value: string = JSON.parse(json)
  return value
}

/** The offset `units` UTF-16 units after `from`, in JSON that `JSON.stringify` wrote. */
const forward = (bytes: Uint8Array, from: number, units: number): number => {
  let at = from
  let left = units
  while (left > 0) {
    const byte = bytes[at]!
    if (byte < 0x80) {
      if (byte !== BACKSLASH) at++
      else at += bytes[at + 1] === 0x75 ? 6 : 2
      left--
    } else {
      // A character of four bytes is two UTF-16 units.
      at += byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4
      left -= byte < 0xf0 ? 1 : 2
    }
  }
  return at
}

const markOf = (number: number): string => `${OPEN}${number.toString(RADIX)}${CLOSE}`

const digitOf = (byte: number): number => (byte <= 0x39 ? byte - 0x30 : byte - 0x61 + 10)

const isEqual = (place: Place, source: Uint8Array, start: number, end: number): boolean =>
  place.end - place.start === end - start &&
  Buffer.compare(place.source.subarray(place.start, place.end), source.subarray(start, end)) === 0
