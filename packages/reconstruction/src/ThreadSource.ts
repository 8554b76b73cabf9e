/** Reads threads: from a file, standard input, a directory of files, or a server. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as Stdio from "effect/Stdio"
import * as Stream from "effect/Stream"
import type * as PlatformError from "effect/PlatformError"
import { explain } from "@pi-sessions/session-file/SessionFileError"
import { type Thread } from "./Thread.ts"
import { fileName } from "./thread/ThreadFile.ts"
import type { PagesOptions } from "./http/ThreadPages.ts"
import * as ThreadReader from "./ThreadReader.ts"

export class ThreadUnavailable extends Schema.TaggedError<ThreadUnavailable>()("ThreadUnavailable", {
  ref: Schema.String,
  /**
   * `absent`: no such thread; `refused`: no permission, or an invalid request; `unreachable`: it cannot be read now;
   * `damaged`: the answer is not a thread.
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
    /** The whole thread `ref`: a path for files, `-` for standard input, else the thread's id. */
    readonly thread: (ref: string) => Effect.Effect<Thread, ThreadUnavailable>
  }
>()("@pi-sessions/reconstruction/ThreadSource") {
  /** `ref` is the path of a thread file, `.jsonl` or `.json`. */
  static readonly layerFile = Layer.effect(
    ThreadSource,
    Effect.map(FileSystem.FileSystem, (fs) => {
      const remedy = "Give the path of a .jsonl or .json thread file, or set ARBE_URL to fetch a thread by its id"
      const thread = Effect.fn("ThreadSource.file")((ref: string) =>
        readBytes(ref, new ThreadReader.ThreadFilePieces(""), fileBytes(fs, ref), { remedy })
      )
      return ThreadSource.of({ thread })
    })
  )

  /** Reads standard input and ignores `ref`. */
  static readonly layerStdin = Layer.effect(
    ThreadSource,
    Effect.map(Stdio.Stdio, ({ stdin }) => {
      const bytes: Bytes = (take) => Stream.runForEach(stdin, (chunk) => Effect.sync(() => take(chunk)))
      const thread = Effect.fn("ThreadSource.stdin")((ref: string) =>
        readBytes(ref, new ThreadReader.ThreadFilePieces(""), bytes, { remedy: "Pipe a thread file into it" })
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
        const remedy = `Give the id of a thread that ${directory} holds`
        const thread = Effect.fn("ThreadSource.directory")((ref: string) => {
          const file = path.join(directory, fileName(ref))
          return readBytes(ref, new ThreadReader.ThreadPieces(ref), fileBytes(fs, file), { file, remedy })
        })
        return ThreadSource.of({ thread })
      })
    )

  /**
   * `ref` is the id of a thread on a server of the ThreadApi. Default: the server of `ARBE_URL` and `ARBE_TOKEN`. Pages
   * are read one at a time, and only one is in memory.
   */
  static readonly layerHttp = (options: PagesOptions = {}) =>
    Layer.effect(
      ThreadSource,
      Effect.gen(function* () {
        // Loaded on demand, so that programs which read files start faster.
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

/** Larger pieces are not faster and use more memory. */
const CHUNK_BYTES = 1 << 18

/** Passes bytes to `take`, piece by piece. */
type Bytes = (take: (chunk: Uint8Array) => void) => Effect.Effect<void, PlatformError.PlatformError>

/** The bytes of a file. A loop is used because starting a Stream takes longer than reading a short thread. */
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

/** `file` is named in errors, for a `ref` that is not a path. */
const readBytes = (
  ref: string,
  pieces: ThreadReader.ThreadPieces | ThreadReader.ThreadFilePieces,
  bytes: Bytes,
  { file, remedy }: { readonly file?: string; readonly remedy: string }
): Effect.Effect<Thread, ThreadUnavailable> =>
  bytes((chunk) => pieces.push(chunk)).pipe(
    Effect.mapError((error) => {
      const reason = file === undefined ? explain(error) : `${file}: ${explain(error)}`
      return new ThreadUnavailable({ ref, why: whyOf(error), reason, remedy })
    }),
    Effect.map(() => pieces.end())
  )

const whyOf = (error: PlatformError.PlatformError): ThreadUnavailable["why"] =>
  error.reason._tag === "NotFound" ? "absent" : error.reason._tag === "PermissionDenied" ? "refused" : "unreachable"
