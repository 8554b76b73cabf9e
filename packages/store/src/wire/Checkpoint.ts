/**
 * A checkpoint: the result of folding the history up to a head, so that opening a store and building a context need not
 * read the history again. Checkpoints are numbered upwards, never changed, and can be rebuilt from the segments.
 */
import * as Schema from "effect/Schema"
import { Count, Crc32, EntrySeq, Head, IndexExtent, Instant, Seq } from "./WireField.ts"
import { recordCodec } from "./recordCodec.ts"

export const SCHEMA_ID = "pi.session_store_v2.checkpoint.v1"

/** An entry that a checkpoint points to. */
export const EntryRef = Schema.Struct({ entry_seq: EntrySeq, entry_id: Schema.String })
export type EntryRef = typeof EntryRef.Type

/** The latest entries of some types on the active path, the branch that ends at the head. All are indexed (INV-006). */
export const ActiveContext = Schema.Struct({
  /** The last entry of the branch. */
  leaf: Schema.NullOr(EntryRef),
  /** The last `thinking_level_change`. */
  thinking_level: Schema.NullOr(EntryRef),
  /** The last `model_change` or assistant message. */
  model: Schema.NullOr(EntryRef),
  /** The last `compaction`. */
  compaction: Schema.NullOr(EntryRef)
})
export type ActiveContext = typeof ActiveContext.Type

export const Checkpoint = Schema.Struct({
  schema: Schema.Literal(SCHEMA_ID),
  session_id: Schema.String,
  checkpoint_seq: Seq,
  created_at: Instant,
  /** Revision of the manifest that has this head (INV-004). */
  manifest_revision: Seq,
  head: Head,
  /** Without the session's header. */
  entry_count: Count,
  index: IndexExtent,
  active_context: ActiveContext,
  crc32: Crc32
})
export type Checkpoint = Omit<typeof Checkpoint.Type, "crc32">

export const { encode, decode } = recordCodec(Checkpoint)
