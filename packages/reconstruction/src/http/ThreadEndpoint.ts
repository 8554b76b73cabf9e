/**
 * Where threads are served over HTTP (ThreadApi): one request at a time, with its bearer token, its timeouts, and its
 * retries. ThreadSource and ThreadSink are built on it.
 *
 * It is written on HttpClient and not derived from the HttpApi, because entries pass through as the bytes they came in,
 * and because a program that only hydrates should not carry the machinery of servers.
 *
 * The token is in the request's header and nowhere else: not in errors, which are made of our own words and the
 * server's (where it is blotted out), and not in spans, since requests are not traced.
 */
import * as Config from "effect/Config"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as HttpClient from "effect/http/HttpClient"
import type * as HttpClientError from "effect/http/HttpClientError"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type * as HttpClientResponse from "effect/http/HttpClientResponse"
import { isObject, stringAt } from "@pi-sessions/core/Json"
import { parseJson } from "../internal/parseJson.ts"

export interface EndpointOptions {
  /** Where threads are served, `https://host/path`; `ARBE_URL` by default. */
  readonly url?: string | undefined
  /** `ARBE_TOKEN` by default; without either, requests carry none. */
  readonly token?: Redacted.Redacted | undefined
  /** How long the server may be silent, while a request is sent and in the middle of its answer; a minute by default. */
  readonly timeout?: Duration.Input | undefined
  /** How often a request that failed for a passing reason is made again; 5 by default. */
  readonly retries?: number | undefined
  /** The first pause between two attempts, which doubles (give or take a fifth); 250 ms by default, 15 s at most. */
  readonly backoff?: Duration.Input | undefined
  /** An answer larger than this is given up; 512 MiB by default. */
  readonly maxAnswerBytes?: number | undefined
}

/** A request could not be made, or was not answered as it should be. */
export class EndpointError extends Schema.TaggedError<EndpointError>()("EndpointError", {
  /** `absent`: no such thread; `refused`: the server said no; `unreachable`: it said nothing, or nothing of use. */
  why: Schema.Literals(["absent", "refused", "unreachable", "damaged"]),
  status: Schema.optionalKey(Schema.Int),
  reason: Schema.String,
  remedy: Schema.String,
  /** Whether the same request may succeed later. */
  retryable: Schema.Boolean
}) {
  override get message(): string {
    return `${this.reason}. ${this.remedy}`
  }
}

export interface ThreadEndpoint {
  /** Asks for a page of entries and reads the answer with `read`, inside the retries. */
  readonly get: <A>(
    threadId: string,
    page: { readonly after: string | undefined; readonly limit: number },
    read: (body: Uint8Array) => Effect.Effect<A, EndpointError>
  ) => Effect.Effect<A, EndpointError>
  /** Sends `{"entries": [...]}` as text and reads the answer. */
  readonly post: <A>(
    threadId: string,
    body: Uint8Array,
    read: (body: Uint8Array) => Effect.Effect<A, EndpointError>
  ) => Effect.Effect<A, EndpointError>
  /** Says that an answer is not what it should be. */
  readonly damaged: (reason: string, retryable: boolean) => EndpointError
}

const LONGEST_PAUSE = Duration.seconds(15)

/** The endpoint that the options or the environment name; fails when none is, or its address or token is none. */
export const make = Effect.fnUntraced(function* (
  options: EndpointOptions
): Effect.fn.Return<ThreadEndpoint, EndpointError, HttpClient.HttpClient> {
  const client = yield* HttpClient.HttpClient
  const base = yield* Effect.flatMap(
    options.url === undefined ? setting(Config.String("ARBE_URL"), (url) => url) : Effect.succeedSome(options.url),
    baseUrl
  )
  const token = yield* Effect.flatMap(
    options.token === undefined
      ? setting(Config.Redacted("ARBE_TOKEN"), Redacted.value)
      : Effect.succeedSome(options.token),
    usableToken
  )
  const timeout = options.timeout ?? Duration.minutes(1)
  const retries = options.retries ?? 5
  const schedule = Schedule.exponential(options.backoff ?? Duration.millis(250)).pipe(
    Schedule.modifyDelay(({ duration }) => Effect.succeed(Duration.min(duration, LONGEST_PAUSE))),
    Schedule.jittered
  )
  const where = `${base.origin}${base.pathname}`
  const maxAnswerBytes = options.maxAnswerBytes ?? 512 * 1024 * 1024

  const silent = () => unreachable(`${where} has been silent for ${Duration.format(Duration.fromInputUnsafe(timeout))}`)

  const bodyOf = Effect.fnUntraced(function* (
    response: HttpClientResponse.HttpClientResponse,
    maxBytes: number
  ): Effect.fn.Return<Uint8Array, EndpointError> {
    const pieces: Array<Uint8Array> = []
    let size = 0
    yield* response.stream.pipe(
      Stream.mapError((error) => transportFailure(where, error)),
      Stream.timeoutOrElse({ duration: timeout, orElse: () => Stream.fail(silent()) }),
      Stream.runForEach((piece) => {
        pieces.push(piece)
        size += piece.length
        return size <= maxBytes
          ? Effect.void
          : Effect.fail(
              new EndpointError({
                why: "damaged",
                reason: `the answer of ${where} does not end within ${maxBytes} bytes`,
                remedy: CHECK_URL,
                retryable: false
              })
            )
      })
    )
    return pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces, size)
  })

  const once = Effect.fnUntraced(function* (
    request: HttpClientRequest.HttpClientRequest
  ): Effect.fn.Return<Uint8Array, EndpointError> {
    const authorized = Option.match(token, {
      onNone: () => request,
      onSome: (token) => HttpClientRequest.bearerToken(request, token)
    })
    const response = yield* client.execute(HttpClientRequest.acceptJson(authorized)).pipe(
      Effect.mapError((error) => transportFailure(where, error)),
      Effect.timeoutOrElse({ duration: timeout, orElse: () => Effect.fail(silent()) })
    )
    if (response.status >= 200 && response.status < 300) return yield* bodyOf(response, maxAnswerBytes)
    const body = yield* Effect.orElseSucceed(bodyOf(response, 1 << 16), () => new Uint8Array(0))
    return yield* statusFailure(where, response.status, serversWords(body, token), Option.isSome(token))
  })

  const send = <A>(
    request: Effect.Effect<HttpClientRequest.HttpClientRequest, EndpointError>,
    read: (body: Uint8Array) => Effect.Effect<A, EndpointError>
  ) =>
    request.pipe(
      Effect.flatMap(once),
      Effect.flatMap(read),
      Effect.retry({ while: (error) => error.retryable, times: retries, schedule }),
      Effect.mapError((error) => (error.retryable && retries > 0 ? triedOften(error, retries + 1) : error)),
      // What a tracer is given holds the request with its header.
      Effect.provideService(HttpClient.TracerDisabledWhen, () => true)
    )

  const entriesUrl = (threadId: string) => {
    if (!nameable(threadId)) {
      return Effect.fail(refused(`${JSON.stringify(threadId)} cannot be a thread's id`, "Give the id of a thread"))
    }
    const url = new URL(base)
    url.pathname = `${base.pathname.replace(/\/+$/, "")}/threads/${encodeURIComponent(threadId)}/entries`
    return Effect.succeed(url)
  }

  return {
    get: (threadId, { after, limit }, read) =>
      send(
        Effect.map(entriesUrl(threadId), (url) => {
          url.searchParams.set("limit", `${limit}`)
          if (after !== undefined) url.searchParams.set("after", after)
          return HttpClientRequest.get(url)
        }),
        read
      ),
    post: (threadId, body, read) =>
      send(
        Effect.map(entriesUrl(threadId), (url) =>
          HttpClientRequest.post(url).pipe(HttpClientRequest.bodyUint8Array(body, "application/json"))
        ),
        read
      ),
    damaged: (reason, retryable) =>
      new EndpointError({ why: "damaged", reason: `${where}: ${reason}`, remedy: CHECK_URL, retryable })
  }
})

const CHECK_URL = "Check that ARBE_URL is where threads are served"

const refused = (reason: string, remedy: string) =>
  new EndpointError({ why: "refused", reason, remedy, retryable: false })

const triedOften = ({ why, status, reason, remedy, retryable }: EndpointError, times: number) =>
  new EndpointError({
    why,
    ...(status === undefined ? {} : { status }),
    reason: `${reason} (tried ${times} times)`,
    remedy,
    retryable
  })

const unreachable = (reason: string) =>
  new EndpointError({ why: "unreachable", reason, remedy: "Check ARBE_URL and the network", retryable: true })

/** A setting that may be missing; an empty one is. */
const setting = <A>(config: Config.Config<A>, text: (value: A) => string) =>
  Config.option(config).pipe(
    Effect.map(Option.filter((value) => text(value).trim() !== "")),
    Effect.mapError(() => refused("the settings ARBE_URL and ARBE_TOKEN cannot be read", "Set them in the environment"))
  )

const baseUrl = (setting: Option.Option<string>): Effect.Effect<URL, EndpointError> => {
  if (Option.isNone(setting)) {
    return Effect.fail(
      refused("ARBE_URL is not set", "Set it to where threads are served, such as http://127.0.0.1:8787")
    )
  }
  const url = URL.parse(setting.value.trim())
  if (url === null || !/^https?:$/.test(url.protocol)) {
    return Effect.fail(refused("ARBE_URL is no http or https address", "Set it to one, such as http://127.0.0.1:8787"))
  }
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    return Effect.fail(
      refused("ARBE_URL holds more than a host and a path", "Leave out user, password and query, and set ARBE_TOKEN")
    )
  }
  return Effect.succeed(url)
}

const usableToken = (setting: Option.Option<Redacted.Redacted>) => {
  const trimmed = Option.map(setting, (token) => Redacted.value(token).trim())
  return Option.exists(trimmed, (token) => !/^[\x21-\x7e]+$/.test(token))
    ? Effect.fail(refused("ARBE_TOKEN holds characters that no token may hold", "Set it to the token alone"))
    : Effect.succeed(Option.map(trimmed, (token) => Redacted.make(token)))
}

/** Ids that would be taken for something else in a path, however they are escaped, are none. */
const nameable = (threadId: string): boolean =>
  threadId !== "" && threadId !== "." && threadId !== ".." && threadId.isWellFormed()

/** Only the system's error code is told: messages of fetch may hold headers. */
const transportFailure = (where: string, error: HttpClientError.HttpClientError): EndpointError => {
  const code = errorCode(error.reason.cause) ?? errorCode(causeOf(error.reason.cause))
  const suffix = code === undefined ? "" : ` (${code})`
  return error.response === undefined
    ? unreachable(`no answer from ${where}${suffix}`)
    : unreachable(`the connection to ${where} broke off in the middle of an answer${suffix}`)
}

const causeOf = (cause: unknown): unknown => (cause instanceof Error ? cause.cause : undefined)

const errorCode = (cause: unknown): string | undefined =>
  typeof cause === "object" &&
  cause !== null &&
  "code" in cause &&
  typeof cause.code === "string" &&
  /^[A-Z][A-Z0-9_]{2,40}$/.test(cause.code)
    ? cause.code
    : undefined

const statusFailure = (where: string, status: number, words: string, hadToken: boolean): EndpointError => {
  const told = words === "" ? "" : `: ${words}`
  const failure = (why: EndpointError["why"], reason: string, remedy: string, retryable = false) =>
    new EndpointError({ why, status, reason: `${reason} (HTTP ${status})${told}`, remedy, retryable })
  switch (status) {
    case 401:
    case 403:
      return hadToken
        ? failure("refused", `${where} refused the token`, "Set ARBE_TOKEN to a token that it accepts")
        : failure("refused", `${where} wants a token`, "Set ARBE_TOKEN")
    case 404:
      return failure("absent", `no such thread at ${where}`, "Check the thread's id and ARBE_URL")
    case 413:
      return failure(
        "refused",
        `${where} takes no request of that size`,
        "Send less at once, or raise the server's limit"
      )
    case 408:
    case 425:
    case 429:
      return failure("unreachable", `${where} asks to come back later`, "Try again later", true)
    default:
      return status >= 500
        ? failure("unreachable", `${where} failed`, "Try again later, or look at the server's log", true)
        : failure("refused", `${where} refused the request`, "Check that ARBE_URL is where threads are served")
  }
}

/** What the server says in the `message` of its error, if anything: one line, and never the token. */
const serversWords = (body: Uint8Array, token: Option.Option<Redacted.Redacted>): string => {
  const answer = parseJson(Buffer.from(body).toString("utf8"))
  const message = isObject(answer) ? stringAt(answer, "message") : undefined
  if (message === undefined) return ""
  const safe = Option.match(token, {
    onNone: () => message,
    onSome: (token) => message.replaceAll(Redacted.value(token), "<redacted>")
  })
  const line = safe.replaceAll(/[\s\p{Cc}]+/gu, " ").trim()
  return line.length <= 200 ? line : `${line.slice(0, 200)}...`
}
