/**
 * The V2 layer of SessionSource: sessions in containers and in databases of lines (`sqlite_v1`), beside sessions in files.
 * A session is listed once: as its container where that is the active store, else as the file that its marker names. Its
 * other files in that directory are not listed. A session without a marker is listed as its files.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import * as Stream from "effect/Stream"
import { type Session } from "@pi-sessions/core/Session"
import { type HeaderLine, type SessionLine } from "@pi-sessions/core/SessionLine"
import { type NotASession, type SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import { type SessionRef, SessionSource } from "@pi-sessions/session-file/SessionSource"
import { Sqlite } from "@pi-sessions/sqlite/Sqlite"
import { SessionStore } from "./SessionStore.ts"
import * as ContainerSession from "./source/containerSession.ts"
import { containerRef, locationOf, superseded } from "./source/containers.ts"
import * as DatabaseSession from "./source/databaseSession.ts"
import { isDatabase } from "./source/databasesBelow.ts"
import { hasSession } from "./source/firstPage.ts"
import { list } from "./source/listing.ts"

export { containerRef, hasSession, isDatabase, locationOf, superseded }

/** Files, directories, databases and containers; see `SessionSource.layerPaths`. */
export const layerPaths = (paths: ReadonlyArray<string>) => Layer.effect(SessionSource, make(paths))

/** Session files, databases and containers below a directory, at any depth. */
export const layerDirectory = (path: string) => layerPaths([path])

type Needs = SessionStore | Sqlite | FileSystem.FileSystem | Path.Path

/** Reads one kind of session that is not in a session file. */
interface Reading {
  readonly header: (ref: SessionRef) => Effect.Effect<HeaderLine, SessionFileError | NotASession, Needs>
  readonly lines: (ref: SessionRef) => Stream.Stream<SessionLine, SessionFileError, Needs>
  readonly read: (ref: SessionRef) => Effect.Effect<Session, SessionFileError | NotASession, Needs>
}

const make = Effect.fnUntraced(function* (given: ReadonlyArray<string>) {
  const path = yield* Path.Path
  const isContainer = (at: string) => locationOf(path, at) !== undefined
  const files = yield* SessionSource.pipe(
    Effect.provide(SessionSource.layerPaths(given.filter((at) => !isContainer(at))), { local: true })
  )
  const services = Context.pick(SessionStore, Sqlite, FileSystem.FileSystem, Path.Path)(yield* Effect.context<Needs>())
  const provided = Effect.provideContext(services)
  /** Databases without the extension `.sqlite`, as markers name them. */
  const databases = new Set<string>()
  const isRows = ({ path: at }: SessionRef) => databases.has(at) || isDatabase(path, at)
  const other = ({ path: at }: SessionRef): Reading => (isContainer(at) ? ContainerSession : DatabaseSession)
  const isFile = (ref: SessionRef) => !isContainer(ref.path) && !isRows(ref)

  const header: SessionSource["Service"]["header"] = (ref) =>
    isFile(ref) ? files.header(ref) : provided(other(ref).header(ref))
  return SessionSource.of({
    list: provided(Effect.suspend(() => list(given, files, header, databases))),
    header,
    lines: (ref) => (isFile(ref) ? files.lines(ref) : Stream.provideContext(other(ref).lines(ref), services)),
    read: (ref) => (isFile(ref) ? files.read(ref) : provided(other(ref).read(ref)))
  })
})
