/**
 * The one reader of session files: bytes in, lines out. It takes chunks of any size, keeps no more than the longest
 * line, never throws on content, and reports damage with line and byte. Whoever wants a whole session in memory calls
 * `Session.read`; whoever streams pushes chunks and takes the lines that became complete.
 */
import * as EntryId from "./EntryId.ts"
import * as EntryType from "./EntryType.ts"
import { type SessionDiagnostic, type Code } from "./SessionDiagnostic.ts"
import { versionOf } from "./SessionHeader.ts"
import { HeaderLine, MAX_LINE_BYTES, SessionEntry, SessionLine, ValueLine } from "./SessionLine.ts"
import { JsonScanner, type Range, decodeString, isWritten } from "./internal/jsonScanner.ts"
import { concat, decodeUtf8, indexOfNewline, isUtf8 } from "./internal/utf8.ts"

/** Types and roles worth one shared string each; others are decoded where they stand. */
const KNOWN = [...EntryType.all, "session", "user", "assistant", "toolResult", "bashExecution", "system"]

/** The string value in a range, or undefined when it is absent or no string. */
const stringIn = (bytes: Uint8Array, range: Range): string | undefined =>
  range.start < 0 || bytes[range.start] !== 0x22 ? undefined : decodeString(bytes, range.start, range.end)

const LOWER_N = 0x6e

const isNumberOrTrue = (first: number): boolean => first === 0x2d || first === 0x74 || (first >= 0x30 && first <= 0x39)

/** The entry id in a range; null when there is none. */
const idIn = (bytes: Uint8Array, range: Range): string | null => {
  const { end, start } = range
  if (start >= 0 && isNumberOrTrue(bytes[start]!)) return EntryId.read(JSON.parse(decodeUtf8(bytes, start, end)))
  return stringIn(bytes, range) ?? null
}

const knownStringIn = (bytes: Uint8Array, range: Range, previous = ""): string | undefined => {
  if (range.start < 0) return undefined
  if (previous !== "" && isWritten(bytes, range, previous)) return previous
  for (const known of KNOWN) if (isWritten(bytes, range, known)) return known
  return stringIn(bytes, range)
}

const NONE: ReadonlyArray<number> = []

const isSpace = (byte: number): boolean => byte === 0x20 || byte === 0x0d || byte === 0x09

export interface SessionReaderOptions {
  /** The number of the first line; 1 unless the lines before it were read elsewhere. */
  readonly firstLine?: number
  /**
   * Is offered each line of valid UTF-8 before it is read, and returns whether it took it: for programs that know most
   * of their lines better than this reader does. What is no JSON object or a header must be left to the reader. Lines
   * that were read before are had by `drain`.
   */
  readonly take?:
    | ((bytes: Uint8Array, start: number, end: number, line: number, byteOffset: number) => boolean)
    | undefined
}

export class SessionReader {
  readonly #scanner = new JsonScanner()
  readonly #diagnostics: Array<SessionDiagnostic> = []
  #header: HeaderLine | undefined
  /** Below 2 entries have no ids, so their absence is no damage. */
  #version = 1
  #sawValue = false
  /** Most entries follow the one before them: its id need not be decoded again. */
  #previousId = ""
  /** Lines of one type come in a row, and other programs have types that are not known here. */
  #previousType = ""
  #sawCrlf = false
  /** Of the line that is being read. */
  #isUtf8 = true
  /** Pieces of a line whose newline has not come yet. */
  #pending: Array<Uint8Array> = []
  #line = 0
  /** Offset in the file of the next unread byte. */
  #offset = 0
  #batch: Array<SessionLine> = []
  #ended = false
  readonly #take: SessionReaderOptions["take"]

  constructor(options: SessionReaderOptions = {}) {
    this.#take = options.take
    this.#line = (options.firstLine ?? 1) - 1
  }

  /** The header, once its line has been read. */
  get header(): HeaderLine | undefined {
    return this.#header
  }

  /** Everything noticed so far, in file order. */
  get diagnostics(): ReadonlyArray<SessionDiagnostic> {
    return this.#diagnostics
  }

  /**
   * Takes the next bytes and returns the lines that they completed, in file order. The reader's lines point into
   * `chunk`: do not reuse its memory.
   */
  push(chunk: Uint8Array): ReadonlyArray<SessionLine> {
    this.#batch = []
    let start = 0
    let newline = indexOfNewline(chunk, 0)
    if (newline < 0) {
      if (chunk.length > 0) this.#pending.push(chunk)
      return this.#batch
    }
    if (this.#pending.length > 0) {
      this.#pending.push(chunk.subarray(0, newline + 1))
      const joined = concat(this.#pending)
      this.#pending = []
      this.#readLine(joined, 0, joined.length - 1, true, isUtf8(joined))
      start = newline + 1
      newline = indexOfNewline(chunk, start)
    }
    if (newline >= 0) {
      const last = chunk.lastIndexOf(0x0a)
      // Newlines never fall inside a character, so whole lines can be checked at once.
      const valid = isUtf8(chunk.subarray(start, last))
      while (newline >= 0) {
        this.#readLine(chunk, start, newline, true, valid || isUtf8(chunk.subarray(start, newline)))
        start = newline + 1
        newline = start > last ? -1 : indexOfNewline(chunk, start)
      }
    }
    if (start < chunk.length) this.#pending.push(chunk.subarray(start))
    return this.#batch
  }

  /** The lines that the push or end under way has read so far; it will not return them again. */
  drain(): ReadonlyArray<SessionLine> {
    const batch = this.#batch
    if (batch.length > 0) this.#batch = []
    return batch
  }

  /** Ends the input: returns the last line when it had no newline. Call once. */
  end(): ReadonlyArray<SessionLine> {
    this.#batch = []
    if (this.#ended) return this.#batch
    this.#ended = true
    if (this.#pending.length > 0) {
      const joined = concat([...this.#pending, Uint8Array.of(0x0a)])
      this.#pending = []
      const end = joined.length - 1
      this.#readLine(joined, 0, end, false, isUtf8(joined.subarray(0, end)))
    }
    if (this.#header === undefined) {
      this.#report("missing-header", 1, 0, 'no line {"type":"session","id":"..."}: this is not a Pi session file')
    }
    return this.#batch
  }

  #report(code: Code, line: number, byteOffset: number, message: string, entryId?: string | null): void {
    this.#diagnostics.push({
      code,
      line,
      byteOffset,
      message,
      ...(typeof entryId === "string" ? { entryId } : {})
    })
  }

  /** `bytes[end]` is a newline. `terminated` tells whether it is in the file. */
  #readLine(bytes: Uint8Array, lineStart: number, end: number, terminated: boolean, validUtf8: boolean): void {
    const number = ++this.#line
    this.#isUtf8 = validUtf8
    let start = lineStart
    let offset = this.#offset
    this.#offset += end - start + (terminated ? 1 : 0)
    if (offset === 0 && bytes[start] === 0xef && bytes[start + 1] === 0xbb && bytes[start + 2] === 0xbf) {
      this.#report("bom", number, 0, "a byte order mark before the header; Pi 1.5 refuses the file")
      this.#batch.push(new SessionLine(bytes, start, start + 3, number, 0, false))
      start += 3
      offset += 3
    }
    if (end - start > MAX_LINE_BYTES) {
      this.#tooLong(end - start, number, offset)
      this.#batch.push(new SessionLine(bytes, start, end, number, offset, terminated))
      if (!terminated) this.#unterminated(number)
      return
    }
    if (!validUtf8) {
      this.#report("invalid-utf8", number, offset, "bytes that are not UTF-8; they are kept, and read as U+FFFD")
    }
    if (end > start && bytes[end - 1] === 0x0d && !this.#sawCrlf) {
      this.#sawCrlf = true
      this.#report("crlf", number, offset, "lines end in CR LF (reported once); Pi reads them, and writes LF")
    }
    if (validUtf8 && this.#take?.(bytes, start, end, number, offset) === true) {
      this.#sawValue = true
      if (!terminated) this.#unterminated(number)
      return
    }
    const at = this.#scanner.scan(bytes, start, end)
    if (at >= 0 && this.#isSpace(bytes, at, end)) {
      this.#value(bytes, start, end, number, offset, terminated, false)
      if (!terminated) this.#unterminated(number)
      return
    }
    if (this.#isSpace(bytes, start, end) || decodeUtf8(bytes, start, end).trim() === "") {
      this.#batch.push(new SessionLine(bytes, start, end, number, offset, terminated))
      return
    }
    this.#recover(bytes, start, end, number, offset, terminated)
  }

  #tooLong(bytes: number, line: number, byteOffset: number): void {
    const message = `a line of ${bytes} bytes; no more than ${MAX_LINE_BYTES} can be read. It is kept, and is no entry`
    this.#report("line-too-long", line, byteOffset, message)
  }

  #unterminated(line: number): void {
    this.#report("missing-final-newline", line, this.#offset, "no newline at the end of the file")
  }

  #isSpace(bytes: Uint8Array, from: number, end: number): boolean {
    for (let i = from; i < end; i++) if (!isSpace(bytes[i]!)) return false
    return true
  }

  /** Takes the value that `#scanner` has just accepted in `bytes[start, end)`. */
  #value(
    bytes: Uint8Array,
    start: number,
    end: number,
    line: number,
    byteOffset: number,
    terminated: boolean,
    recovered: boolean
  ): void {
    const scanner = this.#scanner
    let first = start
    while (isSpace(bytes[first]!)) first++
    if (bytes[first] !== 0x7b) {
      this.#sawValue = true
      const message = "a JSON value that is no object, which Pi takes for an entry without an id; it is kept"
      this.#report("not-an-object", line, byteOffset, message)
      this.#batch.push(new ValueLine(bytes, start, end, line, byteOffset, terminated))
      return
    }
    const type = knownStringIn(bytes, scanner.type, this.#previousType)
    if (type === "session") {
      const id = stringIn(bytes, scanner.id) ?? null
      this.#headerCandidate(bytes, start, end, line, byteOffset, terminated, id)
      return
    }
    const id = idIn(bytes, scanner.id)
    this.#sawValue = true
    // Only a type without escapes and multi-byte characters is written as it reads.
    this.#previousType = type !== undefined && type.length === scanner.type.end - scanner.type.start - 2 ? type : ""
    if (type === undefined) {
      this.#report("missing-type", line, byteOffset, 'an entry whose "type" is missing or no text', id)
    }
    if (id === null && this.#version >= 2) {
      const what = type === undefined ? "an entry" : `an entry of type ${JSON.stringify(type)}`
      this.#report("missing-id", line, byteOffset, `${what} without an id`)
    }
    const followsPrevious = isWritten(bytes, scanner.parentId, this.#previousId)
    const parentId = followsPrevious ? this.#previousId : idIn(bytes, scanner.parentId)
    // Only an id without escapes and multi-byte characters is written as it reads.
    this.#previousId = id !== null && id.length === scanner.id.end - scanner.id.start - 2 ? id : ""
    const timestamp = scanner.timestamp
    const hasTimestamp = timestamp.start >= 0 && bytes[timestamp.start] === 0x22
    this.#batch.push(
      new SessionEntry(bytes, start, end, line, byteOffset, terminated, {
        type: type ?? "",
        id,
        parentId,
        role: type === "message" ? knownStringIn(bytes, scanner.role) : undefined,
        timestamp: hasTimestamp ? { start: timestamp.start, end: timestamp.end } : undefined,
        recovered,
        nullId: id === null && scanner.id.start >= 0 && bytes[scanner.id.start] === LOWER_N,
        longStrings: this.#isUtf8 ? scanner.longStrings : NONE
      })
    )
  }

  #headerCandidate(
    bytes: Uint8Array,
    start: number,
    end: number,
    line: number,
    byteOffset: number,
    terminated: boolean,
    id: string | null
  ): void {
    if (id === null || this.#header !== undefined) {
      const code = id === null ? "missing-id" : "duplicate-header"
      this.#report(code, line, byteOffset, id === null ? "a header without an id" : "a second header; it is ignored")
      this.#batch.push(new SessionLine(bytes, start, end, line, byteOffset, terminated))
      return
    }
    const header = new HeaderLine(bytes, start, end, line, byteOffset, terminated)
    this.#header = header
    this.#version = versionOf(header.decode())
    if (this.#sawValue) {
      this.#report(
        "header-not-first",
        line,
        byteOffset,
        "the header is not the first entry; Pi takes the file for none"
      )
    }
    this.#sawValue = true
    this.#batch.push(header)
  }

  /**
   * A line that is no single JSON value: reads what whole entries it holds (an append glued to an earlier line, whole
   * or torn) and keeps the rest as a damaged line.
   */
  #recover(bytes: Uint8Array, start: number, end: number, line: number, byteOffset: number, terminated: boolean): void {
    const damaged = (from: number, to: number, last: boolean): void => {
      this.#batch.push(new SessionLine(bytes, from, to, line, byteOffset + from - start, last && terminated))
    }
    const errorAt = this.#scanner.scannedTo
    let damagedFrom = -1
    let found = 0
    let at = start
    while (at < end) {
      const stop = this.#looksLikeEntry(bytes, at, end, damagedFrom >= 0)
      if (stop < 0) {
        if (damagedFrom < 0) damagedFrom = at
        const next = this.#nextCandidate(bytes, this.#afterFault(bytes, at), end)
        if (next < 0) break
        at = next
        continue
      }
      if (damagedFrom >= 0) {
        damaged(damagedFrom, at, false)
        damagedFrom = -1
      }
      const to = this.#isSpace(bytes, stop, end) ? end : stop
      this.#value(bytes, at, to, line, byteOffset + at - start, to === end && terminated, true)
      found++
      at = to
    }
    if (damagedFrom < 0 && at < end) damagedFrom = at
    if (damagedFrom >= 0) damaged(damagedFrom, end, true)
    const what = found === 0 ? "" : `; ${found} whole ${found === 1 ? "entry" : "entries"} on it were recovered`
    if (damagedFrom >= 0 && !terminated) {
      this.#report("torn-line", line, byteOffset, `the last line breaks off${what}; it is kept as it is`)
    } else if (found > 1 || (found === 1 && damagedFrom < 0)) {
      this.#report("glued-line", line, byteOffset, `several values on one line, which Pi skips whole${what}`)
    } else {
      const where = byteOffset + errorAt - start
      this.#report("malformed-line", line, byteOffset, `no JSON (near byte ${where})${what}; the rest is kept as it is`)
    }
    if (damagedFrom < 0 && !terminated) this.#unterminated(line)
  }

  /**
   * End of the entry that starts at `at`, or -1. Only an object with a type and an id or timestamp, followed by the
   * end of the line or by another object, is taken for an entry. Inside damage it must also say when or after which
   * entry it was written: content blocks of a torn message have a type and an id too.
   */
  #looksLikeEntry(bytes: Uint8Array, at: number, end: number, inDamage: boolean): number {
    if (bytes[at] !== 0x7b) {
      this.#scanner.scannedTo = at
      return -1
    }
    const stop = this.#scanner.scan(bytes, at, end)
    if (stop < 0) return -1
    const { type, id, parentId, timestamp } = this.#scanner
    if (type.start < 0 || bytes[type.start] !== 0x22) return -1
    if (timestamp.start < 0 && id.start < 0) return -1
    if (inDamage && parentId.start < 0 && bytes[timestamp.start] !== 0x22) return -1
    let next = stop
    while (next < end && isSpace(bytes[next]!)) next++
    return next === end || bytes[next] === 0x7b ? stop : -1
  }

  /**
   * Where the next entry may begin after the scan from `at` that found none. Within what was scanned, a value is followed
   * by a comma or a bracket, and not by another entry, except at the end: the object that was closed last, and a quote that
   * closed a torn string and opens a key. To look nowhere else keeps the work linear on nested objects.
   */
  #afterFault(bytes: Uint8Array, at: number): number {
    const { lastObject, scannedTo } = this.#scanner
    let to = scannedTo
    while (to > at && isSpace(bytes[to - 1]!)) to--
    const torn = to - 2
    const from = lastObject.start > at && lastObject.end === to ? lastObject.start : torn
    return Math.max(at + 1, Math.min(from, torn))
  }

  /** The next `{"` at or after `from`, or -1. */
  #nextCandidate(bytes: Uint8Array, from: number, end: number): number {
    for (let i = from; i + 1 < end; i++) {
      if (bytes[i] === 0x7b && bytes[i + 1] === 0x22) return i
    }
    return -1
  }
}

/** Parses the header of a file from its first bytes; undefined when they hold none. */
export const peekHeader = (bytes: Uint8Array): HeaderLine | undefined => {
  const reader = new SessionReader()
  reader.push(bytes)
  if (reader.header === undefined) reader.end()
  return reader.header
}
