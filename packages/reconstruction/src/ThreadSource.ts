/** Where threads come from: a file, standard input, a directory, a server. Another transport is another layer. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as Stdio from "effect/Stdio"
import * as Stream from "effect/Stream"
import type * as PlatformError from "effect/PlatformError"
import { type Thread } from "./Thread.ts"
import { fileName } from "./thread/ThreadFile.ts"
import type { PagesOptions } from "./http/ThreadPages.ts"
import * as ThreadReader from "./ThreadReader.ts"

/** The thread could not be had. */
export class ThreadUnavailable extends Schema.TaggedError<ThreadUnavailable>()("ThreadUnavailable", {
  ref: Schema.String,
  /**
   * `absent`: there is no such thread; `refused`: it may not be read, or was not asked for properly; `unreachable`: it
   * cannot be read now; `damaged`: what comes is no thread.
   */
  why: Schema.Literals(["absent", "refused", "unreachable", "damaged"]),
  reason: Schema.String,
  remedy: Schema.String
}) {
  override get message(): string {
    return `cannot read thread ${this.ref}: ${this.reason}. ${this.remedy}`
  }
}

export class ThreadSource extends Context.Service<
  ThreadSource,
  {
    /** The whole thread named by `ref`: for a file its path, for standard input `-`, else the thread's id. */
    readonly thread: (ref: string) => Effect.Effect<Thread, ThreadUnavailable>
  }
>()("@pi-sessions/reconstruction/ThreadSource") {
  /** `ref` is the path of a thread file, `.jsonl` or `.json`. */
  static readonly layerFile = Layer.effect(
    ThreadSource,
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const thread = Effect.fn("ThreadSource.file")((ref: string) =>
        readBytes(
          () => new ThreadReader.ThreadFilePieces(""),
          fileBytes(fs, ref),
          (error) => ({
            ref,
            reason: explain(error),
            remedy: "Give the path of a .jsonl or .json thread file, or set ARBE_URL to fetch a thread by its id"
          })
        )
      )
      return ThreadSource.of({ thread })
    })
  )

  /** The thread is what comes on standard input, whatever `ref`. */
  static readonly layerStdin = Layer.effect(
    ThreadSource,
    Effect.gen(function* () {
      const stdio = yield* Stdio.Stdio
      const thread = Effect.fn("ThreadSource.stdin")((ref: string) =>
        readBytes(
          () => new ThreadReader.ThreadFilePieces(""),
          (take) => Stream.runForEach(stdio.stdin, (chunk) => Effect.sync(() => take(chunk))),
          (error) => ({
            ref,
            reason: explain(error),
            remedy: "Pipe a thread file into it"
          })
        )
      )
      return ThreadSource.of({ thread })
    })
  )

  /** `ref` is a thread's id; its file is `<directory>/<thread id>.jsonl`, named by `ThreadFile.fileName`. */
  static readonly layerDirectory = (directory: string) =>
    Layer.effect(
      ThreadSource,
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const path = yield* Path.Path
        const thread = Effect.fn("ThreadSource.directory")((ref: string) => {
          const file = path.join(directory, fileName(ref))
          return readBytes(
            () => new ThreadReader.ThreadPieces(ref),
            fileBytes(fs, file),
            (error) => ({
              ref,
              reason: `${file}: ${explain(error)}`,
              remedy: `Give the id of a thread that ${directory} holds`
            })
          )
        })
        return ThreadSource.of({ thread })
      })
    )

  /**
   * `ref` is the id of a thread on a server of the ThreadApi, by default the one that `ARBE_URL` and `ARBE_TOKEN` name.
   * It is read page by page; a page is gone from memory before the next one is asked for.
   */
  static readonly layerHttp = (options: PagesOptions = {}) =>
    Layer.effect(
      ThreadSource,
      Effect.gen(function* () {
        // The client of servers comes along only where there is a server to ask: start-up counts.
        const { make } = yield* Effect.promise(() => import("./http/ThreadPages.ts"))
        const read = yield* make(options)
        const thread = Effect.fn("ThreadSource.http")((ref: string) =>
          read(ref).pipe(
            Effect.mapError(({ why, reason, remedy }) => new ThreadUnavailable({ ref, why, reason, remedy }))
          )
        )
        return ThreadSource.of({ thread })
      })
    )
}

/** More makes nothing faster, and what is read stays in memory until it is collected. */
const CHUNK_BYTES = 1 << 18

/** Bytes that are given to `take` piece by piece. */
type Bytes = (take: (chunk: Uint8Array) => void) => Effect.Effect<void, PlatformError.PlatformError>

/** Those of a file. A loop and no Stream, which takes longer to get going than a short thread takes to be read. */
const fileBytes =
  (fs: FileSystem.FileSystem, path: string): Bytes =>
  (take) =>
    Effect.scoped(
      Effect.gen(function* () {
        const file = yield* fs.open(path, { flag: "r" })
        for (;;) {
          const chunk = new Uint8Array(CHUNK_BYTES)
          const read = yield* file.read(chunk)
          if (read === 0) return
          take(chunk.subarray(0, read))
        }
      })
    )

/** Reads a thread as its bytes come. */
const readBytes = (
  make: () => ThreadReader.ThreadPieces | ThreadReader.ThreadFilePieces,
  bytes: Bytes,
  told: (error: PlatformError.PlatformError) => {
    readonly ref: string
    readonly reason: string
    readonly remedy: string
  }
): Effect.Effect<Thread, ThreadUnavailable> =>
  Effect.suspend(() => {
    const pieces = make()
    return bytes((chunk) => pieces.push(chunk)).pipe(
      Effect.mapError((error) => new ThreadUnavailable({ ...told(error), why: whyOf(error) })),
      Effect.map(() => pieces.end())
    )
  })

const whyOf = (error: PlatformError.PlatformError): ThreadUnavailable["why"] =>
  error.reason._tag === "NotFound" ? "absent" : error.reason._tag === "PermissionDenied" ? "refused" : "unreachable"

const explain = (error: PlatformError.PlatformError): string =>
  error.reason._tag === "NotFound"
    ? "no such file"
    : error.reason._tag === "PermissionDenied"
      ? "permission denied"
      : "it cannot be read as a file"
