/** The session files, containers and markers that the arguments of the store's commands name. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Stream from "effect/Stream"
import { stringAt } from "@pi-sessions/core/Json"
import { SessionReader } from "@pi-sessions/core/SessionReader"
import * as PiEnvironment from "@pi-sessions/session-file/PiEnvironment"
import { SessionFileError, fromPlatform } from "@pi-sessions/session-file/SessionFileError"
import { type Sqlite } from "@pi-sessions/sqlite/Sqlite"
import { SessionStore } from "@pi-sessions/store/SessionStore"
import * as SqliteV1 from "@pi-sessions/store/SqliteV1"
import * as StoreLayout from "@pi-sessions/store/StoreLayout"
import { type RolledBack } from "@pi-sessions/store/StoreMigration"
import { locationOf } from "@pi-sessions/store/StoreSource"
import { UsageError } from "../../Exit.ts"
import { counted } from "../../print/Words.ts"

type FileFormat = RolledBack["format"]

export interface FoundFile {
  /** Absolute path, with a symbolic link resolved. */
  readonly path: string
  readonly format: FileFormat
  /** Given by name, not found in a directory. */
  readonly named: boolean
}

export interface FoundStore {
  readonly location: StoreLayout.StoreLocation
  readonly container: string
  readonly named: boolean
}

export interface Skipped {
  readonly path: string
  readonly reason: string
}

export interface Search {
  readonly files: ReadonlyArray<FoundFile>
  readonly stores: ReadonlyArray<FoundStore>
  /** Named containers that were moved aside (`.retired-n`). They can be read only. */
  readonly retired: ReadonlyArray<FoundStore>
  /** Paths that are missing or cannot be read. */
  readonly skipped: ReadonlyArray<Skipped>
}

const MARKER = ".active.json"

const NOT_ITS_STORE = "this container is not the store of its session; verify and export take one that was moved aside"

/** Whether a container was moved aside. It is read without a marker. */
export const isRetired = ({ container }: FoundStore): boolean => /\.retired-[0-9]+$/.test(container)

/** Retired containers as skipped paths, for commands that cannot take them. */
export const refuse = (retired: ReadonlyArray<FoundStore>): ReadonlyArray<Skipped> =>
  retired.map(({ container }) => ({ path: container, reason: NOT_ITS_STORE }))

/** The search while it goes on. */
class Found {
  readonly files = new Map<string, FoundFile>()
  readonly stores = new Map<string, FoundStore>()
  readonly retired: Array<FoundStore> = []
  readonly skipped: Array<Skipped> = []
  /** Real paths of directories, because links can lead into a circle. */
  readonly entered = new Set<string>()

  addStore(location: StoreLayout.StoreLocation, container: string, named: boolean): void {
    this.stores.set(container, { location, container, named: named || this.stores.get(container)?.named === true })
  }

  addFile(path: string, format: FileFormat, named: boolean): void {
    this.files.set(path, { path, format, named: named || this.files.get(path)?.named === true })
  }
}

const exists = Effect.fnUntraced(function* (at: string) {
  const fs = yield* FileSystem.FileSystem
  return yield* fs.exists(at).pipe(Effect.orElseSucceed(() => false))
})

const visitFile = Effect.fnUntraced(function* (found: Found, at: string, named: boolean, from?: FileFormat) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const name = path.basename(at)
  if (name.endsWith(MARKER) && name.length > MARKER.length) {
    const location = { directory: path.dirname(at), sessionId: name.slice(0, -MARKER.length) }
    return found.addStore(location, StoreLayout.names(path, location).container, named)
  }
  if (!named && !name.endsWith(from === "sqlite_v1" ? ".sqlite" : ".jsonl")) return
  // A container goes beside the file itself, not beside a link to it.
  const isLink = yield* Effect.isSuccess(fs.readLink(at))
  const file = isLink ? yield* fs.realPath(at).pipe(Effect.mapError(fromPlatform(at, "list"))) : at
  found.addFile(file, from ?? (file.endsWith(".sqlite") ? "sqlite_v1" : "jsonl_v3"), named)
})

const visitContainer = Effect.fnUntraced(function* (found: Found, at: string, named: boolean) {
  const path = yield* Path.Path
  const location = locationOf(path, at)
  const retiredId = /^(.+)\.v2\.retired-[0-9]+$/.exec(path.basename(at))?.[1]
  if (location !== undefined) return found.addStore(location, StoreLayout.names(path, location).container, named)
  if (!named) return
  if (retiredId === undefined) found.skipped.push({ path: at, reason: NOT_ITS_STORE })
  else {
    found.retired.push({ location: { directory: path.dirname(at), sessionId: retiredId }, container: at, named })
  }
})

/** Whether a directory is a container. One of the two may be damaged. */
const isContainer = Effect.fnUntraced(function* (at: string) {
  const path = yield* Path.Path
  if (!/\.v2(\.(staging|retired)-[0-9]+)?$/.test(path.basename(at))) return false
  return (yield* exists(path.join(at, "manifest.json"))) || (yield* exists(path.join(at, "segments")))
})

type Visit = Effect.Effect<void, SessionFileError, FileSystem.FileSystem | Path.Path>

const visit = (found: Found, at: string, named: boolean, from?: FileFormat): Visit =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const info = yield* fs.stat(at).pipe(Effect.mapError(fromPlatform(at, "list")))
    if (info.type === "File") return yield* visitFile(found, at, named, from)
    if (info.type !== "Directory") return
    if (yield* isContainer(at)) return yield* visitContainer(found, at, named)
    const real = yield* fs.realPath(at).pipe(Effect.mapError(fromPlatform(at, "list")))
    if (found.entered.has(real)) return
    found.entered.add(real)
    const names = yield* fs.readDirectory(at).pipe(Effect.mapError(fromPlatform(at, "list")))
    for (const child of names.sort()) {
      if (child !== PiEnvironment.CREDENTIALS) yield* visitOrSkip(found, path.join(at, child), false, from)
    }
  })

const orSkip =
  (found: Found) =>
  <A, R>(effect: Effect.Effect<A, SessionFileError, R>): Effect.Effect<A | undefined, never, R> =>
    Effect.catchTag(effect, "SessionFileError", ({ path, reason }) =>
      Effect.sync(() => void found.skipped.push({ path, reason }))
    )

const visitOrSkip = (found: Found, at: string, named: boolean, from?: FileFormat) =>
  visit(found, at, named, from).pipe(orSkip(found))

/** Searches absolute paths, directories to any depth. `from`: format of the files; default: by their extension. */
export const search = Effect.fnUntraced(function* (given: ReadonlyArray<string>, from?: FileFormat) {
  const found = new Found()
  for (const at of new Set(given)) yield* visitOrSkip(found, at, true, from)
  const { files, retired, skipped, stores } = found
  return { files: [...files.values()], stores: [...stores.values()], retired, skipped } satisfies Search
})

/** Bytes that are read for a session's header. */
const HEADER_BYTES = 1 << 20

/** The bytes of a session in a JSONL or SQLite file. */
export const bytesOf = (
  file: Pick<FoundFile, "path" | "format">,
  bytesToRead?: number
): Stream.Stream<Uint8Array, SessionFileError, FileSystem.FileSystem | Sqlite> =>
  file.format === "sqlite_v1"
    ? SqliteV1.read(file.path).pipe(
        Stream.mapError(({ reason }) => new SessionFileError({ path: file.path, operation: "read", reason }))
      )
    : Stream.unwrap(
        Effect.map(FileSystem.FileSystem, (fs) =>
          fs
            .stream(file.path, bytesToRead === undefined ? { chunkSize: 1 << 20 } : { chunkSize: 4096, bytesToRead })
            .pipe(Stream.mapError(fromPlatform(file.path, "read")))
        )
      )

/** The number of bytes of a session in a file. */
export const sizeOf = (file: Pick<FoundFile, "path" | "format">) =>
  file.format === "sqlite_v1"
    ? Stream.runFold(
        bytesOf(file),
        () => 0,
        (total, chunk) => total + chunk.length
      )
    : Effect.flatMap(FileSystem.FileSystem, (fs) =>
        fs.stat(file.path).pipe(
          Effect.map((info) => Number(info.size)),
          Effect.mapError(fromPlatform(file.path, "read"))
        )
      )

/** The id in the header of a session file; undefined without a header. */
export const sessionIdOf = Effect.fnUntraced(function* (file: Pick<FoundFile, "path" | "format">) {
  const reader = new SessionReader()
  yield* Stream.runForEachWhile(bytesOf(file, HEADER_BYTES), (chunk) =>
    Effect.sync(() => {
      reader.push(chunk)
      return reader.header === undefined
    })
  )
  if (reader.header === undefined) reader.end()
  return reader.header === undefined ? undefined : (stringAt(reader.header.decode(), "id") ?? "")
})

/** The place for the store of a session file; undefined if the file is not a session or has an unsafe id. */
export const storeBeside = Effect.fnUntraced(function* (file: FoundFile) {
  const path = yield* Path.Path
  const sessionId = yield* sessionIdOf(file)
  if (sessionId === undefined || !StoreLayout.isSafeId(sessionId)) return undefined
  const location = { directory: path.dirname(file.path), sessionId }
  const { container } = StoreLayout.names(path, location)
  return { location, container, named: file.named } satisfies FoundStore
})

/** Whether a found container counts as a store. After a rollback a container may be removed while its marker stays. */
const isStore = Effect.fnUntraced(function* ({ container, location, named }: FoundStore) {
  const fs = yield* FileSystem.FileSystem
  const active = yield* Effect.flatMap(SessionStore, (store) => store.active(location)).pipe(
    Effect.orElseSucceed(() => undefined)
  )
  if (named || active === undefined || active.active === "native_v2") return true
  return yield* fs.exists(container).pipe(Effect.orElseSucceed(() => true))
})

/** The store of a named session file, or why it has none. */
const storeOf = Effect.fnUntraced(function* (file: FoundFile) {
  const beside = yield* storeBeside(file)
  if (beside === undefined) return { path: file.path, reason: "not a Pi session" }
  const active = yield* Effect.result(Effect.flatMap(SessionStore, (store) => store.active(beside.location)))
  if (active._tag === "Failure" || active.success !== undefined) return beside
  return { path: file.path, reason: "this session has no store; make one with: pi-sessions store migrate SESSION" }
})

/**
 * The stores that the arguments name: containers, stores of named session files, and stores that a marker names; with
 * `retired`, also containers that were moved aside. Fails if there is none.
 */
export const stores = Effect.fnUntraced(function* (
  given: ReadonlyArray<string>,
  { retired = false }: { readonly retired?: boolean } = {}
) {
  const found = yield* search(given)
  const skipped = [...found.skipped, ...(retired ? [] : refuse(found.retired))]
  const stores = new Map<string, FoundStore>()
  if (retired) for (const store of found.retired) stores.set(store.container, store)
  for (const store of found.stores) if (yield* isStore(store)) stores.set(store.container, store)
  for (const file of found.files.filter(({ named }) => named)) {
    const store = yield* storeOf(file).pipe(
      Effect.catchTag("SessionFileError", ({ path, reason }) => Effect.succeed({ path, reason }))
    )
    if ("reason" in store) skipped.push(store)
    else stores.set(store.container, store)
  }
  if (stores.size > 0) return { stores: [...stores.values()], skipped }
  const unnamed = found.files.filter((file) => !file.named).length
  const without = unnamed === 0 ? [] : [`${counted(unnamed, ".jsonl file")} without one`]
  return yield* nothing("no session store found", given, skipped, without)
})

/** Fails because nothing matched; the error says what was found instead. */
export const nothing = (
  what: string,
  given: ReadonlyArray<string>,
  skipped: ReadonlyArray<Skipped>,
  found: ReadonlyArray<string>
): Effect.Effect<never, UsageError> => {
  const problems = skipped.map(({ path, reason }) => `${path}: ${reason}`)
  const searched = problems.length === given.length ? [] : [`searched ${given.join(", ")}`]
  return Effect.fail(new UsageError({ text: `${what}; ${[...searched, ...found, ...problems].join("; ")}` }))
}
