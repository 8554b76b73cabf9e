/**
 * A 64-bit hash of a sequence of texts. It is fast and not cryptographic. The probability that any two of a million targets
 * collide is about 1 in 10^7.
 *
 * Short texts are hashed by UTF-16 units. Long texts are hashed by the bytes of their JSON, so that texts in an outline need
 * not be decoded and get the same hash.
 */
import { Buffer } from "node:buffer"
import * as ByteHash from "@pi-sessions/core/ByteHash"
import { type LongTexts } from "@pi-sessions/core/SessionOutline"

/** Texts are long from this size of their JSON on. */
const LONG_BYTES = 256
/** The most bytes of a UTF-16 unit in JSON, and in UTF-8. */
const ESCAPED_UNIT_BYTES = 6
const UNIT_BYTES = 3

export class TextHash {
  #a = 0x9e3779b9
  #b = 0x85ebca6b
  #length = 0

  /** Number of UTF-16 units and bytes read so far. */
  get length(): number {
    return this.#length
  }

  /** Adds a text. `texts` resolves the long texts of an outline. */
  add(text: string, texts?: LongTexts): void {
    const known = texts?.hashOf(text)
    if (known !== undefined) return this.#addHash(known)
    if (text.length * ESCAPED_UNIT_BYTES < LONG_BYTES && texts?.has(text) !== true) return this.#addUnits(text)
    const bytes = bytesOf(JSON.stringify(text), texts)
    if (bytes.length - 2 < LONG_BYTES) return this.#addUnits(text)
    this.#length += bytes.length
    this.#addHash(ByteHash.of(bytes, 1, bytes.length - 1))
  }

  /** Adds the JSON of a value. */
  addJson(json: string, texts?: LongTexts): void {
    if (json.length * UNIT_BYTES < LONG_BYTES && texts?.has(json) !== true) return this.#addUnits(json)
    const bytes = bytesOf(json, texts)
    if (bytes.length < LONG_BYTES) return this.#addUnits(json)
    this.#length += bytes.length
    this.#addHash(ByteHash.of(bytes))
  }

  /** Adds everything that another hash contains. */
  addAll(other: TextHash): void {
    this.#addHash({ low: mix(other.#a), high: mix(other.#b) })
  }

  #addHash({ high, low }: ByteHash.ByteHash): void {
    const a = Math.imul(this.#a ^ low, 0x01000193)
    this.#a = Math.imul(a ^ (a >>> 15), 0x85ebca6b)
    const b = (Math.imul(this.#b, 0x5bd1e995) + high) ^ (this.#b >>> 13)
    this.#b = Math.imul(b, 0xc2b2ae35) ^ (b >>> 16)
  }

  #addUnits(text: string): void {
    let a = this.#a
    let b = this.#b
    const { length } = text
    this.#length += length
    let at = 0
    for (; at + 1 < length; at += 2) {
      const units = text.charCodeAt(at) | (text.charCodeAt(at + 1) << 16)
      a = Math.imul(a ^ units, 0x01000193)
      a ^= a >>> 15
      b = (Math.imul(b, 0x5bd1e995) + units) ^ (b >>> 13)
    }
    const last = at < length ? text.charCodeAt(at) : 0
    // With the length, "ab", "c" and "a", "bc" have different hashes.
    a = Math.imul(a ^ last, 0x01000193)
    a = Math.imul(a ^ (a >>> 15) ^ length, 0x85ebca6b)
    b = (Math.imul(b, 0x5bd1e995) + last) ^ (b >>> 13)
    b = Math.imul(b + length, 0xc2b2ae35) ^ (b >>> 16)
    this.#a = a
    this.#b = b
  }

  /** The hash of everything added so far. */
  digest(): string {
    return `${mix(this.#a)}.${mix(this.#b + 0x27d4eb2f)}`
  }
}

const bytesOf = (json: string, texts: LongTexts | undefined): Uint8Array => texts?.toBytes(json) ?? Buffer.from(json)

const mix = (value: number): number => {
  let h = value ^ (value >>> 16)
  h = Math.imul(h, 0x85ebca6b)
  h ^= h >>> 13
  h = Math.imul(h, 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}
