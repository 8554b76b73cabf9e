/** Finds session files and Session Store V2 containers below files and directories. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import { CREDENTIALS } from "./PiEnvironment.ts"
import { type SessionFileError, fromPlatform } from "./SessionFileError.ts"
import { modifiedMs } from "./internal/fileTime.ts"

/** A session that a source can read. */
export interface SessionRef {
  /** Absolute. */
  readonly path: string
  readonly sizeBytes: number
  /** Unix time in milliseconds. */
  readonly modifiedMs: number
}

export interface SessionListing {
  /** Sorted by path. */
  readonly sessions: ReadonlyArray<SessionRef>
  /** Directories of Session Store V2 containers. These layers do not read them; the layer of the store package does. */
  readonly containers: ReadonlyArray<string>
  /** Files and directories that could not be read, with the reason. */
  readonly skipped: ReadonlyArray<{ readonly path: string; readonly reason: string }>
}

/** Session Store V2 containers, finished, in construction or moved aside. */
const CONTAINER = /\.v2(\.(staging|retired)-[0-9]+)?$/

/** The parts of a listing, while directories are visited. */
interface Found {
  readonly sessions: Map<string, SessionRef>
  readonly containers: Array<string>
  readonly skipped: Array<{ readonly path: string; readonly reason: string }>
  /** Real paths of visited files and directories: links may form cycles or lead to the same file. */
  readonly visited: Set<string>
}

/** Lists `paths`: each a file, or a directory whose `*.jsonl` files are listed at any depth. */
export const list = Effect.fn("SessionSource.list")(function* (
  paths: ReadonlyArray<string>
): Effect.fn.Return<SessionListing, SessionFileError, FileSystem.FileSystem | Path.Path> {
  const path = yield* Path.Path
  const found: Found = { sessions: new Map(), containers: [], skipped: [], visited: new Set() }
  for (const given of paths) yield* visit(found, path.resolve(given), true)
  const sessions = [...found.sessions.values()].sort((a, b) => (a.path < b.path ? -1 : 1))
  return { sessions, containers: found.containers, skipped: found.skipped }
})

/** Adds the file or directory at `at`. `isGiven`: the caller named it, so that its name does not matter. */
const visit = Effect.fnUntraced(function* (
  found: Found,
  at: string,
  isGiven: boolean
): Effect.fn.Return<void, SessionFileError, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const failed = fromPlatform(at, "list")
  const info = yield* fs.stat(at).pipe(Effect.mapError(failed))
  if (info.type === "File" ? !isGiven && !at.endsWith(".jsonl") : info.type !== "Directory") return
  const real = yield* fs.realPath(at).pipe(Effect.mapError(failed))
  if (found.visited.has(real)) return
  found.visited.add(real)
  if (info.type === "Directory") return yield* visitDirectory(found, at)
  found.sessions.set(at, { path: at, sizeBytes: Number(info.size), modifiedMs: modifiedMs(info) })
})

const visitDirectory = Effect.fnUntraced(function* (
  found: Found,
  directory: string
): Effect.fn.Return<void, SessionFileError, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const names = yield* fs.readDirectory(directory).pipe(Effect.mapError(fromPlatform(directory, "list")))
  for (const name of names.sort()) {
    if (name === CREDENTIALS) continue
    const child = path.join(directory, name)
    if (CONTAINER.test(name) && (yield* isContainer(child))) {
      // The .jsonl files of a container are not sessions.
      if (name.endsWith(".v2")) found.containers.push(child)
      continue
    }
    yield* visit(found, child, false).pipe(
      Effect.catchTag("SessionFileError", (error) =>
        Effect.sync(() => found.skipped.push({ path: error.path, reason: error.reason }))
      )
    )
  }
})

/** Whether a directory has a container's manifest or segments. */
const isContainer = Effect.fnUntraced(function* (
  directory: string
): Effect.fn.Return<boolean, never, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  for (const name of ["manifest.json", "segments"]) {
    if (yield* fs.exists(path.join(directory, name)).pipe(Effect.orElseSucceed(() => false))) return true
  }
  return false
})
