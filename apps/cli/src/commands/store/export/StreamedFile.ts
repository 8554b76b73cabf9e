/** Writes a stream to a new file: whole or not at all, and never over an existing file. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Stream from "effect/Stream"
import * as SafeWrite from "@pi-sessions/session-file/SafeWrite"
import { explain } from "@pi-sessions/session-file/SessionFileError"
import { CommandFailed } from "../../../Exit.ts"

/** Node writes at most 2 GiB in one call. */
const WRITE_BYTES = 1 << 30

const cut = (chunk: Uint8Array): Stream.Stream<Uint8Array> =>
  chunk.length <= WRITE_BYTES
    ? Stream.succeed(chunk)
    : Stream.range(0, Math.ceil(chunk.length / WRITE_BYTES) - 1).pipe(
        Stream.map((n) => chunk.subarray(n * WRITE_BYTES, (n + 1) * WRITE_BYTES))
      )

/** Writes `target` and creates its directory. With `force`, an existing file is renamed; gives the new name. */
export const writeNew = Effect.fnUntraced(function* <E, R>(
  target: string,
  bytes: Stream.Stream<Uint8Array, E, R>,
  force: boolean
) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const failed = (error: Parameters<typeof explain>[0]) =>
    new CommandFailed({ text: `cannot write ${target}: ${explain(error)}` })
  const exists = new CommandFailed({
    text: `${target} exists; nothing was written. Give another --out, or --force to move it aside`
  })
  const info = yield* Effect.option(fs.stat(target))
  if (info._tag === "Some" && info.value.type !== "File") {
    return yield* new CommandFailed({ text: `${target} is not a regular file; nothing was written` })
  }
  // The link at the end checks again; this check only fails early.
  if (info._tag === "Some" && !force) return yield* exists
  const directory = path.dirname(target)
  yield* fs.makeDirectory(directory, { recursive: true }).pipe(Effect.mapError(failed))
  const temporary = path.join(directory, `.${path.basename(target)}.${globalThis.crypto.randomUUID()}.tmp`)
  const write = Effect.scoped(
    Effect.gen(function* () {
      const file = yield* fs.open(temporary, { flag: "wx" }).pipe(Effect.mapError(failed))
      yield* Stream.runForEach(Stream.flatMap(bytes, cut), (chunk) => Effect.mapError(file.writeAll(chunk), failed))
      yield* file.sync.pipe(Effect.mapError(failed))
    })
  )
  const place = Effect.gen(function* () {
    for (let n = 1; ; n++) {
      const linked = yield* fs.link(temporary, target).pipe(
        Effect.as(true),
        Effect.catchReason("PlatformError", "AlreadyExists", () => Effect.succeed(false)),
        Effect.mapError(failed)
      )
      if (linked) return undefined
      if (!force) return yield* exists
      const aside = `${target}.aside-${n}`
      const kept = yield* fs.link(target, aside).pipe(
        Effect.as(true),
        Effect.catchReason("PlatformError", "AlreadyExists", () => Effect.succeed(false)),
        Effect.mapError(failed)
      )
      if (!kept) continue
      yield* fs.rename(temporary, target).pipe(Effect.mapError(failed))
      return aside
    }
  })
  const movedAside = yield* Effect.andThen(write, place).pipe(
    Effect.ensuring(Effect.ignore(fs.remove(temporary, { force: true })))
  )
  yield* SafeWrite.syncDirectory(directory).pipe(Effect.mapError(failed))
  return movedAside
})
