/**
 * Search for the page. The search reads the original texts; each hit is then searched again in the redacted text, so that no
 * secret is shown, and none can be guessed letter by letter.
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { type CatalogSession } from "@pi-sessions/catalog/CatalogSession"
import { type SearchHit } from "@pi-sessions/catalog/SearchHit"
import * as SearchPattern from "@pi-sessions/catalog/SearchPattern"
import { textsOf } from "@pi-sessions/catalog/SearchScope"
import { SessionSearch } from "@pi-sessions/catalog/SessionSearch"
import { keyOf } from "../SessionKey.ts"
import { AROUND_HIT, MOST_HITS } from "../ViewLimits.ts"
import { type Hit, type Hits } from "../ViewModel.ts"
import { type OpenSessions } from "./OpenSessions.ts"
import { type ViewedSession } from "./ViewedSession.ts"

export const searchHits = Effect.fnUntraced(function* (
  open: OpenSessions,
  sessions: ReadonlyArray<CatalogSession>,
  text: string
) {
  const pattern = yield* Effect.fromResult(SearchPattern.make(text))
  const search = yield* SessionSearch
  const found = yield* Stream.runCollect(
    search.search({ sessions, pattern, scope: "all", positions: false, limit: MOST_HITS + 1 })
  )
  const hits: Array<Hit> = []
  for (const [session, ofSession] of Map.groupBy(found.slice(0, MOST_HITS), (hit) => hit.session)) {
    const key = keyOf(session.path)
    const shown = open.use(key, (viewed) => ofSession.flatMap((hit) => shownHit(hit, key, viewed, pattern)))
    // A session that has become unreadable has no hits.
    hits.push(...(yield* Effect.orElseSucceed(shown, () => [])))
  }
  return { hits, isWhole: found.length <= MOST_HITS } satisfies Hits
})

const shownHit = (
  hit: SearchHit,
  key: string,
  { tree }: ViewedSession,
  pattern: SearchPattern.SearchPattern
): ReadonlyArray<Hit> => {
  const { entryId, kind } = hit
  const entry = entryId === null ? undefined : tree.getEntry(entryId)
  // Not the hit's own time, which is not redacted.
  const time = entry?.timestamp
  const common = { key, entryId, kind, ...(time === undefined ? {} : { time }) }
  if (entry === undefined) return [{ ...common, before: "", found: "", after: "" }]
  for (const { kind: of, text } of textsOf("all", entry)) {
    const [match] = of === kind ? pattern.find(text) : []
    if (match === undefined) continue
    const before = text.slice(Math.max(0, match.start - AROUND_HIT), match.start)
    return [
      {
        ...common,
        before: before.slice(before.lastIndexOf("\n") + 1),
        found: text.slice(match.start, match.end),
        after: (text.slice(match.end, match.end + AROUND_HIT).split("\n")[0] ?? "").trimEnd()
      }
    ]
  }
  return []
}
