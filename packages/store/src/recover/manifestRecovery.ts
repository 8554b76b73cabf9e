/** Rebuilds a missing or damaged manifest from the segments. */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import type * as Manifest from "../wire/Manifest.ts"
import type * as MigrationEvent from "../wire/MigrationEvent.ts"
import * as MigrationLedger from "../MigrationLedger.ts"
import { StoreDamaged, type StoreIoError } from "../StoreError.ts"
import { type StoreLayout, names } from "../StoreLayout.ts"
import { type Head } from "../wire/WireField.ts"
import { readActive } from "../files/activeStoreFile.ts"
import { byteLengthOf, listNumbers, sizeOf, withFile } from "../files/durable.ts"
import { follows, headOfFound } from "../wire/frameLink.ts"
import { newManifest, writeManifest } from "../files/manifestFile.ts"
import * as Quarantine from "./quarantine.ts"
import { type Repair } from "./repair.ts"
import { sealedAt } from "../wire/sealing.ts"
import { scanSegment } from "../read/segmentScan.ts"

/**
 * Makes a manifest from the segments, and its source from the ledger. Its state is DIRTY, or FAILED when the ledger shows
 * an unfinished cutover. The time of creation is lost.
 */
export const rebuildManifest = Effect.fnUntraced(function* (
  layout: StoreLayout,
  sessionId: string,
  error: StoreDamaged,
  repairs: Array<Repair>
): Effect.fn.Return<Manifest.Manifest, StoreIoError | StoreDamaged, FileSystem.FileSystem | Path.Path> {
  const seqs = yield* listNumbers(layout.segments, ".seg")
  const segments: Array<Manifest.SealedSegment> = []
  let head: Head | undefined
  // All segments but the last were sealed before the next one was created.
  for (const segmentSeq of seqs.slice(0, -1)) {
    const path = layout.segment(segmentSeq)
    const size = yield* byteLengthOf(path)
    const firstSeq = head === undefined ? 0 : head.entry_seq + 1
    const ended = yield* withFile(path, "r", (file) =>
      scanSegment(file, path, 0, size, (bytes, found) => {
        const wrong = follows(head, segmentSeq, found.frame)
        if (wrong === undefined) head = headOfFound(bytes, found)
        return wrong
      })
    )
    if (ended.damage !== undefined || head?.segment_seq !== segmentSeq) {
      const reason = ended.damage ?? "the segment is empty"
      return yield* new StoreDamaged({ path, byteOffset: ended.offset, reason, invariant: "INV-005" })
    }
    segments.push(sealedAt(head, firstSeq, size))
  }
  const migration = yield* lastMigration(layout, sessionId)
  // Nothing is appended to a container before its migration is completed.
  const unfinished =
    migration !== undefined &&
    !migration.completed &&
    (yield* lastEntrySeq(layout, seqs.at(-1))) <= (migration.event.entry_count ?? 0)
  const size = Option.getOrUndefined(yield* sizeOf(layout.manifest))
  const manifest = yield* newManifest(sessionId, {
    state: unfinished ? "FAILED" : "DIRTY",
    head: head ?? null,
    entry_count: head?.entry_seq ?? 0,
    segments,
    correlation_id: migration?.event.correlation_id ?? null,
    source: migration?.event.source ?? null
  })
  const kept = size === undefined ? Effect.void : Quarantine.keep(layout, layout.manifest, 0, size, error.reason)
  repairs.push({
    description: `manifest: rebuilt from the segments: ${error.reason}`,
    apply: Effect.andThen(kept, writeManifest(layout, manifest))
  })
  return manifest
})

/** Position of a segment's last whole frame; 0 when it has none. */
const lastEntrySeq = Effect.fnUntraced(function* (layout: StoreLayout, segmentSeq: number | undefined) {
  if (segmentSeq === undefined) return 0
  const path = layout.segment(segmentSeq)
  const size = yield* byteLengthOf(path)
  let last = 0
  yield* withFile(path, "r", (file) =>
    scanSegment(file, path, 0, size, (_bytes, { frame }) => {
      last = frame.entry_seq
      return undefined
    })
  )
  return last
})

/** Phases of a migration into a container. */
const FORWARD: ReadonlySet<MigrationEvent.Phase> = new Set(["planned", "staged", "verified", "completed"])

/**
 * The migration that made a container: the one that its marker names, or else the newest in the ledger, which also has
 * those of earlier containers. Undefined for a session created in its store.
 */
const lastMigration = Effect.fnUntraced(function* (layout: StoreLayout, sessionId: string) {
  const path = yield* Path.Path
  const location = { directory: path.dirname(layout.container), sessionId }
  // A container that is being built has no marker yet. A damaged marker is ignored.
  const isPlaced = names(path, location).container === layout.container
  const read = readActive(location).pipe(Effect.catchTag("StoreDamaged", () => Effect.undefined))
  const marker = isPlaced ? yield* read : undefined
  const { events } = yield* MigrationLedger.read(layout)
  const correlationId =
    marker === undefined
      ? events.findLast(({ phase }) => FORWARD.has(phase))?.correlation_id
      : (marker.correlation_id ?? undefined)
  const event = events.findLast(({ correlation_id, phase }) => correlation_id === correlationId && FORWARD.has(phase))
  if (event === undefined) return undefined
  return { event, completed: MigrationLedger.isCompleted(events, event.correlation_id) }
})
