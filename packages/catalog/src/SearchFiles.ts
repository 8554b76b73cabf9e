/**
 * Reads session files for a search, from first byte to last, into memory that is reused.
 *
 * `layer` uses Effect's FileSystem. `layerNode` makes synchronous calls of Node for some milliseconds between yields:
 * one Effect per piece would add half to the time (docs/adr/008-fast-reading.md).
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Fs from "node:fs"
import { type SessionFileError, fromPlatform } from "@pi-sessions/session-file/SessionFileError"
import { READ, failed } from "./internal/nodeFile.ts"

/** Receives the bytes of a file in order. */
export interface ByteSink {
  /** A buffer for the next bytes, valid until the next call of `take`. */
  readonly room: () => Uint8Array
  /** Accepts `count` bytes of that buffer, at least one. False stops the reading. */
  readonly take: (count: number) => boolean
}

export class SearchFiles extends Context.Service<
  SearchFiles,
  {
    /** Reads a file to its end, or until the sink stops it. Can be interrupted between two pieces. */
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

/** Pieces between two yields: some milliseconds of work. */
const PIECES = 16

const readSync = (path: string, sink: ByteSink): Effect.Effect<void, SessionFileError> =>
  Effect.suspend(() => {
    let descriptor: number
    try {
      descriptor = Fs.openSync(path, READ)
    } catch (cause) {
      return Effect.fail(failed(path, "read", cause))
    }
    let failure: SessionFileError | undefined
    /** Reads a batch of pieces; false at the end. */
    const readSome = (): boolean => {
      for (let piece = 0; piece < PIECES; piece++) {
        const room = sink.room()
        let count: number
        try {
          count = Fs.readSync(descriptor, room, 0, room.length, null)
        } catch (cause) {
          failure = failed(path, "read", cause)
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
