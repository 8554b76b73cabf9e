/** Reads a whole thread from a thread server, page by page: the client of `ThreadSource.layerHttp`. */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { type Thread } from "../Thread.ts"
import * as ThreadReader from "../ThreadReader.ts"
import * as ThreadPage from "../thread/ThreadPage.ts"
import { type EndpointError } from "./EndpointError.ts"
import { type EndpointOptions } from "./EndpointSettings.ts"
import { type ThreadEndpoint } from "./ThreadEndpoint.ts"
import * as Endpoint from "./ThreadEndpoint.ts"

export interface PagesOptions extends EndpointOptions {
  /** Entries per request. Default: 1000. */
  readonly limit?: number | undefined
}

/**
 * A function that reads a thread by its id. Invalid settings fail its calls, not `make`, so that programs which read no
 * thread can start.
 */
export const make = (options: PagesOptions) =>
  Effect.map(
    Effect.result(Endpoint.make(options)),
    (endpoint) =>
      (threadId: string): Effect.Effect<Thread, EndpointError> =>
        Effect.flatMap(Effect.fromResult(endpoint), (endpoint) => readPages(endpoint, threadId, options.limit ?? 1000))
  )

/** Repeated delivery does not explain more pages in a row without new entries. */
const PAGES_WITHOUT_NEWS = 10

interface Page {
  /** The entries as JSONL. */
  readonly lines: Uint8Array
  readonly next: string | null
}

const readPages = Effect.fnUntraced(function* (
  endpoint: ThreadEndpoint,
  threadId: string,
  limit: number
): Effect.fn.Return<Thread, EndpointError> {
  const pieces = new ThreadReader.ThreadPieces(threadId)
  const cursors = new Set<string>()
  let after: string | undefined
  let withoutNews = 0
  for (;;) {
    const page: Page = yield* endpoint.get(threadId, { after, limit }, (body) => readPage(endpoint, body))
    const before = pieces.entries
    pieces.push(page.lines)
    if (page.next === null) return pieces.end()
    withoutNews = pieces.entries > before ? 0 : withoutNews + 1
    if (cursors.has(page.next)) {
      return yield* endpoint.damaged(`its pages never end: cursor ${JSON.stringify(page.next)} came again`, false)
    }
    if (withoutNews >= PAGES_WITHOUT_NEWS) {
      return yield* endpoint.damaged(`its pages never end: ${withoutNews} in a row brought nothing new`, false)
    }
    cursors.add(page.next)
    after = page.next
  }
})

const readPage = (endpoint: ThreadEndpoint, body: Uint8Array): Effect.Effect<Page, EndpointError> => {
  const page = ThreadPage.take(body)
  if (Result.isFailure(page)) {
    const { reason, truncated } = page.failure
    return Effect.fail(endpoint.damaged(`the answer is no page of entries: ${reason}`, truncated))
  }
  const next = page.success.frame["next"]
  if (next !== null && typeof next !== "string") {
    return Effect.fail(endpoint.damaged("the answer is no page of entries: next is neither a cursor nor null", false))
  }
  return Effect.succeed({ lines: ThreadPage.lines(page.success), next })
}
