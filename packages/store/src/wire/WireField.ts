/** Fields that several records share. */
import * as Schema from "effect/Schema"

/** Numbers have at most 15 digits, which every JSON parser reads exactly. */
const NUMBER_MAX = 999_999_999_999_999

/** Number of a segment, of a frame in its segment, or of a checkpoint; from 1. */
export const Seq = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: NUMBER_MAX }))

/** Position in the session: 0 is its header, entries follow from 1 without a gap. */
export const EntrySeq = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: NUMBER_MAX }))

/** A length or a position in a file, in bytes. */
export const ByteCount = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: NUMBER_MAX }))

/** A number of things. */
export const Count = ByteCount

/** SHA-256 in lower-case hexadecimal. */
export const Hash = Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/u))

/** CRC-32 (IEEE) in lower-case hexadecimal. */
export const Crc32 = Schema.String.check(Schema.isPattern(/^[0-9a-f]{8}$/u))

/** ISO 8601 in UTC with milliseconds, as `Date.prototype.toISOString` returns it. */
export const Instant = Schema.String.check(Schema.isPattern(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/u))

/** A file name, never a path. */
// oxlint-disable-next-line no-control-regex -- no file system has NUL in a name
export const FileName = Schema.String.check(Schema.isPattern(/^(?!\.{1,2}$)[^/\\\u0000]+$/u))

/** Path of a container's manifest, relative to the session directory. */
// oxlint-disable-next-line no-control-regex -- no file system has NUL in a name
export const ManifestPointer = Schema.String.check(Schema.isPattern(/^(?!\.{1,2}\/)[^/\\\u0000]+\/manifest\.json$/u))

/** Formats of session stores. */
export const StoreFormat = Schema.Literals(["jsonl_v3", "sqlite_v1", "native_v2"])
export type StoreFormat = typeof StoreFormat.Type

/** The last frame of a store at one moment. */
export const Head = Schema.Struct({
  segment_seq: Seq,
  frame_seq: Seq,
  entry_seq: EntrySeq,
  entry_id: Schema.String,
  /** SHA-256 of the frame's bytes: the end of the hash chain. */
  chain_hash: Hash
})
export type Head = typeof Head.Type

/** Extent of the offset index. */
export const IndexExtent = Schema.Struct({ byte_length: ByteCount, row_count: Count })
export type IndexExtent = typeof IndexExtent.Type

/** Identity of a store's contents at one moment. */
export const Snapshot = Schema.Struct({
  format: StoreFormat,
  /** File name in the session directory. */
  path: FileName,
  /** `sha256:` and the digest of the session as JSONL. */
  snapshot_id: Schema.String.check(Schema.isPattern(/^sha256:[0-9a-f]{64}$/u)),
  byte_length: ByteCount
})
export type Snapshot = typeof Snapshot.Type
