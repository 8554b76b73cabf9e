/**
 * Finishes or undoes an interrupted cutover or rollback, before anything else is done with a session
 * (docs/adr/003-session-store-v2.md). Requires the writer's lock.
 *
 * - No marker: the source is the active store. Nothing is done.
 * - The container is active and its migration is unfinished: the session returns to its source (FAILED, then
 *   ROLLED_BACK). Bytes appended to the source meanwhile are accepted.
 * - The container is active and only the event `completed` is missing: it is added.
 * - A file is active: the rollback's manifest and ledger are completed.
 * - The file to return to is missing or changed: StoreFailed. A person must decide.
 */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import { type Sqlite } from "@pi-sessions/sqlite/Sqlite"
import { type ActiveStore } from "../wire/ActiveStore.ts"
import type * as Manifest from "../wire/Manifest.ts"
import * as MigrationLedger from "../MigrationLedger.ts"
import { StoreDamaged, StoreFailed, type StoreIoError } from "../StoreError.ts"
import * as StoreLayout from "../StoreLayout.ts"
import { moveActive, readActive, settleActive } from "../files/activeStoreFile.ts"
import { sizeOf } from "../files/durable.ts"
import { isForeign, readBytes, snapshotOf } from "./foreignStore.ts"
import { nowInstant, otherSession, readManifest, settleManifest, stepManifest } from "../files/manifestFile.ts"
import { rebuildManifest } from "../recover/manifestRecovery.ts"
import { type Repair } from "../recover/repair.ts"

type Needs = Sqlite | FileSystem.FileSystem | Path.Path
type Failure = StoreIoError | StoreDamaged | StoreFailed

/** Finishes or undoes what was interrupted. Returns the marker of the store that is active afterwards. */
export const reconcile = Effect.fn("Cutover.reconcile")(function* (
  location: StoreLayout.StoreLocation
): Effect.fn.Return<ActiveStore | undefined, Failure, Needs> {
  const layout = StoreLayout.ofLocation(yield* Path.Path, location)
  const marker = yield* readActive(location)
  if (marker === undefined || Option.isNone(yield* sizeOf(layout.container))) return marker
  yield* settleActive(location)
  yield* settleManifest(layout)
  // A damaged manifest is rebuilt. One that cannot be read because of an I/O error is not.
  const manifest = yield* readManifest(layout).pipe(
    Effect.catchTag("StoreDamaged", (error) =>
      marker.active === "native_v2" ? rebuildUnfinished(location, layout, error) : Effect.succeed(undefined)
    )
  )
  if (manifest === undefined) return marker
  if (manifest.session_id !== location.sessionId) {
    const reason = otherSession(manifest.session_id, location.sessionId)
    return yield* new StoreDamaged({ path: layout.manifest, byteOffset: 0, reason, invariant: "INV-007" })
  }
  // The next step relies on the last event of the migration or rollback.
  if (manifest.state === "MIGRATED" || manifest.state === "ROLLED_BACK") yield* MigrationLedger.settle(layout)
  if (marker.active === "native_v2") {
    if (!(yield* isUnfinished(layout, manifest))) {
      yield* finishMigration(layout, manifest)
      return marker
    }
    yield* undo(location, layout, manifest)
    return yield* readActive(location)
  }
  yield* mustBeThere(location, layout, manifest, marker)
  yield* MigrationLedger.cutTorn(layout)
  yield* finishRollback(layout, manifest, marker)
  return marker
})

/** Fails, and sets the state FAILED, while the file that is the active store is missing. */
const mustBeThere = Effect.fnUntraced(function* (
  location: StoreLayout.StoreLocation,
  layout: StoreLayout.StoreLayout,
  manifest: Manifest.Manifest,
  marker: ActiveStore
) {
  const file = activeFile(yield* Path.Path, location, marker)
  if (Option.isSome(yield* sizeOf(file))) return
  if (manifest.state === "ROLLED_BACK" || manifest.state === "CHECKPOINTED") {
    yield* stepManifest(layout, manifest, "FAILED")
  }
  return yield* new StoreFailed({
    path: layout.container,
    reason: `the session was rolled back to ${file}, which is missing. Bring that file back, or write the container to a new one with: pi-sessions store rollback`
  })
})

/** Absolute path of the active store that a marker names. */
export const activeFile = (path: Path.Path, location: StoreLayout.StoreLocation, marker: ActiveStore): string =>
  path.resolve(location.directory, marker.path)

/**
 * Rebuilds the damaged manifest of an unfinished cutover from the ledger. Undefined when the cutover was finished, or when
 * the manifest cannot be rebuilt: opening the container rebuilds it or reports the reason.
 */
const rebuildUnfinished = Effect.fnUntraced(
  function* (location: StoreLayout.StoreLocation, layout: StoreLayout.StoreLayout, error: StoreDamaged) {
    const repairs: Array<Repair> = []
    const manifest = yield* rebuildManifest(layout, location.sessionId, error, repairs)
    if (manifest.state !== "FAILED") return undefined
    yield* Effect.forEach(repairs, (repair) => repair.apply, { discard: true })
    return manifest
  },
  Effect.catchTag("StoreDamaged", () => Effect.succeed(undefined))
)

/** Adds the event `completed` that a crash left out, for a container that is in use. */
const finishMigration = Effect.fnUntraced(function* (
  layout: StoreLayout.StoreLayout,
  { correlation_id }: Manifest.Manifest
) {
  if (correlation_id === null) return
  const { events } = yield* MigrationLedger.read(layout)
  const last = events.findLast((event) => event.correlation_id === correlation_id)
  if (last?.phase !== "verified") return
  yield* MigrationLedger.append(layout, [{ ...last, at: yield* nowInstant, phase: "completed", outcome: "ok" }])
})

/** Whether the container became active before its migration was completed. */
const isUnfinished = Effect.fnUntraced(function* (layout: StoreLayout.StoreLayout, manifest: Manifest.Manifest) {
  if (manifest.state === "MIGRATION_STAGING") return true
  if (manifest.state !== "FAILED" || manifest.correlation_id === null) return false
  const { events } = yield* MigrationLedger.read(layout)
  return !MigrationLedger.isCompleted(events, manifest.correlation_id)
})

/** Rolls an unfinished cutover back to the source. */
const undo = Effect.fnUntraced(function* (
  location: StoreLayout.StoreLocation,
  layout: StoreLayout.StoreLayout,
  found: Manifest.Manifest
) {
  const reason = "the cutover was not completed"
  let manifest = found
  if (manifest.state === "MIGRATION_STAGING") {
    manifest = yield* stepManifest(layout, manifest, "FAILED")
  }
  const { source } = manifest
  const correlation_id = manifest.correlation_id ?? ""
  const event = { session_id: location.sessionId, correlation_id, source: null, target: source, reason }
  const why = source === null ? "it is not known where it came from" : yield* missing(location, source)
  if (source === null || why !== undefined) {
    yield* record(layout, { ...event, phase: "rolled_back", outcome: "failed", reason: `${reason}; ${why}` })
    return yield* new StoreFailed({
      path: layout.container,
      reason: `${reason}, and the store cannot go back to its source: ${why}. Bring the source back, or export the container with: pi-sessions store rollback`
    })
  }
  yield* record(layout, { ...event, phase: "rollback_planned", outcome: "ok" })
  yield* moveActive(location, { active: source.format, path: source.path, correlation_id })
  yield* stepManifest(layout, manifest, "ROLLED_BACK")
  yield* record(layout, { ...event, phase: "rolled_back", outcome: "ok" })
})

/** Why the session cannot return to its source; undefined when it can. A source that grew is accepted. */
const missing = Effect.fnUntraced(function* (
  location: StoreLayout.StoreLocation,
  source: NonNullable<Manifest.Manifest["source"]>
) {
  const file = (yield* Path.Path).resolve(location.directory, source.path)
  if (!isForeign(source.format)) return `${file} is no file of an earlier format`
  if (Option.isNone(yield* sizeOf(file))) return `${file} is missing`
  const bytes = readBytes(source.format, file)
  const now = yield* snapshotOf(source.format, source.path, bytes, source.byte_length)
  return now.snapshot_id === source.snapshot_id ? undefined : `${file} is not what it was`
})

/** Completes manifest and ledger of a rollback whose marker was moved already. */
const finishRollback = Effect.fnUntraced(function* (
  layout: StoreLayout.StoreLayout,
  manifest: Manifest.Manifest,
  marker: ActiveStore
) {
  if (manifest.state === "CHECKPOINTED" || manifest.state === "FAILED") {
    yield* stepManifest(layout, manifest, "ROLLED_BACK")
  } else if (manifest.state !== "ROLLED_BACK") return
  const { events } = yield* MigrationLedger.read(layout)
  const planned = events.findLast((event) => event.phase === "rollback_planned")
  if (planned === undefined || planned.correlation_id !== marker.correlation_id) return
  yield* record(layout, { ...planned, at: yield* nowInstant, phase: "rolled_back", outcome: "ok" })
})

/** Adds an event unless it is already the last one of its migration. */
const record = Effect.fnUntraced(function* (layout: StoreLayout.StoreLayout, event: MigrationLedger.EventInput) {
  const { events } = yield* MigrationLedger.read(layout)
  const last = events.findLast(({ correlation_id }) => correlation_id === event.correlation_id)
  if (last?.phase === event.phase && last.outcome === event.outcome) return
  yield* MigrationLedger.append(layout, [event])
})
