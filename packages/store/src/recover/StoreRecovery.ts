/**
 * Recovery of a container before writing: restores the invariants after an interrupted writer (docs/store-v2.md). The
 * segments decide: index rows are rebuilt from them, bytes that are cut off go to quarantine, and the ledger records the
 * repairs. A second recovery changes nothing. Requires the writer's lock. A refused store is not changed.
 */
import { hash } from "node:crypto"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import type * as Manifest from "../wire/Manifest.ts"
import * as MigrationLedger from "../MigrationLedger.ts"
import { StoreDamaged, StoreFailed, type StoreIoError, fromPlatform } from "../StoreError.ts"
import { type StoreLayout, directories } from "../StoreLayout.ts"
import { SETTLED } from "../StoreState.ts"
import { type Head } from "../wire/WireField.ts"
import {
  byteLengthOf,
  makeDirectory,
  readAt,
  settleName,
  sizeOf,
  sync,
  syncDirectory,
  withFile,
  writeFully
} from "../files/durable.ts"
import { readIndex } from "./indexRecovery.ts"
import { otherSession, readManifest, revised, stepped, writeManifest } from "../files/manifestFile.ts"
import { rebuildManifest } from "./manifestRecovery.ts"
import { type OpenSegment, type OpenTail, readTail } from "./openTail.ts"
import { type Repair } from "./repair.ts"
import { scanSegment } from "../read/segmentScan.ts"

/** A container in which all invariants hold, as a writer needs it. */
export interface Recovered {
  readonly manifest: Manifest.Manifest
  /** The last frame; undefined in an empty store. */
  readonly head: Head | undefined
  /** Position of each entry by its id; the header is under the session's id. */
  readonly seqById: Map<string, number>
  /** Bytes of the index. */
  readonly indexBytes: number
  /** Undefined when the next entry starts a new one. */
  readonly openSegment: OpenSegment | undefined
  /** Descriptions of the repairs; empty for a store that was whole. */
  readonly repairs: ReadonlyArray<string>
}

/** Bytes of frames that are rewritten at a time. */
const PIECE_BYTES = 1 << 20

/** After `StoreDamaged` and `StoreFailed` nothing was changed. */
export type RecoveryError = StoreIoError | StoreDamaged | StoreFailed

/** Recovers a container. */
export const recover = Effect.fn("StoreRecovery.recover")(function* (
  layout: StoreLayout,
  sessionId: string
): Effect.fn.Return<Recovered, RecoveryError, FileSystem.FileSystem | Path.Path> {
  const repairs: Array<Repair> = []
  for (const directory of directories(layout)) {
    if (Option.isNone(yield* sizeOf(directory))) yield* makeDirectory(directory)
  }
  const found = yield* readManifest(layout).pipe(
    Effect.catchTag("StoreDamaged", (error) => rebuildManifest(layout, sessionId, error, repairs))
  )
  if (found.state === "FAILED") {
    return yield* new StoreFailed({ path: layout.container, reason: "an earlier step could not be finished or undone" })
  }
  yield* checkSession(layout, found, sessionId)
  yield* checkSealed(layout, found)
  const tail = yield* readTail(layout, found, repairs)
  const [uncounted] = tail.uncounted
  if (uncounted !== undefined) {
    const last = tail.uncounted.at(-1)?.segment_seq
    repairs.push({
      description: `manifest: older than the segments: ${uncounted.segment_seq} to ${last} sealed again`,
      // `settle` counts them.
      apply: Effect.void
    })
  }
  const index = yield* readIndex(layout, found, tail, repairs)
  yield* makeDurable(layout, found, tail, index.rowCount)
  yield* MigrationLedger.cutTorn(layout)
  // Recorded first: after a crash in between, the repair is done again and is not missing in the ledger.
  if (repairs.length > 0) yield* record(layout, found, tail.head, repairs)
  yield* Effect.forEach(repairs, (repair) => repair.apply, { discard: true })
  const indexBytes = yield* byteLengthOf(layout.offsets)
  const manifest = yield* settle(layout, found, tail, indexBytes)
  return {
    manifest,
    head: tail.head,
    seqById: index.seqById,
    indexBytes,
    openSegment: tail.openSegment,
    repairs: repairs.map((repair) => repair.description)
  }
})

/**
 * Makes durable what recovery read, because a process may have died between its write and its fsync. That fsync may also
 * have failed, which a second fsync would not report, so frames without a row are written again. A row is only written
 * after its frame is durable.
 */
const makeDurable = Effect.fnUntraced(function* (
  layout: StoreLayout,
  manifest: Manifest.Manifest,
  { openSegment, rows, uncounted }: OpenTail,
  rowCount: number
) {
  const path = yield* Path.Path
  yield* syncDirectory(layout.container)
  // Index rows that the manifest counts were synced before.
  if ((yield* byteLengthOf(layout.offsets)) > manifest.index.byte_length) {
    yield* withFile(layout.offsets, "r+", (file) => sync(file, layout.offsets))
    yield* settleName(path.join(layout.tmp, "offsets.jsonl"), layout.offsets)
  }
  for (const { segment_seq } of uncounted) {
    const file = layout.segment(segment_seq)
    yield* withFile(file, "r+", (handle) => sync(handle, file))
  }
  if (openSegment === undefined) return
  const { segmentSeq, byteLength } = openSegment
  const file = layout.segment(segmentSeq)
  const unindexed = rows.find((row) => row.segment_seq === segmentSeq && row.entry_seq >= rowCount)
  yield* withFile(file, "r+", (handle) =>
    Effect.andThen(writeAgain(handle, file, unindexed?.byte_offset ?? byteLength, byteLength), sync(handle, file))
  )
  yield* settleName(path.join(layout.tmp, path.basename(file)), file)
})

const writeAgain = Effect.fnUntraced(function* (file: FileSystem.File, path: string, from: number, to: number) {
  yield* file.seek(BigInt(from), "start").pipe(Effect.mapError(fromPlatform(path, "write")))
  for (let at = from; at < to; at += PIECE_BYTES) {
    yield* writeFully(file, path, yield* readAt(file, path, at, Math.min(PIECE_BYTES, to - at)))
  }
})

/** Finishes an interrupted step: the state of a sealed segment becomes INDEXED, and uncounted segments are counted. */
const settle = Effect.fnUntraced(function* (
  layout: StoreLayout,
  found: Manifest.Manifest,
  tail: OpenTail,
  indexBytes: number
) {
  let manifest = found
  if (manifest.state === "SEGMENT_SEALED") {
    const index = { byte_length: indexBytes, row_count: tail.head === undefined ? 0 : tail.head.entry_seq + 1 }
    manifest = yield* stepped(manifest, "INDEXED", { index }).pipe(Effect.orDie)
  }
  // Frames after the sealed ones: a writer appended after this manifest was written.
  if (tail.rows.length > 0 && SETTLED.has(manifest.state)) {
    manifest = yield* stepped(manifest, "DIRTY").pipe(Effect.orDie)
  }
  if (tail.uncounted.length > 0) manifest = yield* counting(manifest, tail)
  if (manifest !== found) yield* writeManifest(layout, manifest)
  return manifest
})

/** Adds the uncounted segments to the manifest and moves its head to the last of them. */
const counting = Effect.fnUntraced(function* (manifest: Manifest.Manifest, { rows, uncounted }: OpenTail) {
  const segments = [...manifest.segments, ...uncounted]
  const last = uncounted.at(-1)
  const row = rows.find(({ entry_seq }) => entry_seq === last?.last_entry_seq)
  if (last === undefined || row === undefined) return manifest
  const { chain_hash } = last
  const { entry_id, entry_seq, frame_seq, segment_seq } = row
  const head: Head = { segment_seq, frame_seq, entry_seq, entry_id, chain_hash }
  return yield* revised(manifest, { segments, head, entry_count: entry_seq })
})

/** Sealed segments never change, so another size is damage. */
const checkSealed = Effect.fnUntraced(function* (layout: StoreLayout, manifest: Manifest.Manifest) {
  for (const sealed of manifest.segments) {
    const path = layout.segment(sealed.segment_seq)
    const size = Option.getOrUndefined(yield* sizeOf(path))
    if (size === sealed.byte_length) continue
    const reason =
      size === undefined
        ? "a sealed segment is missing"
        : `a sealed segment has ${size} bytes in place of ${sealed.byte_length}`
    return yield* new StoreDamaged({
      path,
      byteOffset: Math.min(size ?? 0, sealed.byte_length),
      reason,
      invariant: "INV-005"
    })
  }
})

/** Fails when manifest or header name another session. */
const checkSession = Effect.fnUntraced(function* (layout: StoreLayout, manifest: Manifest.Manifest, sessionId: string) {
  const wrong = (path: string, found: string) =>
    new StoreDamaged({ path, byteOffset: 0, reason: otherSession(found, sessionId), invariant: "INV-007" })
  if (manifest.session_id !== sessionId) return yield* wrong(layout.manifest, manifest.session_id)
  const first = layout.segment(1)
  const size = yield* byteLengthOf(first)
  if (size === 0) return
  let headerId = sessionId
  yield* withFile(first, "r", (file) =>
    scanSegment(file, first, 0, size, (_bytes, { frame }) => {
      if (frame.entry_seq === 0) headerId = frame.entry_id
      return "only the header is asked for"
    })
  )
  if (headerId !== sessionId) return yield* wrong(first, headerId)
})

/** Records all repairs as one event. */
const record = Effect.fnUntraced(function* (
  layout: StoreLayout,
  manifest: Manifest.Manifest,
  head: Head | undefined,
  repairs: ReadonlyArray<Repair>
) {
  const reason = repairs.map((repair) => repair.description).join("; ")
  const digest = hash("sha256", `${head?.chain_hash ?? ""} ${reason}`, "hex").slice(0, 16)
  yield* MigrationLedger.append(layout, [
    {
      session_id: manifest.session_id,
      correlation_id: `recovery-${digest}`,
      phase: "recovered",
      outcome: "recoverable",
      entry_count: head?.entry_seq ?? 0,
      head_entry_id: head?.entry_id ?? null,
      chain_hash: head?.chain_hash ?? null,
      reason
    }
  ])
})
