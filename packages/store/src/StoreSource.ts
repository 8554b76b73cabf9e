/**
 * The V2 layer of SessionSource: sessions in containers and in databases of lines (`sqlite_v1`) beside sessions in
 * files, so that whoever reads sessions reads a store as it reads a file. A session is listed once: as its container
 * where that is the active store, else as the file that its marker names; other files of it in that directory are not
 * listed. One without a marker is listed as its files.
 */
import * as Arr from "effect/Array"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Stream from "effect/Stream"
import { stringAt } from "@pi-sessions/core/Json"
import * as Session from "@pi-sessions/core/Session"
import { type HeaderLine, type SessionLine } from "@pi-sessions/core/SessionLine"
import { SessionReader, peekHeader } from "@pi-sessions/core/SessionReader"
import { NotASession, SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import { type SessionRef, SessionSource } from "@pi-sessions/session-file/SessionSource"
import { Sqlite } from "@pi-sessions/sqlite/Sqlite"
import { type OpenError, SessionStore } from "./SessionStore.ts"
import * as SqliteV1 from "./SqliteV1.ts"
import * as StoreLayout from "./StoreLayout.ts"
import * as ActiveElsewhere from "./source/activeElsewhere.ts"
import { databasesBelow } from "./source/databasesBelow.ts"
import { namesSession, pageBytesOf } from "./source/firstPage.ts"

/** The location of a container by its path (`.../<session-id>.v2`); undefined for any other path. */
export const locationOf = (path: Path.Path, container: string): StoreLayout.StoreLocation | undefined => {
  const name = path.basename(container)
  return name.endsWith(".v2") && name.length > 3
    ? { directory: path.dirname(container), sessionId: name.slice(0, -3) }
    : undefined
}

/** Whether a path names a database of lines; the index that other programs keep beside sessions is none. */
export const isDatabase = (path: Path.Path, at: string): boolean =>
  at.endsWith(".sqlite") && path.basename(at) !== "session-index.sqlite"

/**
 * What the first bytes of an SQLite file say: whether it has the table of a session. Undefined where there are too few
 * of them. It is asked before SQLite is, which may write files beside a database that it opens.
 */
export const hasSession = (bytes: Uint8Array, isWhole: boolean): boolean | undefined => {
  const pageBytes = pageBytesOf(bytes)
  if (pageBytes === 0) return false
  if (bytes.length < pageBytes && !isWhole) return undefined
  return namesSession(bytes.subarray(0, pageBytes))
}

/** Files, directories, databases and containers; see `SessionSource.layerPaths`. */
export const layerPaths = (paths: ReadonlyArray<string>) => Layer.effect(SessionSource, make(paths))

/** Session files and containers below a directory, at any depth. */
export const layerDirectory = (path: string) => layerPaths([path])

/** A container as a session; undefined where it is not the active store. */
export const containerRef = Effect.fn("StoreSource.containerRef")(function* (
  container: string
): Effect.fn.Return<SessionRef | undefined, SessionFileError, SessionStore | FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const store = yield* SessionStore
  const location = locationOf(path, container)
  if (location === undefined) return undefined
  const active = yield* store.active(location).pipe(Effect.mapError(failed(container, "list")))
  if (active?.active !== "native_v2") return undefined
  const { segments } = StoreLayout.of(path, container)
  return yield* Effect.gen(function* () {
    let sizeBytes = 0
    let modifiedMs = 0
    for (const name of yield* fs.readDirectory(segments)) {
      const info = yield* fs.stat(path.join(segments, name))
      sizeBytes += Number(info.size)
      modifiedMs = Math.max(modifiedMs, modifiedMsOf(info))
    }
    return { path: container, sizeBytes, modifiedMs } satisfies SessionRef
  }).pipe(Effect.mapError(failed(container, "list")))
})

/** The files that held a container's session once and are not its active store: not to be taken for another session. */
export const superseded = Effect.fn("StoreSource.superseded")(function* (
  container: string
): Effect.fn.Return<ReadonlyArray<string>, never, SessionStore | Path.Path> {
  const store = yield* SessionStore
  const location = locationOf(yield* Path.Path, container)
  return location === undefined ? [] : yield* store.inactive(location).pipe(Effect.orElseSucceed(() => []))
})

const modifiedMsOf = (info: FileSystem.File.Info): number =>
  Option.match(info.mtime, { onNone: () => 0, onSome: (date) => date.getTime() })

const failed =
  (at: string, operation: SessionFileError["operation"]) =>
  (error: Pick<OpenError, "message">): SessionFileError =>
    new SessionFileError({ path: at, operation, reason: error.message })

const make = Effect.fnUntraced(function* (given: ReadonlyArray<string>) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const store = yield* SessionStore
  const sqlite = yield* Sqlite
  const isContainer = (at: string) => locationOf(path, at) !== undefined
  const files = yield* SessionSource.pipe(
    Effect.provide(SessionSource.layerPaths(given.filter((at) => !isContainer(at))), { local: true })
  )
  const provided = Effect.provideContext(
    Context.make(FileSystem.FileSystem, fs).pipe(
      Context.add(Path.Path, path),
      Context.add(SessionStore, store),
      Context.add(Sqlite, sqlite)
    )
  )

  /** Databases by a name that does not tell it, as markers named them. */
  const databases = new Set<string>()

  const isRows = (ref: SessionRef) => databases.has(ref.path) || isDatabase(path, ref.path)

  const fileRef = Effect.fnUntraced(function* (at: string) {
    const info = yield* fs.stat(at)
    return { path: at, sizeBytes: Number(info.size), modifiedMs: modifiedMsOf(info) } satisfies SessionRef
  })

  const list = Effect.gen(function* () {
    const listing = yield* files.list
    const sessions: Array<SessionRef> = []
    const skipped = [...listing.skipped]
    /** Files of sessions that have moved on: into a container, or to another file. */
    const moved = new Set<string>()
    const elsewhere: Array<ActiveElsewhere.ActiveAt> = []
    const named = given.filter(isContainer).map((at) => path.resolve(at))
    for (const container of new Set([...named, ...listing.containers])) {
      const found = yield* Effect.result(containerRef(container))
      if (found._tag === "Failure") skipped.push({ path: found.failure.path, reason: found.failure.reason })
      else if (found.success !== undefined) sessions.push(found.success)
      for (const file of yield* superseded(container)) moved.add(file)
      const location = locationOf(path, container)
      const active = location === undefined ? undefined : yield* ActiveElsewhere.of(location)
      if (active !== undefined) elsewhere.push(active)
    }
    const found = yield* databasesBelow(given.filter((at) => !isContainer(at)))
    const inFiles = new Map([...listing.sessions, ...found].map((ref) => [ref.path, ref]))
    for (const { format, path: at } of elsewhere) {
      if (format === "native_v2" || inFiles.has(at)) continue
      if (format === "sqlite_v1") databases.add(at)
      const ref = yield* Effect.option(fileRef(at))
      if (ref._tag === "Some") inFiles.set(at, ref.value)
    }
    const isElsewhere = ActiveElsewhere.among(elsewhere)
    for (const session of inFiles.values()) {
      const id = Effect.map(header(session), (line) => stringAt(line.decode(), "id"))
      const idOf = Effect.orElseSucceed(id, () => undefined)
      if (moved.has(session.path)) continue
      if (!(yield* isElsewhere(path.dirname(session.path), session.path, idOf))) sessions.push(session)
    }
    return {
      sessions: sessions.sort((a, b) => (a.path < b.path ? -1 : 1)),
      containers: listing.containers,
      skipped
    }
  }).pipe(provided, Effect.withSpan("StoreSource.list"))

  const reader = (ref: SessionRef) =>
    Effect.suspend(() => {
      const location = locationOf(path, ref.path)
      return location === undefined
        ? Effect.die(new Error(`${ref.path} is no container`))
        : store.reader(location).pipe(Effect.mapError(failed(ref.path, "read")))
    })

  const none = (ref: SessionRef) => new NotASession({ path: ref.path, line: 1, byteOffset: 0 })

  const rows = (ref: SessionRef) =>
    SqliteV1.read(ref.path).pipe(
      Stream.provideService(Sqlite, sqlite),
      Stream.mapError(({ reason }) => new SessionFileError({ path: ref.path, operation: "read", reason }))
    )

  const databaseHeader = Effect.fnUntraced(function* (ref: SessionRef) {
    const database = yield* sqlite.open(ref.path, { readOnly: true })
    const row = yield* database.use("read a session's header", (connection) =>
      connection.get("SELECT line FROM session_line WHERE entry_seq = 0")
    )
    const line = row?.["line"]
    return (line instanceof Uint8Array ? peekHeader(line) : undefined) ?? (yield* none(ref))
  }, Effect.scoped)

  const databaseLines = (ref: SessionRef): Stream.Stream<SessionLine, SessionFileError> =>
    Stream.suspend(() => {
      const reader = new SessionReader()
      return rows(ref).pipe(
        Stream.map((line) => reader.push(line)),
        Stream.concat(Stream.sync(() => reader.end())),
        Stream.filter(Arr.isReadonlyArrayNonEmpty),
        Stream.flattenArray
      )
    })

  const databaseSession = Effect.fnUntraced(function* (ref: SessionRef) {
    const session = Session.read(yield* Stream.runCollect(rows(ref)))
    return session.header === undefined ? yield* none(ref) : session
  })

  const header = (ref: SessionRef): Effect.Effect<HeaderLine, SessionFileError | NotASession> => {
    if (isContainer(ref.path)) return Effect.scoped(Effect.map(reader(ref), (open) => open.header))
    if (!isRows(ref)) return files.header(ref)
    return databaseHeader(ref).pipe(
      Effect.catchTag("SqliteError", ({ reason }) =>
        Effect.fail(new SessionFileError({ path: ref.path, operation: "read", reason }))
      )
    )
  }

  const lines = (ref: SessionRef): Stream.Stream<SessionLine, SessionFileError> => {
    if (isRows(ref)) return databaseLines(ref)
    if (!isContainer(ref.path)) return files.lines(ref)
    return Stream.unwrap(Effect.map(reader(ref), (open) => open.lines.pipe(Stream.mapError(failed(ref.path, "read")))))
  }

  const read = (ref: SessionRef): Effect.Effect<Session.Session, SessionFileError | NotASession> => {
    if (isRows(ref)) return databaseSession(ref)
    if (!isContainer(ref.path)) return files.read(ref)
    return Effect.scoped(
      Effect.flatMap(reader(ref), (open) => open.session.pipe(Effect.mapError(failed(ref.path, "read"))))
    )
  }

  return SessionSource.of({ list, header, lines, read })
})
