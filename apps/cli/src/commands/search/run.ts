/** Runs `search`. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { SearchFiles } from "@pi-sessions/catalog/SearchFiles"
import type { SearchHit } from "@pi-sessions/catalog/SearchHit"
import * as SearchPattern from "@pi-sessions/catalog/SearchPattern"
import type { SearchScope } from "@pi-sessions/catalog/SearchScope"
import { type Catalog, SessionCatalog } from "@pi-sessions/catalog/SessionCatalog"
import { type SearchNote, type SearchQuery } from "@pi-sessions/catalog/SearchQuery"
import { SessionSearch } from "@pi-sessions/catalog/SessionSearch"
import { UsageError, missingIsUsage, usage } from "../../Exit.ts"
import { Invocation } from "../../Invocation.ts"
import * as FlagCheck from "../../flags/FlagCheck.ts"
import * as PointInTime from "../../flags/PointInTime.ts"
import * as ResultPrinter from "../../print/ResultPrinter.ts"
import * as StoredSessions from "../../StoredSessions.ts"
import * as HitJson from "../../print/HitJson.ts"
import * as HitText from "../../print/HitText.ts"
import * as CatalogNotes from "../../print/CatalogNotes.ts"
import { counted } from "../../print/Words.ts"
import { type Input } from "../search.ts"

/** Sessions between two updates of the progress. */
const PROGRESS_EVERY = 25

const check = (input: Input) => {
  const { after, before, context, cwd, limit, model, rig, scope, sessions, tool } = input
  return FlagCheck.all(
    FlagCheck.emptySessions(sessions),
    FlagCheck.empty({ "--cwd": cwd, "--rig": rig, "--model": model, "--tool": tool }),
    FlagCheck.exclusive({ "--json": input.json, "--ndjson": input.ndjson }),
    FlagCheck.exclusive({ "--count": input.count, "--files-with-matches": input.filesWithMatches }),
    FlagCheck.exclusive({ "--ignore-case": input.ignoreCase, "--case-sensitive": input.caseSensitive }),
    FlagCheck.tooSmall({ "--limit": limit }, 1),
    FlagCheck.tooSmall({ "--context": context, "--before-context": before, "--after-context": after }, 0),
    tool.length > 0 && Option.contains(scope, "prompts")
      ? new UsageError({
          text: "--tool finds calls and results, which are not prompts; leave --scope out, or give conversations"
        })
      : undefined
  )
}

const filterOf = Effect.fnUntraced(function* (input: Input) {
  const invocation = yield* Invocation
  const { sinceMs, untilMs } = yield* PointInTime.periodMs(input)
  return {
    rigs: input.rig,
    roles: input.role,
    models: input.model,
    tools: input.tool,
    cwd: Option.match(input.cwd, { onNone: () => [], onSome: (given) => [given, invocation.resolve(given)] }),
    ...(sinceMs === undefined ? {} : { sinceMs }),
    ...(untilMs === undefined ? {} : { untilMs: untilMs + 1 })
  }
})

const scopeOf = (input: Input): SearchScope =>
  Option.getOrElse(input.scope, () => (input.tool.length > 0 ? "conversations" : "prompts"))

/** Whether the results, and the limit, count sessions instead of texts. */
const ofSessions = ({ count, filesWithMatches }: Input): boolean => count || filesWithMatches

/** Sessions with their number of matching texts, in the order of the first match. */
const bySession = (hits: ReadonlyArray<SearchHit>) => {
  const counts = new Map<SearchHit["session"], number>()
  for (const { session } of hits) counts.set(session, (counts.get(session) ?? 0) + 1)
  return [...counts]
}

/** Hits as text: with `--ndjson` one per line, else below a heading for each session. */
const hitTexts = (
  input: Input,
  layout: ResultPrinter.Layout,
  hits: Stream.Stream<SearchHit>
): Stream.Stream<string> => {
  if (input.ndjson) return Stream.map(hits, (hit) => `${ResultPrinter.json(HitJson.hit(hit))}\n`)
  let last: SearchHit["session"] | undefined
  return Stream.map(hits, (hit) => {
    const isNext = last !== hit.session
    const lines = [
      ...(isNext && last !== undefined ? [""] : []),
      ...(isNext ? HitText.heading(layout, hit.session) : []),
      ...HitText.lines(layout, hit)
    ]
    last = hit.session
    return lines.map((line) => `${line}\n`).join("")
  })
}

/** Paths or counts as text: a line as soon as a session is searched. */
const sessionTexts = (
  input: Input,
  layout: ResultPrinter.Layout,
  hits: Stream.Stream<SearchHit>
): Stream.Stream<string> =>
  hits.pipe(
    Stream.groupAdjacentBy(({ session }) => session),
    Stream.take(Option.getOrElse(input.limit, () => Infinity)),
    Stream.map(([session, { length: count }]) => {
      if (input.ndjson)
        return `${ResultPrinter.json({ ...HitJson.session(session), ...(input.count ? { count } : {}) })}\n`
      const path = ResultPrinter.pathText(layout, session.path)
      return input.count ? `${count}\t${path}\n` : `${path}\n`
    })
  )

const asDocument = Effect.fnUntraced(function* (input: Input, query: SearchQuery, hits: Stream.Stream<SearchHit>) {
  const found = yield* Stream.runCollect(hits)
  if (found.length === 0) return
  const searched = { pattern: input.pattern, scope: query.scope, sessions: query.sessions.length }
  const limit = Option.getOrElse(input.limit, () => Infinity)
  const result = ofSessions(input)
    ? bySession(found)
        .slice(0, limit)
        .map(([session, count]) => ({ ...HitJson.session(session), ...(input.count ? { count } : {}) }))
    : found.map(HitJson.hit)
  const name = ofSessions(input) ? "sessions" : "hits"
  yield* ResultPrinter.stream(Stream.make(`${ResultPrinter.json({ searched, [name]: result }, 2)}\n`))
})

const ADVICE: { readonly [S in SearchScope]: string } = {
  prompts: "; try --scope conversations, or all",
  conversations: "; try --scope all",
  all: ""
}

const nothing = (
  input: Input,
  { sessions, scope = "prompts" }: SearchQuery,
  catalog: Catalog,
  unread: number
): UsageError => {
  const advice = sessions.length === 0 ? "; name a place with --sessions" : ADVICE[scope]
  const failed = unread === 0 ? "" : `; ${unread} could not be read`
  const where = `${counted(sessions.length, "session")}: ${CatalogNotes.searched(catalog)}`
  const text = `nothing matches ${JSON.stringify(input.pattern)} in ${scope} of ${where}${failed}${advice}`
  return new UsageError({ text })
}

const searchAll = Effect.fnUntraced(function* (input: Input, pattern: SearchPattern.SearchPattern, catalog: Catalog) {
  const invocation = yield* Invocation
  const search = yield* SessionSearch
  const context = Option.getOrElse(input.context, () => 0)
  let unread = 0
  let found = 0
  const query: SearchQuery = {
    sessions: catalog.sessions,
    pattern,
    scope: scopeOf(input),
    filter: yield* filterOf(input),
    positions: !ofSessions(input),
    context: {
      before: Option.getOrElse(input.before, () => context),
      after: Option.getOrElse(input.after, () => context)
    },
    ...(ofSessions(input) || Option.isNone(input.limit) ? {} : { limit: input.limit.value }),
    onNote: ({ path, reason }: SearchNote) => {
      unread++
      return invocation.note(`warning: ${path}: ${reason}`)
    },
    onProgress: (done, total) =>
      done % PROGRESS_EVERY === 0 ? invocation.progress(`${done} of ${total} sessions`) : Effect.void
  }
  const hits = search.search(query).pipe(
    Stream.tap(() => {
      found++
      return invocation.progress("")
    })
  )
  if (input.json) yield* asDocument(input, query, hits)
  else {
    const layout = yield* ResultPrinter.layout()
    const texts = ofSessions(input) ? sessionTexts : hitTexts
    yield* ResultPrinter.stream(texts(input, layout, hits))
  }
  yield* invocation.progress("")
  if (found === 0) return yield* nothing(input, query, catalog, unread)
})

const layer = SessionSearch.layer.pipe(Layer.provide(SearchFiles.layerNode), Layer.provideMerge(StoredSessions.layer))

export const run = Effect.fnUntraced(
  function* (input: Input) {
    yield* check(input)
    const pattern = yield* Effect.fromResult(
      SearchPattern.make(input.pattern, {
        regex: input.regex,
        word: input.word,
        case: input.ignoreCase ? "ignore" : input.caseSensitive ? "sensitive" : "smart"
      })
    )
    const { cwd } = yield* Invocation
    const catalog = yield* SessionCatalog
    // The index does not say which session is a fork of which.
    const found = yield* catalog.list({ sessions: input.sessions, cwd, useIndex: false })
    yield* CatalogNotes.noteOthers(found)
    return yield* searchAll(input, pattern, found)
  },
  usage("InvalidPattern"),
  missingIsUsage,
  Effect.provide(layer)
)
