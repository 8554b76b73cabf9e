/** Times of files. */
import type * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"

/** Time of the last change, Unix time in milliseconds; 0 when the system has none. */
export const modifiedMs = (info: FileSystem.File.Info): number =>
  Option.match(info.mtime, { onNone: () => 0, onSome: (date) => date.getTime() })
