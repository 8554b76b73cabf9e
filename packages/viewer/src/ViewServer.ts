/** Serves the page and its answers over HTTP, to this machine only. Requests pass `guard`, see docs/adr/010-viewer.md. */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerError from "effect/http/HttpServerError"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as HttpApiMiddleware from "effect/http-api/HttpApiMiddleware"
import * as EntryRanges from "./EntryRanges.ts"
import * as ViewApi from "./ViewApi.ts"
import { ViewMalformed } from "./ViewError.ts"
import * as ViewPage from "./ViewPage.ts"
import { Viewer } from "./Viewer.ts"

export interface ServerOptions {
  /** Of `newToken`. */
  readonly token: string
  readonly assets: ViewPage.PageAssets
}

/** 192 random bits for a URL. */
export const newToken = (): string => randomBytes(24).toString("base64url")

/** Serves on the HttpServer of its context until its scope closes. */
export const layer = (options: ServerOptions) => {
  const page = HttpRouter.add(
    "GET",
    "/",
    HttpServerResponse.text(ViewPage.document(options.assets), { contentType: "text/html; charset=utf-8" })
  )
  const api = HttpApiBuilder.layer(ViewApi.ViewApi).pipe(Layer.provide(handlers), Layer.provide(requestCheck))
  return HttpRouter.serve(Layer.mergeAll(page, api, HttpRouter.middleware(guard(options), { global: true })), {
    disableLogger: true,
    disableListenLog: true
  })
}

const digest = (text: string): Uint8Array => createHash("sha256").update(text).digest()

/**
 * Passes requests of this server's own page, without the token in their path. Refuses other hosts (a public name can
 * resolve to 127.0.0.1), pages of other sites, wrong tokens, and bodies that are not JSON.
 */
const guard = ({ assets, token }: ServerOptions) => {
  const expected = digest(token)
  const headers = {
    "content-security-policy": ViewPage.policy(assets, true),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store"
  }
  const refuse = (status: 403 | 404, text: string) =>
    HttpServerResponse.text(`${text}\n`, { status, contentType: "text/plain; charset=utf-8" })

  return <E, R>(handle: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>) =>
    Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      if (!isOwnHost(request.headers["host"])) return refuse(403, "this server answers this machine alone")
      if (!isOwnPage(request)) return refuse(403, "another site's page asked")
      const [, given = "", rest] = /^\/([^/?]*)(\/.*)?$/su.exec(request.url) ?? []
      if (!timingSafeEqual(digest(given), expected)) {
        return refuse(403, "the address lacks the token that the command view printed")
      }
      const isJson = /^application\/json\b/iu.test(request.headers["content-type"] ?? "")
      if (request.method !== "GET" && request.method !== "HEAD" && !isJson) return refuse(403, "only JSON is taken")
      // The page asks relative to its own URL, which must end in a slash.
      if (rest === undefined) return HttpServerResponse.redirect(`/${token}/`, { status: 308 })
      return yield* handle.pipe(
        Effect.provideService(HttpServerRequest.HttpServerRequest, request.modify({ url: rest })),
        Effect.catchIf(isNotFound, () => Effect.succeed(refuse(404, "nothing is here")))
      )
    }).pipe(Effect.map(HttpServerResponse.setHeaders(headers)))
}

const isNotFound = (error: unknown): boolean =>
  HttpServerError.isHttpServerError(error) && error.reason._tag === "RouteNotFound"

/** Names of the loopback interface, with any port. */
const isOwnHost = (host: string | undefined): boolean =>
  /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?$/iu.test(host ?? "")

/** Browsers send the requesting site, other programs do not. A visit of the page may come from any site. */
const isOwnPage = ({ headers, method }: HttpServerRequest.HttpServerRequest): boolean => {
  const { host, origin } = headers
  const site = headers["sec-fetch-site"]
  const isVisit =
    method === "GET" && headers["sec-fetch-mode"] === "navigate" && headers["sec-fetch-dest"] === "document"
  return (
    (origin === undefined || origin === `http://${host}`) &&
    (site === undefined || site === "same-origin" || site === "none" || isVisit)
  )
}

const requestCheck = HttpApiMiddleware.layerSchemaErrorTransform(ViewApi.RequestCheck, (error) =>
  Effect.fail(new ViewMalformed({ message: `${error.kind.toLowerCase()}: ${error.cause.message}` }))
)

const handlers = HttpApiBuilder.group(
  ViewApi.ViewApi,
  "views",
  Effect.fnUntraced(function* (handlers) {
    const viewer = yield* Viewer
    return handlers
      .handle("home", () => viewer.home)
      .handle("sessions", () => viewer.sessions)
      .handle("summaries", ({ query }) => viewer.summaries(query.keys.split(",")))
      .handle("session", ({ params }) => viewer.session(params.key))
      .handle("branch", ({ params, query }) => viewer.branch(params.key, query.leaf, query.filter))
      .handle("entries", ({ params, query }) =>
        viewer.entries(params.key, EntryRanges.fromText(query.at), { whole: query.whole === "1" })
      )
      .handle("tree", ({ params, query }) => {
        const { all, count, filter, from } = query
        return viewer.tree(params.key, { filter, from, count, all: all === "1" })
      })
      .handle("picture", ({ params, query }) => viewer.picture(params.key, query.entry, query.picture))
      .handle("find", ({ params, query }) => viewer.find(params.key, query.id))
      .handle("end", ({ params, query }) => viewer.end(params.key, query.entry, query.leaf))
      .handle("samples", ({ params }) => viewer.samples(params.key))
      .handle("health", ({ params }) => viewer.health(params.key))
      .handle("search", ({ query }) => viewer.search(query.text, query.key))
      .handle("dataset", () => viewer.dataset)
      .handle("lines", ({ query }) => viewer.lines(query.file, query.from, query.count))
      .handle("marks", () => viewer.marks)
      .handle("mark", ({ payload }) => viewer.mark(payload))
  })
)
