/** Where threads come from. The layers here read a file or standard input; another transport is another layer. */
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
import * as ThreadReader from "./ThreadReader.ts"

/** The thread could not be had. */
export class ThreadUnavailable extends Schema.TaggedError<ThreadUnavailable>()("ThreadUnavailable", {
  ref: Schema.String,
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
    /** The whole thread named by `ref`: for a file its path, for standard input `-`. */
    readonly thread: (ref: string) => Effect.Effect<Thread, ThreadUnavailable>
  }
>()("@pi-sessions/reconstruction/ThreadSource") {
  /** `ref` is the path of a thread file, `.jsonl` or `.json`. */
  static readonly layerFile = Layer.effect(
    ThreadSource,
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const path = yield* Path.Path
      const thread = Effect.fn("ThreadSource.file")(function* (ref: string) {
        const chunks = yield* Stream.runCollect(fs.stream(ref, { chunkSize: 1 << 20 })).pipe(
          Effect.mapError(
            (error) =>
              new ThreadUnavailable({
                ref,
                reason: explain(error),
                remedy: "Give the path of a .jsonl or .json thread file"
              })
          )
        )
        return ThreadReader.read(chunks, path.basename(ref).replace(/\.jsonl?$/, ""))
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
            (error) => new ThreadUnavailable({ ref, reason: explain(error), remedy: "Pipe a thread file into it" })
          )
        )
        return ThreadReader.read(chunks, "stdin")
      })
      return ThreadSource.of({ thread })
    })
  )
}

const explain = (error: PlatformError.PlatformError): string =>
  error.reason._tag === "NotFound" ? "no such file" : error.message
