/**
 * Lines of a session file. A line is a range of bytes in memory. The reader reads an entry's envelope; the rest is decoded
 * on demand. Entries, the header and all other lines are kept, so that a session is written back by writing its lines.
 */
import { Buffer, constants } from "node:buffer"
import * as EntryId from "./EntryId.ts"
import { type Json, type JsonObject, isObject, objectAt, stringAt } from "./Json.ts"
import { PiProfile } from "./PiProfile.ts"
import * as ValueText from "./ValueText.ts"
import { type Range, decodeString } from "./internal/jsonScanner.ts"
import { decodeUtf8, encodeUtf8 } from "./internal/utf8.ts"

/** The longest line that can be decoded, in bytes: V8's longest string. */
export const MAX_LINE_BYTES = constants.MAX_STRING_LENGTH

/** A blank, damaged or too long line, and the base class of all others. */
export class SessionLine {
  /** Bytes that hold the line: `source[start, end)`, newline excluded. */
  readonly source: Uint8Array
  readonly start: number
  readonly end: number
  /** Line number from 1; entries recovered from one line have the same number. */
  readonly line: number
  /** Offset of the first byte in the file. */
  readonly byteOffset: number
  /** Whether a newline follows in the file. */
  readonly terminated: boolean

  constructor(source: Uint8Array, start: number, end: number, line: number, byteOffset: number, terminated: boolean) {
    this.source = source
    this.start = start
    this.end = end
    this.line = line
    this.byteOffset = byteOffset
    this.terminated = terminated
  }

  /** The original bytes, newline excluded. */
  get bytes(): Uint8Array {
    return this.source.subarray(this.start, this.end)
  }

  /** The original text; invalid UTF-8 becomes U+FFFD. Throws for a line longer than `MAX_LINE_BYTES`. */
  get text(): string {
    return decodeUtf8(this.source, this.start, this.end)
  }
}

/** Whether two lines have the same bytes. */
export const isSameLine = (a: SessionLine, b: SessionLine): boolean =>
  a.end - a.start === b.end - b.start && Buffer.compare(a.bytes, b.bytes) === 0

/** A line that is JSON but not an object. Pi reads most of these as entries without id, parent and content. */
export class ValueLine extends SessionLine {
  /** The Pis that have no leaf and an empty context when no entry follows. 1.5 skips `0`, `false` and `""`. */
  get leafless(): ReadonlyArray<PiProfile> {
    let first = this.start
    while (this.source[first]! <= 0x20) first++
    // Arrays and strings are not parsed: they may be longer than the longest string.
    if (this.source[first] === 0x5b) return EVERY_PI
    if (this.source[first] === 0x22) return this.source[first + 1] === 0x22 ? ["0.78"] : EVERY_PI
    const value: Json = JSON.parse(this.text)
    // 1.5 skips null, and 0.78 does not open the file.
    if (value === null) return []
    return value === false || value === 0 ? ["0.78"] : EVERY_PI
  }
}

const EVERY_PI = PiProfile.literals

/** The object of a line. Parses at each call. */
const parseObject = (line: SessionLine): JsonObject => {
  const value: Json = JSON.parse(line.text)
  return isObject(value) ? value : {}
}

/** Position in the file. Generated lines have line 0, byte 0. */
export interface Position {
  readonly line: number
  readonly byteOffset: number
}

const NOWHERE: Position = { line: 0, byteOffset: 0 }

/** The members of an entry that the reader finds without decoding it. */
export interface Envelope {
  /** Empty where `type` is not a string. */
  readonly type: string
  /** See `EntryId.read`, also for `parentId`. */
  readonly id: string | null
  readonly parentId: string | null
  readonly role: string | undefined
  /** The `timestamp`, or the range of its value in the source. */
  readonly timestamp: string | Range | undefined
  readonly recovered: boolean
  /** Default: false. */
  readonly nullId?: boolean
  /** Default: none. */
  readonly longStrings?: ReadonlyArray<number>
}

const NONE: ReadonlyArray<number> = []

/** The header: `{"type":"session","id":...}`. */
export class HeaderLine extends SessionLine {
  /** The line that Pi writes for a header. */
  static make(header: JsonObject, position: Position = NOWHERE): HeaderLine {
    const bytes = encodeUtf8(`${ValueText.stringify(header)}\n`)
    return new HeaderLine(bytes, 0, bytes.length - 1, position.line, position.byteOffset, true)
  }

  /** Decodes the header; parses at each call. */
  decode(): JsonObject {
    return parseObject(this)
  }
}

/** An entry: its original line and its envelope. */
export class SessionEntry extends SessionLine {
  /** Empty where `type` is not a string: Pi keeps the entry in the tree and does not send it to the model. */
  readonly type: string
  /** See `EntryId.read`. Null only in files of version 1 and in damaged files. */
  readonly id: string | null
  /** Null for a root. */
  readonly parentId: string | null
  /** `message.role` of a message entry. */
  readonly role: string | undefined
  /** Whether the entry shares its line with another value, so that Pi skips it. */
  readonly recovered: boolean
  /** Whether the `id` is null, not missing: when it is the last entry, Pi's leaf is before the first entry. */
  readonly nullId: boolean
  /**
   * Start and end offsets in `source`, in pairs and without quotes, of the long string values that are well-formed and that
   * `JSON.stringify` would write with the same bytes. Generated entries have none.
   */
  readonly longStrings: ReadonlyArray<number>
  readonly #timestamp: string | Range | undefined

  constructor(
    source: Uint8Array,
    start: number,
    end: number,
    line: number,
    byteOffset: number,
    terminated: boolean,
    envelope: Envelope
  ) {
    super(source, start, end, line, byteOffset, terminated)
    this.type = envelope.type
    this.id = envelope.id
    this.parentId = envelope.parentId
    this.role = envelope.role
    this.recovered = envelope.recovered
    this.nullId = envelope.nullId ?? false
    this.longStrings = envelope.longStrings ?? NONE
    this.#timestamp = envelope.timestamp
  }

  /** The line that Pi writes for an entry: `JSON.stringify` and a newline. */
  static make(payload: JsonObject, position: Position = NOWHERE): SessionEntry {
    const bytes = encodeUtf8(`${ValueText.stringify(payload)}\n`)
    const type = stringAt(payload, "type") ?? ""
    return new SessionEntry(bytes, 0, bytes.length - 1, position.line, position.byteOffset, true, {
      type,
      id: EntryId.read(payload["id"]),
      parentId: EntryId.read(payload["parentId"]),
      role: type === "message" ? stringAt(objectAt(payload, "message") ?? {}, "role") : undefined,
      timestamp: stringAt(payload, "timestamp"),
      recovered: false,
      nullId: payload["id"] === null
    })
  }

  /** The entry's own timestamp, an ISO string as Pi writes it. */
  get timestamp(): string | undefined {
    const timestamp = this.#timestamp
    return typeof timestamp === "object" ? decodeString(this.source, timestamp.start, timestamp.end) : timestamp
  }

  /** The `id` as the JSON value in the line, for references from other entries. */
  get idValue(): Json | undefined {
    return this.id === null || this.id.startsWith("#") ? this.decode()["id"] : this.id
  }

  /** Decodes the whole entry, with unknown fields; parses at each call. */
  decode(): JsonObject {
    return parseObject(this)
  }

  /** This entry as a separate line with a newline. */
  standalone(): SessionEntry {
    if (this.terminated && !this.recovered) return this
    const { type, id, longStrings, nullId, parentId, role } = this
    return new SessionEntry(this.source, this.start, this.end, this.line, this.byteOffset, true, {
      type,
      id,
      parentId,
      role,
      timestamp: this.#timestamp,
      recovered: false,
      nullId,
      longStrings
    })
  }

  /** This entry with other bytes for its line (without newline), which must have the same type, ids, role and time. */
  withLine(bytes: Uint8Array): SessionEntry {
    const { byteOffset, id, line, nullId, parentId, recovered, role, terminated, timestamp, type } = this
    const envelope = { type, id, parentId, role, timestamp, recovered, nullId }
    return new SessionEntry(bytes, 0, bytes.length, line, byteOffset, terminated, envelope)
  }

  /** This entry with another payload, at the same position. */
  rewrite(payload: JsonObject): SessionEntry {
    return SessionEntry.make(this.type === "" ? payload : { ...payload, type: this.type }, this)
  }
}
