/** Searches forks of one session together, so that hits in copied entries are reported once. */
import * as Effect from "effect/Effect"
import type { CatalogSession } from "../../CatalogSession.ts"
import type { ForkCopy, SearchHit } from "../../SearchHit.ts"
import type { SearchQuery } from "../../SearchQuery.ts"
import { type ForkFamily } from "./forkFamilies.ts"
import { searchSession } from "./searchSession.ts"
import { isSelected } from "./selectSession.ts"
import { type Readers } from "./sessionReading.ts"

/** The hits of each member of a family. A hit in a copied entry belongs to the original and names the forks. */
export const searchFamily = Effect.fnUntraced(function* (readers: Readers, query: SearchQuery, family: ForkFamily) {
  const first = new Map<string, { readonly hit: SearchHit; readonly forks: Array<ForkCopy> }>()
  const hits = new Map<CatalogSession, Array<SearchHit>>()
  for (const session of family) {
    const own: Array<SearchHit> = []
    hits.set(session, own)
    if (!(yield* isSelected(readers.source, query, session))) continue
    const copies = new Set<string>()
    for (const hit of yield* searchSession(readers, query, session, true)) {
      const key = keyOf(hit)
      const original = key === undefined ? undefined : first.get(key)
      if (key !== undefined && original !== undefined && original.hit.session !== session) {
        if (!copies.has(key)) original.forks.push({ id: session.id, path: session.path })
        copies.add(key)
        continue
      }
      const forks: Array<ForkCopy> = []
      const shared = { ...hit, forks }
      own.push(shared)
      if (key !== undefined && original === undefined) first.set(key, { hit: shared, forks })
    }
  }
  return hits
})

/** Equal for hits in copies of an entry; undefined for an entry without an id. */
const keyOf = ({ entryId, kind, lines, matches, timestamp, tool }: SearchHit): string | undefined =>
  entryId === null ? undefined : JSON.stringify([entryId, timestamp, kind, tool, matches, lines])
