/** A row of the migration ledger: one step of a migration, a rollback or a repair, with what it was about and how it ended. */
import * as Schema from "effect/Schema"
import { Count, Crc32, Hash, Instant, Snapshot } from "./WireField.ts"
import { recordCodec } from "./recordCodec.ts"

export const SCHEMA_ID = "pi.session_store_v2.migration_event.v1"

export const Phase = Schema.Literals([
  /** A migration begins. */
  "planned",
  /** Segments, index and checkpoint are built in the staging path. */
  "staged",
  /** They were read again and hold what the source holds. */
  "verified",
  /** The container is the active store. */
  "completed",
  /** A migration was given up or undone before it was completed. */
  "aborted",
  /** A rollback begins. */
  "rollback_planned",
  /** The other store is the active one again. */
  "rolled_back",
  /** Opening mended something (index rows, a torn tail). */
  "recovered"
])
export type Phase = typeof Phase.Type

export const Outcome = Schema.Literals(["ok", "recoverable", "failed"])
export type Outcome = typeof Outcome.Type

/** The three checks before a cutover (ADR, "Forward migration"). */
export const Verification = Schema.Struct({
  entry_count_match: Schema.Boolean,
  hash_chain_match: Schema.Boolean,
  index_consistent: Schema.Boolean
})
export type Verification = typeof Verification.Type

export const MigrationEvent = Schema.Struct({
  schema: Schema.Literal(SCHEMA_ID),
  session_id: Schema.String,
  /** Shared by all the events of one migration and of its rollback. */
  correlation_id: Schema.String,
  phase: Phase,
  outcome: Outcome,
  at: Instant,
  /** The store that was active before. */
  source: Schema.NullOr(Snapshot),
  /** The store that is, or would be, active after. */
  target: Schema.NullOr(Snapshot),
  /** Without the session's header. */
  entry_count: Schema.NullOr(Count),
  /** Last entry of the container. */
  head_entry_id: Schema.NullOr(Schema.String),
  /** End of the container's hash chain. */
  chain_hash: Schema.NullOr(Hash),
  verification: Schema.NullOr(Verification),
  /** Why, in words; always there for a rollback and a repair. */
  reason: Schema.NullOr(Schema.String),
  crc32: Crc32
})
export type MigrationEvent = Omit<typeof MigrationEvent.Type, "crc32">

export const { encode, decode } = recordCodec(MigrationEvent)
