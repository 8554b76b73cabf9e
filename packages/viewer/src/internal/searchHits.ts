/**
 * A search as the page asks for it. What is found is found in texts as they are; what is shown of it is looked for again
 * in the redacted text, so that no secret is shown and none can be guessed at letter by letter.
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { type CatalogSession } from "@pi-sessions/catalog/CatalogSession"
import { type SearchHit } from "@pi-sessions/catalog/SearchHit"
import * as SearchPattern from "@pi-sessions/catalog/SearchPattern"
import { textsOf } from "@pi-sessions/catalog/SearchScope"
import { SessionSearch } from "@pi-sessions/catalog/SessionSearch"
import { type Hit, type Hits } from "../ViewModel.ts"
import { type ViewedSession } from "./ViewedSession.ts"

/** Characters on each side of what was found. */
const AROUND = 80

interface FindOptions {
  readonly most: number
  readonly keyOf: (session: CatalogSession) => string
}

type Use<E> = (
  session: CatalogSession,
  use: (session: ViewedSession) => ReadonlyArray<Hit>
) => Effect.Effect<ReadonlyArray<Hit>, E>

export const findIn = Effect.fnUntraced(function* <E>(
  sessions: ReadonlyArray<CatalogSession>,
  text: string,
  { keyOf, most }: FindOptions,
  using: Use<E>
) {
  const pattern = yield* Effect.fromResult(SearchPattern.make(text))
  const search = yield* SessionSearch
  const found = yield* Stream.runCollect(
    search.search({ sessions, pattern, scope: "all", positions: false, limit: most + 1 })
  )
  const hits: Array<Hit> = []
  for (const [session, ofSession] of Map.groupBy(found.slice(0, most), (hit) => hit.session)) {
    const shown = using(session, (viewed) => ofSession.flatMap((hit) => shownHit(hit, keyOf(session), viewed, pattern)))
    // One that cannot be read any more is as one without hits.
    hits.push(...(yield* Effect.orElseSucceed(shown, () => [])))
  }
  return { hits, isWhole: found.length <= most } satisfies Hits
})

const shownHit = (
  hit: SearchHit,
  key: string,
  { tree }: ViewedSession,
  pattern: SearchPattern.SearchPattern
): ReadonlyArray<Hit> => {
  const { entryId, kind } = hit
  const entry = entryId === null ? undefined : tree.getEntry(entryId)
  // The entry's own: what a search tells is as it stands in the file.
  const time = entry?.timestamp
  const common = { key, entryId, kind, ...(time === undefined ? {} : { time }) }
  if (entry === undefined) return [{ ...common, before: "", found: "", after: "" }]
  for (const { kind: of, text } of textsOf("all", entry)) {
    const [match] = of === kind ? pattern.find(text) : []
    if (match === undefined) continue
    const before = text.slice(Math.max(0, match.start - AROUND), match.start)
    return [
      {
        ...common,
        before: before.slice(before.lastIndexOf("\n") + 1),
        found: text.slice(match.start, match.end),
        after: (text.slice(match.end, match.end + AROUND).split("\n")[0] ?? "").trimEnd()
      }
    ]
  }
  return []
}
