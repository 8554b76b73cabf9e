/** Sealed segments in a manifest. */
import type * as Manifest from "./Manifest.ts"
import { type Head } from "./WireField.ts"

/** The segment that ends at `head`. */
export const sealedAt = (head: Head, firstEntrySeq: number, byteLength: number): Manifest.SealedSegment => ({
  segment_seq: head.segment_seq,
  frame_count: head.frame_seq,
  byte_length: byteLength,
  first_entry_seq: firstEntrySeq,
  last_entry_seq: head.entry_seq,
  chain_hash: head.chain_hash
})

/** Why the segments or their entries are not numbered without a gap; undefined when they are. */
export const gapIn = (segments: ReadonlyArray<Manifest.SealedSegment>): string | undefined => {
  let nextSeq = 0
  for (const [at, { first_entry_seq, frame_count, last_entry_seq, segment_seq }] of segments.entries()) {
    const isNext = segment_seq === at + 1 && first_entry_seq === nextSeq
    if (!isNext || last_entry_seq !== first_entry_seq + frame_count - 1) {
      return `it does not count the segments and their entries without a gap, from segment ${at + 1} on`
    }
    nextSeq = last_entry_seq + 1
  }
  return undefined
}
