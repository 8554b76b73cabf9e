/**
 * A validating JSON scanner over bytes, which also finds the members of an entry's envelope. It accepts exactly what
 * `JSON.parse` accepts (property-tested) but builds no values and decodes no strings, so that it is faster than parsing:
 * short strings are skipped with one table look-up a byte, long ones by WebAssembly. See docs/adr/008-fast-reading.md.
 */

import { AT_FAULT, AT_QUOTE, REWRITTEN, byteModule } from "./byteModule.ts"
import { decodeUtf8 } from "./utf8.ts"

/** 0 = plain string byte; 1 = quote; 2 = backslash; 3 = control byte, not allowed raw in a string. */
const STRING_CLASS = new Uint8Array(256)
STRING_CLASS.fill(3, 0, 0x20)
STRING_CLASS[0x22] = 1
STRING_CLASS[0x5c] = 2

/** Bytes that may follow a backslash, apart from `u`. */
const ESCAPE = new Uint8Array(256)
for (const char of '"\\/bfnrt') ESCAPE[char.charCodeAt(0)] = 1

/** Length in bytes from which a string is skipped by WebAssembly: for shorter ones the call costs more than it saves. */
const SHORT_BYTES = 48

/** Length in bytes from which a string is in `longStrings`. */
export const LONG_BYTES = 256

const NONE: ReadonlyArray<number> = []

const HEX = new Uint8Array(256)
for (const char of "0123456789abcdefABCDEF") HEX[char.charCodeAt(0)] = 1

/** Whether a byte is JSON white space. */
export const isSpace = (byte: number): boolean => byte === 0x20 || byte === 0x0d || byte === 0x09 || byte === 0x0a

/** Offset of the first byte at or after `from` that is not white space; `end` when there is none. */
export const spaceEnd = (bytes: Uint8Array, from: number, end: number): number => {
  let i = from
  while (i < end) {
    const byte = bytes[i]!
    if (byte > 0x20 || !isSpace(byte)) break
    i++
  }
  return i
}

const isDigit = (byte: number): boolean => byte >= 0x30 && byte <= 0x39

/** Byte range of a member's value, quotes included for a string; `start` is -1 when the member is absent. */
export interface Range {
  start: number
  end: number
}

const absent = (): Range => ({ start: -1, end: -1 })

const set = (range: Range, start: number, end: number): void => {
  range.start = start
  range.end = end
}

/** Meaning of a depth-one or depth-two key. */
const KEY_OTHER = 0
const KEY_TYPE = 1
const KEY_ID = 2
const KEY_PARENT_ID = 3
const KEY_TIMESTAMP = 4
const KEY_MESSAGE = 5
const KEY_ROLE = 6

const matches = (bytes: Uint8Array, start: number, text: string): boolean => {
  for (let i = 0; i < text.length; i++) {
    if (bytes[start + i] !== text.charCodeAt(i)) return false
  }
  return true
}

const ENVELOPE_KEYS = new Map([
  ["type", KEY_TYPE],
  ["id", KEY_ID],
  ["parentId", KEY_PARENT_ID],
  ["timestamp", KEY_TIMESTAMP],
  ["message", KEY_MESSAGE]
])

/** Whether `JSON.stringify` writes the same `\u` escape as at `at`: a control character without a short escape. */
const isStringified = (bytes: Uint8Array, at: number): boolean => {
  if (bytes[at + 2] !== 0x30 || bytes[at + 3] !== 0x30) return false
  const last = String.fromCharCode(bytes[at + 5]!)
  return bytes[at + 4] === 0x31
    ? "0123456789abcdef".includes(last)
    : bytes[at + 4] === 0x30 && "01234567bef".includes(last)
}

/** The value of a JSON string that the scanner accepted; the range includes the quotes. */
export const decodeString = (bytes: Uint8Array, start: number, end: number): string => {
  for (let i = start + 1; i < end; i++) {
    if (bytes[i] === 0x5c) {
      const value: string = JSON.parse(decodeUtf8(bytes, start, end))
      return value
    }
  }
  return decodeUtf8(bytes, start + 1, end - 1)
}

/** Whether the string in a range has the same bytes as `text`, an ASCII string without escapes. */
export const isWritten = (bytes: Uint8Array, { start, end }: Range, text: string): boolean =>
  end - start - 2 === text.length && bytes[start] === 0x22 && matches(bytes, start + 1, text)

/** Reused for all lines of a session; the fields describe the value of the last `scan`. */
export class JsonScanner {
  /** Members of the last object; the last duplicate wins, as in `JSON.parse`. */
  readonly type: Range = absent()
  readonly id: Range = absent()
  readonly parentId: Range = absent()
  readonly timestamp: Range = absent()
  /** `message.role` */
  readonly role: Range = absent()
  /**
   * Start and end offsets, in pairs and without quotes, of string values of at least `LONG_BYTES` that are well-formed and
   * that `JSON.stringify` would write with the same bytes.
   */
  longStrings: ReadonlyArray<number> = NONE
  /** End of the last scan: the offset after the value, or of the first invalid byte. */
  scannedTo = 0

  /** The object that the last scan closed last: the value itself or one inside it. */
  readonly lastObject: Range = absent()

  /** Open containers, outermost first: the offset of an object's brace, or -1 minus the offset of an array's bracket. */
  #open = new Float64Array(64)
  /** Current depth-one key, or the role key inside `message`. */
  #key = KEY_OTHER
  /** Whether depth two is the inside of `message`. */
  #inMessage = false
  /** Whether the last string has a backslash, so that a key may be written with escapes. */
  #escaped = false
  /** Whether the last string has an escape that `JSON.stringify` would write differently. */
  #rewritten = false
  /** Collects `longStrings`; reused, so that it rarely grows. */
  readonly #long: Array<number> = []
  readonly #module = byteModule()

  /**
   * Scans one JSON value from `start` (white space before it is allowed) and returns the offset after it, or -1 with
   * `scannedTo` at the invalid byte. `bytes[end]` must be a control byte such as the newline: it ends every loop.
   */
  scan(bytes: Uint8Array, start: number, end: number): number {
    this.#begin()
    const long = this.#long
    let longs = 0
    let open = this.#open
    let depth = 0
    let valueStart = 0
    let i = start

    for (;;) {
      // A value starts here.
      i = spaceEnd(bytes, i, end)
      const byte = bytes[i]!
      if (depth === 1) valueStart = i
      if (byte === 0x22) {
        const from = i
        i = this.#string(bytes, i + 1, end)
        if (i < 0) return -1
        if (i - from - 2 >= LONG_BYTES && !this.#rewritten) {
          long[longs++] = from + 1
          long[longs++] = i - 1
        }
        if (depth === 2 && this.#key === KEY_ROLE) set(this.role, from, i)
      } else if (byte === 0x7b || byte === 0x5b) {
        const isObject = byte === 0x7b
        if (depth === open.length) open = this.#grow()
        open[depth++] = isObject ? i : -1 - i
        if (depth <= 3) this.#enter(isObject, depth)
        i = spaceEnd(bytes, i + 1, end)
        if (bytes[i] === (isObject ? 0x7d : 0x5d)) {
          depth--
          i++
          if (isObject) set(this.lastObject, open[depth]!, i)
        } else if (isObject) {
          i = this.#openMember(bytes, i, end, depth)
          if (i < 0) return -1
          continue
        } else continue
      } else {
        if (depth === 2 && this.#key === KEY_ROLE) this.role.start = -1
        i = this.#scalar(bytes, i)
        if (i < 0) return -1
      }

      // A value ended here; close containers and find the next one.
      for (;;) {
        if (depth === 0) {
          this.scannedTo = i
          this.longStrings = longs === 0 ? NONE : long.slice(0, longs)
          return i
        }
        if (depth === 1) this.#endMember(bytes, valueStart, i)
        i = spaceEnd(bytes, i, end)
        const after = bytes[i]!
        const isObject = open[depth - 1]! >= 0
        if (after === 0x2c) {
          i++
          if (isObject) {
            i = this.#openMember(bytes, spaceEnd(bytes, i, end), end, depth)
            if (i < 0) return -1
          }
          break
        }
        if (after !== (isObject ? 0x7d : 0x5d)) return this.#fail(i)
        depth--
        if (depth === 1 && this.#key === KEY_ROLE) this.#key = KEY_MESSAGE
        i++
        if (isObject) set(this.lastObject, open[depth]!, i)
      }
    }
  }

  /** Reads a member's key and colon and sets `#key`; returns the offset of its value, or -1. */
  #openMember(bytes: Uint8Array, at: number, end: number, depth: number): number {
    if (at >= end || bytes[at] !== 0x22) return this.#fail(at)
    const after = this.#string(bytes, at + 1, end)
    if (after < 0) return -1
    if (depth === 1) this.#key = this.#classify(bytes, at, after)
    else if (depth === 2 && this.#inMessage) this.#key = this.#isRole(bytes, at, after) ? KEY_ROLE : KEY_MESSAGE
    const colon = spaceEnd(bytes, after, end)
    return bytes[colon] === 0x3a ? colon + 1 : this.#fail(colon)
  }

  #begin(): void {
    this.type.start = -1
    this.id.start = -1
    this.parentId.start = -1
    this.timestamp.start = -1
    this.role.start = -1
    this.lastObject.start = -1
    this.#key = KEY_OTHER
    this.#inMessage = false
    this.#module.forget()
  }

  #grow(): Float64Array<ArrayBuffer> {
    const grown = new Float64Array(this.#open.length * 2)
    grown.set(this.#open)
    this.#open = grown
    return grown
  }

  /** Notes what a container that was just opened means to the role; `depth` includes it. */
  #enter(isObject: boolean, depth: number): void {
    // A container is not a role, and replaces an earlier duplicate.
    if (depth === 3 && this.#key === KEY_ROLE) this.role.start = -1
    if (depth !== 2) return
    this.#inMessage = isObject && this.#key === KEY_MESSAGE
    // A later duplicate `message` replaces an earlier one and its role.
    if (this.#key === KEY_MESSAGE) this.role.start = -1
  }

  /** Notes the value of a depth-one member, which ends here. */
  #endMember(bytes: Uint8Array, start: number, end: number): void {
    switch (this.#key) {
      case KEY_OTHER:
        return
      case KEY_MESSAGE:
      case KEY_ROLE:
        if (bytes[start] !== 0x7b) this.role.start = -1
        return
      case KEY_TYPE:
        return set(this.type, start, end)
      case KEY_ID:
        return set(this.id, start, end)
      case KEY_PARENT_ID:
        return set(this.parentId, start, end)
      default:
        return set(this.timestamp, start, end)
    }
  }

  #fail(at: number): -1 {
    this.scannedTo = at
    return -1
  }

  /** `from` is just after the opening quote; returns the offset after the closing one. */
  #string(bytes: Uint8Array, from: number, end: number): number {
    let i = from
    this.#escaped = false
    this.#rewritten = false
    let far = from + SHORT_BYTES
    for (;;) {
      let kind = STRING_CLASS[bytes[i]!]!
      while (kind === 0 && i < far) kind = STRING_CLASS[bytes[++i]!]!
      if (i >= far && i < end) {
        const flags = this.#module.skip(bytes, i, end)
        i = this.#module.skippedTo
        // A string this long is not an envelope key: `#escaped` only has to be safe.
        this.#escaped = true
        if ((flags & REWRITTEN) !== 0) this.#rewritten = true
        if ((flags & AT_QUOTE) !== 0) return i + 1
        if ((flags & AT_FAULT) !== 0) return this.#fail(i)
        far = end
        continue
      }
      if (kind === 1) return i + 1
      if (kind === 3) return this.#fail(i)
      this.#escaped = true
      const escaped = bytes[i + 1]!
      if (ESCAPE[escaped] === 1) {
        if (escaped === 0x2f) this.#rewritten = true
        i += 2
      } else if (
        escaped === 0x75 &&
        HEX[bytes[i + 2]!] === 1 &&
        HEX[bytes[i + 3]!] === 1 &&
        HEX[bytes[i + 4]!] === 1 &&
        HEX[bytes[i + 5]!] === 1
      ) {
        if (!isStringified(bytes, i)) this.#rewritten = true
        i += 6
      } else return this.#fail(i)
    }
  }

  #scalar(bytes: Uint8Array, at: number): number {
    switch (bytes[at]) {
      case 0x74:
        return matches(bytes, at, "true") ? at + 4 : this.#fail(at)
      case 0x66:
        return matches(bytes, at, "false") ? at + 5 : this.#fail(at)
      case 0x6e:
        return matches(bytes, at, "null") ? at + 4 : this.#fail(at)
      default:
        return this.#number(bytes, at)
    }
  }

  #number(bytes: Uint8Array, at: number): number {
    let i = at
    if (bytes[i] === 0x2d) i++
    if (bytes[i] === 0x30) i++
    else if (isDigit(bytes[i]!)) {
      while (isDigit(bytes[i]!)) i++
    } else return this.#fail(i)
    if (bytes[i] === 0x2e) {
      if (!isDigit(bytes[++i]!)) return this.#fail(i)
      while (isDigit(bytes[i]!)) i++
    }
    if (bytes[i] === 0x65 || bytes[i] === 0x45) {
      i++
      if (bytes[i] === 0x2b || bytes[i] === 0x2d) i++
      if (!isDigit(bytes[i]!)) return this.#fail(i)
      while (isDigit(bytes[i]!)) i++
    }
    return i
  }

  /** Meaning of the depth-one key in `bytes[start, end)`, quotes included. */
  #classify(bytes: Uint8Array, start: number, end: number): number {
    if (this.#escaped) return ENVELOPE_KEYS.get(decodeString(bytes, start, end)) ?? KEY_OTHER
    const from = start + 1
    switch (end - start - 2) {
      case 2:
        return matches(bytes, from, "id") ? KEY_ID : KEY_OTHER
      case 4:
        return matches(bytes, from, "type") ? KEY_TYPE : KEY_OTHER
      case 7:
        return matches(bytes, from, "message") ? KEY_MESSAGE : KEY_OTHER
      case 8:
        return matches(bytes, from, "parentId") ? KEY_PARENT_ID : KEY_OTHER
      case 9:
        return matches(bytes, from, "timestamp") ? KEY_TIMESTAMP : KEY_OTHER
      default:
        return KEY_OTHER
    }
  }

  #isRole(bytes: Uint8Array, start: number, end: number): boolean {
    if (this.#escaped) return decodeString(bytes, start, end) === "role"
    return end - start === 6 && matches(bytes, start + 1, "role")
  }
}
