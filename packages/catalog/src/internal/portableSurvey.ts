/** FileSurvey on Effect's FileSystem. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import type * as PlatformError from "effect/PlatformError"
import { type SessionFileError, fromPlatform } from "@pi-sessions/session-file/SessionFileError"
import { type FileFacts, type FileHead, type FileSurvey, type HeadReader } from "../FileSurvey.ts"
import { HEAD_SIZES } from "./headSizes.ts"

const factsOf = (info: FileSystem.File.Info): FileFacts => ({
  type: info.type === "File" || info.type === "Directory" ? info.type : "Other",
  sizeBytes: Number(info.size),
  modifiedMs: Option.match(info.mtime, { onNone: () => 0, onSome: (date) => date.getTime() }),
  inode: Option.match(info.ino, { onNone: () => undefined, onSome: Number })
})

const each = <A>(
  paths: ReadonlyArray<string>,
  operation: "list" | "read",
  look: (path: string) => Effect.Effect<A, PlatformError.PlatformError>
): Effect.Effect<ReadonlyArray<A | SessionFileError>> =>
  Effect.forEach(paths, (path) =>
    look(path).pipe(
      Effect.mapError(fromPlatform(path, operation)),
      Effect.catch((error) => Effect.succeed(error))
    )
  )

export const make = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem

  const headOf = <A>(path: string, read: HeadReader<A>): Effect.Effect<FileHead<A>, PlatformError.PlatformError> =>
    Effect.gen(function* () {
      // Opening a pipe would wait for somebody to write to it.
      const facts = factsOf(yield* fs.stat(path))
      if (facts.type !== "File") return { ...facts, head: undefined }
      const file = yield* fs.open(path)
      const buffer = new Uint8Array(HEAD_SIZES[0])
      for (const size of HEAD_SIZES) {
        const into = size <= buffer.length ? buffer : new Uint8Array(size)
        yield* file.seek(0n, "start")
        let length = 0
        while (length < size) {
          const count = Number(yield* file.read(into.subarray(length)))
          if (count === 0) break
          length += count
        }
        const head = read(into.subarray(0, length), length < size)
        if (head !== undefined || length < size) return { ...facts, head }
      }
      return { ...facts, head: undefined }
    }).pipe(Effect.scoped)

  const survey: FileSurvey["Service"] = {
    names: (directories) => each(directories, "list", (path) => fs.readDirectory(path)),
    facts: (paths) => each(paths, "list", (path) => Effect.map(fs.stat(path), factsOf)),
    heads: (paths, read) => each(paths, "read", (path) => headOf(path, read)),
    realPaths: (paths) => each(paths, "list", fs.realPath)
  }
  return survey
})
