/**
 * Where sessions come from. The layers here read Pi's own files (V1, JSONL); another kind of store is another layer.
 */
import * as Arr from "effect/Array"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Stream from "effect/Stream"
import * as Session from "@pi-sessions/core/Session"
import { type HeaderLine, type SessionLine } from "@pi-sessions/core/SessionLine"
import { SessionReader } from "@pi-sessions/core/SessionReader"
import * as PiEnvironment from "./PiEnvironment.ts"
import { NotASession, type SessionFileError, fromPlatform } from "./SessionFileError.ts"

/** A session that a source can read. */
export interface SessionRef {
  /** Absolute. */
  readonly path: string
  readonly sizeBytes: number
  /** Unix time in milliseconds. */
  readonly modifiedMs: number
}

export interface SessionListing {
  /** In order of path. */
  readonly sessions: ReadonlyArray<SessionRef>
  /** Session Store V2 containers that were found; these layers do not read them, that of the store package does. */
  readonly containers: ReadonlyArray<string>
  /** What could not be looked into, and why. */
  readonly skipped: ReadonlyArray<{ readonly path: string; readonly reason: string }>
}

/** Session Store V2 containers, and those that are being built or were moved aside. */
const CONTAINER = /\.v2(\.(staging|retired)-[0-9]+)?$/

/** Bytes read at a time. */
const CHUNK_BYTES = 1 << 20
/** Bytes read at a time at first: who wants to know what a file is goes no further. */
const SMALL_BYTES = 1 << 16
const FIRST_BYTES = 1 << 18
/** Larger sessions are read in pieces. */
const WHOLE_BYTES = 1 << 28
/** A header longer than this is not looked for by Pi 1.5 either. */
const HEADER_BYTES = 1 << 20

export class SessionSource extends Context.Service<
  SessionSource,
  {
    /** The sessions there are, without reading them. */
    readonly list: Effect.Effect<SessionListing, SessionFileError>
    /** The header only; reads no more of the file than it takes. */
    readonly header: (ref: SessionRef) => Effect.Effect<HeaderLine, SessionFileError | NotASession>
    /** The lines of a session as they are read: for sessions that should not be in memory whole. */
    readonly lines: (ref: SessionRef) => Stream.Stream<SessionLine, SessionFileError>
    /** A whole session. Damage is in its diagnostics; only a file without any header fails. */
    readonly read: (ref: SessionRef) => Effect.Effect<Session.Session, SessionFileError | NotASession>
  }
>()("@pi-sessions/session-file/SessionSource") {
  /** One file, whatever its name. */
  static readonly layerFile = (path: string) => SessionSource.layerPaths([path])

  /** Every `*.jsonl` below a directory, at any depth. */
  static readonly layerDirectory = (path: string) => SessionSource.layerPaths([path])

  /** Files and directories, each as above. */
  static readonly layerPaths = (paths: ReadonlyArray<string>) => Layer.effect(SessionSource, make(paths))
}

const make = Effect.fnUntraced(function* (paths: ReadonlyArray<string>) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path

  const list = Effect.gen(function* () {
    const sessions = new Map<string, SessionRef>()
    const containers: Array<string> = []
    const skipped: Array<{ readonly path: string; readonly reason: string }> = []
    const entered = new Set<string>()

    const visit = Effect.fnUntraced(function* (at: string, named: boolean): Effect.fn.Return<void, SessionFileError> {
      const info = yield* fs.stat(at).pipe(Effect.mapError(fromPlatform(at, "list")))
      if (info.type === "File") {
        if (!named && !at.endsWith(".jsonl")) return
        // A file is one session however many links lead to it.
        const file = yield* fs.realPath(at).pipe(Effect.mapError(fromPlatform(at, "list")))
        if (entered.has(file)) return
        entered.add(file)
        const modifiedMs = Option.match(info.mtime, { onNone: () => 0, onSome: (date) => date.getTime() })
        sessions.set(at, { path: at, sizeBytes: Number(info.size), modifiedMs })
        return
      }
      if (info.type !== "Directory") return
      // Symbolic links may lead round in a circle: enter each real directory once.
      const real = yield* fs.realPath(at).pipe(Effect.mapError(fromPlatform(at, "list")))
      if (entered.has(real)) return
      entered.add(real)
      const names = yield* fs.readDirectory(at).pipe(Effect.mapError(fromPlatform(at, "list")))
      for (const name of names.sort()) {
        if (name === PiEnvironment.CREDENTIALS) continue
        const child = path.join(at, name)
        if (CONTAINER.test(name) && (yield* isContainer(child))) {
          // Its .jsonl files are an index and a ledger.
          if (name.endsWith(".v2")) containers.push(child)
          continue
        }
        yield* visit(child, false).pipe(
          Effect.catchTag("SessionFileError", (error) =>
            Effect.sync(() => skipped.push({ path: error.path, reason: error.reason }))
          )
        )
      }
    })

    /** Also one that has lost its manifest. */
    const isContainer = (directory: string) =>
      Effect.reduce(
        ["manifest.json", "segments"],
        () => false,
        (found, name) =>
          found ? Effect.succeed(true) : fs.exists(path.join(directory, name)).pipe(Effect.orElseSucceed(() => false))
      )

    for (const given of paths) yield* visit(path.resolve(given), true)
    return { sessions: [...sessions.values()].sort((a, b) => (a.path < b.path ? -1 : 1)), containers, skipped }
  }).pipe(Effect.withSpan("SessionSource.list"))

  const chunks = (ref: SessionRef) => {
    // The memory of a chunk costs more than reading a small file; one byte more than the file has shows its end.
    const small = fs.stream(ref.path, { chunkSize: Math.min(SMALL_BYTES, Math.max(ref.sizeBytes + 1, 4096)) })
    const all =
      ref.sizeBytes < FIRST_BYTES
        ? small
        : Stream.concat(
            fs.stream(ref.path, { chunkSize: SMALL_BYTES, bytesToRead: FIRST_BYTES }),
            fs.stream(ref.path, { chunkSize: CHUNK_BYTES, offset: FIRST_BYTES })
          )
    return Stream.mapError(all, fromPlatform(ref.path, "read"))
  }

  const lines = (ref: SessionRef): Stream.Stream<SessionLine, SessionFileError> =>
    Stream.suspend(() => {
      const reader = new SessionReader()
      return chunks(ref).pipe(
        Stream.map((chunk) => reader.push(chunk)),
        Stream.concat(Stream.sync(() => reader.end())),
        Stream.filter(Arr.isReadonlyArrayNonEmpty),
        Stream.flattenArray
      )
    })

  const readInPieces = Effect.fnUntraced(function* (ref: SessionRef) {
    const reader = new SessionReader()
    const lines: Array<SessionLine> = []
    const take = (batch: ReadonlyArray<SessionLine>): void => {
      for (const line of batch) lines.push(line)
    }
    yield* Stream.runForEach(chunks(ref), (chunk) => Effect.sync(() => take(reader.push(chunk))))
    take(reader.end())
    return Session.fromLines(lines, reader.diagnostics)
  })

  const read = Effect.fn("SessionSource.read")(function* (ref: SessionRef) {
    const session =
      ref.sizeBytes <= WHOLE_BYTES
        ? Session.read(yield* fs.readFile(ref.path).pipe(Effect.mapError(fromPlatform(ref.path, "read"))))
        : yield* readInPieces(ref)
    if (session.header === undefined) return yield* new NotASession({ path: ref.path, line: 1, byteOffset: 0 })
    return session
  })

  const header = Effect.fn("SessionSource.header")(function* (ref: SessionRef) {
    const reader = new SessionReader()
    yield* fs.stream(ref.path, { chunkSize: 4096, bytesToRead: HEADER_BYTES }).pipe(
      Stream.mapError(fromPlatform(ref.path, "read")),
      Stream.runForEachWhile((chunk) =>
        Effect.sync(() => {
          reader.push(chunk)
          return reader.header === undefined
        })
      )
    )
    if (reader.header === undefined) reader.end()
    return reader.header ?? (yield* new NotASession({ path: ref.path, line: 1, byteOffset: 0 }))
  })

  return SessionSource.of({ list, header, lines, read })
})
