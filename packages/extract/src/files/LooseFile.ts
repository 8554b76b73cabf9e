/** Files of a dataset without lines: images, and whole sessions of format `pi`. */
import { createHash } from "node:crypto"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import { type SessionFileError, fromPlatform } from "@pi-sessions/session-file/SessionFileError"

/** A file, in memory. */
export interface LooseFile {
  /** Relative to the dataset's directory, with `/` as separator. */
  readonly name: string
  readonly bytes: Uint8Array
}

const NAME = /^(?:(?:images|train|validation)\/)?[A-Za-z0-9][^/\\]*$/u

/** Whether the name is valid and lies within the dataset. */
export const isName = (name: string): boolean => NAME.test(name)

const Name = Schema.String.check(Schema.isPattern(NAME))

/** A file that was written. */
export const StoredFile = Schema.Struct({
  name: Name,
  /** The name in the dataset. It differs from `name` where another session's file has that name. */
  placed: Name,
  /** Absolute. */
  path: Schema.String,
  /** In hex. */
  sha256: Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/u))
})
export type StoredFile = typeof StoredFile.Type

const FOLDER = "loose"

const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex")

/** Path in the folder of a run of the file with this hash. */
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
  // Threads may write the same file, so it appears by a rename.
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

/** Whether the file is there as it was written. */
export const isWhole = Effect.fnUntraced(function* (
  file: StoredFile
): Effect.fn.Return<boolean, never, FileSystem.FileSystem> {
  const fs = yield* FileSystem.FileSystem
  return yield* Effect.match(fs.readFile(file.path), {
    onFailure: () => false,
    onSuccess: (bytes) => sha256(bytes) === file.sha256
  })
})

/** Moves files from a run's folder to their names in `out`. */
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
