/**
 * What an interrupted cutover or rollback needs before anything else is done with a session (ADR, "Recovery from partial
 * migration is deterministic"). Only under the writer's lock.
 *
 * - No commit marker: the source is the active store, and nothing needs to be done.
 * - Commit marker, but the cutover was not finished: the state becomes FAILED, and the session is rolled back to the
 *   source, which nobody has changed.
 * - The source is not there any more: the state stays FAILED, and a person must decide.
 * - The file that was rolled back to is not there any more: the same.
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
import {
  nowInstant,
  otherSession,
  readManifest,
  settleManifest,
  stepped,
  writeManifest
} from "../files/manifestFile.ts"
import { rebuildManifest } from "../recover/manifestRecovery.ts"
import { type Repair } from "../recover/repair.ts"

type Needs = Sqlite | FileSystem.FileSystem | Path.Path
type Failure = StoreIoError | StoreDamaged | StoreFailed

/** Finishes or undoes what was interrupted, and tells which store is the active one then. */
export const reconcile = Effect.fn("Cutover.reconcile")(function* (
  location: StoreLayout.StoreLocation
): Effect.fn.Return<ActiveStore | undefined, Failure, Needs> {
  const path = yield* Path.Path
  const layout = StoreLayout.of(path, StoreLayout.names(path, location).container)
  const marker = yield* readActive(location)
  if (marker === undefined || Option.isNone(yield* sizeOf(layout.container))) return marker
  yield* settleActive(location)
  yield* settleManifest(layout)
  // Only a manifest that is damaged may be made again; one that cannot be read now must be read before going on.
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
  // The last event of a migration or a rollback; with the next state it has been built on.
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

/** The file that is the active store, or else the state is FAILED; a file that comes back is gone on with. */
const mustBeThere = Effect.fnUntraced(function* (
  location: StoreLayout.StoreLocation,
  layout: StoreLayout.StoreLayout,
  manifest: Manifest.Manifest,
  marker: ActiveStore
): Effect.fn.Return<void, StoreIoError | StoreFailed, FileSystem.FileSystem | Path.Path> {
  const file = activeFile(yield* Path.Path, location, marker)
  if (Option.isSome(yield* sizeOf(file))) return
  if (manifest.state === "ROLLED_BACK" || manifest.state === "CHECKPOINTED") {
    yield* writeManifest(layout, yield* stepped(manifest, "FAILED").pipe(Effect.orDie))
  }
  return yield* gone(layout, file)
})

/** Where the active store of a session is, by its marker. */
export const activeFile = (path: Path.Path, location: StoreLayout.StoreLocation, marker: ActiveStore): string =>
  path.resolve(location.directory, marker.path)

const gone = (layout: StoreLayout.StoreLayout, file: string) =>
  new StoreFailed({
    path: layout.container,
    reason: `the session was rolled back to ${file}, which is missing. Bring that file back, or write the container to a new one with: pi-sessions store rollback`
  })

/**
 * The manifest of a cutover that was not finished, as the ledger tells it, in place of a damaged one. Undefined when it
 * was finished: who opens the container makes the manifest again. Where that cannot be done, opening says why.
 */
const rebuildUnfinished = Effect.fnUntraced(
  function* (
    location: StoreLayout.StoreLocation,
    layout: StoreLayout.StoreLayout,
    error: StoreDamaged
  ): Effect.fn.Return<Manifest.Manifest | undefined, StoreIoError | StoreDamaged, Needs> {
    const repairs: Array<Repair> = []
    const manifest = yield* rebuildManifest(layout, location.sessionId, error, repairs)
    if (manifest.state !== "FAILED") return undefined
    yield* Effect.forEach(repairs, (repair) => repair.mend, { discard: true })
    return manifest
  },
  Effect.catchTag("StoreDamaged", () => Effect.succeed(undefined))
)

/** The container is in use, and its ledger does not tell yet that it is. */
const finishMigration = Effect.fnUntraced(function* (
  layout: StoreLayout.StoreLayout,
  { correlation_id }: Manifest.Manifest
): Effect.fn.Return<void, StoreIoError, Needs> {
  if (correlation_id === null) return
  const { events } = yield* MigrationLedger.read(layout)
  const last = events.findLast((event) => event.correlation_id === correlation_id)
  if (last?.phase !== "verified") return
  yield* MigrationLedger.append(layout, [{ ...last, at: yield* nowInstant, phase: "completed", outcome: "ok" }])
})

/** Whether the container became active without its migration being completed. */
export const isUnfinished = Effect.fnUntraced(function* (layout: StoreLayout.StoreLayout, manifest: Manifest.Manifest) {
  if (manifest.state === "MIGRATION_STAGING") return true
  if (manifest.state !== "FAILED" || manifest.correlation_id === null) return false
  const { events } = yield* MigrationLedger.read(layout)
  return !MigrationLedger.isCompleted(events, manifest.correlation_id)
})

/** The forced rollback of a cutover that was not finished. */
const undo = Effect.fnUntraced(function* (
  location: StoreLayout.StoreLocation,
  layout: StoreLayout.StoreLayout,
  found: Manifest.Manifest
): Effect.fn.Return<void, Failure, Needs> {
  const reason = "the cutover was interrupted before it was verified"
  let manifest = found
  if (manifest.state === "MIGRATION_STAGING") {
    manifest = yield* stepped(manifest, "FAILED").pipe(Effect.orDie)
    yield* writeManifest(layout, manifest)
  }
  const { source } = manifest
  const correlation_id = manifest.correlation_id ?? ""
  const event = { session_id: location.sessionId, correlation_id, source: null, target: source, reason }
  const why = source === null ? "it is not known where it came from" : yield* missing(location, source)
  if (source === null || why !== undefined) {
    yield* tell(layout, { ...event, phase: "rolled_back", outcome: "failed", reason: `${reason}; ${why}` })
    return yield* new StoreFailed({
      path: layout.container,
      reason: `${reason}, and the store cannot go back to its source: ${why}. Bring the source back, or export the container with: pi-sessions store rollback`
    })
  }
  yield* tell(layout, { ...event, phase: "rollback_planned", outcome: "ok" })
  yield* moveActive(location, { active: source.format, path: source.path, correlation_id })
  yield* writeManifest(layout, yield* stepped(manifest, "ROLLED_BACK").pipe(Effect.orDie))
  yield* tell(layout, { ...event, phase: "rolled_back", outcome: "ok" })
})

/** Why a rollback target cannot be gone back to; undefined when it can. It may have grown. */
const missing = Effect.fnUntraced(function* (
  location: StoreLayout.StoreLocation,
  source: NonNullable<Manifest.Manifest["source"]>
): Effect.fn.Return<string | undefined, StoreIoError, Needs> {
  const path = yield* Path.Path
  const file = path.resolve(location.directory, source.path)
  if (!isForeign(source.format)) return `${file} is no file of an earlier format`
  if (Option.isNone(yield* sizeOf(file))) return `${file} is missing`
  const bytes = readBytes(source.format, file)
  const now = yield* snapshotOf(source.format, source.path, bytes, source.byte_length)
  return now.snapshot_id === source.snapshot_id ? undefined : `${file} is not what it was`
})

/** The marker was moved, and the container does not say so yet. */
const finishRollback = Effect.fnUntraced(function* (
  layout: StoreLayout.StoreLayout,
  manifest: Manifest.Manifest,
  marker: ActiveStore
): Effect.fn.Return<void, StoreIoError, Needs> {
  if (manifest.state === "CHECKPOINTED" || manifest.state === "FAILED") {
    yield* writeManifest(layout, yield* stepped(manifest, "ROLLED_BACK").pipe(Effect.orDie))
  } else if (manifest.state !== "ROLLED_BACK") return
  const { events } = yield* MigrationLedger.read(layout)
  const planned = events.findLast((event) => event.phase === "rollback_planned")
  if (planned === undefined || planned.correlation_id !== marker.correlation_id) return
  yield* tell(layout, { ...planned, at: yield* nowInstant, phase: "rolled_back", outcome: "ok" })
})

/** Adds an event unless it is the last of its migration already. */
const tell = Effect.fnUntraced(function* (layout: StoreLayout.StoreLayout, event: MigrationLedger.EventInput) {
  const { events } = yield* MigrationLedger.read(layout)
  const last = events.findLast(({ correlation_id }) => correlation_id === event.correlation_id)
  if (last?.phase === event.phase && last.outcome === event.outcome) return
  yield* MigrationLedger.append(layout, [event])
})
