/** What the SESSION|DIR arguments of the store's commands lead to. */
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
import { counted } from "./StoreServices.ts"

export type FileFormat = RolledBack["format"]

export interface FoundFile {
  /** Absolute; of the file itself where a link was given. */
  readonly path: string
  readonly format: FileFormat
  /** Given as such, not found in a directory. */
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
  /** Named containers that were moved aside (`.retired-n`): they can be looked at, and nothing else. */
  readonly retired: ReadonlyArray<FoundStore>
  /** What is not there or could not be looked into. */
  readonly skipped: ReadonlyArray<Skipped>
}

const MARKER = ".active.json"

const NOT_ITS_STORE = "this container is not the store of its session; verify and export take one that was moved aside"

/** Whether a container was moved aside: it is read by itself, without a marker. */
export const isRetired = ({ container }: FoundStore): boolean => /\.retired-[0-9]+$/.test(container)

/** Retired containers as what they are to most commands. */
export const refuse = (retired: ReadonlyArray<FoundStore>): ReadonlyArray<Skipped> =>
  retired.map(({ container }) => ({ path: container, reason: NOT_ITS_STORE }))

/** Looks at absolute paths, and into directories to any depth. */
export const search = Effect.fnUntraced(function* (given: ReadonlyArray<string>, from?: FileFormat) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const files = new Map<string, FoundFile>()
  const stores = new Map<string, FoundStore>()
  const retired: Array<FoundStore> = []
  const skipped: Array<Skipped> = []
  const entered = new Set<string>()
  const extension = from === "sqlite_v1" ? ".sqlite" : ".jsonl"
  const exists = (at: string) => fs.exists(at).pipe(Effect.orElseSucceed(() => false))

  const addStore = (location: StoreLayout.StoreLocation, named: boolean): void => {
    const { container } = StoreLayout.names(path, location)
    stores.set(container, { location, container, named: named || stores.get(container)?.named === true })
  }

  const addFile = Effect.fnUntraced(function* (at: string, named: boolean) {
    // A container goes beside the file itself, not beside a link to it.
    const isLink = yield* fs.readLink(at).pipe(
      Effect.as(true),
      Effect.orElseSucceed(() => false)
    )
    const file = isLink ? yield* fs.realPath(at).pipe(Effect.mapError(fromPlatform(at, "list"))) : at
    const format = from ?? (file.endsWith(".sqlite") ? "sqlite_v1" : "jsonl_v3")
    files.set(file, { path: file, format, named: named || files.get(file)?.named === true })
  })

  const visit = Effect.fnUntraced(function* (at: string, named: boolean): Effect.fn.Return<void, SessionFileError> {
    const name = path.basename(at)
    const info = yield* fs.stat(at).pipe(Effect.mapError(fromPlatform(at, "list")))
    if (info.type === "File") {
      if (name.endsWith(MARKER) && name.length > MARKER.length) {
        addStore({ directory: path.dirname(at), sessionId: name.slice(0, -MARKER.length) }, named)
      } else if (named || name.endsWith(extension)) yield* addFile(at, named)
      return
    }
    if (info.type !== "Directory") return
    // Damage may have taken the manifest.
    const isContainer =
      /\.v2(\.(staging|retired)-[0-9]+)?$/.test(name) &&
      ((yield* exists(path.join(at, "manifest.json"))) || (yield* exists(path.join(at, "segments"))))
    if (isContainer) {
      const location = locationOf(path, at)
      const aside = /^(.+)\.v2\.retired-[0-9]+$/.exec(name)?.[1]
      if (location !== undefined) addStore(location, named)
      else if (named && aside !== undefined) {
        retired.push({ location: { directory: path.dirname(at), sessionId: aside }, container: at, named })
      } else if (named) skipped.push({ path: at, reason: NOT_ITS_STORE })
      return
    }
    const real = yield* fs.realPath(at).pipe(Effect.mapError(fromPlatform(at, "list")))
    if (entered.has(real)) return
    entered.add(real)
    const names = yield* fs.readDirectory(at).pipe(Effect.mapError(fromPlatform(at, "list")))
    for (const child of names.sort()) {
      if (child !== PiEnvironment.CREDENTIALS) yield* looked(path.join(at, child), false)
    }
  })

  const looked = (at: string, named: boolean) =>
    visit(at, named).pipe(
      Effect.catchTag("SessionFileError", (error) =>
        Effect.sync(() => void skipped.push({ path: error.path, reason: error.reason }))
      )
    )

  for (const at of new Set(given)) yield* looked(at, true)
  return { files: [...files.values()], stores: [...stores.values()], retired, skipped } satisfies Search
})

/** Bytes in which a session's header must lie. */
const HEADER_BYTES = 1 << 20

/** The bytes of a session in a file. */
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

/** How many bytes a session in a file has. */
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

/** The id in the header of a session file; undefined where there is no header. */
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

/** Where the store of a session file would be; undefined where the file is no session that could have one. */
export const storeBeside = Effect.fnUntraced(function* (file: FoundFile) {
  const path = yield* Path.Path
  const sessionId = yield* sessionIdOf(file)
  if (sessionId === undefined || !StoreLayout.isSafeId(sessionId)) return undefined
  const location = { directory: path.dirname(file.path), sessionId }
  const { container } = StoreLayout.names(path, location)
  return { location, container, named: file.named } satisfies FoundStore
})

/**
 * The stores that the arguments lead to: containers, those of the session files that were named, and those whose marker
 * says that there should be one; with `retired`, containers that were moved aside too. Fails with what was found where
 * there is none.
 */
export const stores = Effect.fnUntraced(function* (
  given: ReadonlyArray<string>,
  { retired = false }: { readonly retired?: boolean } = {}
) {
  const fs = yield* FileSystem.FileSystem
  const sessionStore = yield* SessionStore
  const found = yield* search(given)
  const skipped = [...found.skipped, ...(retired ? [] : refuse(found.retired))]
  const stores = new Map<string, FoundStore>()
  if (retired) for (const store of found.retired) stores.set(store.container, store)
  for (const store of found.stores) {
    const active = yield* sessionStore.active(store.location).pipe(Effect.orElseSucceed(() => undefined))
    const there = yield* fs.exists(store.container).pipe(Effect.orElseSucceed(() => true))
    // After a rollback a container may be removed; its marker stays.
    if (there || store.named || active === undefined || active.active === "native_v2") {
      stores.set(store.container, store)
    }
  }
  for (const file of found.files) {
    if (!file.named) continue
    const beside = yield* storeBeside(file).pipe(
      Effect.catchTag("SessionFileError", (error) =>
        Effect.sync(() => void skipped.push({ path: error.path, reason: error.reason }))
      )
    )
    const active = beside === undefined ? undefined : yield* Effect.result(sessionStore.active(beside.location))
    const none = active === undefined || (active._tag === "Success" && active.success === undefined)
    if (beside !== undefined && !none) stores.set(beside.container, beside)
    else if (skipped.at(-1)?.path !== file.path) {
      const reason =
        beside === undefined
          ? "no Pi session"
          : "this session has no store; make one with: pi-sessions store migrate SESSION"
      skipped.push({ path: file.path, reason })
    }
  }
  if (stores.size > 0) return { stores: [...stores.values()], skipped }
  const unnamed = found.files.filter((file) => !file.named).length
  const without = unnamed === 0 ? [] : [`${counted(unnamed, ".jsonl file")} without one`]
  return yield* nothing("no session store found", given, skipped, without)
})

/** Nothing matched, with what was found. */
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
