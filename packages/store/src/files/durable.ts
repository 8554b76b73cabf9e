/**
 * File work of the store over Effect's FileSystem: every failure becomes a StoreIoError, a close that fails too; writes
 * go on until all bytes are written; and nothing counts as durable before its fsync succeeded.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as PlatformError from "effect/PlatformError"
import * as Scope from "effect/Scope"
import { StoreIoError, fromPlatform } from "../StoreError.ts"
import { asBuffer } from "../wire/checkedLine.ts"

/** An open file that is closed by `close` and tells when that fails. */
export interface OpenFile {
  readonly file: FileSystem.File
  readonly path: string
  readonly close: Effect.Effect<void, StoreIoError>
}

/** A failing close comes as a defect from Effect's own files. */
const closeErrors =
  (path: string) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | StoreIoError, R> =>
    Effect.catchDefect(effect, (defect) =>
      defect instanceof PlatformError.PlatformError
        ? Effect.fail(fromPlatform(path, "close")(defect))
        : Effect.die(defect)
    )

export const openFile = Effect.fnUntraced(function* (
  path: string,
  flag: FileSystem.OpenFlag
): Effect.fn.Return<OpenFile, StoreIoError, FileSystem.FileSystem> {
  const fs = yield* FileSystem.FileSystem
  const scope = yield* Scope.make()
  const file = yield* Scope.provide(fs.open(path, { flag }), scope).pipe(
    Effect.mapError(fromPlatform(path, flag === "r" ? "read" : "write"))
  )
  return { file, path, close: Scope.close(scope, Exit.void).pipe(closeErrors(path)) }
}, Effect.uninterruptible)

/** Opens a file for the length of `use`. */
export const withFile = <A, E, R>(
  path: string,
  flag: FileSystem.OpenFlag,
  use: (file: FileSystem.File) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | StoreIoError, R | FileSystem.FileSystem> =>
  Effect.acquireUseRelease(
    openFile(path, flag),
    (opened) => use(opened.file),
    (opened, exit) => (Exit.isSuccess(exit) ? Effect.orDie(opened.close) : Effect.ignore(opened.close))
  ).pipe(Effect.catchDefect((defect) => (defect instanceof StoreIoError ? Effect.fail(defect) : Effect.die(defect))))

/** Node takes no more than 2 GiB in one call. */
const WRITE_BYTES = 1 << 30

/** Writes all of `bytes` where the file's cursor stands: `write` may take less than it was given. */
export const writeFully = Effect.fnUntraced(function* (
  file: FileSystem.File,
  path: string,
  bytes: Uint8Array
): Effect.fn.Return<void, StoreIoError> {
  for (let at = 0; at < bytes.length;) {
    const count = yield* file
      .write(at === 0 && bytes.length <= WRITE_BYTES ? bytes : bytes.subarray(at, at + WRITE_BYTES))
      .pipe(Effect.mapError(fromPlatform(path, "write")))
    if (count <= 0) {
      return yield* new StoreIoError({ path, operation: "write", reason: "the disk took no bytes", code: "ENOSPC" })
    }
    at += count
  }
})

export const sync = (file: FileSystem.File, path: string): Effect.Effect<void, StoreIoError> =>
  file.sync.pipe(Effect.mapError(fromPlatform(path, "sync")))

/** Makes what was done to the names in a directory survive a power loss. */
export const syncDirectory = (directory: string) => withFile(directory, "r", (handle) => sync(handle, directory))

/** Makes a directory, and its name durable. No failure when it is there. */
export const makeDirectory = Effect.fnUntraced(function* (directory: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  yield* fs
    .makeDirectory(directory, { recursive: true })
    .pipe(Effect.mapError(fromPlatform(directory, "make the directory")))
  yield* syncDirectory(path.dirname(directory))
})

/** The file as a whole; none when it is not there. For files that are small by nature. */
export const readWhole = Effect.fnUntraced(function* (path: string) {
  const fs = yield* FileSystem.FileSystem
  return yield* fs.readFile(path).pipe(
    Effect.map((bytes) => Option.some(asBuffer(bytes))),
    Effect.catchReason("PlatformError", "NotFound", () => Effect.succeed(Option.none<Buffer>())),
    Effect.mapError(fromPlatform(path, "read"))
  )
})

/** Size in bytes; none when there is no such file. */
export const sizeOf = Effect.fnUntraced(function* (path: string) {
  const fs = yield* FileSystem.FileSystem
  return yield* fs.stat(path).pipe(
    Effect.map((info) => Option.some(Number(info.size))),
    Effect.catchReason("PlatformError", "NotFound", () => Effect.succeed(Option.none<number>())),
    Effect.mapError(fromPlatform(path, "read"))
  )
})

/** Names in a directory, sorted; empty when there is none. */
export const listNames = Effect.fnUntraced(function* (directory: string) {
  const fs = yield* FileSystem.FileSystem
  return yield* fs.readDirectory(directory).pipe(
    Effect.map((names) => names.toSorted()),
    Effect.catchReason("PlatformError", "NotFound", () => Effect.succeed<Array<string>>([])),
    Effect.mapError(fromPlatform(directory, "list"))
  )
})

/** Up to `length` bytes from `offset`; fewer only where the file ends. */
export const readAt = Effect.fnUntraced(function* (
  file: FileSystem.File,
  path: string,
  offset: number,
  length: number
): Effect.fn.Return<Buffer, StoreIoError> {
  const bytes = Buffer.allocUnsafe(length)
  const filled = yield* readInto(file, path, offset, bytes)
  return bytes.subarray(0, filled)
})

/** Fills `into` from `offset` of the file and returns how many bytes there were. */
export const readInto = Effect.fnUntraced(function* (
  file: FileSystem.File,
  path: string,
  offset: number,
  into: Buffer
): Effect.fn.Return<number, StoreIoError> {
  let filled = 0
  while (filled < into.length) {
    const count = yield* file
      .read(filled === 0 ? into : into.subarray(filled), { position: BigInt(offset + filled) })
      .pipe(Effect.mapError(fromPlatform(path, "read")))
    if (count === 0) break
    filled += count
  }
  return filled
})

/**
 * Puts a file in place so that a crash leaves the old one or the new one: written to `temporary`, synced, renamed,
 * directory synced.
 */
export const replaceFile = Effect.fnUntraced(function* (temporary: string, target: string, bytes: Uint8Array) {
  const inDoubt = doubtful(yield* FileSystem.FileSystem)
  yield* withFile(temporary, "w", (file) =>
    writeFully(file, temporary, bytes).pipe(Effect.andThen(sync(file, temporary)))
  )
  inDoubt.add(target)
  yield* renameDurably(temporary, target)
  inDoubt.delete(target)
})

/** Makes the name of a new file in `directory` survive a power loss. */
export const syncName = Effect.fnUntraced(function* (directory: string, target: string) {
  const inDoubt = doubtful(yield* FileSystem.FileSystem)
  inDoubt.add(target)
  yield* syncDirectory(directory)
  inDoubt.delete(target)
})

/**
 * Files whose replacing or naming failed in this process: they may be read as if it had not, and no later fsync may make
 * them so.
 */
const doubtfulIn = new WeakMap<FileSystem.FileSystem, Set<string>>()
const doubtful = (fs: FileSystem.FileSystem): Set<string> => {
  const known = doubtfulIn.get(fs) ?? new Set<string>()
  doubtfulIn.set(fs, known)
  return known
}

/**
 * Makes the name of a file durable that a dead process may have replaced or made, or this one without success: it is
 * built on from now on.
 */
export const settleName = Effect.fnUntraced(function* (temporary: string, target: string) {
  const path = yield* Path.Path
  if (!doubtful(yield* FileSystem.FileSystem).has(target)) return yield* syncDirectory(path.dirname(target))
  const bytes = yield* readWhole(target)
  if (Option.isSome(bytes)) yield* replaceFile(temporary, target, bytes.value)
})

/** Renames, and syncs the new name's directory: the old name, should it come back after a crash, is in nobody's way. */
export const renameDurably = Effect.fnUntraced(function* (from: string, to: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  yield* fs.rename(from, to).pipe(Effect.mapError(fromPlatform(to, "replace")))
  yield* syncDirectory(path.dirname(to))
})
