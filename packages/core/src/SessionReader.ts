/**
 * The only reader of session files: bytes in, lines out. It takes chunks of any size, buffers no more than the longest
 * line, never throws on content, and reports damage with line and byte. `Session.read` reads a whole session into memory.
 */
import { type SessionDiagnostic, type Code } from "./SessionDiagnostic.ts"
import { versionOf } from "./SessionHeader.ts"
import { HeaderLine, MAX_LINE_BYTES, SessionEntry, SessionLine, ValueLine } from "./SessionLine.ts"
import { entryEnd, nextCandidate } from "./internal/entrySearch.ts"
import { idIn, knownStringIn, stringIn } from "./internal/envelopeFields.ts"
import { JsonScanner, isWritten, spaceEnd } from "./internal/jsonScanner.ts"
import { concat, decodeUtf8, indexOfNewline, isUtf8 } from "./internal/utf8.ts"

const NONE: ReadonlyArray<number> = []

const LOWER_N = 0x6e

export interface SessionReaderOptions {
  /** Number of the first line. Default: 1. */
  readonly firstLine?: number
  /**
   * Called with each line of valid UTF-8 before it is read. Returns true when the caller handled the line, which the reader
   * then skips. Must return false for headers and for lines that are not JSON objects. `drain` returns the lines before it.
   */
  readonly take?:
    | ((bytes: Uint8Array, start: number, end: number, line: number, byteOffset: number) => boolean)
    | undefined
}

export class SessionReader {
  readonly #scanner = new JsonScanner()
  readonly #diagnostics: Array<SessionDiagnostic> = []
  #header: HeaderLine | undefined
  /** Of the session. Entries of version 1 have no ids. */
  #version = 1
  #sawValue = false
  /** Most entries follow the previous one: then the parent's id is not decoded. */
  #previousId = ""
  /** Types repeat from line to line, also the unknown ones of other programs. */
  #previousType = ""
  #sawCrlf = false
  /** Of the current line. */
  #isUtf8 = true
  /** Pieces of a line whose newline has not been read yet. */
  #pending: Array<Uint8Array> = []
  #line = 0
  /** Offset in the file of the next line. */
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

  /** Damage found so far, in file order. */
  get diagnostics(): ReadonlyArray<SessionDiagnostic> {
    return this.#diagnostics
  }

  /**
   * Reads the next bytes and returns the lines that they complete, in file order. Lines point into `chunk`: do not reuse
   * its memory.
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
      // A newline is never part of a longer UTF-8 sequence, so many lines are checked at once.
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

  /** For `take`: the lines that the current `push` or `end` has read so far. It will not return them again. */
  drain(): ReadonlyArray<SessionLine> {
    const batch = this.#batch
    if (batch.length > 0) this.#batch = []
    return batch
  }

  /** Ends the input and returns the last line when it has no newline. Call once. */
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

  /** `bytes[end]` must be a newline; `terminated` is whether the file has it. */
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
    if (at >= 0 && spaceEnd(bytes, at, end) === end) {
      this.#value(bytes, start, end, number, offset, terminated, false)
      if (!terminated) this.#unterminated(number)
      return
    }
    if (spaceEnd(bytes, start, end) === end || decodeUtf8(bytes, start, end).trim() === "") {
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

  /** Adds the line of the value that `#scanner` has just accepted in `bytes[start, end)`. */
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
    if (bytes[spaceEnd(bytes, start, end)] !== 0x7b) {
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
    // A type with escapes or multi-byte characters has other bytes than its text.
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
    // As for the type.
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

  /** Reads the whole entries on a line that is not a single JSON value, and keeps the rest as damaged lines. */
  #recover(bytes: Uint8Array, start: number, end: number, line: number, byteOffset: number, terminated: boolean): void {
    const damaged = (from: number, to: number, last: boolean): void => {
      this.#batch.push(new SessionLine(bytes, from, to, line, byteOffset + from - start, last && terminated))
    }
    const errorAt = this.#scanner.scannedTo
    let damagedFrom = -1
    let found = 0
    let at = start
    while (at < end) {
      const stop = entryEnd(this.#scanner, bytes, at, end, damagedFrom >= 0)
      if (stop < 0) {
        if (damagedFrom < 0) damagedFrom = at
        const next = nextCandidate(this.#scanner, bytes, at, end)
        if (next < 0) break
        at = next
        continue
      }
      if (damagedFrom >= 0) {
        damaged(damagedFrom, at, false)
        damagedFrom = -1
      }
      const to = spaceEnd(bytes, stop, end) === end ? end : stop
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
}

/** The header of a file, from its first bytes; undefined when they hold no header. */
export const peekHeader = (bytes: Uint8Array): HeaderLine | undefined => {
  const reader = new SessionReader()
  reader.push(bytes)
  if (reader.header === undefined) reader.end()
  return reader.header
}
