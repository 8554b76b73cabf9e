/**
 * Searches sessions, wherever they are stored (docs/adr/004-discovery-and-search.md).
 *
 * Order: the session that changed last comes first; within a session, the entry that was appended last. Hits are
 * streamed: a session is read when its hits are requested, so a limit stops the reading. An entry has a hit for each
 * matching text. Entries that forks share are reported once, in the original, with the names of the forks.
 *
 * Files that cannot be read are reported as notes. A file that changes meanwhile is searched as far as it was read. In
 * damaged lines, entries that the reader recovers are searched.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { SessionSource } from "@pi-sessions/session-file/SessionSource"
import type { CatalogSession } from "./CatalogSession.ts"
import { SearchFiles } from "./SearchFiles.ts"
import type { SearchHit } from "./SearchHit.ts"
import type { SearchQuery } from "./SearchQuery.ts"
import { forkFamilies } from "./internal/search/forkFamilies.ts"
import { searchFamily } from "./internal/search/searchFamily.ts"
import { searchSession } from "./internal/search/searchSession.ts"
import { isSelected } from "./internal/search/selectSession.ts"
import { type Readers } from "./internal/search/sessionReading.ts"
import { PieceMemory } from "./internal/search/wholeLines.ts"

export class SessionSearch extends Context.Service<
  SessionSearch,
  {
    /** Can be interrupted between two pieces of a file. */
    readonly search: (query: SearchQuery) => Stream.Stream<SearchHit>
  }
>()("@pi-sessions/catalog/SessionSearch") {
  static readonly layer = Layer.effect(
    SessionSearch,
    Effect.suspend(() => make)
  )
}

const make = Effect.gen(function* () {
  const readers = { files: yield* SearchFiles, source: yield* SessionSource, memories: new PieceMemory() }
  return SessionSearch.of({ search: (query) => Stream.suspend(() => hitsOf(readers, query)) })
})

const hitsOf = (readers: Readers, query: SearchQuery): Stream.Stream<SearchHit> => {
  const { limit, onProgress, sessions } = query
  const families = forkFamilies(sessions)
  /** Hits of family members whose turn has not come. */
  const pending = new Map<CatalogSession, ReadonlyArray<SearchHit>>()
  let done = 0
  const sessionHits = Effect.fnUntraced(function* (session: CatalogSession) {
    const family = families.get(session)
    if (family === undefined) {
      if (yield* isSelected(readers.source, query, session))
        pending.set(session, yield* searchSession(readers, query, session, false))
    } else if (!pending.has(session)) {
      for (const [member, hits] of yield* searchFamily(readers, query, family)) pending.set(member, hits)
    }
    const hits = pending.get(session) ?? []
    pending.delete(session)
    if (onProgress !== undefined) yield* onProgress(++done, sessions.length)
    return hits
  })
  const hits = Stream.fromIterable(newestFirst(sessions), { chunkSize: 1 }).pipe(
    Stream.mapEffect(sessionHits),
    Stream.flatMap((found) => Stream.fromIterable(found))
  )
  return limit === undefined ? hits : Stream.take(hits, limit)
}

const newestFirst = (sessions: ReadonlyArray<CatalogSession>): ReadonlyArray<CatalogSession> =>
  sessions.toSorted((a, b) => b.modifiedMs - a.modifiedMs || (a.path < b.path ? -1 : 1))
