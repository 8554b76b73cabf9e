/** A row of the migration ledger: one step of a migration, a rollback or a repair, with its outcome. */
import * as Schema from "effect/Schema"
import { Count, Crc32, Hash, Instant, Snapshot } from "./WireField.ts"
import { recordCodec } from "./recordCodec.ts"

export const SCHEMA_ID = "pi.session_store_v2.migration_event.v1"

export const Phase = Schema.Literals([
  /** A migration begins. */
  "planned",
  /** Segments, index and checkpoint are built in the staging container. */
  "staged",
  /** The staging container was read again and holds what the source holds. */
  "verified",
  /** The container is the active store. */
  "completed",
  /** The staging container failed its checks. The source stays the active store. */
  "aborted",
  /** A rollback begins. */
  "rollback_planned",
  /** A file is the active store again, after a rollback or an unfinished cutover. */
  "rolled_back",
  /** Opening repaired something, such as index rows or a torn end. */
  "recovered"
])
export type Phase = typeof Phase.Type

export const Outcome = Schema.Literals(["ok", "recoverable", "failed"])
export type Outcome = typeof Outcome.Type

/** The three checks before a cutover (docs/adr/003-session-store-v2.md). */
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
  /** The store that is active before this step. */
  source: Schema.NullOr(Snapshot),
  /** The store that becomes active. */
  target: Schema.NullOr(Snapshot),
  /** Without the session's header. */
  entry_count: Schema.NullOr(Count),
  /** Last entry of the container. */
  head_entry_id: Schema.NullOr(Schema.String),
  /** End of the container's hash chain. */
  chain_hash: Schema.NullOr(Hash),
  verification: Schema.NullOr(Verification),
  /** Text for people; always present for a rollback and a repair. */
  reason: Schema.NullOr(Schema.String),
  crc32: Crc32
})
export type MigrationEvent = Omit<typeof MigrationEvent.Type, "crc32">

export const { encode, decode } = recordCodec(MigrationEvent)
