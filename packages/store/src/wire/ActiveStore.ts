/**
 * Which store of a session is the active one: the file `<session-id>.active.json` beside the container. It holds the
 * active store marker and the manifest pointer, so that one rename moves both together (INV-007). The ADR names both
 * but no file for them; this is ours.
 */
import * as Schema from "effect/Schema"
import { Crc32, FileName, Instant, ManifestPointer, StoreFormat } from "./WireField.ts"
import { recordCodec } from "./recordCodec.ts"

/** Version of this record. */
export const SCHEMA_ID = "pi.session_store_v2.active_store.v1"

/** The record as it stands on disk. */
export const ActiveStore = Schema.Struct({
  schema: Schema.Literal(SCHEMA_ID),
  session_id: Schema.String,
  /** The active store marker. */
  active: StoreFormat,
  /** The active store, in this file's directory. */
  path: FileName,
  /** The manifest pointer, relative to this file's directory; null unless the container is active. */
  manifest: Schema.NullOr(ManifestPointer),
  /** Of the migration or rollback that moved it; null for a session that was created here. */
  correlation_id: Schema.NullOr(Schema.String),
  changed_at: Instant,
  crc32: Crc32
})
/** The record without its checksum, which `encode` adds and `decode` checks. */
export type ActiveStore = Omit<typeof ActiveStore.Type, "crc32">

/** To the bytes of the file, and back. */
export const { encode, decode } = recordCodec(ActiveStore)
