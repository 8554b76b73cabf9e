/**
 * File operations of the store. Every failure becomes a StoreIoError, also a failed close. Writes continue until all bytes
 * are written. Nothing counts as durable before its fsync succeeded.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as PlatformError from "effect/PlatformError"
import * as Scope from "effect/Scope"
import { StoreIoError, fromPlatform } from "../StoreError.ts"
import { numberOf } from "../StoreLayout.ts"
import { asBuffer } from "../wire/checkedLine.ts"

/** An open file. `close` fails when closing fails. */
export interface OpenFile {
  readonly file: FileSystem.File
  readonly path: string
  readonly close: Effect.Effect<void, StoreIoError>
}

/** Effect's own files report a failing close as a defect. */
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

/** Opens a file while `use` runs. */
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

/** Node accepts at most 2 GiB per call. */
const WRITE_BYTES = 1 << 30

/** Writes all of `bytes` at the file's cursor, also after short writes. */
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

/** Makes changes of names in a directory durable. */
export const syncDirectory = (directory: string) => withFile(directory, "r", (handle) => sync(handle, directory))

/** Creates a directory, unless it exists, and makes its name durable. */
export const makeDirectory = Effect.fnUntraced(function* (directory: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  yield* fs
    .makeDirectory(directory, { recursive: true })
    .pipe(Effect.mapError(fromPlatform(directory, "make the directory")))
  yield* syncDirectory(path.dirname(directory))
})

/** Reads a small file; none when it does not exist. */
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

/** Size in bytes; 0 when there is no such file. */
export const byteLengthOf = (path: string) =>
  Effect.map(
    sizeOf(path),
    Option.getOrElse(() => 0)
  )

/** Names in a directory, sorted; empty when there is none. */
export const listNames = Effect.fnUntraced(function* (directory: string) {
  const fs = yield* FileSystem.FileSystem
  return yield* fs.readDirectory(directory).pipe(
    Effect.map((names) => names.toSorted()),
    Effect.catchReason("PlatformError", "NotFound", () => Effect.succeed<Array<string>>([])),
    Effect.mapError(fromPlatform(directory, "list"))
  )
})

/** Numbers of the numbered files in a directory, ascending. */
export const listNumbers = (directory: string, extension: string) =>
  Effect.map(listNames(directory), (names) => names.flatMap((name) => numberOf(name, extension) ?? []))

/** Reads `length` bytes from `offset`, fewer only at the end of the file. */
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

/** Fills `into` from `offset` of the file. Returns the number of bytes, fewer than asked only at the end of the file. */
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

/** Replaces a file atomically: writes and syncs `temporary`, renames it, and syncs the directory. */
export const replaceFile = Effect.fnUntraced(function* (temporary: string, target: string, bytes: Uint8Array) {
  const inDoubt = doubtful(yield* FileSystem.FileSystem)
  yield* withFile(temporary, "w", (file) =>
    writeFully(file, temporary, bytes).pipe(Effect.andThen(sync(file, temporary)))
  )
  inDoubt.add(target)
  yield* renameDurably(temporary, target)
  inDoubt.delete(target)
})

/** Makes the name of a new file in `directory` durable. */
export const syncName = Effect.fnUntraced(function* (directory: string, target: string) {
  const inDoubt = doubtful(yield* FileSystem.FileSystem)
  inDoubt.add(target)
  yield* syncDirectory(directory)
  inDoubt.delete(target)
})

/** Files whose replacing or naming failed in this process: they read as if it had not, and a later fsync may not help. */
const doubtfulIn = new WeakMap<FileSystem.FileSystem, Set<string>>()
const doubtful = (fs: FileSystem.FileSystem): Set<string> => {
  const known = doubtfulIn.get(fs) ?? new Set<string>()
  doubtfulIn.set(fs, known)
  return known
}

/** Makes a file's name durable before other steps rely on it: a dead process, or this one, may have failed to do so. */
export const settleName = Effect.fnUntraced(function* (temporary: string, target: string) {
  const path = yield* Path.Path
  if (!doubtful(yield* FileSystem.FileSystem).has(target)) return yield* syncDirectory(path.dirname(target))
  const bytes = yield* readWhole(target)
  if (Option.isSome(bytes)) yield* replaceFile(temporary, target, bytes.value)
})

/** Renames and syncs the directory of the new name. The old name may return after a crash, which is harmless. */
export const renameDurably = Effect.fnUntraced(function* (from: string, to: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  yield* fs.rename(from, to).pipe(Effect.mapError(fromPlatform(to, "replace")))
  yield* syncDirectory(path.dirname(to))
})
