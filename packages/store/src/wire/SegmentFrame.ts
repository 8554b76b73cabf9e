/**
 * A frame: one line of a session in a segment, with its checksum and its link. Its bytes are a header line (JSON), the
 * unchanged line of the session, and a newline:
 *
 *     {"schema":"pi.session_store_v2.segment_frame.v1","segment_seq":1,"frame_seq":3,"entry_seq":2,...,"crc32":"..."}
 *     {"type":"message","id":"a1b2c3d4","parentId":"...",...}
 *
 * So a segment is JSONL, and every second line of it is the session. `crc32` covers the payload and the header line up to
 * the checksum. `prev_hash` is the SHA-256 of all bytes of the frame before, also across segments, and zeros in the first
 * frame. A header has exactly one spelling: another order, member or number format is damage.
 */
import { hash } from "node:crypto"
import { crc32 } from "node:zlib"
import * as Schema from "effect/Schema"
import { hex8 } from "./checkedLine.ts"
import { ByteCount, Crc32, EntrySeq, Hash, Seq } from "./WireField.ts"

export const SCHEMA_ID = "pi.session_store_v2.segment_frame.v1"

/** The header line of a frame. */
export const SegmentFrame = Schema.Struct({
  schema: Schema.Literal(SCHEMA_ID),
  segment_seq: Seq,
  /** From 1 in each segment. */
  frame_seq: Seq,
  entry_seq: EntrySeq,
  /** The session's id in the frame of its header. Empty for an entry that others cannot refer to; see `links_in_lines`. */
  entry_id: Schema.String,
  /** Null, or the id of an earlier entry (INV-001). */
  parent_entry_id: Schema.NullOr(Schema.String),
  /** The line's parent when no earlier entry has that id; `parent_entry_id` is null then. */
  missing_parent_id: Schema.optionalKey(Schema.String),
  /** `session` in the frame of the header. */
  entry_type: Schema.String,
  /** Bytes of the payload, without its newline. */
  payload_length: ByteCount,
  /** The line was the last of its file and had no newline. Export omits the newline when no entry follows. */
  unterminated: Schema.optionalKey(Schema.Literal(true)),
  /**
   * Only in the header's frame: the migrated file had an entry without an id, a repeated id, a parent after its child, or
   * a line that is no entry. Branches are then computed from all lines, as for a file.
   */
  links_in_lines: Schema.optionalKey(Schema.Literal(true)),
  prev_hash: Hash,
  crc32: Crc32
})
export type SegmentFrame = typeof SegmentFrame.Type

/** `prev_hash` of a store's first frame. */
export const GENESIS = "0".repeat(64)

/** Maximal length of a header line. Longer is damage, so that a missing newline does not make reading endless. */
export const HEADER_BYTES_MAX = 1 << 16

/** Upper bound for the bytes of a header besides its ids and its type. */
const FIXED_BYTES = 1 << 10

/** Whether the header of an entry fits in `HEADER_BYTES_MAX`. */
export const isShort = (entryId: string, parentId: string | null, entryType: string): boolean => {
  // No character takes more than six bytes of JSON.
  if (entryId.length + (parentId?.length ?? 0) + entryType.length < HEADER_BYTES_MAX / 8) return true
  const names = [entryId, parentId ?? "", entryType]
  return names.reduce((sum, name) => sum + Buffer.byteLength(JSON.stringify(name)), FIXED_BYTES) <= HEADER_BYTES_MAX
}

/** SHA-256 of a frame's bytes: the `prev_hash` of the next frame and the `chain_hash` of a head. */
export const chainHash = (frame: Uint8Array): string => hash("sha256", frame, "hex")

/** One line of a session, to be written as a frame. */
export interface FrameInput {
  readonly entryId: string
  readonly parentId: string | null
  readonly missingParentId?: string
  readonly entryType: string
  /** The line without its newline. */
  readonly payload: Uint8Array
  readonly unterminated?: true
  readonly linksInLines?: true
}

/** Fields of a frame before it is encoded. */
export type FrameFields = Omit<SegmentFrame, "schema" | "payload_length" | "crc32">

/** Encodes a frame. `payload` is a line without its newline. */
export const encode = (frame: FrameFields, payload: Uint8Array): Buffer => {
  const open =
    `{"schema":"${SCHEMA_ID}","segment_seq":${frame.segment_seq},"frame_seq":${frame.frame_seq},` +
    `"entry_seq":${frame.entry_seq},"entry_id":${JSON.stringify(frame.entry_id)},` +
    `"parent_entry_id":${frame.parent_entry_id === null ? "null" : JSON.stringify(frame.parent_entry_id)},` +
    `${frame.missing_parent_id === undefined ? "" : `"missing_parent_id":${JSON.stringify(frame.missing_parent_id)},`}` +
    `"entry_type":${JSON.stringify(frame.entry_type)},"payload_length":${payload.length},` +
    `${frame.unterminated === true ? '"unterminated":true,' : ""}` +
    `${frame.links_in_lines === true ? '"links_in_lines":true,' : ""}"prev_hash":"${frame.prev_hash}"`
  const opened = Buffer.byteLength(open)
  const bytes = Buffer.allocUnsafe(opened + 21 + payload.length + 1)
  bytes.write(open, 0, "utf8")
  bytes.set(payload, opened + 21)
  bytes[bytes.length - 1] = 0x0a
  const sum = crc32(payload, crc32(bytes.subarray(0, opened)))
  bytes.write(`,"crc32":"${hex8(sum)}"}\n`, opened, "latin1")
  return bytes
}

/** A decoded frame. Offsets are relative to the array that holds it. */
export interface FoundFrame {
  readonly _tag: "Frame"
  readonly frame: SegmentFrame
  readonly start: number
  readonly payloadStart: number
  readonly payloadEnd: number
  /** After the newline that ends the frame. */
  readonly end: number
}

export type Decoded =
  | FoundFrame
  /** The bytes end before the frame does. Decoding needs at least this many bytes from the frame's start. */
  | { readonly _tag: "Incomplete"; readonly bytesNeeded: number }
  | { readonly _tag: "Damaged"; readonly reason: string }

/** Patterns of the one spelling of values. `SEQ` counts from 1. */
export const NUMBER = "(0|[1-9][0-9]{0,14})"
export const SEQ = "([1-9][0-9]{0,14})"
export const STRING = '("(?:[^"\\\\\\u0000-\\u001f]|\\\\.)*")'
const HEADER = new RegExp(
  `^\\{"schema":"${SCHEMA_ID.replaceAll(".", "\\.")}","segment_seq":${SEQ},"frame_seq":${SEQ},"entry_seq":${NUMBER},` +
    `"entry_id":${STRING},"parent_entry_id":(?:null|${STRING}),(?:"missing_parent_id":${STRING},)?` +
    `"entry_type":${STRING},"payload_length":${NUMBER},("unterminated":true,)?("links_in_lines":true,)?` +
    `"prev_hash":"([0-9a-f]{64})","crc32":"([0-9a-f]{8})"\\}$`
)

/** The value of a matched JSON string; undefined when `encode` would spell it differently. */
export const unquote = (quoted: string): string | undefined => {
  if (!quoted.includes("\\")) return quoted.slice(1, -1)
  try {
    const value: unknown = JSON.parse(quoted)
    return typeof value === "string" && JSON.stringify(value) === quoted ? value : undefined
  } catch {
    return undefined
  }
}

const damaged = (reason: string): Decoded => ({ _tag: "Damaged", reason })

/** Decodes the frame that starts at `start`. `end` is the end of the available bytes. */
export const decode = (bytes: Buffer, start: number, end: number): Decoded => {
  const newline = bytes.indexOf(0x0a, start)
  if (newline < 0 || newline >= end) {
    return end - start > HEADER_BYTES_MAX
      ? damaged("no frame header")
      : { _tag: "Incomplete", bytesNeeded: end - start + 1 }
  }
  const match = HEADER.exec(bytes.toString("utf8", start, newline))
  if (match === null) return damaged("no frame header")
  const payloadStart = newline + 1
  const payloadEnd = payloadStart + Number(match[8])
  if (payloadEnd + 1 > end) return { _tag: "Incomplete", bytesNeeded: payloadEnd + 1 - start }
  if (bytes[payloadEnd] !== 0x0a) return damaged("no newline after the payload")
  const sum = crc32(bytes.subarray(payloadStart, payloadEnd), crc32(bytes.subarray(start, newline - 20)))
  const written = match[12] ?? ""
  if (hex8(sum) !== written) return damaged("the checksum does not match")
  const entryId = unquote(match[4] ?? "")
  const parentId = match[5] === undefined ? null : unquote(match[5])
  const missingParentId = match[6] === undefined ? null : unquote(match[6])
  const entryType = unquote(match[7] ?? "")
  if (entryId === undefined || parentId === undefined || missingParentId === undefined || entryType === undefined) {
    return damaged("no frame header")
  }
  return {
    _tag: "Frame",
    frame: {
      schema: SCHEMA_ID,
      segment_seq: Number(match[1]),
      frame_seq: Number(match[2]),
      entry_seq: Number(match[3]),
      entry_id: entryId,
      parent_entry_id: parentId,
      ...(missingParentId === null ? {} : { missing_parent_id: missingParentId }),
      entry_type: entryType,
      payload_length: Number(match[8]),
      ...(match[9] === undefined ? {} : { unterminated: true }),
      ...(match[10] === undefined ? {} : { links_in_lines: true }),
      prev_hash: match[11] ?? "",
      crc32: written
    },
    start,
    payloadStart,
    payloadEnd,
    end: payloadEnd + 1
  }
}
