/**
 * Which file a name leads to. A program that puts another file in a file's place (a backup, a sync tool) leaves whoever
 * has the old one open with bytes that nobody finds by their name any more. Only while a file is open no other can have
 * its identity.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import { type StoreIoError, fromPlatform } from "../StoreError.ts"

/** Device and inode, of a file that is open. */
export interface FileIdentity {
  readonly dev: bigint
  readonly ino: Option.Option<bigint>
}

export const isSame = (a: FileIdentity, b: FileIdentity): boolean =>
  a.dev === b.dev && Option.getOrUndefined(a.ino) === Option.getOrUndefined(b.ino)

/** Of an open file, with its size. */
export const ofFile = (file: FileSystem.File, path: string) => Effect.mapError(file.stat, fromPlatform(path, "read"))

/** What is at a path now; none when there is nothing. */
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
