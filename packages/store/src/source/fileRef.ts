/** Files as sessions of a listing. */
import type * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import { type SessionRef } from "@pi-sessions/session-file/SessionSource"

/** Milliseconds since 1970; 0 where the file system has no times. */
export const modifiedMsOf = (info: FileSystem.File.Info): number =>
  Option.match(info.mtime, { onNone: () => 0, onSome: (date) => date.getTime() })

/** A file as a session. */
export const fileRef = (path: string, info: FileSystem.File.Info): SessionRef => ({
  path,
  sizeBytes: Number(info.size),
  modifiedMs: modifiedMsOf(info)
})
