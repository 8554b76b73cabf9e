/** Compares a file with the session that is to be written to it, byte by byte. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import { type PlatformError } from "effect/PlatformError"
import * as Session from "@pi-sessions/core/Session"
import { SessionFileError, fromPlatform } from "../SessionFileError.ts"
import { modifiedMs } from "./fileTime.ts"

/** The result of `compare`. */
export type Comparison =
  | { readonly _tag: "Absent" }
  /** The file is the beginning of the session. Size and time show whether it changes later. */
  | { readonly _tag: "Behind"; readonly sizeBytes: number; readonly modifiedMs: number }
  | { readonly _tag: "Same" }
  /** The file starts with the session and has more. */
  | { readonly _tag: "Ahead" }
  /** `line` (from 1) and `byteOffset` of the first difference. */
  | { readonly _tag: "Diverged"; readonly line: number; readonly byteOffset: number }

/** Bytes for each read. */
const READ_BYTES = 1 << 20

export const compare = Effect.fnUntraced(function* (
  target: string,
  session: Session.Session
): Effect.fn.Return<Comparison, SessionFileError, FileSystem.FileSystem> {
  const fs = yield* FileSystem.FileSystem
  const failed = fromPlatform(target, "read")
  const info = yield* fs.stat(target).pipe(
    Effect.map(Option.some),
    Effect.catchReason("PlatformError", "NotFound", () => Effect.succeed(Option.none<FileSystem.File.Info>())),
    Effect.mapError(failed)
  )
  if (Option.isNone(info)) return { _tag: "Absent" }
  if (info.value.type !== "File") {
    return yield* new SessionFileError({ path: target, operation: "write", reason: "it is not a regular file" })
  }
  const file = fs.open(target, { flag: "r" })
  return yield* Effect.scoped(Effect.flatMap(file, (open) => compareOpen(open, modifiedMs(info.value), session))).pipe(
    Effect.mapError(failed)
  )
})

const compareOpen = Effect.fnUntraced(function* (
  file: FileSystem.File,
  modifiedMs: number,
  session: Session.Session
): Effect.fn.Return<Comparison, PlatformError> {
  const buffer = new Uint8Array(READ_BYTES)
  let byteOffset = 0
  let line = 1
  for (const piece of Session.print(session.lines)) {
    for (let from = 0; from < piece.length;) {
      const read = Number(yield* file.read(buffer.subarray(0, Math.min(buffer.length, piece.length - from))))
      if (read === 0) return { _tag: "Behind", sizeBytes: byteOffset, modifiedMs }
      for (let i = 0; i < read; i++, byteOffset++) {
        const expected = piece[from + i]
        if (buffer[i] !== expected) return { _tag: "Diverged", line, byteOffset }
        if (expected === 0x0a) line++
      }
      from += read
    }
  }
  const more = yield* file.read(buffer.subarray(0, 1))
  return { _tag: Number(more) === 0 ? "Same" : "Ahead" }
})
