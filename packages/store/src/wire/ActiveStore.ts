/**
 * The file `<session-id>.active.json` beside the container. It holds the active store marker and the manifest pointer, so
 * that one rename moves both (INV-007).
 */
import * as Schema from "effect/Schema"
import { Crc32, FileName, Instant, ManifestPointer, StoreFormat } from "./WireField.ts"
import { recordCodec } from "./recordCodec.ts"

export const SCHEMA_ID = "pi.session_store_v2.active_store.v1"

/** The record on disk. */
export const ActiveStore = Schema.Struct({
  schema: Schema.Literal(SCHEMA_ID),
  session_id: Schema.String,
  /** The active store marker. */
  active: StoreFormat,
  /** Name of the active store in this file's directory. */
  path: FileName,
  /** The manifest pointer, relative to this file's directory. Null unless the container is active. */
  manifest: Schema.NullOr(ManifestPointer),
  /** Id of the migration or rollback that moved the marker; null for a session created in its store. */
  correlation_id: Schema.NullOr(Schema.String),
  changed_at: Instant,
  crc32: Crc32
})
/** The record without its checksum, which `encode` adds and `decode` checks. */
export type ActiveStore = Omit<typeof ActiveStore.Type, "crc32">

export const { encode, decode } = recordCodec(ActiveStore)
