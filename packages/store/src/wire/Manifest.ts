/**
 * The manifest of a container: its state, its sealed segments and its head as of the last change of state. It is
 * written whole, beside, and renamed; all of it but the state can be made again from the segments.
 */
import * as Schema from "effect/Schema"
import { StoreState } from "../StoreState.ts"
import { ByteCount, Count, Crc32, EntrySeq, Hash, Head, IndexExtent, Instant, Seq, Snapshot } from "./WireField.ts"
import { recordCodec } from "./recordCodec.ts"

export const SCHEMA_ID = "pi.session_store_v2.manifest.v1"

/** A segment that is closed for good. */
export const SealedSegment = Schema.Struct({
  segment_seq: Seq,
  frame_count: Seq,
  byte_length: ByteCount,
  first_entry_seq: EntrySeq,
  last_entry_seq: EntrySeq,
  /** `chain_hash` of its last frame. */
  chain_hash: Hash
})
export type SealedSegment = typeof SealedSegment.Type

export const Manifest = Schema.Struct({
  schema: Schema.Literal(SCHEMA_ID),
  session_id: Schema.String,
  /** Grows by 1 with each manifest that is written. */
  revision: Seq,
  state: StoreState,
  created_at: Instant,
  updated_at: Instant,
  /** Null before the first frame. While entries are appended the segments may be further than this. */
  head: Schema.NullOr(Head),
  /** Without the session's header; as of `head`. */
  entry_count: Count,
  /** In order, from segment 1 without a gap. */
  segments: Schema.Array(SealedSegment),
  index: IndexExtent,
  /** The last checkpoint written; null before the first. */
  checkpoint_seq: Schema.NullOr(Seq),
  /** Of the migration that made this container; null for a session that was created here. */
  correlation_id: Schema.NullOr(Schema.String),
  /** What this container was migrated from. */
  source: Schema.NullOr(Snapshot),
  crc32: Crc32
})
export type Manifest = Omit<typeof Manifest.Type, "crc32">

export const { encode, decode } = recordCodec(Manifest)
