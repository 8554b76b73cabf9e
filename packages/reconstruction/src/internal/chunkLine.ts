/**
 * Recognizes `pi.chunk` lines in the mirror's own spelling without decoding them, since they are most of a long thread.
 * Lines in any other spelling go through the JSON parser.
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

/** Bytes in a JSON string. 0: literal; 1: quote; 2: backslash; 3: must be escaped. */
const STRING_CLASS = new Uint8Array(256)
STRING_CLASS.fill(3, 0, 0x20)
STRING_CLASS[0x22] = 1
STRING_CLASS[0x5c] = 2

/** Bytes that may follow a backslash. `u` is left to the JSON parser, since it is rare. */
const ESCAPE = new Uint8Array(256)
for (const char of '"\\/bfnrt') ESCAPE[char.charCodeAt(0)] = 1

/** The offset after `written` at `at`, or -1. Passes -1 through, so that steps can be chained. */
const skip = (bytes: Uint8Array, at: number, written: Uint8Array): number => {
  if (at < 0) return -1
  for (let i = 0; i < written.length; i++) if (bytes[at + i] !== written[i]) return -1
  return at + written.length
}

/** The offset of the closing quote of a string without escapes; `at` is inside the string. Else -1. */
const plain = (bytes: Uint8Array, at: number): number => {
  if (at < 0) return -1
  let i = at
  while (STRING_CLASS[bytes[i]!] === 0) i++
  return bytes[i] === 0x22 ? i : -1
}

/** The offset after a closing quote and a comma, or -1. */
const comma = (bytes: Uint8Array, quote: number): number => (quote < 0 || bytes[quote + 1] !== 0x2c ? -1 : quote + 2)

/** Integers with more digits are not exact. */
const MAX_DIGITS = 15

/** The offset after an integer, or -1. */
const digits = (bytes: Uint8Array, at: number): number => {
  if (at < 0) return -1
  let i = at
  while (bytes[i]! >= 0x30 && bytes[i]! <= 0x39) i++
  return i === at || i > at + MAX_DIGITS || (bytes[at] === 0x30 && i > at + 1) ? -1 : i
}

/** The parts of the line that `match` checked last. */
export class ChunkLine {
  /** Offset of the type after its opening quote; -1 when the line does not start as the mirror writes it. */
  typeStart = 0
  /** The id without quotes; it has no escapes. */
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

  /** Whether the chunk has this message id, given as JSON with quotes. */
  isOf(messageId: Uint8Array): boolean {
    const from = this.#messageStart - 1
    return this.#messageEnd + 1 - from === messageId.length && skip(this.#bytes, from, messageId) >= 0
  }

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

  /** The offset of the closing quote of a string; `from` is inside the string. Else -1. */
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
