/** Searches one session. */
import * as Effect from "effect/Effect"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import * as EngineLimit from "@pi-sessions/session-file/EngineLimit"
import type { CatalogSession } from "../../CatalogSession.ts"
import type { SearchHit } from "../../SearchHit.ts"
import type { SearchPattern } from "../../SearchPattern.ts"
import type { SearchQuery } from "../../SearchQuery.ts"
import { type SearchScope, admits, requiredText } from "../../SearchScope.ts"
import { isModel } from "./BranchMap.ts"
import { entryHits } from "./entryHits.ts"
import { type Needle, needleOf } from "./needle.ts"
import { type Readers, branchesOf, forEachCandidate } from "./sessionReading.ts"
import { type OnLongLine } from "./wholeLines.ts"

/** The hits of one session, newest first. `hasFamily`: whether the caller drops hits that forks share. */
export const searchSession = Effect.fnUntraced(function* (
  readers: Readers,
  query: SearchQuery,
  session: CatalogSession,
  hasFamily: boolean
) {
  const { filter = {}, limit = Infinity, positions = true } = query
  const byModel = filter.models !== undefined && filter.models.length > 0
  // A limit would drop hits before others are filtered out.
  const hits = yield* matchesIn(readers, query, session, hasFamily || byModel ? Infinity : limit)
  if (hits.length === 0 || !(positions || byModel)) return hits
  const map = yield* branchesOf(readers, session, byModel).pipe(
    EngineLimit.named(session.path),
    Effect.catch((error) => Effect.as(noting(query, session)(error.reason), undefined))
  )
  if (map === undefined) return byModel ? [] : hits
  return hits
    .filter((hit) => !byModel || filter.models.some((wanted) => isModel(wanted, map.modelAt(hit.byteOffset))))
    .map((hit) => ({
      ...hit,
      entryId: map.givenIdAt(hit.byteOffset) ?? hit.entryId,
      position: map.positionAt(hit.byteOffset)
    }))
})

/** The hits without positions, newest first, of at least the last `kept` entries with hits. */
const matchesIn = Effect.fnUntraced(function* (
  readers: Readers,
  query: SearchQuery,
  session: CatalogSession,
  kept: number
) {
  const { pattern, scope = "prompts" } = query
  const note = noting(query, session)
  const entries: Array<ReadonlyArray<SearchHit>> = []
  const tooLong: Array<string> = []
  const onLongLine: OnLongLine = (byteOffset, bytes) => {
    tooLong.push(`the line at byte ${byteOffset} was not searched: it has ${bytes} bytes, which is too long`)
  }
  const onEntry = (entry: SessionEntry, byteOffset: number): void => {
    if (!admits(scope, entry)) return
    const hits = entryHits(query, session, entry, byteOffset)
    if (hits.length === 0) return
    entries.push(hits)
    if (entries.length >= 2 * kept + 64) entries.splice(0, entries.length - kept)
  }
  yield* forEachCandidate(readers, session, needlesOf(pattern, scope), onEntry, onLongLine).pipe(
    EngineLimit.named(session.path),
    Effect.catch((error) => note(error.reason))
  )
  for (const reason of tooLong) yield* note(reason)
  return entries.reverse().flat()
})

/** Needles of every line with a match. The pattern's comes first, because it is rarer than the scope's. */
const needlesOf = ({ needle }: SearchPattern, scope: SearchScope): ReadonlyArray<Needle> => {
  const required = requiredText(scope)
  return [needle, required === undefined ? undefined : needleOf([required], false)].filter((one) => one !== undefined)
}

/** Reports why a session was not searched. */
export const noting =
  ({ onNote }: Pick<SearchQuery, "onNote">, { path }: CatalogSession) =>
  (reason: string): Effect.Effect<void> =>
    onNote === undefined ? Effect.void : onNote({ path, reason })
