/** Session stores: creating, opening for reading and writing, and verifying them. StoreMigration moves sessions into stores. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import { stringAt } from "@pi-sessions/core/Json"
import { type HeaderLine } from "@pi-sessions/core/SessionLine"
import { Sqlite } from "@pi-sessions/sqlite/Sqlite"
import { type ActiveStore } from "./wire/ActiveStore.ts"
import {
  BadSessionId,
  type EntryRefused,
  type MarkerLost,
  StoreDamaged,
  StoreExists,
  type StoreFailed,
  type StoreIoError,
  type StoreLocked,
  StoreNotActive,
  StoreNotFound
} from "./StoreError.ts"
import * as MigrationLedger from "./MigrationLedger.ts"
import * as StoreLayout from "./StoreLayout.ts"
import { StoreLock } from "./StoreLock.ts"
import * as StoreReader from "./StoreReader.ts"
import * as StoreVerify from "./StoreVerify.ts"
import * as StoreWriter from "./StoreWriter.ts"
import { moveActive, readActive } from "./files/activeStoreFile.ts"
import { renameDurably, sizeOf } from "./files/durable.ts"
import { otherSession, readSoundManifest } from "./files/manifestFile.ts"
import * as Cutover from "./migrate/cutover.ts"
import * as Staging from "./migrate/staging.ts"
import * as Unmarked from "./migrate/unmarked.ts"

export type OpenError = StoreReader.ReadError | StoreNotFound | StoreNotActive
export type OpenWriterError = OpenError | StoreLocked | StoreFailed

/** Opens the stores of sessions. */
export class SessionStore extends Context.Service<
  SessionStore,
  {
    /** The marker of a session's active store; undefined for a session that never had a container. */
    readonly active: (
      location: StoreLayout.StoreLocation
    ) => Effect.Effect<ActiveStore | undefined, StoreIoError | StoreDamaged>
    /** Opens a store for reading until the scope closes. Takes no lock and repairs nothing. */
    readonly reader: (
      location: StoreLayout.StoreLocation
    ) => Effect.Effect<StoreReader.StoreReader, OpenError, Scope.Scope>
    /** Locks a store, recovers from an interrupted writer, and opens it for appending until the scope closes. */
    readonly writer: (
      location: StoreLayout.StoreLocation,
      options?: StoreWriter.WriterOptions
    ) => Effect.Effect<StoreWriter.StoreWriter, OpenWriterError, Scope.Scope>
    /** Creates a store for a new session in `directory`, and opens it as `writer` does. */
    readonly create: (
      directory: string,
      header: HeaderLine,
      options?: StoreWriter.WriterOptions
    ) => Effect.Effect<
      StoreWriter.StoreWriter,
      OpenWriterError | StoreExists | MarkerLost | BadSessionId | EntryRefused,
      Scope.Scope
    >
    /**
     * Makes a container whose marker is lost or damaged the active store again, after recovering and verifying it. Keeps
     * a damaged marker under another name.
     */
    readonly activate: (location: StoreLayout.StoreLocation) => Effect.Effect<"activated" | "already", OpenWriterError>
    /** Renames a store, so that another can be created in its place. Returns the new path of the container. */
    readonly retire: (
      location: StoreLayout.StoreLocation
    ) => Effect.Effect<string, StoreIoError | StoreNotFound | StoreDamaged | StoreLocked>
    /** Absolute paths of files that held this session before, by its ledger, and are not its active store. */
    readonly inactive: (
      location: StoreLayout.StoreLocation
    ) => Effect.Effect<ReadonlyArray<string>, StoreIoError | StoreDamaged>
    /** Reads all of a container and reports each broken invariant. Takes no lock and repairs nothing. */
    readonly verify: (
      location: StoreLayout.StoreLocation
    ) => Effect.Effect<StoreVerify.VerifyReport, StoreIoError | StoreNotFound | StoreDamaged>
  }
>()("@pi-sessions/store/SessionStore") {
  static readonly layer = Layer.effect(
    SessionStore,
    Effect.suspend(() => make)
  )
}

type Files = FileSystem.FileSystem | Path.Path
type Needs = StoreLock | Sqlite | Files

const make = Effect.gen(function* () {
  const services = Context.pick(StoreLock, Sqlite, FileSystem.FileSystem, Path.Path)(yield* Effect.context<Needs>())
  const provided = Effect.provideContext(services)
  return SessionStore.of({
    active: (location) => provided(readActive(location)),
    reader: (location) => provided(openReader(location)),
    writer: (location, options) => provided(openWriter(location, options)),
    create: (directory, header, options) => provided(create(directory, header, options)),
    activate: (location) => provided(activate(location)),
    retire: (location) => provided(retire(location)),
    inactive: (location) => provided(inactive(location)),
    verify: (location) => provided(verify(location))
  })
})

const layoutOf = (location: StoreLayout.StoreLocation) =>
  Effect.map(Path.Path, (path) => StoreLayout.ofLocation(path, location))

/** Holds the session's lock until the scope closes. */
const acquireLock = Effect.fnUntraced(function* (location: StoreLayout.StoreLocation) {
  yield* (yield* StoreLock).acquire(StoreLayout.names(yield* Path.Path, location).lock)
})

const UNMARKED =
  'there is no marker that makes this container the active store; "pi-sessions store activate" writes one for a container that lost it'

const mustBeActive = Effect.fnUntraced(function* (location: StoreLayout.StoreLocation) {
  const path = yield* Path.Path
  const { active, container } = StoreLayout.names(path, location)
  const marker = yield* readActive(location)
  if (marker?.active === "native_v2") return
  if (marker !== undefined) {
    const activePath = Cutover.activeFile(path, location, marker)
    return yield* new StoreNotActive({ path: container, active: marker.active, activePath })
  }
  if (Option.isNone(yield* sizeOf(container))) return yield* new StoreNotFound({ path: container })
  return yield* new StoreDamaged({ path: active, byteOffset: 0, reason: UNMARKED, invariant: "INV-007" })
})

/** Fails when a record of the container names another session. */
const mustBeOf = Effect.fnUntraced(function* (
  { sessionId }: StoreLayout.StoreLocation,
  recordPath: string,
  found: string | undefined
) {
  if (found === undefined || found === sessionId) return
  const reason = otherSession(found, sessionId)
  return yield* new StoreDamaged({ path: recordPath, byteOffset: 0, reason, invariant: "INV-007" })
})

const openReader = Effect.fn("SessionStore.reader")(function* (location: StoreLayout.StoreLocation) {
  yield* mustBeActive(location)
  const layout = yield* layoutOf(location)
  // The manifest may be damaged: the header names the session too.
  const manifest = yield* readSoundManifest(layout)
  yield* mustBeOf(location, layout.manifest, manifest?.session_id)
  const opened = yield* StoreReader.open(layout)
  yield* mustBeOf(location, layout.segment(1), stringAt(opened.header.decode(), "id"))
  return opened
})

/** Runs an effect, and releases its resources at once when it fails: a retry then gets the lock. */
const releasedOnFailure = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R | Scope.Scope> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const scope = yield* Scope.fork(yield* Effect.scope)
      const exit = yield* Effect.exit(restore(Scope.provide(effect, scope)))
      if (Exit.isFailure(exit)) yield* Scope.close(scope, exit)
      return yield* exit
    })
  )

/** Opens a locked store for writing. */
const openLocked = Effect.fnUntraced(function* (
  location: StoreLayout.StoreLocation,
  options: StoreWriter.WriterOptions
) {
  yield* Cutover.reconcile(location)
  yield* mustBeActive(location)
  return yield* StoreWriter.open(yield* layoutOf(location), location.sessionId, options)
})

const openWriter = Effect.fn("SessionStore.writer")(function* (
  location: StoreLayout.StoreLocation,
  options: StoreWriter.WriterOptions = {}
) {
  // Without a marker there is nothing to lock. A marker of another store may need its rollback finished first.
  if ((yield* readActive(location)) === undefined) yield* mustBeActive(location)
  yield* acquireLock(location)
  return yield* openLocked(location, options)
}, releasedOnFailure)

const create = Effect.fn("SessionStore.create")(function* (
  directory: string,
  header: HeaderLine,
  options: StoreWriter.WriterOptions = {}
) {
  const path = yield* Path.Path
  const sessionId = stringAt(header.decode(), "id") ?? ""
  if (!StoreLayout.isSafeId(sessionId)) return yield* new BadSessionId({ sessionId })
  const location = { directory, sessionId }
  const { container } = StoreLayout.names(path, location)
  yield* acquireLock(location)
  if ((yield* readActive(location)) !== undefined) return yield* new StoreExists({ path: container })
  yield* Unmarked.mustBeFree(location)
  const staged = yield* Staging.begin(location, { correlationId: null, source: null, state: "CLEAN" })
  yield* Effect.scoped(
    Effect.flatMap(StoreWriter.open(staged, sessionId, options), (writer) => writer.appendHeader(header, sessionId))
  )
  yield* Staging.place(location, staged)
  yield* moveActive(location, { active: "native_v2", path: path.basename(container), correlation_id: null })
  return yield* openLocked(location, options)
}, releasedOnFailure)

const activate = Effect.fn("SessionStore.activate")(function* (location: StoreLayout.StoreLocation) {
  yield* acquireLock(location)
  return yield* Unmarked.activate(location)
}, Effect.scoped)

const retire = Effect.fn("SessionStore.retire")(function* (location: StoreLayout.StoreLocation) {
  const names = StoreLayout.names(yield* Path.Path, location)
  yield* acquireLock(location)
  if ((yield* readActive(location)) === undefined) return yield* new StoreNotFound({ path: names.container })
  const aside = yield* Staging.retiredName(location)
  // The marker goes first: without it the container is not a store.
  yield* renameDurably(names.active, Staging.retiredMarker(aside))
  yield* renameDurably(names.container, aside)
  return aside
}, Effect.scoped)

const inactive = Effect.fn("SessionStore.inactive")(function* (location: StoreLayout.StoreLocation) {
  const path = yield* Path.Path
  const marker = yield* readActive(location)
  if (marker === undefined) return []
  const { events } = yield* MigrationLedger.read(yield* layoutOf(location))
  const snapshots = events.flatMap(({ source, target }) => [source, target])
  const files = new Set(
    snapshots.flatMap((snapshot) => (snapshot === null || snapshot.format === "native_v2" ? [] : [snapshot.path]))
  )
  files.delete(marker.path)
  return [...files].map((file) => path.resolve(location.directory, file))
})

const verify = Effect.fn("SessionStore.verify")(function* (location: StoreLayout.StoreLocation) {
  const layout = yield* layoutOf(location)
  if (Option.isNone(yield* sizeOf(layout.container))) return yield* new StoreNotFound({ path: layout.container })
  const marker = yield* Effect.result(readActive(location))
  if (Result.isFailure(marker) && marker.failure._tag === "StoreIoError") return yield* marker.failure
  const active = Result.getOrUndefined(marker)
  const report = yield* StoreVerify.verify(layout, { active, sessionId: location.sessionId })
  const message =
    active !== undefined
      ? yield* activeMissing(location, active)
      : Result.isFailure(marker) && marker.failure._tag === "StoreDamaged"
        ? marker.failure.reason
        : UNMARKED
  if (message === undefined) return report
  const markerPath = StoreLayout.names(yield* Path.Path, location).active
  const finding: StoreVerify.Finding = { invariant: "INV-007", path: markerPath, byte_offset: 0, message }
  return { ...report, findings: [...report.findings, finding] }
})

/** INV-007: the file or container that the marker names exists. */
const activeMissing = Effect.fnUntraced(function* (location: StoreLayout.StoreLocation, active: ActiveStore) {
  const file = Cutover.activeFile(yield* Path.Path, location, active)
  return Option.isSome(yield* sizeOf(file)) ? undefined : `the active store, ${active.path}, is not there`
})
