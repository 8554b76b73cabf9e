/**
 * A row of the offset index: the position of an entry's frame, and what a walk of the tree needs. Row n belongs to
 * `entry_seq` n. Rows are written after their frames and can be rebuilt from them.
 */
import * as Schema from "effect/Schema"
import { type FoundFrame, type FrameFields, NUMBER, SEQ, STRING, unquote } from "./SegmentFrame.ts"
import { ByteCount, Crc32, EntrySeq, Seq } from "./WireField.ts"
import { isSound, sealedText } from "./checkedLine.ts"

export const SCHEMA_ID = "pi.session_store_v2.offset_index.v1"

export const OffsetRow = Schema.Struct({
  schema: Schema.Literal(SCHEMA_ID),
  entry_seq: EntrySeq,
  entry_id: Schema.String,
  parent_entry_id: Schema.NullOr(Schema.String),
  entry_type: Schema.String,
  segment_seq: Seq,
  frame_seq: Seq,
  /** Start of the frame in its segment. */
  byte_offset: ByteCount,
  /** Length of the whole frame: header line, payload, newline. */
  byte_length: ByteCount,
  crc32: Crc32
})
export type OffsetRow = Omit<typeof OffsetRow.Type, "schema" | "crc32">

/** The row of a frame of `byteLength` bytes that starts at `byteOffset` in its segment. */
export const ofFrame = (frame: FrameFields, byteOffset: number, byteLength: number): OffsetRow => ({
  entry_seq: frame.entry_seq,
  entry_id: frame.entry_id,
  parent_entry_id: frame.parent_entry_id,
  entry_type: frame.entry_type,
  segment_seq: frame.segment_seq,
  frame_seq: frame.frame_seq,
  byte_offset: byteOffset,
  byte_length: byteLength
})

/** As `ofFrame`, for a frame found in memory. */
export const ofFound = ({ end, frame, start }: FoundFrame, byteOffset: number): OffsetRow =>
  ofFrame(frame, byteOffset, end - start)

/** The line of a row, newline included. */
export const encode = (row: OffsetRow): Buffer => Buffer.from(encodeText(row))

/** As `encode`, as text, so that many can be joined. */
export const encodeText = (row: OffsetRow): string =>
  sealedText(
    `{"schema":"${SCHEMA_ID}","entry_seq":${row.entry_seq},"entry_id":${JSON.stringify(row.entry_id)},` +
      `"parent_entry_id":${row.parent_entry_id === null ? "null" : JSON.stringify(row.parent_entry_id)},` +
      `"entry_type":${JSON.stringify(row.entry_type)},"segment_seq":${row.segment_seq},"frame_seq":${row.frame_seq},` +
      `"byte_offset":${row.byte_offset},"byte_length":${row.byte_length}`
  )

const ROW = new RegExp(
  `^\\{"schema":"${SCHEMA_ID.replaceAll(".", "\\.")}","entry_seq":${NUMBER},"entry_id":${STRING},` +
    `"parent_entry_id":(?:null|${STRING}),"entry_type":${STRING},"segment_seq":${SEQ},"frame_seq":${SEQ},` +
    `"byte_offset":${NUMBER},"byte_length":${NUMBER},"crc32":"[0-9a-f]{8}"\\}$`
)

/** The row on the line `bytes[start, end)`, newline excluded; undefined when any byte of it is damaged. */
export const decode = (bytes: Buffer, start: number, end: number): OffsetRow | undefined => {
  if (!isSound(bytes, start, end)) return undefined
  const match = ROW.exec(bytes.toString("utf8", start, end))
  if (match === null) return undefined
  const entryId = unquote(match[2] ?? "")
  const parentId = match[3] === undefined ? null : unquote(match[3])
  const entryType = unquote(match[4] ?? "")
  if (entryId === undefined || parentId === undefined || entryType === undefined) return undefined
  return {
    entry_seq: Number(match[1]),
    entry_id: entryId,
    parent_entry_id: parentId,
    entry_type: entryType,
    segment_seq: Number(match[5]),
    frame_seq: Number(match[6]),
    byte_offset: Number(match[7]),
    byte_length: Number(match[8])
  }
}

/** Bytes that occur only in the row of this id, for a search by id. */
export const idNeedle = (entryId: string): Buffer => Buffer.from(`,"entry_id":${JSON.stringify(entryId)},`)
