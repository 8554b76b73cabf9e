/**
 * Where thread entries go: a file, a directory of files, or a server. Delivery is at least once: an entry whose id the
 * thread has already is counted and passed over, so a batch can be sent again whenever it is not known to have arrived.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import type * as PlatformError from "effect/PlatformError"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { type JsonObject, isObject, numberAt, stringAt } from "@pi-sessions/core/Json"
import * as ValueText from "@pi-sessions/core/ValueText"
import { explain } from "@pi-sessions/session-file/SessionFileError"
import { type EndpointError, type EndpointOptions, type ThreadEndpoint } from "./http/ThreadEndpoint.ts"
import * as Endpoint from "./http/ThreadEndpoint.ts"
import { type Appended, type EntryText, type ThreadFile } from "./thread/ThreadFile.ts"
import * as File from "./thread/ThreadFile.ts"
import { parseJson } from "./internal/parseJson.ts"

/** Entries could not be appended, or it is not known whether they were. */
export class ThreadSinkError extends Schema.TaggedError<ThreadSinkError>()("ThreadSinkError", {
  threadId: Schema.String,
  reason: Schema.String,
  remedy: Schema.String,
  /** Whether the same batch may go through later: yes for the network, a busy server and a full disk. */
  retryable: Schema.Boolean
}) {
  override get message(): string {
    return `cannot append to thread ${this.threadId}: ${this.reason}. ${this.remedy}`
  }
}

export interface HttpOptions extends EndpointOptions {
  /** Batches larger than this are sent in several requests; 8 MiB by default. A single entry may be larger. */
  readonly maxBatchBytes?: number | undefined
}

export class ThreadSink extends Context.Service<
  ThreadSink,
  {
    /** Appends entries, each with a string `id` and `type`, in their order. Once it succeeds they are there to stay. */
    readonly append: (threadId: string, entries: ReadonlyArray<JsonObject>) => Effect.Effect<Appended, ThreadSinkError>
  }
>()("@pi-sessions/reconstruction/ThreadSink") {
  /** One JSONL file, which holds one thread: the thread's id is not looked at. Missing directories are made. */
  static readonly layerFile = (path: string) =>
    Layer.effect(
      ThreadSink,
      Effect.map(File.make(path), (file) =>
        ThreadSink.of({
          append: Effect.fn("ThreadSink.file")((threadId, entries) => appendTo(file, path, threadId, entries))
        })
      )
    )

  /** `<directory>/<thread id>.jsonl`, named by `ThreadFile.fileName`. Missing directories are made. */
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
   * A server of the ThreadApi, by default the one that `ARBE_URL` and `ARBE_TOKEN` name. Failures that may pass are
   * retried; a request that the server finds too large is cut in halves. A batch counts as stored only when the server
   * acknowledges as many entries as were sent; otherwise it is sent again, then in halves, and then it fails. The
   * server may have stored some of a batch's entries when it fails.
   */
  static readonly layerHttp = (options: HttpOptions = {}) =>
    Layer.effect(
      ThreadSink,
      Effect.gen(function* () {
        // Settings are the caller's first failure, not the layer's, so that programs that end without one still start.
        const endpoint = yield* Effect.result(Endpoint.make(options))
        const maxBatchBytes = options.maxBatchBytes ?? 8 * 1024 * 1024
        const append = Effect.fn("ThreadSink.http")(function* (
          threadId: string,
          entries: ReadonlyArray<JsonObject>
        ): Effect.fn.Return<Appended, ThreadSinkError> {
          const texts = yield* entryTexts(threadId, entries)
          const connected = yield* Effect.fromResult(Result.mapError(endpoint, fromEndpoint(threadId)))
          let appended: Appended = { accepted: 0, repeated: 0 }
          for (const batch of batches(texts, maxBatchBytes)) {
            appended = sum(
              appended,
              yield* post(connected, threadId, batch).pipe(Effect.mapError(fromEndpoint(threadId)))
            )
          }
          return appended
        })
        return ThreadSink.of({ append })
      })
    )
}

const sum = (a: Appended, b: Appended): Appended => ({
  accepted: a.accepted + b.accepted,
  repeated: a.repeated + b.repeated
})

/** Entries as lines of JSON; fails when one has no id or type, which no thread takes. */
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

/** What no waiting mends. */
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

const fromEndpoint = (threadId: string) => (error: EndpointError | Miscounted) =>
  new ThreadSinkError({ threadId, reason: error.reason, remedy: error.remedy, retryable: error.retryable })

/** A server acknowledges another number of entries than it was sent, however often. */
class Miscounted extends Schema.TaggedError<Miscounted>()("Miscounted", { reason: Schema.String }) {
  readonly remedy = "Nothing is lost here; look at the server, and append the same entries again"
  readonly retryable = false
}

/** Consecutive runs of entries, each of at most `maxBytes` or of one entry. */
const batches = (entries: ReadonlyArray<EntryText>, maxBytes: number): ReadonlyArray<ReadonlyArray<EntryText>> => {
  const all: Array<Array<EntryText>> = []
  let size = 0
  for (const entry of entries) {
    const bytes = Buffer.byteLength(entry.text) + 1
    const last = all.at(-1)
    if (last === undefined || size + bytes > maxBytes) {
      all.push([entry])
      size = bytes
    } else {
      last.push(entry)
      size += bytes
    }
  }
  return all
}

/** How often a batch is sent that the server acknowledges only in part. */
const SENDS = 3

/** Sends a batch until the server acknowledges all of its entries. */
const postCounted = Effect.fnUntraced(function* (
  endpoint: ThreadEndpoint,
  threadId: string,
  batch: ReadonlyArray<EntryText>
): Effect.fn.Return<Appended, EndpointError | Miscounted> {
  const body = Buffer.from(`{"entries":[${batch.map(({ text }) => text).join(",")}]}`, "utf8")
  let told: Appended = { accepted: 0, repeated: 0 }
  for (let send = 1; send <= SENDS; send++) {
    told = yield* endpoint.post(threadId, body, readAppended(endpoint))
    if (told.accepted >= 0 && told.repeated >= 0 && told.accepted + told.repeated === batch.length) return told
  }
  const [first] = batch
  const counts = `accepted ${told.accepted} and repeated ${told.repeated}`
  const sent = batch.length === 1 ? `entry ${first?.id}` : `${batch.length} entries from ${first?.id} on`
  return yield* new Miscounted({ reason: `the server was sent ${sent}, ${SENDS} times, and answered: ${counts}` })
})

/** Sends a batch; in halves when it is too large, or to find the entry that the server does not acknowledge. */
const post = (
  endpoint: ThreadEndpoint,
  threadId: string,
  batch: ReadonlyArray<EntryText>
): Effect.Effect<Appended, EndpointError | Miscounted> =>
  postCounted(endpoint, threadId, batch).pipe(
    Effect.catchIf(
      (error) => batch.length > 1 && (error._tag === "Miscounted" || error.status === 413),
      () => {
        const middle = batch.length >> 1
        return Effect.zipWith(
          post(endpoint, threadId, batch.slice(0, middle)),
          Effect.suspend(() => post(endpoint, threadId, batch.slice(middle))),
          sum
        )
      }
    )
  )

const readAppended =
  (endpoint: ThreadEndpoint) =>
  (body: Uint8Array): Effect.Effect<Appended, EndpointError> => {
    const answer = parseJson(Buffer.from(body).toString("utf8"))
    const accepted = isObject(answer) ? numberAt(answer, "accepted") : undefined
    const repeated = isObject(answer) ? numberAt(answer, "repeated") : undefined
    return accepted === undefined || repeated === undefined
      ? Effect.fail(endpoint.damaged('the answer to a POST is no {"accepted", "repeated"}', false))
      : Effect.succeed({ accepted, repeated })
  }
