/**
 * Session files as a search reads them: from the first byte to the last, into memory that is used again.
 *
 * `layer` goes through Effect's FileSystem. `layerNode` calls Node's file system directly, some milliseconds at a time: half
 * a gigabyte is read in less than a tenth of a second, and an Effect for each piece of it would take half as long again.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Fs from "node:fs"
import { SessionFileError, fromPlatform } from "@pi-sessions/session-file/SessionFileError"

/** Takes the bytes of a file in order. */
export interface ByteSink {
  /** Where the next bytes go: some memory, for a moment. */
  readonly room: () => Uint8Array
  /** So many bytes were put there, at least one. False when no more are wanted. */
  readonly take: (count: number) => boolean
}

export class SearchFiles extends Context.Service<
  SearchFiles,
  {
    /** Reads a file to its end as it is then, or until the sink wants no more. Interrupted between two pieces. */
    readonly read: (path: string, sink: ByteSink) => Effect.Effect<void, SessionFileError>
  }
>()("@pi-sessions/catalog/SearchFiles") {
  static readonly layer = Layer.effect(
    SearchFiles,
    Effect.map(FileSystem.FileSystem, (fs) =>
      SearchFiles.of({
        read: (path, sink) =>
          Effect.gen(function* () {
            const file = yield* fs.open(path, { flag: "r" })
            for (;;) {
              const count = Number(yield* file.read(sink.room()))
              if (count === 0 || !sink.take(count)) return
            }
          }).pipe(Effect.scoped, Effect.mapError(fromPlatform(path, "read")))
      })
    )
  )

  static readonly layerNode = Layer.sync(SearchFiles, () => SearchFiles.of({ read: readSync }))
}

/** Pieces between two pauses, some milliseconds of work. */
const PIECES = 16

/** Without the second flag opening a pipe would wait for somebody to write to it. */
const READ = Fs.constants.O_RDONLY | (Fs.constants.O_NONBLOCK ?? 0)

const readSync = (path: string, sink: ByteSink): Effect.Effect<void, SessionFileError> =>
  Effect.suspend(() => {
    let descriptor: number
    try {
      descriptor = Fs.openSync(path, READ)
    } catch (cause) {
      return Effect.fail(failed(path, cause))
    }
    let failure: SessionFileError | undefined
    /** Whether there is more to read. */
    const readSome = (): boolean => {
      for (let piece = 0; piece < PIECES; piece++) {
        const room = sink.room()
        let count: number
        try {
          count = Fs.readSync(descriptor, room, 0, room.length, null)
        } catch (cause) {
          failure = failed(path, cause)
          return false
        }
        if (count === 0 || !sink.take(count)) return false
      }
      return true
    }
    const read = Effect.gen(function* () {
      while (readSome()) yield* Effect.yieldNow
      if (failure !== undefined) return yield* failure
    })
    return Effect.ensuring(
      read,
      Effect.sync(() => Fs.closeSync(descriptor))
    )
  })

const REASONS: { readonly [code: string]: string } = {
  ENOENT: "no such file or directory",
  EACCES: "permission denied",
  EPERM: "permission denied"
}

const failed = (path: string, cause: unknown): SessionFileError => {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : ""
  return new SessionFileError({ path, operation: "read", reason: REASONS[code] ?? String(cause) })
}
