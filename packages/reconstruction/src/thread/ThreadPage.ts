/**
 * Splits the JSON document that carries entries over HTTP, `{"entries": [...], ...}`, without parsing the entries: each
 * keeps its text byte for byte.
 *
 * Only the document around the entries is validated here. An entry is validated when it is read.
 */
import * as Result from "effect/Result"
import { type JsonObject, isArray, isObject } from "@pi-sessions/core/Json"
import { parseJson } from "../internal/parseJson.ts"

/** Position of an entry's text: `bytes[start, end)`. */
export interface EntryRange {
  readonly start: number
  readonly end: number
}

export interface ThreadPage {
  readonly bytes: Uint8Array
  readonly entries: ReadonlyArray<EntryRange>
  /** The document with an empty array for `entries`. */
  readonly frame: JsonObject
}

/** Why a document is not a page. */
export interface NotAPage {
  readonly reason: string
  /** Whether the document ends too early. */
  readonly truncated: boolean
}

const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c
const NEWLINE = 0x0a

const notAPage = (reason: string, truncated = false): Result.Result<never, NotAPage> =>
  Result.fail({ reason, truncated })

/** Splits a document. Changes `bytes`: line breaks between tokens of an entry become spaces, so each entry is one line. */
export const take = (bytes: Uint8Array): Result.Result<ThreadPage, NotAPage> => {
  const cursor = new Cursor(bytes)
  // Some servers send a byte order mark, which JSON does not allow.
  const bom = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0
  let at = cursor.space(bom)
  if (at === bytes.length) return notAPage("it is empty", true)
  if (bytes[at] !== 0x7b) return notAPage("it is no JSON object")
  let found: { readonly open: number; readonly close: number; readonly entries: ReadonlyArray<EntryRange> } | undefined
  at = cursor.space(at + 1)
  while (bytes[at] === QUOTE) {
    const keyStart = at
    at = cursor.value(at)
    const isEntries = at > 0 && isKey(bytes, keyStart, at, "entries")
    at = at < 0 ? at : cursor.space(at)
    if (at < 0 || bytes[at] !== 0x3a) break
    at = cursor.space(at + 1)
    if (isEntries && bytes[at] === 0x5b) {
      const open = at
      const entries = cursor.elements(open)
      at = cursor.at
      if (entries === undefined && at < bytes.length) return notAPage("its entries are not separated by commas")
      if (entries === undefined) break
      found = { open, close: at, entries }
    } else at = cursor.value(at)
    if (at < 0) break
    at = cursor.space(at)
    if (bytes[at] !== COMMA) break
    at = cursor.space(at + 1)
  }
  if (at < 0 || at >= bytes.length) return notAPage("it breaks off", true)
  const text = (start: number, end: number) => decoder.decode(bytes.subarray(start, end))
  const frame = parseJson(
    found === undefined ? text(bom, bytes.length) : `${text(bom, found.open)}[]${text(found.close, bytes.length)}`
  )
  if (!isObject(frame)) return notAPage("it is no JSON object")
  if (found === undefined || !isArray(frame["entries"])) return notAPage("it has no array of entries")
  return Result.succeed({ bytes, entries: found.entries, frame })
}

/** The entries as JSONL. Overwrites the bytes between the page's entries; the entries' ranges stay valid. */
export const lines = ({ bytes, entries }: ThreadPage): Uint8Array => {
  const first = entries[0]
  const last = entries.at(-1)
  if (first === undefined || last === undefined) return bytes.subarray(0, 0)
  entries.forEach(({ end }, index) => {
    bytes.fill(0x20, end, entries[index + 1]?.start ?? end)
    // An entry is followed by a comma, a space or the closing bracket.
    bytes[end] = NEWLINE
  })
  return bytes.subarray(first.start, last.end + 1)
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true })

/** Whether the JSON string at `[start, end)` is `key`. */
const isKey = (bytes: Uint8Array, start: number, end: number, key: string): boolean =>
  // An escape has at most six bytes.
  end - start <= key.length * 6 + 2 && parseJson(decoder.decode(bytes.subarray(start, end))) === key

/** Finds the ends of JSON values from quotes and brackets only. */
class Cursor {
  readonly #bytes: Uint8Array
  /** The offset where the last `elements` ended or failed. */
  at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  /** The offset of the first byte from `from` on that is not white space. */
  space(from: number): number {
    const bytes = this.#bytes
    let i = from
    while (i < bytes.length && isSpace(bytes[i]!)) i++
    return i
  }

  /** The end of the value at `from`; -1 when there is no value or the document ends in it. */
  value(from: number): number {
    const bytes = this.#bytes
    const first = bytes[from]
    if (first === QUOTE) return this.#string(from)
    if (first === 0x7b || first === 0x5b) return this.#container(from)
    let i = from
    while (i < bytes.length && !isSpace(bytes[i]!) && !isDelimiter(bytes[i]!)) i++
    return i === from ? -1 : i
  }

  /** The elements of the array at `open`; undefined when a comma is missing or the document ends in the array. */
  elements(open: number): ReadonlyArray<EntryRange> | undefined {
    const bytes = this.#bytes
    const ranges: Array<EntryRange> = []
    let i = this.space(open + 1)
    if (bytes[i] === 0x5d) {
      this.at = i + 1
      return ranges
    }
    for (;;) {
      const end = this.value(i)
      if (end < 0) {
        // The document ends in this value, unless the value is missing.
        this.at = isDelimiter(bytes[i] ?? 0) ? i : bytes.length
        return undefined
      }
      ranges.push({ start: i, end })
      this.at = this.space(end)
      if (bytes[this.at] === 0x5d) {
        this.at++
        return ranges
      }
      if (bytes[this.at] !== COMMA) return undefined
      i = this.space(this.at + 1)
    }
  }

  #string(from: number): number {
    const bytes = this.#bytes
    let i = from + 1
    for (;;) {
      const quote = bytes.indexOf(QUOTE, i)
      if (quote < 0) return -1
      let escapes = quote
      while (bytes[escapes - 1] === BACKSLASH) escapes--
      i = quote + 1
      if ((quote - escapes) % 2 === 0) return i
    }
  }

  #container(from: number): number {
    const bytes = this.#bytes
    let depth = 0
    let i = from
    while (i < bytes.length) {
      const byte = bytes[i]!
      if (byte === QUOTE) {
        i = this.#string(i)
        if (i < 0) return -1
        continue
      }
      if (byte === 0x7b || byte === 0x5b) depth++
      else if (byte === 0x7d || byte === 0x5d) {
        if (--depth === 0) return i + 1
      } else if (byte === NEWLINE || byte === 0x0d) bytes[i] = 0x20
      i++
    }
    return -1
  }
}

const isSpace = (byte: number): boolean => byte === 0x20 || byte === NEWLINE || byte === 0x0d || byte === 0x09

const isDelimiter = (byte: number): boolean => byte === COMMA || byte === 0x5d || byte === 0x7d
