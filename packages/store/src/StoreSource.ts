/**
 * The V2 layer of SessionSource: sessions in containers beside sessions in files, so that whoever reads sessions reads a
 * store as it reads a file. A session is listed once: as its container where that is the active store, else as its file.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Stream from "effect/Stream"
import { SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import { type SessionRef, SessionSource } from "@pi-sessions/session-file/SessionSource"
import { type OpenError, SessionStore } from "./SessionStore.ts"
import * as StoreLayout from "./StoreLayout.ts"

/** The location of a container by its path (`.../<session-id>.v2`); undefined for any other path. */
export const locationOf = (path: Path.Path, container: string): StoreLayout.StoreLocation | undefined => {
  const name = path.basename(container)
  return name.endsWith(".v2") && name.length > 3
    ? { directory: path.dirname(container), sessionId: name.slice(0, -3) }
    : undefined
}

/** Files, directories and containers; see `SessionSource.layerPaths`. */
export const layerPaths = (paths: ReadonlyArray<string>) => Layer.effect(SessionSource, make(paths))

/** Session files and containers below a directory, at any depth. */
export const layerDirectory = (path: string) => layerPaths([path])

const make = Effect.fnUntraced(function* (given: ReadonlyArray<string>) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const store = yield* SessionStore
  const isContainer = (at: string) => locationOf(path, at) !== undefined
  const files = yield* SessionSource.pipe(
    Effect.provide(SessionSource.layerPaths(given.filter((at) => !isContainer(at))), { local: true })
  )

  const failed =
    (at: string, operation: SessionFileError["operation"]) =>
    (error: OpenError): SessionFileError =>
      new SessionFileError({ path: at, operation, reason: error.message })

  /** The container as a session, and the file that it stands for; undefined where it is not the active store. */
  const refOf = Effect.fnUntraced(function* (container: string) {
    const location = locationOf(path, container)
    if (location === undefined) return undefined
    const active = yield* store.active(location).pipe(Effect.mapError(failed(container, "list")))
    if (active?.active !== "native_v2") return undefined
    const layout = StoreLayout.of(path, container)
    return yield* Effect.gen(function* () {
      let sizeBytes = 0
      let modifiedMs = 0
      for (const name of yield* fs.readDirectory(layout.segments)) {
        const info = yield* fs.stat(path.join(layout.segments, name))
        sizeBytes += Number(info.size)
        modifiedMs = Math.max(
          modifiedMs,
          Option.match(info.mtime, { onNone: () => 0, onSome: (date) => date.getTime() })
        )
      }
      return { path: container, sizeBytes, modifiedMs } satisfies SessionRef
    }).pipe(
      Effect.mapError((error) => new SessionFileError({ path: container, operation: "list", reason: error.message }))
    )
  })

  const list = Effect.gen(function* () {
    const listing = yield* files.list
    const sessions: Array<SessionRef> = []
    const skipped = [...listing.skipped]
    /** Files of sessions that have moved on: into a container, or to another file. */
    const superseded = new Set<string>()
    const named = given.filter(isContainer).map((at) => path.resolve(at))
    for (const container of new Set([...named, ...listing.containers])) {
      const location = locationOf(path, container)
      const found = yield* Effect.result(refOf(container))
      if (found._tag === "Failure") skipped.push({ path: found.failure.path, reason: found.failure.reason })
      else if (found.success !== undefined) sessions.push(found.success)
      const files = location === undefined ? [] : yield* store.inactive(location).pipe(Effect.orElseSucceed(() => []))
      for (const file of files) superseded.add(file)
    }
    for (const session of listing.sessions) if (!superseded.has(session.path)) sessions.push(session)
    return {
      sessions: sessions.sort((a, b) => (a.path < b.path ? -1 : 1)),
      containers: listing.containers,
      skipped
    }
  }).pipe(Effect.withSpan("StoreSource.list"))

  const reader = (ref: SessionRef) =>
    Effect.suspend(() => {
      const location = locationOf(path, ref.path)
      return location === undefined
        ? Effect.die(new Error(`${ref.path} is no container`))
        : store.reader(location).pipe(Effect.mapError(failed(ref.path, "read")))
    })

  return SessionSource.of({
    list,
    header: (ref) =>
      isContainer(ref.path) ? Effect.scoped(Effect.map(reader(ref), (reader) => reader.header)) : files.header(ref),
    lines: (ref) =>
      isContainer(ref.path)
        ? Stream.unwrap(
            Effect.map(reader(ref), (reader) => reader.lines.pipe(Stream.mapError(failed(ref.path, "read"))))
          )
        : files.lines(ref),
    read: (ref) =>
      isContainer(ref.path)
        ? Effect.scoped(
            Effect.flatMap(reader(ref), (reader) => reader.session.pipe(Effect.mapError(failed(ref.path, "read"))))
          )
        : files.read(ref)
  })
})
