/** Size and signature of a file that may be missing. */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"

/** Size in bytes; 0 when the file is missing. */
export const sizeOf = (fs: FileSystem.FileSystem, file: string): Effect.Effect<number> =>
  Effect.match(fs.stat(file), { onFailure: () => 0, onSuccess: ({ size }) => Number(size) })

/** Size, time and inode in one text, which differs once the file has changed; empty when the file is missing. */
export const signatureOf = (fs: FileSystem.FileSystem, file: string): Effect.Effect<string> =>
  Effect.match(fs.stat(file), {
    onFailure: () => "",
    onSuccess: ({ size, mtime, ino }) =>
      [size, Option.getOrUndefined(mtime)?.getTime(), Option.getOrUndefined(ino)].join(" ")
  })
