/**
 * Requests to a thread server (ThreadApi), with bearer token, timeouts and retries. ThreadSource and ThreadSink use it.
 *
 * It uses HttpClient instead of a client derived from the HttpApi, because entries must pass through as bytes, and
 * because programs that only hydrate should not load the server's modules.
 *
 * The token is in the request's header only: errors do not contain it, and requests are not traced.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type * as HttpClientResponse from "effect/http/HttpClientResponse"
import {
  type EndpointError,
  afterAttempts,
  damaged,
  fromStatus,
  fromTransport,
  refused,
  unreachable
} from "./EndpointError.ts"
import { type EndpointOptions, type EndpointSettings } from "./EndpointSettings.ts"
import * as Settings from "./EndpointSettings.ts"

/** Decodes the body of an answer. Its failures are retried like those of the request. */
export type Read<A> = (body: Uint8Array) => Effect.Effect<A, EndpointError>

export interface ThreadEndpoint {
  /** Requests a page of entries. */
  readonly get: <A>(
    threadId: string,
    page: { readonly after: string | undefined; readonly limit: number },
    read: Read<A>
  ) => Effect.Effect<A, EndpointError>
  /** Sends `{"entries": [...]}` as text. */
  readonly post: <A>(threadId: string, body: Uint8Array, read: Read<A>) => Effect.Effect<A, EndpointError>
  /** The error for an answer that breaks the contract. */
  readonly damaged: (reason: string, retryable: boolean) => EndpointError
}

const LONGEST_PAUSE = Duration.seconds(15)

/** Error answers are read up to here, in bytes. */
const MAX_ERROR_BYTES = 1 << 16

/** The endpoint that the options or the environment name. Fails when a setting is missing or invalid. */
export const make = Effect.fnUntraced(function* (
  options: EndpointOptions
): Effect.fn.Return<ThreadEndpoint, EndpointError, HttpClient.HttpClient> {
  const client = yield* HttpClient.HttpClient
  const settings = yield* Settings.load(options)
  const { base } = settings
  const where = `${base.origin}${base.pathname}`
  const send = sender(client, settings, where)
  return {
    get: (threadId, { after, limit }, read) =>
      send(
        Effect.map(entriesUrl(base, threadId), (url) => {
          url.searchParams.set("limit", `${limit}`)
          if (after !== undefined) url.searchParams.set("after", after)
          return HttpClientRequest.get(url)
        }),
        read
      ),
    post: (threadId, body, read) =>
      send(
        Effect.map(entriesUrl(base, threadId), (url) =>
          HttpClientRequest.post(url).pipe(HttpClientRequest.bodyUint8Array(body, "application/json"))
        ),
        read
      ),
    damaged: (reason, retryable) => damaged(`${where}: ${reason}`, retryable)
  }
})

const entriesUrl = (base: URL, threadId: string): Effect.Effect<URL, EndpointError> => {
  // Servers resolve "." and ".." in a path even when they are escaped.
  if (["", ".", ".."].includes(threadId) || !threadId.isWellFormed()) {
    return Effect.fail(refused(`${JSON.stringify(threadId)} cannot be a thread's id`, "Give the id of a thread"))
  }
  const url = new URL(base)
  url.pathname = `${base.pathname.replace(/\/+$/, "")}/threads/${encodeURIComponent(threadId)}/entries`
  return Effect.succeed(url)
}

/** Sends a request with retries. */
const sender = (client: HttpClient.HttpClient, settings: EndpointSettings, where: string) => {
  const { retries } = settings
  const schedule = Schedule.exponential(settings.backoff).pipe(
    Schedule.modifyDelay(({ duration }) => Effect.succeed(Duration.min(duration, LONGEST_PAUSE))),
    Schedule.jittered
  )
  return <A>(request: Effect.Effect<HttpClientRequest.HttpClientRequest, EndpointError>, read: Read<A>) =>
    request.pipe(
      Effect.flatMap((request) => answerOf(client, settings, where, request)),
      Effect.flatMap(read),
      Effect.retry({ while: (error) => error.retryable, times: retries, schedule }),
      Effect.mapError((error) => (error.retryable && retries > 0 ? afterAttempts(error, retries + 1) : error)),
      // A tracer would get the request with the token in its header.
      Effect.provideService(HttpClient.TracerDisabledWhen, () => true)
    )
}

/** The body of a 2xx answer; any other status is an error. */
const answerOf = Effect.fnUntraced(function* (
  client: HttpClient.HttpClient,
  { maxAnswerBytes, timeout, token }: EndpointSettings,
  where: string,
  request: HttpClientRequest.HttpClientRequest
): Effect.fn.Return<Uint8Array, EndpointError> {
  const authorized = Option.match(token, {
    onNone: () => request,
    onSome: (token) => HttpClientRequest.bearerToken(request, token)
  })
  const response = yield* client.execute(HttpClientRequest.acceptJson(authorized)).pipe(
    Effect.mapError((error) => fromTransport(where, error)),
    Effect.timeoutOrElse({ duration: timeout, orElse: () => Effect.fail(silent(where, timeout)) })
  )
  if (response.status >= 200 && response.status < 300) return yield* bodyOf(response, where, timeout, maxAnswerBytes)
  const body = yield* Effect.orElseSucceed(bodyOf(response, where, timeout, MAX_ERROR_BYTES), () => new Uint8Array(0))
  return yield* fromStatus(where, response.status, body, token)
})

const silent = (where: string, timeout: Duration.Input) =>
  unreachable(`${where} has been silent for ${Duration.format(Duration.fromInputUnsafe(timeout))}`)

const bodyOf = Effect.fnUntraced(function* (
  response: HttpClientResponse.HttpClientResponse,
  where: string,
  timeout: Duration.Input,
  maxBytes: number
): Effect.fn.Return<Uint8Array, EndpointError> {
  const pieces: Array<Uint8Array> = []
  let size = 0
  yield* response.stream.pipe(
    Stream.mapError((error) => fromTransport(where, error)),
    Stream.timeoutOrElse({ duration: timeout, orElse: () => Stream.fail(silent(where, timeout)) }),
    Stream.runForEach((piece) => {
      pieces.push(piece)
      size += piece.length
      return size <= maxBytes
        ? Effect.void
        : Effect.fail(damaged(`the answer of ${where} does not end within ${maxBytes} bytes`))
    })
  )
  return pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces, size)
})
