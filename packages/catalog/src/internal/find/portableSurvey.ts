/** FileSurvey on Effect's FileSystem. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import type * as PlatformError from "effect/PlatformError"
import { SessionFileError, fromPlatform } from "@pi-sessions/session-file/SessionFileError"
import { type FileFacts, type FileHead, type Survey, type HeadReader } from "../../FileFacts.ts"
import * as Credentials from "./credentials.ts"
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
  operate: (path: string) => Effect.Effect<A, PlatformError.PlatformError | SessionFileError>
): Effect.Effect<ReadonlyArray<A | SessionFileError>> =>
  Effect.forEach(paths, (path) =>
    operate(path).pipe(
      Effect.mapError((error) => (error instanceof SessionFileError ? error : fromPlatform(path, operation)(error))),
      Effect.catch((error) => Effect.succeed(error))
    )
  )

export const make = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const paths = yield* Path.Path

  /** Fails for a link to credentials. */
  const refuseCredentials = Effect.fnUntraced(function* (path: string) {
    if ((yield* Effect.orElseSucceed(fs.realPath(path), () => path)) === path) return
    let at = path
    for (let links = 0; links < Credentials.LINKS_MAX; links++) {
      // Undefined at the end of the links.
      const target = yield* Effect.orElseSucceed(fs.readLink(at), () => undefined)
      if (target === undefined) return
      at = paths.resolve(paths.dirname(at), target)
      if (Credentials.isCredentials(at)) {
        return yield* new SessionFileError({ path, operation: "read", reason: Credentials.REASON })
      }
    }
  })

  const headOf = <A>(
    path: string,
    read: HeadReader<A>
  ): Effect.Effect<FileHead<A>, PlatformError.PlatformError | SessionFileError> =>
    Effect.gen(function* () {
      yield* refuseCredentials(path)
      // Opening a pipe would block until it has a writer.
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

  const survey: Survey = {
    names: (directories) => each(directories, "list", (path) => fs.readDirectory(path)),
    facts: (paths) => each(paths, "list", (path) => Effect.map(fs.stat(path), factsOf)),
    heads: (paths, read) => each(paths, "read", (path) => headOf(path, read)),
    realPaths: (paths) => each(paths, "list", fs.realPath)
  }
  return survey
})
