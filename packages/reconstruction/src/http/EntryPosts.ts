/**
 * Sends entries to a thread server and checks what it acknowledges: the client of `ThreadSink.layerHttp`. A batch that is
 * too large, or not acknowledged in full, is sent again in halves.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { isObject, numberAt } from "@pi-sessions/core/Json"
import { parseJson } from "../internal/parseJson.ts"
import { type Appended, type EntryText } from "../thread/ThreadFile.ts"
import { type EndpointError } from "./EndpointError.ts"
import { type ThreadEndpoint } from "./ThreadEndpoint.ts"

/** The server acknowledges another number of entries than it was sent, each time. */
export class Miscounted extends Schema.TaggedError<Miscounted>()("Miscounted", { reason: Schema.String }) {
  readonly remedy = "Nothing is lost here; look at the server, and append the same entries again"
  readonly retryable = false
}

/** How often a batch is sent before it is divided. */
const SENDS = 3

/** Sends all entries, in requests of about `maxBatchBytes`. */
export const postAll = Effect.fnUntraced(function* (
  endpoint: ThreadEndpoint,
  threadId: string,
  entries: ReadonlyArray<EntryText>,
  maxBatchBytes: number
): Effect.fn.Return<Appended, EndpointError | Miscounted> {
  let appended: Appended = { accepted: 0, repeated: 0 }
  for (const batch of batches(entries, maxBatchBytes)) {
    appended = sum(appended, yield* postDivided(endpoint, threadId, batch))
  }
  return appended
})

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

/** Sends a batch; in halves when it is too large, and to find the entry that the server does not acknowledge. */
const postDivided = (
  endpoint: ThreadEndpoint,
  threadId: string,
  batch: ReadonlyArray<EntryText>
): Effect.Effect<Appended, EndpointError | Miscounted> =>
  post(endpoint, threadId, batch).pipe(
    Effect.catchIf(
      (error) => batch.length > 1 && (error._tag === "Miscounted" || error.status === 413),
      () => {
        const middle = batch.length >> 1
        return Effect.zipWith(
          postDivided(endpoint, threadId, batch.slice(0, middle)),
          Effect.suspend(() => postDivided(endpoint, threadId, batch.slice(middle))),
          sum
        )
      }
    )
  )

/** Sends a batch until the server acknowledges all of its entries, at most `SENDS` times. */
const post = Effect.fnUntraced(function* (
  endpoint: ThreadEndpoint,
  threadId: string,
  batch: ReadonlyArray<EntryText>
): Effect.fn.Return<Appended, EndpointError | Miscounted> {
  const body = Buffer.from(`{"entries":[${batch.map(({ text }) => text).join(",")}]}`, "utf8")
  let answer: Appended = { accepted: 0, repeated: 0 }
  for (let send = 1; send <= SENDS; send++) {
    answer = yield* endpoint.post(threadId, body, (bytes) => readAppended(endpoint, bytes))
    const { accepted, repeated } = answer
    if (accepted >= 0 && repeated >= 0 && accepted + repeated === batch.length) return answer
  }
  const [first] = batch
  const counts = `accepted ${answer.accepted} and repeated ${answer.repeated}`
  const sent = batch.length === 1 ? `entry ${first?.id}` : `${batch.length} entries from ${first?.id} on`
  return yield* new Miscounted({ reason: `the server was sent ${sent}, ${SENDS} times, and answered: ${counts}` })
})

const readAppended = (endpoint: ThreadEndpoint, body: Uint8Array): Effect.Effect<Appended, EndpointError> => {
  const answer = parseJson(Buffer.from(body).toString("utf8"))
  const accepted = isObject(answer) ? numberAt(answer, "accepted") : undefined
  const repeated = isObject(answer) ? numberAt(answer, "repeated") : undefined
  return accepted === undefined || repeated === undefined
    ? Effect.fail(endpoint.damaged('the answer to a POST is no {"accepted", "repeated"}', false))
    : Effect.succeed({ accepted, repeated })
}

const sum = (a: Appended, b: Appended): Appended => ({
  accepted: a.accepted + b.accepted,
  repeated: a.repeated + b.repeated
})
