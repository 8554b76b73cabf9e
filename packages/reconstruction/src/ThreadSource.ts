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
import { fileName } from "./ThreadFile.ts"
import { type PagesOptions } from "./ThreadPages.ts"
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
      const thread = Effect.fn("ThreadSource.file")(function* (ref: string) {
        const chunks = yield* Stream.runCollect(fs.stream(ref, { chunkSize: 1 << 20 })).pipe(
          Effect.mapError(
            (error) =>
              new ThreadUnavailable({
                ref,
                why: whyOf(error),
                reason: explain(error),
                remedy: "Give the path of a .jsonl or .json thread file, or set ARBE_URL to fetch a thread by its id"
              })
          )
        )
        return ThreadReader.read(chunks, "")
      })
      return ThreadSource.of({ thread })
    })
  )

  /** The thread is what comes on standard input, whatever `ref`. */
  static readonly layerStdin = Layer.effect(
    ThreadSource,
    Effect.gen(function* () {
      const stdio = yield* Stdio.Stdio
      const thread = Effect.fn("ThreadSource.stdin")(function* (ref: string) {
        const chunks = yield* Stream.runCollect(stdio.stdin).pipe(
          Effect.mapError(
            (error) =>
              new ThreadUnavailable({
                ref,
                why: whyOf(error),
                reason: explain(error),
                remedy: "Pipe a thread file into it"
              })
          )
        )
        return ThreadReader.read(chunks, "")
      })
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
        const thread = Effect.fn("ThreadSource.directory")(function* (ref: string) {
          const file = path.join(directory, fileName(ref))
          const pieces = new ThreadReader.ThreadPieces(ref)
          yield* Stream.runForEach(fs.stream(file, { chunkSize: 1 << 20 }), (chunk) =>
            Effect.sync(() => pieces.push(chunk))
          ).pipe(
            Effect.mapError(
              (error) =>
                new ThreadUnavailable({
                  ref,
                  why: whyOf(error),
                  reason: `${file}: ${explain(error)}`,
                  remedy: `Give the id of a thread that ${directory} holds`
                })
            )
          )
          return pieces.end()
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
        const { make } = yield* Effect.promise(() => import("./ThreadPages.ts"))
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

const whyOf = (error: PlatformError.PlatformError): ThreadUnavailable["why"] =>
  error.reason._tag === "NotFound" ? "absent" : error.reason._tag === "PermissionDenied" ? "refused" : "unreachable"

const explain = (error: PlatformError.PlatformError): string =>
  error.reason._tag === "NotFound"
    ? "no such file"
    : error.reason._tag === "PermissionDenied"
      ? "permission denied"
      : "it cannot be read as a file"
