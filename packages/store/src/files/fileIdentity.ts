/**
 * Detects that a name leads to another file than before, for example after a backup or a sync tool replaced the file. An
 * identity is unique only while the file is open.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import { type StoreIoError, fromPlatform } from "../StoreError.ts"

/** Device and inode of an open file. */
export interface FileIdentity {
  readonly dev: bigint
  readonly ino: Option.Option<bigint>
}

export const isSame = (a: FileIdentity, b: FileIdentity): boolean =>
  a.dev === b.dev && Option.getOrUndefined(a.ino) === Option.getOrUndefined(b.ino)

/** Identity and size of an open file. */
export const ofFile = (file: FileSystem.File, path: string) => Effect.mapError(file.stat, fromPlatform(path, "read"))

/** Identity of the file at a path; none when there is no file. */
export const at = Effect.fnUntraced(function* (
  path: string
): Effect.fn.Return<Option.Option<FileIdentity>, StoreIoError, FileSystem.FileSystem> {
  const fs = yield* FileSystem.FileSystem
  return yield* fs.stat(path).pipe(
    Effect.asSome,
    Effect.catchReason("PlatformError", "NotFound", () => Effect.succeedNone),
    Effect.mapError(fromPlatform(path, "read"))
  )
})
