/**
 * The manifest of a container: its state, its sealed segments, and its head at the last change of state. It is replaced as
 * a whole. Recovery rebuilds head, counts and segments from the segments, and source and correlation_id from the
 * ledger. The time of creation is lost.
 */
import * as Schema from "effect/Schema"
import { StoreState } from "../StoreState.ts"
import { ByteCount, Count, Crc32, EntrySeq, Hash, Head, IndexExtent, Instant, Seq, Snapshot } from "./WireField.ts"
import { recordCodec } from "./recordCodec.ts"

export const SCHEMA_ID = "pi.session_store_v2.manifest.v1"

/** A segment that never changes again. */
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
  /** Null before the first frame. In state DIRTY the segments may hold later frames. */
  head: Schema.NullOr(Head),
  /** Without the session's header, up to `head`. */
  entry_count: Count,
  /** In order, from segment 1 without a gap. */
  segments: Schema.Array(SealedSegment),
  index: IndexExtent,
  /** The last checkpoint written; null before the first. */
  checkpoint_seq: Schema.NullOr(Seq),
  /** Id of the migration that made this container; null for a session created in its store. */
  correlation_id: Schema.NullOr(Schema.String),
  /** The store that this container was migrated from. */
  source: Schema.NullOr(Snapshot),
  crc32: Crc32
})
export type Manifest = Omit<typeof Manifest.Type, "crc32">

export const { encode, decode } = recordCodec(Manifest)
