/** Files of a dataset that hold no lines: images, and sessions that stay sessions. */
import { createHash } from "node:crypto"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import { type SessionFileError, fromPlatform } from "@pi-sessions/session-file/SessionFileError"

/** A file, in memory. */
export interface LooseFile {
  /** Within the dataset's directory, with `/` between its parts. */
  readonly name: string
  readonly bytes: Uint8Array
}

const NAME = /^(?:(?:images|train|validation)\/)?[A-Za-z0-9][^/\\]*$/u

/** Whether it names a file of a dataset, and nothing outside of it. */
export const isName = (name: string): boolean => NAME.test(name)

const Name = Schema.String.check(Schema.isPattern(NAME))

/** A file that was written, wherever it lies now. */
export const StoredFile = Schema.Struct({
  name: Name,
  /** What it is called in the dataset: another session may have its name. */
  placed: Name,
  /** Absolute. */
  path: Schema.String,
  /** In hex. */
  sha256: Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/u))
})
export type StoredFile = typeof StoredFile.Type

const FOLDER = "loose"

const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex")

/** Where bytes of this hash lie in the folder of a run. */
export const pathIn = (path: Path.Path, folder: string, hash: string): string => path.join(folder, FOLDER, hash)

/** Writes a file into the folder of a run. */
export const write = Effect.fnUntraced(function* (
  folder: string,
  { bytes, name }: LooseFile
): Effect.fn.Return<StoredFile, SessionFileError, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const hash = sha256(bytes)
  const at = pathIn(path, folder, hash)
  const temporary = `${at}.${globalThis.crypto.randomUUID()}`
  // Threads may write the same one: it appears whole.
  yield* fs
    .makeDirectory(path.dirname(at), { recursive: true })
    .pipe(
      Effect.andThen(fs.writeFile(temporary, bytes)),
      Effect.andThen(fs.rename(temporary, at)),
      Effect.mapError(fromPlatform(at, "write"))
    )
  return { name, placed: name, path: at, sha256: hash }
})

/** Copies a file into the folder of a run. */
export const take = Effect.fnUntraced(function* (
  folder: string,
  file: StoredFile
): Effect.fn.Return<StoredFile, SessionFileError, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const at = pathIn(path, folder, file.sha256)
  if (yield* Effect.orElseSucceed(fs.exists(at), () => false)) return { ...file, path: at }
  const temporary = `${at}.${globalThis.crypto.randomUUID()}`
  yield* fs
    .makeDirectory(path.dirname(at), { recursive: true })
    .pipe(
      Effect.andThen(fs.copyFile(file.path, temporary)),
      Effect.andThen(fs.rename(temporary, at)),
      Effect.mapError(fromPlatform(file.path, "read"))
    )
  return { ...file, path: at }
})

/** Whether the file still lies there as it was written. */
export const isWhole = Effect.fnUntraced(function* (
  file: StoredFile
): Effect.fn.Return<boolean, never, FileSystem.FileSystem> {
  const fs = yield* FileSystem.FileSystem
  return yield* Effect.match(fs.readFile(file.path), {
    onFailure: () => false,
    onSuccess: (bytes) => sha256(bytes) === file.sha256
  })
})

/** Gives files of a run's folder their names in `out`; they must not be the folder's any more. */
export const place = Effect.fnUntraced(function* (
  out: string,
  files: ReadonlyArray<StoredFile>
): Effect.fn.Return<void, SessionFileError, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const uses = new Map<string, number>()
  for (const file of files) uses.set(file.path, (uses.get(file.path) ?? 0) + 1)
  for (const file of files) {
    const to = path.join(out, ...file.placed.split("/"))
    const left = (uses.get(file.path) ?? 1) - 1
    uses.set(file.path, left)
    const from = left === 0 ? file.path : `${file.path}.${globalThis.crypto.randomUUID()}`
    yield* fs
      .makeDirectory(path.dirname(to), { recursive: true })
      .pipe(
        Effect.andThen(left === 0 ? Effect.void : fs.copyFile(file.path, from)),
        Effect.andThen(fs.rename(from, to)),
        Effect.mapError(fromPlatform(to, "write"))
      )
  }
})
