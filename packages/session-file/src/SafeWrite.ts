/**
 * Writes a file so that a crash at any moment leaves either the old file or the new one: a temporary file beside it, fsync,
 * a rename (or a link, when no file may be replaced), fsync of the directory.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import type * as PlatformError from "effect/PlatformError"

/** Bytes for each write; smaller pieces are joined. */
const WRITE_BYTES = 1 << 20

const writePieces = Effect.fnUntraced(function* (file: FileSystem.File, pieces: Iterable<Uint8Array>) {
  const buffer = new Uint8Array(WRITE_BYTES)
  let used = 0
  for (const piece of pieces) {
    if (used + piece.length > WRITE_BYTES) {
      if (used > 0) yield* file.writeAll(buffer.subarray(0, used))
      used = 0
    }
    if (piece.length >= WRITE_BYTES) yield* file.writeAll(piece)
    else {
      buffer.set(piece, used)
      used += piece.length
    }
  }
  if (used > 0) yield* file.writeAll(buffer.subarray(0, used))
})

/** Makes changes of names in a directory survive a power loss. */
export const syncDirectory = Effect.fnUntraced(function* (directory: string) {
  const fs = yield* FileSystem.FileSystem
  yield* Effect.scoped(Effect.flatMap(fs.open(directory, { flag: "r" }), (handle) => handle.sync))
})

/**
 * Writes `pieces` to `target`, whose directory must exist. `create` fails with `AlreadyExists` when there is a target;
 * `replace` replaces it. `fileMode`: permissions of the file from its creation, masked by the umask. Default: 0o666.
 */
export const write = Effect.fn("SafeWrite.write")(function* (
  target: string,
  pieces: Iterable<Uint8Array>,
  mode: "create" | "replace",
  { fileMode }: { readonly fileMode?: number } = {}
): Effect.fn.Return<void, PlatformError.PlatformError, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const directory = path.dirname(target)
  const temporary = path.join(directory, `.${path.basename(target)}.${globalThis.crypto.randomUUID()}.tmp`)
  yield* Effect.scoped(
    Effect.gen(function* () {
      const file = yield* fs.open(temporary, { flag: "wx", ...(fileMode === undefined ? {} : { mode: fileMode }) })
      yield* writePieces(file, pieces)
      yield* file.sync
    })
  ).pipe(
    Effect.andThen(mode === "replace" ? fs.rename(temporary, target) : fs.link(temporary, target)),
    Effect.ensuring(Effect.ignore(fs.remove(temporary, { force: true })))
  )
  yield* syncDirectory(directory)
})
