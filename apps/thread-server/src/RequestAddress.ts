/** Requests that no endpoint answers get an error in JSON, as the contract has it; a router's own 404 is empty. */
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"

/** Longest name of a thread that is routed, decoded. Node refuses headers of more than 16 KiB in all. */
export const MAX_NAME = 16 * 1024

/** Refuses what is not `GET` or `POST /threads/{id}/entries`, and ids that are no UTF-8. */
export const layer = HttpRouter.middleware(
  (app) =>
    Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ method, url }) => {
      const refusal = refusalOf(method, url)
      return refusal === undefined ? app : Effect.succeed(refusal)
    }),
  { global: true }
)

const refusalOf = (method: string, url: string): HttpServerResponse.HttpServerResponse | undefined => {
  const id = /^\/threads\/([^/?#]+)\/entries\/?(?:[?#]|$)/.exec(url)?.[1]
  if (id === undefined) {
    return refused(404, "ThreadNotFound", "no such path; threads are at /threads/{id}/entries")
  }
  if (!isUtf8(id)) {
    const message = "the thread's id in the path is not UTF-8, percent-encoded; encode it as encodeURIComponent does"
    return refused(400, "Malformed", message)
  }
  if (!["GET", "HEAD", "POST"].includes(method)) {
    return refused(405, "Malformed", `${method} is no method of /threads/{id}/entries; use GET or POST`)
  }
  return undefined
}

const refused = (status: number, _tag: string, message: string) =>
  HttpServerResponse.jsonUnsafe({ _tag, message }, { status })

/** Whether a part of a path is ASCII, and UTF-8 when its escapes are decoded. */
const isUtf8 = (part: string): boolean => {
  try {
    return /^[\x21-\x7e]+$/.test(part) && decodeURIComponent(part).isWellFormed()
  } catch {
    return false
  }
}
