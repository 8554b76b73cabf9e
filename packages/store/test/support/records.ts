/** The six records behind one interface, and their checksum as another program would compute it. */
import { crc32 } from "node:zlib"
import { Result, Schema } from "effect"
import * as ActiveStore from "../../src/wire/ActiveStore.ts"
import * as Checkpoint from "../../src/wire/Checkpoint.ts"
import * as Manifest from "../../src/wire/Manifest.ts"
import * as MigrationEvent from "../../src/wire/MigrationEvent.ts"
import * as OffsetRow from "../../src/wire/OffsetRow.ts"
import * as SegmentFrame from "../../src/wire/SegmentFrame.ts"
import type { SeededRandom } from "@pi-sessions/testing/SeededRandom"
import * as RandomRecords from "./randomRecords.ts"

export interface RecordKind {
  /** Its name in the contract. */
  readonly name: "segment_frame" | "offset_index" | "manifest" | "checkpoint" | "migration_event" | "active_store"
  /** Encodes a random record: its bytes, and the expected result of decoding. */
  readonly sample: (random: SeededRandom) => { readonly bytes: Buffer; readonly expected: unknown }
  /** Decodes bytes; undefined when they are refused. Without a frame's payload. */
  readonly decode: (bytes: Buffer) => unknown
  /** Decodes a value by the schema, without extra members; undefined when it is refused. */
  readonly ofSchema: (value: unknown) => unknown
}

const orUndefined = <A>(result: Result.Result<A, unknown>): A | undefined => Result.getOrUndefined(result)

const strictly = <A>(schema: Schema.Codec<A, unknown>) => {
  const decode = Schema.decodeUnknownResult(schema, { onExcessProperty: "error" })
  return (value: unknown): A | undefined => orUndefined(decode(value))
}

/** The checksum of a record's text without its closing brace. */
export const checksum = (open: string, payload: Uint8Array = new Uint8Array(0)): string =>
  crc32(payload, crc32(Buffer.from(open)))
    .toString(16)
    .padStart(8, "0")

/** The line of any value as a record with a valid checksum, newline included, and a frame's payload after it. */
export const sealed = (value: object, payload?: Uint8Array): Buffer => {
  const { crc32: _crc32, ...rest } = { crc32: "", ...value }
  const open = JSON.stringify(rest).slice(0, -1)
  const line = `${open},"crc32":"${checksum(open, payload)}"}\n`
  return payload === undefined ? Buffer.from(line) : Buffer.concat([Buffer.from(line), payload, Buffer.from("\n")])
}

const whole = (decode: (bytes: Uint8Array) => Result.Result<unknown, string>) => (bytes: Buffer) =>
  orUndefined(decode(bytes))

const document = <A extends object>(
  name: RecordKind["name"],
  make: (random: SeededRandom) => A,
  codec: {
    readonly encode: (record: A) => Buffer
    readonly decode: (bytes: Uint8Array) => Result.Result<unknown, string>
  },
  schema: Schema.Codec<unknown, unknown>
): RecordKind => ({
  name,
  sample: (random) => {
    const record = make(random)
    return { bytes: codec.encode(record), expected: record }
  },
  decode: whole(codec.decode),
  ofSchema: strictly(schema)
})

const withSchema = (schema: string, value: object): object => ({ schema, ...value })

export const kinds: ReadonlyArray<RecordKind> = [
  {
    name: "segment_frame",
    sample: (random) => {
      const payload = RandomRecords.payload(random)
      const frame = RandomRecords.frame(random)
      return {
        bytes: SegmentFrame.encode(frame, payload),
        expected: withSchema(SegmentFrame.SCHEMA_ID, { ...frame, payload_length: payload.length })
      }
    },
    decode: (bytes) => {
      const found = SegmentFrame.decode(bytes, 0, bytes.length)
      return found._tag === "Frame" && found.end === bytes.length ? found.frame : undefined
    },
    ofSchema: strictly(SegmentFrame.SegmentFrame)
  },
  {
    name: "offset_index",
    sample: (random) => {
      const row = RandomRecords.row(random)
      return { bytes: OffsetRow.encode(row), expected: row }
    },
    decode: (bytes) => (bytes.at(-1) === 0x0a ? OffsetRow.decode(bytes, 0, bytes.length - 1) : undefined),
    ofSchema: strictly(OffsetRow.OffsetRow)
  },
  document("manifest", RandomRecords.manifest, Manifest, Manifest.Manifest),
  document("checkpoint", RandomRecords.checkpoint, Checkpoint, Checkpoint.Checkpoint),
  document("migration_event", RandomRecords.migrationEvent, MigrationEvent, MigrationEvent.MigrationEvent),
  document("active_store", RandomRecords.activeStore, ActiveStore, ActiveStore.ActiveStore)
]
