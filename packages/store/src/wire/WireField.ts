/** Fields that several records of the wire contract share. */
import * as Schema from "effect/Schema"

/** Numbers have at most 15 digits, which every reader of JSON takes as they are. */
const NUMBER_MAX = 999_999_999_999_999

/** A number counted from 1: of a segment, of a frame in its segment, of a checkpoint. */
export const Seq = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: NUMBER_MAX }))

/** Position in the session: 0 is its header, entries follow from 1 without a gap. */
export const EntrySeq = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: NUMBER_MAX }))

/** How many of something, or where in a file, in bytes. */
export const ByteCount = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: NUMBER_MAX }))

/** How many of something. */
export const Count = ByteCount

/** SHA-256 in lower-case hexadecimal. */
export const Hash = Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/u))

/** CRC-32 (IEEE) in lower-case hexadecimal. */
export const Crc32 = Schema.String.check(Schema.isPattern(/^[0-9a-f]{8}$/u))

/** An instant, ISO 8601 in UTC with milliseconds, as `Date.prototype.toISOString` gives it. */
export const Instant = Schema.String.check(Schema.isPattern(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/u))

/** A name in the directory of the container: no path leads out of it. */
// oxlint-disable-next-line no-control-regex -- no file system has NUL in a name
export const FileName = Schema.String.check(Schema.isPattern(/^(?!\.{1,2}$)[^/\\\u0000]+$/u))

/** Where a container's manifest lies, from the directory of the container. */
// oxlint-disable-next-line no-control-regex -- no file system has NUL in a name
export const ManifestPointer = Schema.String.check(Schema.isPattern(/^(?!\.{1,2}\/)[^/\\\u0000]+\/manifest\.json$/u))

/** What a session is kept as. */
export const StoreFormat = Schema.Literals(["jsonl_v3", "sqlite_v1", "native_v2"])
export type StoreFormat = typeof StoreFormat.Type

/** The last frame of a store at some moment. */
export const Head = Schema.Struct({
  segment_seq: Seq,
  frame_seq: Seq,
  entry_seq: EntrySeq,
  entry_id: Schema.String,
  /** SHA-256 of the frame's bytes: the end of the hash chain. */
  chain_hash: Hash
})
export type Head = typeof Head.Type

/** How far the offset index reaches. */
export const IndexExtent = Schema.Struct({ byte_length: ByteCount, row_count: Count })
export type IndexExtent = typeof IndexExtent.Type

/** A store other than the container, at some moment. */
export const Snapshot = Schema.Struct({
  format: StoreFormat,
  /** In the directory of the container. */
  path: FileName,
  /** `sha256:` and the digest of the session's bytes as JSONL. */
  snapshot_id: Schema.String.check(Schema.isPattern(/^sha256:[0-9a-f]{64}$/u)),
  byte_length: ByteCount
})
export type Snapshot = typeof Snapshot.Type
