/** Implements the ThreadApi with an EntryStore. */
import { createHash, timingSafeEqual } from "node:crypto"
import * as ByteSize from "effect/ByteSize"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as HttpIncomingMessage from "effect/http/HttpIncomingMessage"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as HttpApiMiddleware from "effect/http-api/HttpApiMiddleware"
import * as ThreadApi from "@pi-sessions/reconstruction/ThreadApi"
import { type SqliteError } from "@pi-sessions/sqlite/Sqlite"
import * as EntryBatch from "./EntryBatch.ts"
import { EntryStore, type StoredPage } from "./EntryStore.ts"

export interface Options {
  /** None: every local program may read and write. */
  readonly token: Option.Option<Redacted.Redacted>
  readonly maxBodyBytes: number
}

/** Entries per page, whatever the request's limit. */
const MAX_LIMIT = 10_000

/** Whether a host name or address is this machine's loopback. */
export const isLoopback = (host: string): boolean =>
  /^(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|::1|\[::1\])$/i.test(host)

/** The handlers with authorization and checks. */
export const layer = (options: Options) =>
  Layer.provideMerge(handlers(options.maxBodyBytes), Layer.merge(authorization(options.token), requestCheck))

const handlers = (maxBodyBytes: number) =>
  HttpApiBuilder.group(
    ThreadApi.ThreadApi,
    "threads",
    Effect.fnUntraced(function* (handlers) {
      const store = yield* EntryStore
      const tooLarge = new ThreadApi.TooLarge({
        message: `the body is larger than the ${maxBodyBytes} bytes that this server takes; send fewer entries at once`
      })

      const readBody = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
        // Browsers send other types to any server without a preflight request.
        if (!/^application\/json\b/i.test(request.headers["content-type"] ?? "")) {
          return yield* new ThreadApi.Malformed({ message: "the body must be application/json" })
        }
        if (Number(request.headers["content-length"] ?? 0) > maxBodyBytes) return yield* tooLarge
        const body = yield* request.arrayBuffer.pipe(
          Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(maxBodyBytes)),
          Effect.mapError((error) =>
            error.reason._tag === "RequestParseError" && error.reason.reason === "BodyTooLarge"
              ? tooLarge
              : new ThreadApi.Malformed({ message: "the body broke off" })
          )
        )
        return new Uint8Array(body)
      })

      return handlers
        .handle(
          "read",
          Effect.fnUntraced(function* ({ params, query }) {
            const after = query.after ?? "0"
            if (!/^[0-9]{1,15}$/.test(after)) {
              return yield* new ThreadApi.Malformed({
                message: "after is no cursor of this server; leave it out to begin"
              })
            }
            const limit = Math.min(Number(query.limit ?? ThreadApi.DEFAULT_LIMIT), MAX_LIMIT)
            const page = yield* store.page(params.id, Number(after), limit).pipe(Effect.catch(unavailable))
            if (Option.isNone(page))
              return yield* new ThreadApi.ThreadNotFound({ message: "nothing was ever appended to it" })
            return HttpServerResponse.uint8Array(pageBody(page.value), { contentType: "application/json" })
          })
        )
        .handleRaw(
          "append",
          Effect.fnUntraced(function* ({ params, request }) {
            const entries = EntryBatch.parse(yield* readBody(request))
            if (Result.isFailure(entries)) return yield* new ThreadApi.Malformed({ message: entries.failure })
            const appended = yield* store.append(params.id, entries.success).pipe(Effect.catch(unavailable))
            return { accepted: appended.accepted, repeated: appended.repeated }
          })
        )
    })
  )

/** `{"entries": [...], "next": ...}` with the stored texts. */
const pageBody = ({ entries, next }: StoredPage): Uint8Array => {
  const pieces: Array<Uint8Array> = [Buffer.from('{"entries":[')]
  const comma = Buffer.from(",")
  entries.forEach((entry, index) => {
    if (index > 0) pieces.push(comma)
    pieces.push(entry)
  })
  pieces.push(Buffer.from(`],"next":${next === undefined ? "null" : `"${next}"`}}`))
  return Buffer.concat(pieces)
}

/** Logs a store's error with the database's path; the client's message has no path. */
const unavailable = (error: SqliteError) =>
  Effect.logError(error.message).pipe(
    Effect.andThen(Effect.fail(new ThreadApi.Unavailable({ message: `cannot ${error.operation}: ${error.reason}` })))
  )

const authorization = (token: Option.Option<Redacted.Redacted>) => {
  const expected = Option.map(token, (token) => digest(Redacted.value(token)))
  return Layer.succeed(
    ThreadApi.Authorization,
    ThreadApi.Authorization.of({
      bearer: Effect.fnUntraced(function* (handler, { credential }) {
        if (Option.isSome(expected)) {
          if (!timingSafeEqual(digest(Redacted.value(credential)), expected.value)) {
            return yield* new ThreadApi.Unauthorized({ message: "send the token as Authorization: Bearer TOKEN" })
          }
        } else {
          // DNS rebinding: a web page can resolve its own name to 127.0.0.1, but its requests carry that name.
          const request = yield* HttpServerRequest.HttpServerRequest
          const host = URL.parse(`http://${request.headers["host"] ?? ""}`)
          if (host === null || !isLoopback(host.hostname)) {
            return yield* new ThreadApi.Unauthorized({
              message: "this server has no token and serves this machine alone"
            })
          }
        }
        return yield* handler
      })
    })
  )
}

/** Digests have equal lengths, so comparing them takes constant time. */
const digest = (token: string): Uint8Array => createHash("sha256").update(token).digest()

const requestCheck = HttpApiMiddleware.layerSchemaErrorTransform(ThreadApi.RequestCheck, (error) =>
  Effect.fail(new ThreadApi.Malformed({ message: `${error.kind.toLowerCase()}: ${error.cause.message}` }))
)
