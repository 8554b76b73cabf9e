/** Links between frames: checks INV-002 and INV-005 for neighbours, and makes linked frames. */
import * as OffsetRow from "./OffsetRow.ts"
import {
  type FoundFrame,
  type FrameFields,
  type FrameInput,
  GENESIS,
  type SegmentFrame,
  chainHash,
  encode
} from "./SegmentFrame.ts"
import { type Head } from "./WireField.ts"

/** A frame as the head of the store. */
export const headOf = (frame: FrameFields, chainHash: string): Head => ({
  segment_seq: frame.segment_seq,
  frame_seq: frame.frame_seq,
  entry_seq: frame.entry_seq,
  entry_id: frame.entry_id,
  chain_hash: chainHash
})

/** As `headOf`, for a frame found in `bytes`. */
export const headOfFound = (bytes: Buffer, { end, frame, start }: FoundFrame): Head =>
  headOf(frame, chainHash(bytes.subarray(start, end)))

/** Why `frame` in segment `segmentSeq` does not follow `head`, or does not start the store; undefined when it does. */
export const follows = (head: Head | undefined, segmentSeq: number, frame: SegmentFrame): string | undefined => {
  if (frame.segment_seq !== segmentSeq) return `the frame belongs to segment ${frame.segment_seq}`
  const expected = head === undefined ? 0 : head.entry_seq + 1
  if (frame.entry_seq !== expected) return `entry_seq ${frame.entry_seq} in place of ${expected}`
  const expectedFrame = head?.segment_seq === segmentSeq ? head.frame_seq + 1 : 1
  if (frame.frame_seq !== expectedFrame) return `frame_seq ${frame.frame_seq} in place of ${expectedFrame}`
  if (frame.prev_hash !== (head?.chain_hash ?? GENESIS)) return "the hash chain does not continue here"
  return undefined
}

/** Makes frames after `previous`, for a segment of `byteLength` bytes, and their index rows. */
export const framesOf = (
  inputs: ReadonlyArray<FrameInput>,
  segmentSeq: number,
  byteLength: number,
  previous: Head | undefined
): {
  readonly frames: ReadonlyArray<Buffer>
  readonly rows: ReadonlyArray<OffsetRow.OffsetRow>
  readonly head: Head | undefined
} => {
  const frames: Array<Buffer> = []
  const rows: Array<OffsetRow.OffsetRow> = []
  let head = previous
  let byteOffset = byteLength
  for (const input of inputs) {
    const frame = {
      segment_seq: segmentSeq,
      frame_seq: head?.segment_seq === segmentSeq ? head.frame_seq + 1 : 1,
      entry_seq: head === undefined ? 0 : head.entry_seq + 1,
      entry_id: input.entryId,
      parent_entry_id: input.parentId,
      ...(input.missingParentId === undefined ? {} : { missing_parent_id: input.missingParentId }),
      entry_type: input.entryType,
      ...(input.unterminated === true ? { unterminated: true as const } : {}),
      ...(input.linksInLines === true ? { links_in_lines: true as const } : {}),
      prev_hash: head?.chain_hash ?? GENESIS
    }
    const bytes = encode(frame, input.payload)
    frames.push(bytes)
    rows.push(OffsetRow.ofFrame(frame, byteOffset, bytes.length))
    byteOffset += bytes.length
    head = headOf(frame, chainHash(bytes))
  }
  return { frames, rows, head }
}
