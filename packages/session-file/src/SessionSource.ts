/** The service that finds and reads sessions. These layers read Pi's files (V1, JSONL); each other kind of storage is a layer. */
import * as Arr from "effect/Array"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import type * as Path from "effect/Path"
import * as Stream from "effect/Stream"
import * as Session from "@pi-sessions/core/Session"
import { type HeaderLine, type SessionLine } from "@pi-sessions/core/SessionLine"
import { SessionReader } from "@pi-sessions/core/SessionReader"
import { NotASession, type SessionFileError, fromPlatform } from "./SessionFileError.ts"
import { type SessionListing, type SessionRef, list } from "./SessionListing.ts"

export type { SessionListing, SessionRef } from "./SessionListing.ts"

/** Bytes for each read after the first `FIRST_BYTES`. */
const CHUNK_BYTES = 1 << 20
/** Bytes for each of the first reads, which are smaller because some callers stop early. */
const SMALL_BYTES = 1 << 16
const FIRST_BYTES = 1 << 18
/** Size in bytes up to which a session is read at once. */
const WHOLE_BYTES = 1 << 28
/** Bytes in which the header is searched, as in Pi 1.5. */
const HEADER_BYTES = 1 << 20

export class SessionSource extends Context.Service<
  SessionSource,
  {
    /** Lists the sessions without reading them. */
    readonly list: Effect.Effect<SessionListing, SessionFileError>
    /** Reads the header; stops reading the file after it. */
    readonly header: (ref: SessionRef) => Effect.Effect<HeaderLine, SessionFileError | NotASession>
    /** Streams the lines of a session, so that it need not fit in memory. */
    readonly lines: (ref: SessionRef) => Stream.Stream<SessionLine, SessionFileError>
    /** Reads a whole session. Damage is in its diagnostics; only a file without a header fails. */
    readonly read: (ref: SessionRef) => Effect.Effect<Session.Session, SessionFileError | NotASession>
  }
>()("@pi-sessions/session-file/SessionSource") {
  /** One file with any name. */
  static readonly layerFile = (path: string) => SessionSource.layerPaths([path])

  /** Every `*.jsonl` below a directory, at any depth. */
  static readonly layerDirectory = (path: string) => SessionSource.layerPaths([path])

  /** Files and directories, as in the other layers. */
  static readonly layerPaths = (paths: ReadonlyArray<string>) => Layer.effect(SessionSource, make(paths))
}

const make = Effect.fnUntraced(function* (paths: ReadonlyArray<string>) {
  const services = yield* Effect.context<FileSystem.FileSystem | Path.Path>()
  const fs = yield* FileSystem.FileSystem
  return SessionSource.of({
    list: list(paths).pipe(Effect.provide(services)),
    header: (ref) => readHeader(fs, ref),
    lines: (ref) => linesOf(fs, ref),
    read: (ref) => readSession(fs, ref)
  })
})

const chunksOf = (
  fs: FileSystem.FileSystem,
  { path, sizeBytes }: SessionRef
): Stream.Stream<Uint8Array, SessionFileError> => {
  // Small chunks for small files, because allocating one costs more than reading such a file. One byte more than the file
  // has, so that the first read reaches the end.
  const small = fs.stream(path, { chunkSize: Math.min(SMALL_BYTES, Math.max(sizeBytes + 1, 4096)) })
  const all =
    sizeBytes < FIRST_BYTES
      ? small
      : Stream.concat(
          fs.stream(path, { chunkSize: SMALL_BYTES, bytesToRead: FIRST_BYTES }),
          fs.stream(path, { chunkSize: CHUNK_BYTES, offset: FIRST_BYTES })
        )
  return Stream.mapError(all, fromPlatform(path, "read"))
}

const linesOf = (fs: FileSystem.FileSystem, ref: SessionRef): Stream.Stream<SessionLine, SessionFileError> =>
  Stream.suspend(() => {
    const reader = new SessionReader()
    return chunksOf(fs, ref).pipe(
      Stream.map((chunk) => reader.push(chunk)),
      Stream.concat(Stream.sync(() => reader.end())),
      Stream.filter(Arr.isReadonlyArrayNonEmpty),
      Stream.flattenArray
    )
  })

const readSession = Effect.fn("SessionSource.read")(function* (fs: FileSystem.FileSystem, ref: SessionRef) {
  const session =
    ref.sizeBytes <= WHOLE_BYTES
      ? Session.read(yield* fs.readFile(ref.path).pipe(Effect.mapError(fromPlatform(ref.path, "read"))))
      : yield* readInPieces(fs, ref)
  if (session.header === undefined) return yield* new NotASession({ path: ref.path, line: 1, byteOffset: 0 })
  return session
})

const readInPieces = Effect.fnUntraced(function* (fs: FileSystem.FileSystem, ref: SessionRef) {
  const reader = new SessionReader()
  const lines: Array<SessionLine> = []
  const add = (batch: ReadonlyArray<SessionLine>): void => {
    for (const line of batch) lines.push(line)
  }
  yield* Stream.runForEach(chunksOf(fs, ref), (chunk) => Effect.sync(() => add(reader.push(chunk))))
  add(reader.end())
  return Session.fromLines(lines, reader.diagnostics)
})

const readHeader = Effect.fn("SessionSource.header")(function* (fs: FileSystem.FileSystem, { path }: SessionRef) {
  const reader = new SessionReader()
  yield* fs.stream(path, { chunkSize: 4096, bytesToRead: HEADER_BYTES }).pipe(
    Stream.mapError(fromPlatform(path, "read")),
    Stream.runForEachWhile((chunk) =>
      Effect.sync(() => {
        reader.push(chunk)
        return reader.header === undefined
      })
    )
  )
  if (reader.header === undefined) reader.end()
  return reader.header ?? (yield* new NotASession({ path, line: 1, byteOffset: 0 }))
})
