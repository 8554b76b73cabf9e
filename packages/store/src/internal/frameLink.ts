/** The rule by which one frame follows another: INV-002 and INV-005 for neighbours. */
import { type FrameFields, GENESIS, type SegmentFrame } from "../SegmentFrame.ts"
import { type Head } from "../WireField.ts"

/** A frame as the head that the next one must follow. */
export const headOf = (frame: FrameFields, chainHash: string): Head => ({
  segment_seq: frame.segment_seq,
  frame_seq: frame.frame_seq,
  entry_seq: frame.entry_seq,
  entry_id: frame.entry_id,
  chain_hash: chainHash
})

/** Why `frame`, found in segment `segmentSeq`, does not follow `head` (or start the store); undefined when it does. */
export const follows = (head: Head | undefined, segmentSeq: number, frame: SegmentFrame): string | undefined => {
  if (frame.segment_seq !== segmentSeq) return `the frame belongs to segment ${frame.segment_seq}`
  const expected = head === undefined ? 0 : head.entry_seq + 1
  if (frame.entry_seq !== expected) return `entry_seq ${frame.entry_seq} in place of ${expected}`
  const expectedFrame = head?.segment_seq === segmentSeq ? head.frame_seq + 1 : 1
  if (frame.frame_seq !== expectedFrame) return `frame_seq ${frame.frame_seq} in place of ${expectedFrame}`
  if (frame.prev_hash !== (head?.chain_hash ?? GENESIS)) return "the hash chain does not continue here"
  return undefined
}
