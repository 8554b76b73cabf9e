/** Answers requests without an endpoint with errors in JSON, because the router's own 404 is empty. */
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"

/** Longest thread id in a path, in characters after decoding. Node limits all headers to 16 KiB. */
export const MAX_NAME = 16 * 1024

/** Rejects all but `GET` and `POST /threads/{id}/entries`, and ids that are not UTF-8. */
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

/** Whether a path segment is ASCII, and UTF-8 after decoding its escapes. */
const isUtf8 = (part: string): boolean => {
  try {
    return /^[\x21-\x7e]+$/.test(part) && decodeURIComponent(part).isWellFormed()
  } catch {
    return false
  }
}
