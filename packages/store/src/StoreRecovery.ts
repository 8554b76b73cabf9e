/**
 * Opening a container for writing: brings what an interrupted writer left to a state in which the invariants hold, by
 * the ADR's failure semantics. Segments decide; index rows are made again from them; what is cut off is quarantined;
 * what was mended is told in the ledger. Doing it twice changes nothing the second time.
 *
 * Only under the writer's lock. A store that is refused is left as it was.
 */
import { hash } from "node:crypto"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import type * as Path from "effect/Path"
import type * as Manifest from "./Manifest.ts"
import * as MigrationLedger from "./MigrationLedger.ts"
import { StoreDamaged, StoreFailed, type StoreIoError, fromPlatform } from "./StoreError.ts"
import { type StoreLayout } from "./StoreLayout.ts"
import { type StoreState } from "./StoreState.ts"
import { type Head } from "./WireField.ts"
import { makeDirectory, readAt, sizeOf, sync, syncDirectory, withFile, writeFully } from "./internal/durable.ts"
import { readIndex } from "./internal/indexRecovery.ts"
import { otherSession, readManifest, stepped, writeManifest } from "./internal/manifestFile.ts"
import { rebuildManifest } from "./internal/manifestRecovery.ts"
import { type OpenSegment, type OpenTail, readTail } from "./internal/openTail.ts"
import { type Repair } from "./internal/repair.ts"
import { scanSegment } from "./internal/segmentScan.ts"

/** A container in which all invariants hold, and what a writer needs to go on. */
export interface Recovered {
  readonly manifest: Manifest.Manifest
  /** The last frame; undefined in an empty store. */
  readonly head: Head | undefined
  /** Position of each entry by its id, the header's under the session's id. */
  readonly seqById: Map<string, number>
  /** Bytes of the index. */
  readonly indexBytes: number
  /** Undefined when the next entry starts a new one. */
  readonly openSegment: OpenSegment | undefined
  /** What was mended, in words; empty for a store that was whole. */
  readonly repairs: ReadonlyArray<string>
}

/** Frames are written again in pieces of this size. */
const PIECE_BYTES = 1 << 20

/** `StoreDamaged` and `StoreFailed` refuse the store; nothing was changed then. */
export type RecoveryError = StoreIoError | StoreDamaged | StoreFailed

/** Brings a container to a state in which all invariants hold, and tells what a writer needs to go on. */
export const recover = Effect.fn("StoreRecovery.recover")(function* (
  layout: StoreLayout,
  sessionId: string
): Effect.fn.Return<Recovered, RecoveryError, FileSystem.FileSystem | Path.Path> {
  const repairs: Array<Repair> = []
  for (const directory of [layout.segments, layout.index, layout.checkpoints, layout.migrations, layout.tmp]) {
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
  const index = yield* readIndex(layout, found, tail, repairs)
  yield* makeDurable(layout, found, tail, index.rowCount)
  yield* MigrationLedger.cutTorn(layout)
  // Told before it is done: a crash in between repeats the repair, and none goes untold.
  if (repairs.length > 0) yield* record(layout, found, tail.head, repairs)
  yield* Effect.forEach(repairs, (repair) => repair.mend, { discard: true })
  const indexBytes = Option.getOrElse(yield* sizeOf(layout.offsets), () => 0)
  const manifest = yield* settle(layout, found, tail, indexBytes)
  return {
    manifest,
    head: tail.head,
    seqById: index.seqById,
    indexBytes,
    openSegment: tail.openSegment,
    repairs: repairs.map((repair) => repair.what)
  }
})

/**
 * An earlier process may have died between a write and its fsync. What was read here is built on from now on, so it must
 * survive a power loss too. Its fsync may also have failed, and then another one would not tell: frames without a row
 * are written again in their place. A row is only written when the frame before it is durable.
 */
const makeDurable = Effect.fnUntraced(function* (
  layout: StoreLayout,
  manifest: Manifest.Manifest,
  { openSegment, rows }: OpenTail,
  rowCount: number
) {
  yield* syncDirectory(layout.container)
  // Of the index, what the manifest counts was synced before it was counted.
  if (Option.getOrElse(yield* sizeOf(layout.offsets), () => 0) > manifest.index.byte_length) {
    yield* withFile(layout.offsets, "r+", (file) => sync(file, layout.offsets))
    yield* syncDirectory(layout.index)
  }
  if (openSegment === undefined) return
  const { segmentSeq, byteLength } = openSegment
  const path = layout.segment(segmentSeq)
  const unindexed = rows.find((row) => row.segment_seq === segmentSeq && row.entry_seq >= rowCount)
  yield* withFile(path, "r+", (file) =>
    Effect.andThen(writeAgain(file, path, unindexed?.byte_offset ?? byteLength, byteLength), sync(file, path))
  )
  yield* syncDirectory(layout.segments)
})

const writeAgain = Effect.fnUntraced(function* (file: FileSystem.File, path: string, from: number, to: number) {
  yield* file.seek(BigInt(from), "start").pipe(Effect.mapError(fromPlatform(path, "write")))
  for (let at = from; at < to; at += PIECE_BYTES) {
    yield* writeFully(file, path, yield* readAt(file, path, at, Math.min(PIECE_BYTES, to - at)))
  }
})

/** States that promise that every frame is in a sealed segment. */
const SETTLED: ReadonlySet<StoreState> = new Set([
  "SEGMENT_SEALED",
  "INDEXED",
  "CHECKPOINTED",
  "MIGRATED",
  "ROLLED_BACK"
])

/** Finishes the step that was interrupted: a sealed segment whose rows are complete now is indexed. */
const settle = Effect.fnUntraced(function* (
  layout: StoreLayout,
  found: Manifest.Manifest,
  tail: OpenTail,
  indexBytes: number
): Effect.fn.Return<Manifest.Manifest, StoreIoError, FileSystem.FileSystem | Path.Path> {
  let manifest = found
  if (manifest.state === "SEGMENT_SEALED") {
    const index = { byte_length: indexBytes, row_count: tail.head === undefined ? 0 : tail.head.entry_seq + 1 }
    manifest = yield* stepped(manifest, "INDEXED", { index }).pipe(Effect.orDie)
  }
  // Frames behind the sealed ones say that somebody went on from an older manifest.
  if (tail.rows.length > 0 && SETTLED.has(manifest.state)) {
    manifest = yield* stepped(manifest, "DIRTY").pipe(Effect.orDie)
  }
  if (manifest !== found) yield* writeManifest(layout, manifest)
  return manifest
})

/** Sealed segments never change: another size is damage that cannot be mended from here. */
const checkSealed = Effect.fnUntraced(function* (
  layout: StoreLayout,
  manifest: Manifest.Manifest
): Effect.fn.Return<void, StoreIoError | StoreDamaged, FileSystem.FileSystem> {
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

/** Another session's container under this one's name would be gone on with as this one. */
const checkSession = Effect.fnUntraced(function* (
  layout: StoreLayout,
  manifest: Manifest.Manifest,
  sessionId: string
): Effect.fn.Return<void, StoreIoError | StoreDamaged, FileSystem.FileSystem> {
  const wrong = (path: string, found: string) =>
    new StoreDamaged({ path, byteOffset: 0, reason: otherSession(found, sessionId), invariant: "INV-007" })
  if (manifest.session_id !== sessionId) return yield* wrong(layout.manifest, manifest.session_id)
  const first = layout.segment(1)
  const size = Option.getOrElse(yield* sizeOf(first), () => 0)
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

/** One event for all that is mended at once. */
const record = Effect.fnUntraced(function* (
  layout: StoreLayout,
  manifest: Manifest.Manifest,
  head: Head | undefined,
  repairs: ReadonlyArray<Repair>
) {
  const reason = repairs.map((repair) => repair.what).join("; ")
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
