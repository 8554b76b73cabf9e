/**
 * The wire contract: the bundle of all records of a container, and its JSON Schema for programs in other languages
 * (docs/schema/session_store_v2_contract.json).
 */
import * as Schema from "effect/Schema"
import * as ActiveStore from "./ActiveStore.ts"
import * as Checkpoint from "./Checkpoint.ts"
import * as Manifest from "./Manifest.ts"
import * as MigrationEvent from "./MigrationEvent.ts"
import * as OffsetRow from "./OffsetRow.ts"
import * as SegmentFrame from "./SegmentFrame.ts"
import { InvariantId } from "../StoreError.ts"
import { TRANSITIONS } from "../StoreState.ts"

export const SCHEMA_ID = "pi.session_store_v2.contract.v1"

/** All records of one container at one moment, for validation, without the payloads of frames. */
export const ContractBundle = Schema.Struct({
  schema: Schema.Literal(SCHEMA_ID),
  manifest: Manifest.Manifest,
  /** Header lines of all frames, in order. */
  segment_frame: Schema.Array(SegmentFrame.SegmentFrame),
  offset_index: Schema.Array(OffsetRow.OffsetRow),
  checkpoint: Schema.Array(Checkpoint.Checkpoint),
  migration_event: Schema.Array(MigrationEvent.MigrationEvent),
  /** Absent before the container becomes an active store. */
  active_store: Schema.optionalKey(ActiveStore.ActiveStore)
})
export type ContractBundle = typeof ContractBundle.Type

const RECORDS = {
  manifest: Manifest.Manifest,
  segment_frame: SegmentFrame.SegmentFrame,
  offset_index: OffsetRow.OffsetRow,
  checkpoint: Checkpoint.Checkpoint,
  migration_event: MigrationEvent.MigrationEvent,
  active_store: ActiveStore.ActiveStore
}

const jsonSchemaOf = (schema: Schema.Constraint) =>
  Schema.toJsonSchemaDocument(schema, { onExcessProperty: "error" }).schema

/** The JSON Schema document: the bundle, and each record under `$defs`. */
export const document = () => ({
  $schema: "https://json-schema.org/draft/2020-12/schema",
  $id: SCHEMA_ID,
  title: "Session Store V2: the records of one container",
  "x-transitions": TRANSITIONS,
  "x-invariants": InvariantId.literals,
  ...jsonSchemaOf(ContractBundle),
  $defs: Object.fromEntries(Object.entries(RECORDS).map(([name, schema]) => [name, jsonSchemaOf(schema)]))
})
