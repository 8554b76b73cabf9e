/**
 * The HTTP contract of thread servers: two endpoints, as an HttpApi. `pnpm run openapi` in this package generates
 * docs/openapi.json from it.
 *
 * An entry is any JSON object with a string `id` and a string `type`. Servers store it and return it unchanged, with
 * unknown types and fields.
 */
import * as Schema from "effect/Schema"
import * as HttpApi from "effect/http-api/HttpApi"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiMiddleware from "effect/http-api/HttpApiMiddleware"
import * as HttpApiSecurity from "effect/http-api/HttpApiSecurity"
import * as OpenApi from "effect/http-api/OpenApi"

/** Entries on a page when the request has no `limit`. */
export const DEFAULT_LIMIT = 1000

/** An object that may have further fields. */
const open = <const Fields extends Schema.Struct.Fields>(fields: Fields) =>
  Schema.StructWithRest(Schema.Struct(fields), [Schema.Record(Schema.String, Schema.Unknown)])

export const Entry = open({
  id: Schema.NonEmptyString.annotate({ description: "Unique in the thread; an entry that comes again is not stored" }),
  type: Schema.String.annotate({ description: "chat, pi.assistant, ... (docs/thread.md); any other is kept too" })
}).annotate({ identifier: "Entry", description: "A thread entry: kept and given back as it came" })

export const Page = open({
  entries: Schema.Array(Entry).annotate({ description: "In thread order; at most `limit`, and often fewer" }),
  next: Schema.NullOr(Schema.String).annotate({
    description:
      "The cursor to pass as `after` for the page that follows, or null when there is no more now. Opaque. To look " +
      "again later, repeat the request whose answer said null: it gives the same entries and what has come since"
  })
}).annotate({ identifier: "Page" })

export const Batch = open({
  entries: Schema.Array(Entry).annotate({ description: "Appended in this order; the first one makes the thread" })
}).annotate({ identifier: "Batch" })

export const Appended = open({
  accepted: Schema.Int.annotate({ description: "How many entries were new and are stored, safe from a crash" }),
  repeated: Schema.Int.annotate({ description: "How many had an id that the thread holds; the first one stays" })
}).annotate({ identifier: "Appended" })

/** The request has no valid bearer token. */
export class Unauthorized extends Schema.TaggedError<Unauthorized>()(
  "Unauthorized",
  { message: Schema.String },
  { httpApiStatus: 401 }
) {}

/** Nothing was ever appended under this id. A thread exists from its first entry on. */
export class ThreadNotFound extends Schema.TaggedError<ThreadNotFound>()(
  "ThreadNotFound",
  { message: Schema.String },
  { httpApiStatus: 404 }
) {}

/** The request breaks the contract; nothing was stored. */
export class Malformed extends Schema.TaggedError<Malformed>()(
  "Malformed",
  { message: Schema.String },
  { httpApiStatus: 400 }
) {}

/** The request's body is too large for the server; nothing was stored. */
export class TooLarge extends Schema.TaggedError<TooLarge>()(
  "TooLarge",
  { message: Schema.String },
  { httpApiStatus: 413 }
) {}

/** The server cannot read or write its threads now, for example on a full disk. Retrying later may help. */
export class Unavailable extends Schema.TaggedError<Unavailable>()(
  "Unavailable",
  { message: Schema.String },
  { httpApiStatus: 503 }
) {}

/** Clients with the token may read and write all threads. */
export class Authorization extends HttpApiMiddleware.Service<Authorization>()(
  "@pi-sessions/reconstruction/ThreadApi/Authorization",
  { error: Unauthorized, security: { bearer: HttpApiSecurity.bearer } }
) {}

/** Answers a path or query that does not fit the contract with `Malformed`. */
export class RequestCheck extends HttpApiMiddleware.Service<RequestCheck>()(
  "@pi-sessions/reconstruction/ThreadApi/RequestCheck",
  { error: Malformed }
) {}

const ThreadPath = { id: Schema.NonEmptyString.annotate({ description: "The thread's id" }) }

const Threads = HttpApiGroup.make("threads")
  .add(
    HttpApiEndpoint.get("read", "/threads/:id/entries", {
      params: ThreadPath,
      query: {
        after: Schema.optionalKey(
          Schema.String.annotate({ description: "The `next` of the page before; without it, the first page" })
        ),
        limit: Schema.optionalKey(
          // As a string: a number in a query would need another schema in the document.
          Schema.String.annotate({
            description: `How many entries at the most, from 1; ${DEFAULT_LIMIT} by default`
          }).check(Schema.isPattern(/^[1-9][0-9]{0,8}$/))
        )
      },
      success: Page,
      error: [ThreadNotFound, Unavailable]
    }).annotateMerge(
      OpenApi.annotations({
        title: "Read a thread",
        description:
          "A page of a thread's entries, in the order in which they were stored. Following `next` gives each entry once, " +
          "also while others are appended. A thread that does not exist is 404, with `after` too"
      })
    ),
    HttpApiEndpoint.post("append", "/threads/:id/entries", {
      params: ThreadPath,
      payload: Batch,
      success: Appended,
      error: [TooLarge, Unavailable]
    }).annotateMerge(
      OpenApi.annotations({
        title: "Append to a thread",
        description:
          "Appends a batch of entries: all of it or nothing. Idempotent by entry id, so a batch whose answer was lost is " +
          "sent again. An empty batch makes no thread"
      })
    )
  )
  .middleware(RequestCheck)
  .middleware(Authorization)

export const ThreadApi = HttpApi.make("threads")
  .add(Threads)
  .annotateMerge(
    OpenApi.annotations({
      title: "Threads",
      version: "1",
      description:
        "The smallest contract for keeping arbe threads: read a thread's entries page by page, append entries at least " +
        "once. `pi-sessions-thread-server` implements it."
    })
  )
