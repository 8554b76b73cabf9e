/** Random records of the wire contract: ids in any script, everything that JSON must escape, any numbers. */
import { hash } from "node:crypto"
import type * as ActiveStore from "../../src/wire/ActiveStore.ts"
import type * as Checkpoint from "../../src/wire/Checkpoint.ts"
import type * as Manifest from "../../src/wire/Manifest.ts"
import type * as MigrationEvent from "../../src/wire/MigrationEvent.ts"
import type * as OffsetRow from "../../src/wire/OffsetRow.ts"
import type { FrameFields } from "../../src/wire/SegmentFrame.ts"
import { StoreState } from "../../src/StoreState.ts"
import type { Head, Snapshot } from "../../src/wire/WireField.ts"
import type { SeededRandom } from "@pi-sessions/testing/SeededRandom"

const pieces = [
  "a1b2c3d4",
  "msg_0001",
  "0198c2f4-7d31-7e35-b1f1-6a2d6d6b9f10",
  '"',
  '\\"',
  "\\",
  "\\\\",
  "\\u0041",
  "/",
  "日本語",
  "Ελληνικά",
  "العربية",
  "é",
  "e\u0301",
  "🦄",
  "👩‍🚀",
  "\u0000",
  "\u0001",
  "\u001f",
  "\b\f\t",
  "\n",
  "\r\n",
  "\u007f",
  "\u0085",
  "\u2028",
  "\u2029",
  "\ufeff",
  "\ud83e",
  "\udd23",
  " ",
  '","entry_id":"a1b2c3d4",',
  ',"crc32":"00000000"}',
  "null",
  "__proto__"
] as const

/** An unusual id, sometimes very long. */
export const id = (random: SeededRandom): string => {
  if (random.chance(0.3)) return random.next().toString(16).slice(2, 10).padEnd(8, "0")
  const count = random.chance(0.05) ? 200 + random.int(800) : 1 + random.int(4)
  return Array.from({ length: count }, () => random.pick(pieces)).join("")
}

const SEQ_MAX = 999_999_999_999_999

export const seq = (random: SeededRandom): number =>
  random.weighted<() => number>(
    [5, () => 1 + random.int(20)],
    [3, () => 1 + random.int(2 ** 31)],
    [1, () => 1],
    [1, () => SEQ_MAX - random.int(3)]
  )()

export const count = (random: SeededRandom): number => (random.chance(0.1) ? 0 : seq(random))

export const digest = (random: SeededRandom): string =>
  random.chance(0.1) ? "0".repeat(64) : hash("sha256", String(random.next()), "hex")

const instant = (random: SeededRandom): string =>
  new Date(random.int(4_000_000_000) * 1000 + random.int(1000)).toISOString()
const nullable = <A>(random: SeededRandom, make: (random: SeededRandom) => A): A | null =>
  random.chance(0.3) ? null : make(random)

/** Random bytes, also newlines. */
export const payload = (random: SeededRandom): Buffer =>
  Buffer.from(Array.from({ length: random.int(300) }, () => (random.chance(0.05) ? 0x0a : random.int(256))))

export const frame = (random: SeededRandom): FrameFields => ({
  segment_seq: seq(random),
  frame_seq: seq(random),
  entry_seq: count(random),
  entry_id: id(random),
  parent_entry_id: nullable(random, id),
  ...(random.chance(0.2) ? { missing_parent_id: id(random) } : {}),
  entry_type: random.chance(0.7) ? "message" : id(random),
  ...(random.chance(0.2) ? { unterminated: true as const } : {}),
  ...(random.chance(0.2) ? { links_in_lines: true as const } : {}),
  prev_hash: digest(random)
})

export const row = (random: SeededRandom): OffsetRow.OffsetRow => ({
  entry_seq: count(random),
  entry_id: id(random),
  parent_entry_id: nullable(random, id),
  entry_type: random.chance(0.7) ? "message" : id(random),
  segment_seq: seq(random),
  frame_seq: seq(random),
  byte_offset: count(random),
  byte_length: count(random)
})

const head = (random: SeededRandom): Head => ({
  segment_seq: seq(random),
  frame_seq: seq(random),
  entry_seq: count(random),
  entry_id: id(random),
  chain_hash: digest(random)
})

/** A random file name. */
const fileName = (random: SeededRandom): string => `${id(random).replaceAll(/[/\\\0]/g, "_")}.jsonl`

const snapshot = (random: SeededRandom): Snapshot => ({
  format: random.pick(["jsonl_v3", "sqlite_v1", "native_v2"] as const),
  path: fileName(random),
  snapshot_id: `sha256:${digest(random)}`,
  byte_length: count(random)
})

export const manifest = (random: SeededRandom): Manifest.Manifest => ({
  schema: "pi.session_store_v2.manifest.v1",
  session_id: id(random),
  revision: seq(random),
  state: StoreState.literals[random.int(9)] ?? "CLEAN",
  created_at: instant(random),
  updated_at: instant(random),
  head: nullable(random, head),
  entry_count: count(random),
  segments: Array.from({ length: random.int(4) }, () => ({
    segment_seq: seq(random),
    frame_count: seq(random),
    byte_length: count(random),
    first_entry_seq: count(random),
    last_entry_seq: count(random),
    chain_hash: digest(random)
  })),
  index: { byte_length: count(random), row_count: count(random) },
  checkpoint_seq: nullable(random, seq),
  correlation_id: nullable(random, id),
  source: nullable(random, snapshot)
})

const entryRef = (random: SeededRandom): Checkpoint.EntryRef => ({ entry_seq: count(random), entry_id: id(random) })

export const checkpoint = (random: SeededRandom): Checkpoint.Checkpoint => ({
  schema: "pi.session_store_v2.checkpoint.v1",
  session_id: id(random),
  checkpoint_seq: seq(random),
  created_at: instant(random),
  manifest_revision: seq(random),
  head: head(random),
  entry_count: count(random),
  index: { byte_length: count(random), row_count: count(random) },
  active_context: {
    leaf: nullable(random, entryRef),
    thinking_level: nullable(random, entryRef),
    model: nullable(random, entryRef),
    compaction: nullable(random, entryRef)
  }
})

export const migrationEvent = (random: SeededRandom): MigrationEvent.MigrationEvent => ({
  schema: "pi.session_store_v2.migration_event.v1",
  session_id: id(random),
  correlation_id: id(random),
  phase: random.pick(["planned", "staged", "verified", "completed", "aborted", "rolled_back", "recovered"] as const),
  outcome: random.pick(["ok", "recoverable", "failed"] as const),
  at: instant(random),
  source: nullable(random, snapshot),
  target: nullable(random, snapshot),
  entry_count: nullable(random, count),
  head_entry_id: nullable(random, id),
  chain_hash: nullable(random, digest),
  verification: nullable(random, () => ({
    entry_count_match: random.chance(0.5),
    hash_chain_match: random.chance(0.5),
    index_consistent: random.chance(0.5)
  })),
  reason: nullable(random, id)
})

export const activeStore = (random: SeededRandom): ActiveStore.ActiveStore => ({
  schema: "pi.session_store_v2.active_store.v1",
  session_id: id(random),
  active: random.pick(["jsonl_v3", "sqlite_v1", "native_v2"] as const),
  path: fileName(random),
  manifest: nullable(random, (random) => `${fileName(random)}/manifest.json`),
  correlation_id: nullable(random, id),
  changed_at: instant(random)
})
