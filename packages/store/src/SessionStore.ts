/**
 * Session stores: opening them for reading and for writing, creating and verifying them. Migration and rollback are
 * services of their own on top (StoreMigration).
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { stringAt } from "@pi-sessions/core/Json"
import { type HeaderLine } from "@pi-sessions/core/SessionLine"
import { Sqlite } from "@pi-sessions/sqlite/Sqlite"
import { type ActiveStore } from "./wire/ActiveStore.ts"
import {
  type EntryRefused,
  type MarkerLost,
  StoreDamaged,
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
import * as Cutover from "./migrate/cutover.ts"
import { moveActive, readActive } from "./files/activeStoreFile.ts"
import { renameDurably, sizeOf } from "./files/durable.ts"
import { otherSession, readManifest } from "./files/manifestFile.ts"
import * as Staging from "./migrate/staging.ts"
import * as Unmarked from "./migrate/unmarked.ts"

/** A session of this id has a store already. */
export class StoreExists extends Schema.TaggedError<StoreExists>()("StoreExists", { path: Schema.String }) {
  override get message(): string {
    return `${this.path}: there is a store of this session already; open that one, or go back to a file first with: pi-sessions store rollback`
  }
}

/** A header without an id that can name a file. */
export class BadSessionId extends Schema.TaggedError<BadSessionId>()("BadSessionId", { sessionId: Schema.String }) {
  override get message(): string {
    return `the session id ${JSON.stringify(this.sessionId)} cannot be part of a file name; give the header an id of 1 to 200 bytes without a slash, a backslash or a dot at its beginning`
  }
}

/** Why a store cannot be read. */
export type OpenError = StoreReader.ReadError | StoreNotFound | StoreNotActive
/** Why a store cannot be written. */
export type OpenWriterError = OpenError | StoreLocked | StoreFailed

/** The stores of sessions, by where they are. */
export class SessionStore extends Context.Service<
  SessionStore,
  {
    /** Which store of a session is the active one; undefined for a session that never had a container. */
    readonly active: (
      location: StoreLayout.StoreLocation
    ) => Effect.Effect<ActiveStore | undefined, StoreIoError | StoreDamaged>
    /** Opens a store for reading until the scope closes. Takes no lock and repairs nothing. */
    readonly reader: (
      location: StoreLayout.StoreLocation
    ) => Effect.Effect<StoreReader.StoreReader, OpenError, Scope.Scope>
    /** Locks a store, mends what an interrupted writer left, and opens it for appending until the scope closes. */
    readonly writer: (
      location: StoreLayout.StoreLocation,
      options?: StoreWriter.WriterOptions
    ) => Effect.Effect<StoreWriter.StoreWriter, OpenWriterError, Scope.Scope>
    /** Makes a store for a new session in `directory`, and opens it as `writer` does. */
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
     * Makes a container the active store of its session again where the marker is lost or damaged (that one is kept
     * under another name), after it was mended and read as a whole.
     */
    readonly activate: (location: StoreLayout.StoreLocation) => Effect.Effect<"activated" | "already", OpenWriterError>
    /** Moves a store aside, so that another can be created in its place; returns where the container is then. */
    readonly retire: (
      location: StoreLayout.StoreLocation
    ) => Effect.Effect<string, StoreIoError | StoreNotFound | StoreDamaged | StoreLocked>
    /** Absolute paths of the files that held this session once (as its ledger tells) and are not its active store. */
    readonly inactive: (
      location: StoreLayout.StoreLocation
    ) => Effect.Effect<ReadonlyArray<string>, StoreIoError | StoreDamaged>
    /** Reads everything and reports each broken invariant. Takes no lock and repairs nothing. */
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

const UNMARKED =
  'there is no marker that makes this container the active store; "pi-sessions store activate" writes one for a container that lost it'

/** What was acquired before a failure is released at once, not with the caller's scope: the lock, so that a retry gets it. */
const releasedOnFailure = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R | Scope.Scope> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const scope = yield* Scope.fork(yield* Effect.scope)
      const exit = yield* Effect.exit(restore(Scope.provide(effect, scope)))
      if (Exit.isFailure(exit)) yield* Scope.close(scope, exit)
      return yield* exit
    })
  )

const make = Effect.gen(function* () {
  const path = yield* Path.Path
  const lock = yield* StoreLock
  const services = yield* Effect.map(
    Effect.context<Sqlite | FileSystem.FileSystem | Path.Path>(),
    Context.pick(Sqlite, FileSystem.FileSystem, Path.Path)
  )
  const provided = Effect.provideContext(services)

  const active = (location: StoreLayout.StoreLocation) => provided(readActive(location))

  const layoutOf = (location: StoreLayout.StoreLocation) =>
    StoreLayout.of(path, StoreLayout.names(path, location).container)

  const mustBeActive = Effect.fnUntraced(function* (location: StoreLayout.StoreLocation) {
    const { container } = StoreLayout.names(path, location)
    const marker = yield* readActive(location)
    if (marker === undefined) {
      if (Option.isNone(yield* sizeOf(container))) return yield* new StoreNotFound({ path: container })
      const reason = UNMARKED
      const { active } = StoreLayout.names(path, location)
      return yield* new StoreDamaged({ path: active, byteOffset: 0, reason, invariant: "INV-007" })
    }
    if (marker.active === "native_v2") return
    return yield* new StoreNotActive({
      path: container,
      active: marker.active,
      activePath: path.resolve(location.directory, marker.path)
    })
  })

  /** Another session's container under this one's name is not this session's. */
  const mustBeOf = Effect.fnUntraced(function* (
    { sessionId }: StoreLayout.StoreLocation,
    where: string,
    found: string | undefined
  ) {
    if (found === undefined || found === sessionId) return
    const reason = otherSession(found, sessionId)
    return yield* new StoreDamaged({ path: where, byteOffset: 0, reason, invariant: "INV-007" })
  })

  const reader = Effect.fn("SessionStore.reader")(function* (location: StoreLayout.StoreLocation) {
    yield* mustBeActive(location)
    const layout = layoutOf(location)
    // A damaged manifest is no hindrance to reading: the header tells too.
    const manifest = yield* readManifest(layout).pipe(Effect.catchTag("StoreDamaged", () => Effect.succeed(undefined)))
    yield* mustBeOf(location, layout.manifest, manifest?.session_id)
    const opened = yield* StoreReader.open(layout)
    yield* mustBeOf(location, layout.segment(1), stringAt(opened.header.decode(), "id"))
    return opened
  }, provided)

  const openWriter = Effect.fnUntraced(function* (
    location: StoreLayout.StoreLocation,
    options: StoreWriter.WriterOptions
  ) {
    yield* Cutover.reconcile(location)
    yield* mustBeActive(location)
    return yield* StoreWriter.open(layoutOf(location), location.sessionId, options)
  })

  const writer = Effect.fn("SessionStore.writer")(
    function* (location: StoreLayout.StoreLocation, options: StoreWriter.WriterOptions = {}) {
      // Without a marker there is nothing to lock; with one of another store, its rollback may have to be finished first.
      if ((yield* readActive(location)) === undefined) yield* mustBeActive(location)
      yield* lock.acquire(StoreLayout.names(path, location).lock)
      return yield* openWriter(location, options)
    },
    releasedOnFailure,
    provided
  )

  const create = Effect.fn("SessionStore.create")(
    function* (directory: string, header: HeaderLine, options: StoreWriter.WriterOptions = {}) {
      const sessionId = stringAt(header.decode(), "id") ?? ""
      if (!StoreLayout.isSafeId(sessionId)) return yield* new BadSessionId({ sessionId })
      const location = { directory, sessionId }
      const names = StoreLayout.names(path, location)
      yield* lock.acquire(names.lock)
      if ((yield* readActive(location)) !== undefined) return yield* new StoreExists({ path: names.container })
      // A container without a marker that was not finished when it was made is moved aside.
      yield* Unmarked.mustBeFree(location)
      const staged = yield* Staging.begin(location, { correlationId: null, source: null, state: "CLEAN" })
      yield* Effect.scoped(
        Effect.flatMap(StoreWriter.open(staged, sessionId, options), (writer) => writer.appendHeader(header, sessionId))
      )
      yield* Staging.place(location, staged)
      yield* moveActive(location, { active: "native_v2", path: path.basename(names.container), correlation_id: null })
      return yield* openWriter(location, options)
    },
    releasedOnFailure,
    provided
  )

  const activate = Effect.fn("SessionStore.activate")(
    function* (location: StoreLayout.StoreLocation) {
      yield* lock.acquire(StoreLayout.names(path, location).lock)
      return yield* Unmarked.activate(location)
    },
    Effect.scoped,
    provided
  )

  const retire = Effect.fn("SessionStore.retire")(function* (location: StoreLayout.StoreLocation) {
    const names = StoreLayout.names(path, location)
    return yield* Effect.scoped(
      Effect.gen(function* () {
        yield* lock.acquire(names.lock)
        if ((yield* readActive(location)) === undefined) return yield* new StoreNotFound({ path: names.container })
        const aside = yield* Staging.retiredName(location)
        // Without its marker the container is no store any more.
        yield* renameDurably(names.active, Staging.retiredMarker(aside))
        yield* renameDurably(names.container, aside)
        return aside
      })
    )
  }, provided)

  const inactive = Effect.fn("SessionStore.inactive")(function* (location: StoreLayout.StoreLocation) {
    const marker = yield* readActive(location)
    const { events } = yield* MigrationLedger.read(layoutOf(location))
    const files = new Set<string>()
    for (const event of events) {
      for (const snapshot of [event.source, event.target]) {
        if (snapshot !== null && snapshot.format !== "native_v2") files.add(snapshot.path)
      }
    }
    if (marker !== undefined) files.delete(marker.path)
    return marker === undefined ? [] : [...files].map((file) => path.resolve(location.directory, file))
  }, provided)

  /** INV-007: what the marker names must be there. */
  const activeMissing = Effect.fnUntraced(function* (
    location: StoreLayout.StoreLocation,
    active: ActiveStore
  ): Effect.fn.Return<StoreVerify.Finding | undefined, StoreIoError, FileSystem.FileSystem> {
    const file = Cutover.activeFile(path, location, active)
    if (Option.isSome(yield* sizeOf(file))) return undefined
    const message = `the active store, ${active.path}, is not there`
    return { invariant: "INV-007", path: StoreLayout.names(path, location).active, byte_offset: 0, message }
  })

  const verify = Effect.fn("SessionStore.verify")(function* (location: StoreLayout.StoreLocation) {
    const layout = layoutOf(location)
    if (Option.isNone(yield* sizeOf(layout.container))) return yield* new StoreNotFound({ path: layout.container })
    const marker = yield* Effect.result(readActive(location))
    if (Result.isFailure(marker) && marker.failure._tag === "StoreIoError") return yield* marker.failure
    const active = Result.getOrUndefined(marker)
    const report = yield* StoreVerify.verify(layout, { active, sessionId: location.sessionId })
    if (active !== undefined) {
      const missing = yield* activeMissing(location, active)
      return missing === undefined ? report : { ...report, findings: [...report.findings, missing] }
    }
    const finding: StoreVerify.Finding = {
      invariant: "INV-007",
      path: StoreLayout.names(path, location).active,
      byte_offset: 0,
      message: Result.isFailure(marker) && marker.failure._tag === "StoreDamaged" ? marker.failure.reason : UNMARKED
    }
    return { ...report, findings: [...report.findings, finding] }
  }, provided)

  return SessionStore.of({ active, activate, reader, writer, create, retire, inactive, verify })
})
