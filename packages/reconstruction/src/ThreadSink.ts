/**
 * Appends entries to a thread: in a file, in a directory of files, or on a server. An entry whose id the thread already
 * has is counted and not stored again, so a batch can be sent again after a failure.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import type * as PlatformError from "effect/PlatformError"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { type JsonObject, stringAt } from "@pi-sessions/core/Json"
import * as ValueText from "@pi-sessions/core/ValueText"
import { explain } from "@pi-sessions/session-file/SessionFileError"
import { type EndpointError } from "./http/EndpointError.ts"
import { type EndpointOptions } from "./http/EndpointSettings.ts"
import * as EntryPosts from "./http/EntryPosts.ts"
import * as Endpoint from "./http/ThreadEndpoint.ts"
import { type Appended, type EntryText, type ThreadFile } from "./thread/ThreadFile.ts"
import * as File from "./thread/ThreadFile.ts"

/** Entries were not appended, or it is unknown whether they were. */
export class ThreadSinkError extends Schema.TaggedError<ThreadSinkError>()("ThreadSinkError", {
  threadId: Schema.String,
  reason: Schema.String,
  remedy: Schema.String,
  /** Whether the same batch may succeed later: true for the network, a busy server and a full disk. */
  retryable: Schema.Boolean
}) {
  override get message(): string {
    return `cannot append to thread ${this.threadId}: ${this.reason}. ${this.remedy}`
  }
}

export interface HttpOptions extends EndpointOptions {
  /** Bytes per request; a single entry may be larger. Default: 8 MiB. */
  readonly maxBatchBytes?: number | undefined
}

export class ThreadSink extends Context.Service<
  ThreadSink,
  {
    /** Appends entries, each with a string `id` and `type`, in order. They are durable when it succeeds. */
    readonly append: (threadId: string, entries: ReadonlyArray<JsonObject>) => Effect.Effect<Appended, ThreadSinkError>
  }
>()("@pi-sessions/reconstruction/ThreadSink") {
  /** One JSONL file for one thread; the thread's id is ignored. Creates missing directories. */
  static readonly layerFile = (path: string) =>
    Layer.effect(
      ThreadSink,
      Effect.map(File.make(path), (file) =>
        ThreadSink.of({
          append: Effect.fn("ThreadSink.file")((threadId, entries) => appendTo(file, path, threadId, entries))
        })
      )
    )

  /** `<directory>/<thread id>.jsonl`, named by `ThreadFile.fileName`. Creates missing directories. */
  static readonly layerDirectory = (directory: string) =>
    Layer.effect(
      ThreadSink,
      Effect.gen(function* () {
        const path = yield* Path.Path
        const services = yield* Effect.context<FileSystem.FileSystem | Path.Path>()
        const files = new Map<string, ThreadFile>()
        const append = Effect.fn("ThreadSink.directory")(function* (
          threadId: string,
          entries: ReadonlyArray<JsonObject>
        ) {
          const name = File.fileName(threadId)
          const target = path.join(directory, name)
          const file = files.get(name) ?? (yield* Effect.provideContext(File.make(target), services))
          if (!files.has(name)) files.set(name, file)
          return yield* appendTo(file, target, threadId, entries)
        })
        return ThreadSink.of({ append })
      })
    )

  /**
   * A server of the ThreadApi. Default: the one of `ARBE_URL` and `ARBE_TOKEN`. Retryable failures are retried; a request
   * that is too large for the server is divided. A batch must be acknowledged in full; otherwise it is sent again, then
   * in halves, and then `append` fails. The server may have stored some entries by then.
   */
  static readonly layerHttp = (options: HttpOptions = {}) =>
    Layer.effect(
      ThreadSink,
      Effect.gen(function* () {
        // Invalid settings fail `append`, not the layer, so that programs which append nothing can start.
        const endpoint = yield* Effect.result(Endpoint.make(options))
        const maxBatchBytes = options.maxBatchBytes ?? 8 * 1024 * 1024
        const append = Effect.fn("ThreadSink.http")(function* (
          threadId: string,
          entries: ReadonlyArray<JsonObject>
        ): Effect.fn.Return<Appended, ThreadSinkError> {
          const texts = yield* entryTexts(threadId, entries)
          const connected = yield* Effect.fromResult(Result.mapError(endpoint, fromEndpoint(threadId)))
          return yield* Effect.mapError(
            EntryPosts.postAll(connected, threadId, texts, maxBatchBytes),
            fromEndpoint(threadId)
          )
        })
        return ThreadSink.of({ append })
      })
    )
}

/** Entries as lines of JSON. Fails when one has no id or type. */
const entryTexts = (
  threadId: string,
  entries: ReadonlyArray<JsonObject>
): Effect.Effect<ReadonlyArray<EntryText>, ThreadSinkError> =>
  Effect.suspend(() => {
    const texts: Array<EntryText> = []
    for (const [index, entry] of entries.entries()) {
      const id = stringAt(entry, "id")
      if (id === undefined || id === "" || stringAt(entry, "type") === undefined) {
        return Effect.fail(
          new ThreadSinkError({
            threadId,
            reason: `entry ${index + 1} of ${entries.length} has no id or no type`,
            remedy: "Give every entry both, as strings",
            retryable: false
          })
        )
      }
      texts.push({ id, text: ValueText.stringify(entry) })
    }
    return Effect.succeed(texts)
  })

const appendTo = Effect.fnUntraced(function* (
  file: ThreadFile,
  path: string,
  threadId: string,
  entries: ReadonlyArray<JsonObject>
) {
  const texts = yield* entryTexts(threadId, entries)
  return yield* file.append(texts).pipe(Effect.mapError(fromPlatform(threadId, path)))
})

/** Errors that do not pass by waiting. */
const LASTING: ReadonlySet<string> = new Set([
  "NotFound",
  "PermissionDenied",
  "BadArgument",
  "InvalidData",
  "BadResource"
])

const fromPlatform = (threadId: string, path: string) => (error: PlatformError.PlatformError) =>
  new ThreadSinkError({
    threadId,
    reason: `${path} cannot be written: ${explain(error)}`,
    remedy: "Check that its directory may be written to and that the disk has space, and append the same entries again",
    retryable: !LASTING.has(error.reason._tag)
  })

const fromEndpoint = (threadId: string) => (error: EndpointError | EntryPosts.Miscounted) =>
  new ThreadSinkError({ threadId, reason: error.reason, remedy: error.remedy, retryable: error.retryable })
