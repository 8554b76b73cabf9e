/** Running `search`. */
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
import type * as GasTown from "@pi-sessions/core/GasTown"
import { CommandFailed, UsageError, emptyFlag } from "../../Exit.ts"
import { Invocation } from "../../Invocation.ts"
import * as PointInTime from "../../flags/PointInTime.ts"
import * as ResultPrinter from "../../print/ResultPrinter.ts"
import * as StoredSessions from "../../StoredSessions.ts"
import * as HitJson from "../../print/HitJson.ts"
import * as HitText from "../../print/HitText.ts"

export interface Input {
  readonly pattern: string
  readonly scope: Option.Option<SearchScope>
  readonly regex: boolean
  readonly ignoreCase: boolean
  readonly caseSensitive: boolean
  readonly word: boolean
  readonly sessions: ReadonlyArray<string>
  readonly rig: ReadonlyArray<string>
  readonly role: ReadonlyArray<GasTown.Role>
  readonly cwd: Option.Option<string>
  readonly model: ReadonlyArray<string>
  readonly tool: ReadonlyArray<string>
  readonly since: Option.Option<string>
  readonly until: Option.Option<string>
  readonly context: Option.Option<number>
  readonly before: Option.Option<number>
  readonly after: Option.Option<number>
  readonly limit: Option.Option<number>
  readonly count: boolean
  readonly filesWithMatches: boolean
  readonly json: boolean
  readonly ndjson: boolean
}

/** How often the progress is shown. */
const PROGRESS_EVERY = 25

const refuse = (text: string) => new UsageError({ text })

const checked = Effect.fnUntraced(function* (input: Input) {
  if (input.sessions.includes("")) return yield* refuse("--sessions is empty; give a session file or a directory")
  const { cwd, model, rig, tool } = input
  const empty = emptyFlag({ "--cwd": cwd, "--rig": rig, "--model": model, "--tool": tool }, "leave it out, or give one")
  if (empty !== undefined) return yield* empty
  if (input.json && input.ndjson)
    return yield* refuse("--json and --ndjson are two forms of one result; give one of them")
  if (input.count && input.filesWithMatches)
    return yield* refuse("--count and --files-with-matches are two results; give one of them")
  if (input.ignoreCase && input.caseSensitive)
    return yield* refuse("--ignore-case and --case-sensitive exclude each other")
  if (Option.isSome(input.limit) && input.limit.value < 1) return yield* refuse("--limit must be 1 or more")
  for (const lines of [input.context, input.before, input.after]) {
    if (Option.isSome(lines) && lines.value < 0) return yield* refuse("a number of context lines must be 0 or more")
  }
  if (input.tool.length > 0 && Option.contains(input.scope, "prompts")) {
    return yield* refuse(
      "--tool finds calls and results, which are no prompts; leave --scope out, or give conversations"
    )
  }
})

const timeOf = (flag: string, given: Option.Option<string>) =>
  Option.isNone(given) ? Effect.succeed(undefined) : PointInTime.fromFlag(flag, given.value)

const filterOf = Effect.fnUntraced(function* (input: Input) {
  const invocation = yield* Invocation
  const sinceMs = yield* timeOf("--since", input.since)
  const untilMs = yield* timeOf("--until", input.until)
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

/** Whether the result is of sessions, and a limit too. */
const ofSessions = ({ count, filesWithMatches }: Input): boolean => count || filesWithMatches

/** Sessions with how many texts match in each, in the order in which they were found. */
const bySession = (hits: ReadonlyArray<SearchHit>) => {
  const counts = new Map<SearchHit["session"], number>()
  for (const { session } of hits) counts.set(session, (counts.get(session) ?? 0) + 1)
  return [...counts]
}

/** The hits, each on its own or in order below its session. */
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

/** Paths or counts: a line as soon as all of a session is known. */
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

const nothing = (
  input: Input,
  { sessions, scope }: SearchQuery,
  { missing, roots }: Catalog,
  unread: number
): UsageError => {
  const counted = `${sessions.length} ${sessions.length === 1 ? "session" : "sessions"}`
  const where =
    roots.length > 0 ? `searched ${roots.map(({ path }) => path).join(", ")}` : "there is no directory of sessions"
  const gone = roots.length > 0 ? "" : ` (${missing.map(({ path }) => path).join(", ")})`
  const advice =
    sessions.length === 0
      ? "; name a place with --sessions"
      : scope === "prompts"
        ? "; try --scope conversations, or all"
        : scope === "conversations"
          ? "; try --scope all"
          : ""
  const failed = unread === 0 ? "" : `; ${unread} could not be read`
  const text = `nothing matches ${JSON.stringify(input.pattern)} in ${scope} of ${counted}: ${where}${gone}${failed}${advice}`
  return refuse(text)
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
    yield* checked(input)
    const pattern = yield* Effect.fromResult(
      SearchPattern.make(input.pattern, {
        regex: input.regex,
        word: input.word,
        case: input.ignoreCase ? "ignore" : input.caseSensitive ? "sensitive" : "smart"
      })
    )
    const invocation = yield* Invocation
    const catalog = yield* SessionCatalog
    // The index does not know which session is a fork of which.
    const found = yield* catalog.list({ sessions: input.sessions, cwd: invocation.cwd, useIndex: false })
    if (found.others.length > 0) {
      const files = found.others.length === 1 ? "1 file is" : `${found.others.length} files are`
      yield* invocation.note(`note: ${files} no session or could not be read; see list --others, and doctor`)
    }
    return yield* searchAll(input, pattern, found)
  },
  Effect.ensuring(Effect.flatMap(Invocation, ({ progress }) => progress(""))),
  Effect.mapError((error) => {
    if (error._tag === "UsageError") return error
    const text = error.message
    const isWrong =
      error._tag === "InvalidPattern" ||
      (error._tag === "SessionFileError" && error.reason === "no such file or directory")
    return isWrong ? new UsageError({ text }) : new CommandFailed({ text })
  }),
  Effect.provide(layer)
)
