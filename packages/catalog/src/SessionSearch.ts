/**
 * Search in sessions, wherever they are stored (seed 003).
 *
 * Order: sessions by the time they were last changed, newest first; in a session the entry that was appended last comes
 * first. It streams: hits of a session are given when that session has been read, and a session is read when somebody asks
 * for more, so that a limit stops the reading. An entry with several texts that match gives a hit for each.
 *
 * A fork holds copies of its original's entries. A hit that both have is given once, at the original's place, and names
 * the forks; for that, a session is read together with its forks.
 *
 * A file that cannot be read is a note and not a failure. One that grows or shrinks meanwhile is searched as far as it was
 * read. Damaged lines are searched as far as the reader recovers entries from them.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as EntryTime from "@pi-sessions/core/EntryTime"
import * as GasTown from "@pi-sessions/core/GasTown"
import { SessionEntry } from "@pi-sessions/core/SessionLine"
import { SessionReader } from "@pi-sessions/core/SessionReader"
import * as EngineLimit from "@pi-sessions/session-file/EngineLimit"
import { type SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import { SessionSource } from "@pi-sessions/session-file/SessionSource"
import type { CatalogSession } from "./CatalogSession.ts"
import { SearchFiles } from "./SearchFiles.ts"
import type { ForkCopy, SearchHit } from "./SearchHit.ts"
import type { SearchPattern } from "./SearchPattern.ts"
import { type SearchScope, type SearchableText, admits, requiredText, textsOf } from "./SearchScope.ts"
import * as SessionRole from "./SessionRole.ts"
import { isWithin } from "./WorkingDirectory.ts"
import { BranchMap, isModel } from "./internal/search/BranchMap.ts"
import { EntryFinder } from "./internal/search/EntryFinder.ts"
import { type ForkFamily, forkFamilies } from "./internal/search/forkFamilies.ts"
import { type ContextLines, hitLines } from "./internal/search/hitLines.ts"
import { type Needle, needleOf } from "./internal/search/needle.ts"
import { type OnLongLine, type Piece, PieceMemory, forEachPiece } from "./internal/search/wholeLines.ts"

/** Which sessions and entries count. What is given several times takes what one of them takes. */
export interface SearchFilter {
  /** Selectors of `GasTown.matchesRig`. */
  readonly rigs?: ReadonlyArray<string>
  readonly includeDogs?: boolean
  readonly roles?: ReadonlyArray<GasTown.Role>
  /** The town's root directory, where paths do not show it. */
  readonly town?: string
  /** Sessions of these working directories and of those below them. */
  readonly cwd?: ReadonlyArray<string>
  /** A model's name, or `provider/model`: what it wrote, and what was written while it was chosen. */
  readonly models?: ReadonlyArray<string>
  /** Calls and results of these tools. */
  readonly tools?: ReadonlyArray<string>
  /** Unix time in milliseconds, the first that counts. An entry without a time is in no span of time. */
  readonly sinceMs?: number
  /** The first that does not count any more. */
  readonly untilMs?: number
}

/** A session that could not be searched, or only up to some byte. */
export interface SearchNote {
  readonly path: string
  readonly reason: string
}

export interface SearchQuery {
  /** From `SessionCatalog.list({ useIndex: false })`: the index does not know which session is a fork. */
  readonly sessions: ReadonlyArray<CatalogSession>
  readonly pattern: SearchPattern
  /** `prompts` unless told. */
  readonly scope?: SearchScope
  readonly filter?: SearchFilter
  /** Lines around a match; none unless told. */
  readonly context?: ContextLines
  /** Whether hits tell where they stand in the tree, for which a session with hits is read whole; they do unless told. */
  readonly positions?: boolean
  /** No more hits than that. */
  readonly limit?: number
  readonly onNote?: (note: SearchNote) => Effect.Effect<void>
  /** How many of the sessions have been searched. */
  readonly onProgress?: (done: number, total: number) => Effect.Effect<void>
}

export class SessionSearch extends Context.Service<
  SessionSearch,
  {
    /** Interrupted between two pieces of a file. */
    readonly search: (query: SearchQuery) => Stream.Stream<SearchHit>
  }
>()("@pi-sessions/catalog/SessionSearch") {
  static readonly layer = Layer.effect(
    SessionSearch,
    Effect.suspend(() => make)
  )
}

const make = Effect.gen(function* () {
  const files = yield* SearchFiles
  const source = yield* SessionSource
  const memories = new PieceMemory()

  const pieces = (session: CatalogSession, look: (piece: Piece) => void, passOver?: OnLongLine) =>
    forEachPiece(files, session.path, memories, look, passOver)

  /** Every entry of the session that may match, in file order. */
  const candidates = (
    session: CatalogSession,
    needles: ReadonlyArray<Needle>,
    onEntry: (entry: SessionEntry, byteOffset: number) => void,
    passOver: OnLongLine
  ): Effect.Effect<void, SessionFileError> => {
    if (session.format === "jsonl") {
      const finder = new EntryFinder(needles, onEntry)
      return pieces(session, (piece) => finder.push(piece), passOver)
    }
    return Stream.runForEachArray(source.lines(session), (lines) =>
      Effect.sync(() => {
        for (const line of lines) if (line instanceof SessionEntry) onEntry(line, line.byteOffset)
      })
    )
  }

  const mapBranches = (session: CatalogSession, withModels: boolean): Effect.Effect<BranchMap, SessionFileError> => {
    const map = new BranchMap(withModels)
    if (session.format !== "jsonl") {
      return Effect.as(
        Stream.runForEachArray(source.lines(session), (lines) =>
          Effect.sync(() => lines.forEach((line) => map.push(line)))
        ),
        map
      )
    }
    const reader = new SessionReader()
    let read = 0
    return Effect.as(
      pieces(session, ({ end, fileOffset, memory }) => {
        const moved = fileOffset - read
        read += end
        for (const line of reader.push(memory.bytes.subarray(0, end))) map.push(line, moved)
        if (memory.bytes[end - 1] !== NEWLINE) for (const line of reader.end()) map.push(line, moved)
      }),
      map
    )
  }

  /** The hits of one session, newest first, as if it had no forks. */
  const searchOne = Effect.fnUntraced(function* (query: SearchQuery, session: CatalogSession, hasFamily: boolean) {
    const { filter = {}, limit = Infinity, pattern, positions = true, scope = "prompts" } = query
    const note = noting(query, session)
    const byModel = filter.models !== undefined && filter.models.length > 0
    // Hits that are dropped afterwards would take the place of others.
    const kept = hasFamily || byModel ? Infinity : limit
    const entries: Array<ReadonlyArray<SearchHit>> = []
    const tooLong: Array<string> = []
    const passOver: OnLongLine = (byteOffset, bytes) => {
      tooLong.push(`the line at byte ${byteOffset} was not searched: it has ${bytes} bytes, which is too long`)
    }
    const onEntry = (entry: SessionEntry, byteOffset: number): void => {
      if (!admits(scope, entry)) return
      const hits = hitsIn(query, session, entry, byteOffset)
      if (hits.length === 0) return
      entries.push(hits)
      if (entries.length >= 2 * kept + 64) entries.splice(0, entries.length - kept)
    }
    yield* candidates(session, needlesOf(pattern, scope), onEntry, passOver).pipe(
      EngineLimit.named(session.path),
      Effect.catch((error) => note(error.reason))
    )
    for (const reason of tooLong) yield* note(reason)
    const hits = entries.reverse().flat()
    if (hits.length === 0 || !(positions || byModel)) return hits
    const map = yield* mapBranches(session, byModel).pipe(
      EngineLimit.named(session.path),
      Effect.catch((error) => Effect.as(note(error.reason), undefined))
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

  /** The hits of sessions that were forked from one another, each once. */
  const searchFamily = Effect.fnUntraced(function* (query: SearchQuery, family: ForkFamily) {
    const first = new Map<string, { readonly hit: SearchHit; readonly forks: Array<ForkCopy> }>()
    const hits = new Map<CatalogSession, Array<SearchHit>>()
    for (const session of family) {
      const own: Array<SearchHit> = []
      hits.set(session, own)
      if (!(yield* isSelected(query, session))) continue
      const copies = new Set<string>()
      for (const hit of yield* searchOne(query, session, true)) {
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

  /** Whether the filters of sessions take this one. */
  const isSelected = Effect.fnUntraced(function* ({ filter = {}, ...query }: SearchQuery, session: CatalogSession) {
    const { cwd = [], includeDogs = false, rigs = [], roles = [], town } = filter
    if (cwd.length > 0 && !cwd.some((directory) => isWithin(session.cwd, directory))) return false
    if (rigs.length === 0 && roles.length === 0) return true
    const opening = new SessionRole.Opening()
    const read = source.lines(session).pipe(
      Stream.runForEachWhile((line) =>
        Effect.sync(() => {
          opening.push(line)
          return !opening.complete
        })
      ),
      Effect.as(true),
      Effect.catch((error) => Effect.as(noting(query, session)(error.reason), false))
    )
    if (!(yield* read)) return false
    const agent = SessionRole.detect(opening, { path: session.path, ...(town === undefined ? {} : { town }) })
    return (
      (rigs.length === 0 || rigs.some((rig) => GasTown.matchesRig(agent, rig, { includeDogs }))) &&
      (roles.length === 0 || roles.includes(agent.role))
    )
  })

  const search = (query: SearchQuery): Stream.Stream<SearchHit> =>
    Stream.suspend(() => {
      const { limit, onProgress, sessions } = query
      const families = forkFamilies(sessions)
      const waiting = new Map<CatalogSession, ReadonlyArray<SearchHit>>()
      let done = 0
      const hitsOf = Effect.fnUntraced(function* (session: CatalogSession) {
        const family = families.get(session)
        if (family === undefined) {
          if (yield* isSelected(query, session)) waiting.set(session, yield* searchOne(query, session, false))
        } else if (!waiting.has(session)) {
          for (const [member, hits] of yield* searchFamily(query, family)) waiting.set(member, hits)
        }
        const hits = waiting.get(session) ?? []
        waiting.delete(session)
        if (onProgress !== undefined) yield* onProgress(++done, sessions.length)
        return hits
      })
      const hits = Stream.fromIterable(newestFirst(sessions), { chunkSize: 1 }).pipe(
        Stream.mapEffect(hitsOf),
        Stream.flatMap((found) => Stream.fromIterable(found))
      )
      return limit === undefined ? hits : Stream.take(hits, limit)
    })

  return SessionSearch.of({ search })
})

const NEWLINE = 0x0a

const noting =
  ({ onNote }: Pick<SearchQuery, "onNote">, { path }: CatalogSession) =>
  (reason: string): Effect.Effect<void> =>
    onNote === undefined ? Effect.void : onNote({ path, reason })

/** What a line must hold for an entry with a match; the pattern's is the rarer. */
const needlesOf = ({ needle }: SearchPattern, scope: SearchScope): ReadonlyArray<Needle> => {
  const required = requiredText(scope)
  return [needle, required === undefined ? undefined : needleOf([required], false)].filter((one) => one !== undefined)
}

const newestFirst = (sessions: ReadonlyArray<CatalogSession>): ReadonlyArray<CatalogSession> =>
  sessions.toSorted((a, b) => b.modifiedMs - a.modifiedMs || (a.path < b.path ? -1 : 1))

const hitsIn = (
  { context, filter = {}, pattern, scope = "prompts" }: SearchQuery,
  session: CatalogSession,
  entry: SessionEntry,
  byteOffset: number
): ReadonlyArray<SearchHit> => {
  const hits: Array<SearchHit> = []
  let timestamp: string | undefined
  for (const text of textsOf(scope, entry)) {
    if (!isOfTools(text, filter.tools ?? [])) continue
    const matches = pattern.find(text.text)
    if (matches.length === 0) continue
    timestamp ??= EntryTime.of(entry)
    if (!isInTime(timestamp, filter)) return []
    hits.push({
      session,
      entryId: entry.id,
      timestamp,
      type: entry.type,
      role: entry.role,
      kind: text.kind,
      tool: text.tool,
      byteOffset,
      position: undefined,
      matches,
      lines: hitLines(text.text, matches, context ?? { before: 0, after: 0 }),
      forks: []
    })
  }
  return hits
}

const isOfTools = ({ tool }: SearchableText, tools: ReadonlyArray<string>): boolean =>
  tools.length === 0 || (tool !== undefined && tools.includes(tool))

const isInTime = (
  timestamp: string | undefined,
  { sinceMs = -Infinity, untilMs = Infinity }: SearchFilter
): boolean => {
  if (sinceMs === -Infinity && untilMs === Infinity) return true
  const ms = Date.parse(timestamp ?? "")
  return ms >= sinceMs && ms < untilMs
}

/** What a copy of the hit's entry has in common with it; undefined for an entry that has no id to be known by. */
const keyOf = ({ entryId, kind, lines, matches, timestamp, tool }: SearchHit): string | undefined =>
  entryId === null ? undefined : JSON.stringify([entryId, timestamp, kind, tool, matches, lines])
