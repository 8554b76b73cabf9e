/** Errors of requests to a thread server. No message contains the token. */
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type * as HttpClientError from "effect/http/HttpClientError"
import { isObject, stringAt } from "@pi-sessions/core/Json"
import { parseJson } from "../internal/parseJson.ts"

export class EndpointError extends Schema.TaggedError<EndpointError>()("EndpointError", {
  /**
   * `absent`: no such thread; `refused`: the server or a check here rejected the request; `unreachable`: no usable
   * answer; `damaged`: the answer breaks the contract.
   */
  why: Schema.Literals(["absent", "refused", "unreachable", "damaged"]),
  /** HTTP status. */
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

const CHECK_URL = "Check that ARBE_URL is where threads are served"

export const refused = (reason: string, remedy: string): EndpointError =>
  new EndpointError({ why: "refused", reason, remedy, retryable: false })

export const unreachable = (reason: string): EndpointError =>
  new EndpointError({ why: "unreachable", reason, remedy: "Check ARBE_URL and the network", retryable: true })

export const damaged = (reason: string, retryable = false): EndpointError =>
  new EndpointError({ why: "damaged", reason, remedy: CHECK_URL, retryable })

/** The error after the last of `times` attempts. */
export const afterAttempts = ({ why, status, reason, remedy, retryable }: EndpointError, times: number) =>
  new EndpointError({
    why,
    ...(status === undefined ? {} : { status }),
    reason: `${reason} (tried ${times} times)`,
    remedy,
    retryable
  })

/** From a failed connection. Includes only the system's error code, because messages of fetch may contain headers. */
export const fromTransport = (where: string, error: HttpClientError.HttpClientError): EndpointError => {
  const { cause } = error.reason
  const code = errorCode(cause) ?? errorCode(cause instanceof Error ? cause.cause : undefined)
  const suffix = code === undefined ? "" : ` (${code})`
  return error.response === undefined
    ? unreachable(`no answer from ${where}${suffix}`)
    : unreachable(`the connection to ${where} broke off in the middle of an answer${suffix}`)
}

const errorCode = (cause: unknown): string | undefined =>
  typeof cause === "object" &&
  cause !== null &&
  "code" in cause &&
  typeof cause.code === "string" &&
  /^[A-Z][A-Z0-9_]{2,40}$/.test(cause.code)
    ? cause.code
    : undefined

/** From an HTTP status that is not 2xx, and the answer's body. */
export const fromStatus = (
  where: string,
  status: number,
  body: Uint8Array,
  token: Option.Option<Redacted.Redacted>
): EndpointError => {
  const message = serverMessage(body, token)
  const suffix = message === "" ? "" : `: ${message}`
  const failure = (why: EndpointError["why"], reason: string, remedy: string, retryable = false) =>
    new EndpointError({ why, status, reason: `${reason} (HTTP ${status})${suffix}`, remedy, retryable })
  switch (status) {
    case 401:
    case 403:
      return Option.isSome(token)
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
        : failure("refused", `${where} refused the request`, CHECK_URL)
  }
}

/** The `message` of the server's error as one line of at most 200 characters; empty when there is none. */
const serverMessage = (body: Uint8Array, token: Option.Option<Redacted.Redacted>): string => {
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
