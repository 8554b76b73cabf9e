/**
 * Knows a `pi.chunk` line as the mirror writes it, without decoding it: most lines of a long thread are such. A line
 * that is written in another way, or is none, is left to others; what is known here is a chunk for `JSON.parse` too.
 */
import { type Chunk } from "../Thread.ts"

const ascii = (text: string): Uint8Array => Buffer.from(text, "latin1")

const ID = ascii('{"id":"')
const THREAD_ID = ascii('"threadId":"')
const TYPE = ascii('"type":"')
const CHUNK = ascii('pi.chunk","createdAt":"')
const MESSAGE_ID = ascii('"payload":{"messageId":"')
const IDX = ascii('"idx":')
const DELTA = ascii('"delta":{"type":"')
const TEXT = ascii('"text":"')
const CONTENT_INDEX = ascii(',"contentIndex":')
const END = ascii("}}}")

/** 0 = stands for itself in a string; 1 = quote; 2 = backslash; 3 = not allowed raw. */
const STRING_CLASS = new Uint8Array(256)
STRING_CLASS.fill(3, 0, 0x20)
STRING_CLASS[0x22] = 1
STRING_CLASS[0x5c] = 2

/** Bytes that may follow a backslash; `u` takes more than that, and is rare. */
const ESCAPE = new Uint8Array(256)
for (const char of '"\\/bfnrt') ESCAPE[char.charCodeAt(0)] = 1

/** After `written` at `at`, or -1. A -1 goes in and comes out, so that steps can follow one another. */
const skip = (bytes: Uint8Array, at: number, written: Uint8Array): number => {
  if (at < 0) return -1
  for (let i = 0; i < written.length; i++) if (bytes[at + i] !== written[i]) return -1
  return at + written.length
}

/** The closing quote of a string without escapes that goes on at `at`, or -1. */
const plain = (bytes: Uint8Array, at: number): number => {
  if (at < 0) return -1
  let i = at
  while (STRING_CLASS[bytes[i]!] === 0) i++
  return bytes[i] === 0x22 ? i : -1
}

/** After a closing quote and a comma, or -1. */
const comma = (bytes: Uint8Array, quote: number): number => (quote < 0 || bytes[quote + 1] !== 0x2c ? -1 : quote + 2)

/** Whole numbers of more digits are not exact. */
const MAX_DIGITS = 15

/** After a whole number, or -1. */
const digits = (bytes: Uint8Array, at: number): number => {
  if (at < 0) return -1
  let i = at
  while (bytes[i]! >= 0x30 && bytes[i]! <= 0x39) i++
  return i === at || i > at + MAX_DIGITS || (bytes[at] === 0x30 && i > at + 1) ? -1 : i
}

/** Describes the last line that `match` looked at. */
export class ChunkLine {
  /** Where the type stands, without its opening quote; -1 in a line whose start is none that the mirror writes. */
  typeStart = 0
  /** Where the id stands, without its quotes and free of escapes. */
  idStart = 0
  idEnd = 0
  #messageStart = 0
  #messageEnd = 0
  #idxStart = 0
  #deltaStart = 0
  #deltaEnd = 0
  #textStart = 0
  #textEnd = 0
  #bytes: Uint8Array = new Uint8Array(0)

  /** Whether `bytes[start, end)` is a chunk; `bytes[end]` must be a readable control byte, such as the newline. */
  match(bytes: Uint8Array, start: number, end: number): boolean {
    this.#bytes = bytes
    this.idStart = skip(bytes, start, ID)
    this.idEnd = plain(bytes, this.idStart)
    const threadId = plain(bytes, skip(bytes, comma(bytes, this.idEnd), THREAD_ID))
    this.typeStart = skip(bytes, comma(bytes, threadId), TYPE)
    const createdAt = plain(bytes, skip(bytes, this.typeStart, CHUNK))
    if (createdAt < 0) return false
    this.#messageStart = skip(bytes, comma(bytes, createdAt), MESSAGE_ID)
    this.#messageEnd = plain(bytes, this.#messageStart)
    this.#idxStart = skip(bytes, comma(bytes, this.#messageEnd), IDX)
    const idx = digits(bytes, this.#idxStart)
    if (idx < 0 || bytes[idx] !== 0x2c) return false
    this.#deltaStart = skip(bytes, idx + 1, DELTA)
    this.#deltaEnd = plain(bytes, this.#deltaStart)
    this.#textStart = skip(bytes, comma(bytes, this.#deltaEnd), TEXT)
    this.#textEnd = this.#string(this.#textStart)
    if (this.#textEnd < 0) return false
    let at = this.#textEnd + 1
    if (bytes[at] === 0x2c) at = digits(bytes, skip(bytes, at, CONTENT_INDEX))
    return skip(bytes, at, END) === end
  }

  /** Whether it is of the message whose id is written so, quotes included. */
  isOf(messageId: Uint8Array): boolean {
    const from = this.#messageStart - 1
    return this.#messageEnd + 1 - from === messageId.length && skip(this.#bytes, from, messageId) >= 0
  }

  /** What the line says. */
  decode(): Chunk {
    const text = slice(this.#bytes, this.#textStart - 1, this.#textEnd + 1)
    return {
      messageId: slice(this.#bytes, this.#messageStart, this.#messageEnd),
      idx: Number.parseInt(slice(this.#bytes, this.#idxStart, this.#idxStart + MAX_DIGITS), 10),
      delta: {
        type: slice(this.#bytes, this.#deltaStart, this.#deltaEnd),
        text: text.includes("\\") ? String(JSON.parse(text)) : text.slice(1, -1)
      }
    }
  }

  /** The closing quote of a string that goes on at `from`, or -1. */
  #string(from: number): number {
    if (from < 0) return -1
    const bytes = this.#bytes
    let i = from
    for (;;) {
      while (STRING_CLASS[bytes[i]!] === 0) i++
      if (bytes[i] === 0x22) return i
      if (bytes[i] !== 0x5c || ESCAPE[bytes[i + 1]!] !== 1) return -1
      i += 2
    }
  }
}

const slice = (bytes: Uint8Array, start: number, end: number): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString("utf8")
