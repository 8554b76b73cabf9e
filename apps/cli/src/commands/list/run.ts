/** Running `list`. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import * as DocumentaryStores from "@pi-sessions/catalog/DocumentaryStores"
import { type OtherFile } from "@pi-sessions/catalog/OtherFile"
import { type Catalog, SessionCatalog } from "@pi-sessions/catalog/SessionCatalog"
import * as SessionRole from "@pi-sessions/catalog/SessionRole"
import type * as GasTown from "@pi-sessions/core/GasTown"
import * as TerminalText from "@pi-sessions/report/TerminalText"
import { SessionSource } from "@pi-sessions/session-file/SessionSource"
import { CommandFailed, UsageError, emptyFlag } from "../../Exit.ts"
import { Invocation } from "../../Invocation.ts"
import * as PointInTime from "../../flags/PointInTime.ts"
import * as ResultPrinter from "../../print/ResultPrinter.ts"
import * as StoredSessions from "../../StoredSessions.ts"
import { COLUMNS, type ColumnName, type SortName } from "./ColumnName.ts"
import * as ListedSession from "./ListedSession.ts"
import * as SessionSelection from "./SessionSelection.ts"
import * as SessionTable from "../../print/SessionTable.ts"
import * as ShortIds from "../../print/ShortIds.ts"

export interface Input {
  readonly sessions: ReadonlyArray<string>
  readonly columns: Option.Option<string>
  readonly sort: SortName
  readonly reverse: boolean
  readonly limit: Option.Option<number>
  readonly cwd: Option.Option<string>
  readonly rig: ReadonlyArray<string>
  readonly role: ReadonlyArray<GasTown.Role>
  readonly since: Option.Option<string>
  readonly until: Option.Option<string>
  readonly name: Option.Option<string>
  readonly others: boolean
  readonly documents: boolean
  readonly json: boolean
  readonly ndjson: boolean
}

/** Sessions whose beginnings are read at a time. */
const OPENINGS_AT_ONCE = 8

const DEFAULT_COLUMNS: ReadonlyArray<ColumnName> = ["id", "modified", "size", "cwd"]
/** What the index knows is shown where it costs nothing. */
const INDEXED_COLUMNS: ReadonlyArray<ColumnName> = ["id", "modified", "size", "messages", "cwd", "name"]

const isColumn = (name: string): name is ColumnName => COLUMNS.some((column) => column === name)

const columnsOf = Effect.fnUntraced(function* (given: Option.Option<string>) {
  if (Option.isNone(given)) return undefined
  const names = given.value.split(",").map((name) => name.trim())
  const columns = names.filter(isColumn)
  const wrong = names.find((name) => !isColumn(name))
  if (wrong === undefined) return columns
  return yield* new UsageError({
    text: `--columns: there is no column ${JSON.stringify(wrong)}; choose from ${COLUMNS.join(", ")}`
  })
})

const timeOf = (flag: string, given: Option.Option<string>) =>
  Option.isNone(given) ? Effect.succeed(undefined) : PointInTime.fromFlag(flag, given.value)

const criteriaOf = Effect.fnUntraced(function* (input: Input) {
  const invocation = yield* Invocation
  return {
    cwd: Option.match(input.cwd, { onNone: () => [], onSome: (given) => [given, invocation.resolve(given)] }),
    rigs: input.rig,
    roles: input.role,
    sinceMs: yield* timeOf("--since", input.since),
    untilMs: yield* timeOf("--until", input.until),
    name: Option.getOrUndefined(input.name)
  } satisfies SessionSelection.Criteria
})

const checked = Effect.fnUntraced(function* (input: Input) {
  const refuse = (text: string) => new UsageError({ text })
  if (input.sessions.includes("")) return yield* refuse("--sessions is empty; give a session file or a directory")
  const { cwd, name, rig } = input
  const empty = emptyFlag({ "--cwd": cwd, "--name": name, "--rig": rig }, "leave it out, or give one")
  if (empty !== undefined) return yield* empty
  if (input.json && input.ndjson)
    return yield* refuse("--json and --ndjson are two forms of one result; give one of them")
  if (input.others && input.documents) return yield* refuse("--others and --documents are two lists; give one of them")
  if (Option.isSome(input.limit) && input.limit.value < 1) return yield* refuse("--limit must be 1 or more")
})

/** Adds messages and names that the index does not say, by reading the sessions. */
const summarized = Effect.fnUntraced(function* (listed: ReadonlyArray<ListedSession.ListedSession>) {
  const invocation = yield* Invocation
  const catalog = yield* SessionCatalog
  let done = 0
  const read = Stream.zip(Stream.fromIterable(listed), catalog.summarize(listed.map(({ session }) => session))).pipe(
    Stream.mapEffect(([one, summary]) => {
      const progress = invocation.progress(`${++done} of ${listed.length} sessions`)
      if (Result.isSuccess(summary)) {
        const { messageCount, name = "" } = summary.success
        return Effect.as(progress, { ...one, messages: messageCount, name })
      }
      return Effect.as(invocation.note(`warning: ${summary.failure.message}`), one)
    }),
    Stream.runCollect
  )
  return yield* read
})

/** Adds whose sessions they are, by reading their beginnings. */
const identified = Effect.fnUntraced(function* (listed: ReadonlyArray<ListedSession.ListedSession>) {
  const invocation = yield* Invocation
  const source = yield* SessionSource
  let done = 0
  return yield* Effect.forEach(
    listed,
    Effect.fnUntraced(function* (one) {
      const { session } = one
      const opening = new SessionRole.Opening()
      const read = yield* Stream.runForEachWhile(source.lines(session), (line) =>
        Effect.sync(() => {
          opening.push(line)
          return !opening.complete
        })
      ).pipe(Effect.result)
      yield* invocation.progress(`${++done} of ${listed.length} sessions`)
      if (Result.isSuccess(read)) return { ...one, role: SessionRole.detect(opening, { path: session.path }) }
      yield* invocation.note(`warning: ${read.failure.message}`)
      return one
    }),
    { concurrency: OPENINGS_AT_ONCE }
  )
})

const select = Effect.fnUntraced(function* (input: Input, catalog: Catalog, columns: ReadonlyArray<ColumnName>) {
  const invocation = yield* Invocation
  const criteria = yield* criteriaOf(input)
  const limit = Option.getOrElse(input.limit, () => Number.POSITIVE_INFINITY)
  let listed: ReadonlyArray<ListedSession.ListedSession> = catalog.sessions
    .filter((session) => SessionSelection.byHeader(session, criteria))
    .map(ListedSession.of)
  // What decides which sessions are shown is read from all of them, and what is only shown from those that are.
  const summariesDecide = criteria.name !== undefined || input.sort === "messages" || input.sort === "name"
  if (summariesDecide) listed = yield* summarized(listed)
  listed = listed.filter((one) => SessionSelection.byName(one, criteria))
  if (criteria.rigs.length > 0 || criteria.roles.length > 0) listed = yield* identified(listed)
  listed = listed.filter((one) => SessionSelection.byRole(one, criteria))
  listed = SessionSelection.sorted(listed, input.sort, input.reverse).slice(0, limit)
  if (!summariesDecide && (columns.includes("messages") || columns.includes("name"))) listed = yield* summarized(listed)
  if (SessionSelection.needsRole(criteria, columns) && listed.some(({ role }) => role === undefined)) {
    listed = yield* identified(listed)
  }
  yield* invocation.progress("")
  return listed
})

const where = ({ missing, roots }: Catalog): string =>
  roots.length === 0
    ? `there is no directory of sessions (${missing.map(({ path }) => path).join(", ")})`
    : `searched ${roots.map(({ path }) => path).join(", ")}`

const listSessions = Effect.fnUntraced(function* (input: Input, catalog: Catalog) {
  const asked = yield* columnsOf(input.columns)
  const listed = yield* select(input, catalog, asked ?? [])
  if (listed.length === 0) {
    const found = `${catalog.sessions.length} ${catalog.sessions.length === 1 ? "session" : "sessions"} found`
    const try_ = catalog.sessions.length > 0 ? "; try fewer filters" : "; name a place with --sessions"
    return yield* new UsageError({ text: `no session matches: ${where(catalog)}; ${found}${try_}` })
  }
  if (input.ndjson)
    return yield* ResultPrinter.lines(listed.map((one) => ResultPrinter.json(ListedSession.toJson(one))))
  if (input.json)
    return yield* ResultPrinter.lines([ResultPrinter.json({ sessions: listed.map(ListedSession.toJson) }, 2)])
  const layout = yield* ResultPrinter.layout()
  const isIndexed = listed.some(({ messages }) => messages !== undefined)
  const columns = asked ?? (isIndexed ? INDEXED_COLUMNS : DEFAULT_COLUMNS)
  const ids = columns.includes("id") ? ShortIds.of(catalog.sessions.map(({ id }) => id)) : new Map<string, string>()
  const rows = listed.map((one) => columns.map((column) => SessionTable.cellOf(column, one, ids)))
  yield* ResultPrinter.lines(SessionTable.render(columns, rows, layout))
})

const listOthers = Effect.fnUntraced(function* (input: Input, catalog: Catalog) {
  const others = catalog.others.map(({ path, reason }) => ({ path, reason }))
  if (others.length === 0) {
    return yield* new UsageError({ text: `every file is a session: ${where(catalog)}` })
  }
  if (input.json) return yield* ResultPrinter.lines([ResultPrinter.json({ others }, 2)])
  const layout = yield* ResultPrinter.layout()
  const told = ({ path, reason }: OtherFile) => `${ResultPrinter.pathText(layout, path)}: ${TerminalText.line(reason)}`
  yield* ResultPrinter.lines(others.map((other) => (input.ndjson ? ResultPrinter.json(other) : told(other))))
})

const listDocuments = Effect.fnUntraced(function* (input: Input) {
  const invocation = yield* Invocation
  const documents = yield* DocumentaryStores.list({ cwd: invocation.cwd })
  if (input.json) return yield* ResultPrinter.lines([ResultPrinter.json({ documents }, 2)])
  if (input.ndjson) return yield* ResultPrinter.lines(documents.map((document) => ResultPrinter.json(document)))
  const layout = yield* ResultPrinter.layout()
  const rows = documents.map(({ holds, is, modifiedMs, path, sizeBytes, store }) => [
    store,
    is ?? "not there",
    sizeBytes === undefined ? "" : SessionTable.sizeOf(sizeBytes),
    modifiedMs === undefined ? "" : PointInTime.show(modifiedMs),
    path,
    holds
  ])
  yield* ResultPrinter.lines(SessionTable.render(["store", "is", "size", "modified", "path", "holds"], rows, layout))
})

export const run = Effect.fnUntraced(
  function* (input: Input) {
    yield* checked(input)
    yield* columnsOf(input.columns)
    yield* criteriaOf(input)
    if (input.documents) return yield* listDocuments(input)
    const invocation = yield* Invocation
    const columns = Option.getOrElse(input.columns, () => "")
    const catalog = yield* (yield* SessionCatalog).list({
      sessions: input.sessions,
      cwd: invocation.cwd,
      // The index has no columns for these.
      readHeaders: input.json || input.ndjson || /\b(version|parent)\b/.test(columns)
    })
    if (!input.others && catalog.others.length > 0) {
      const files =
        catalog.others.length === 1 ? "1 file is no session or" : `${catalog.others.length} files are no sessions or`
      yield* invocation.note(`note: ${files} could not be read; see them with --others`)
    }
    return yield* input.others ? listOthers(input, catalog) : listSessions(input, catalog)
  },
  Effect.ensuring(Effect.flatMap(Invocation, ({ progress }) => progress(""))),
  Effect.mapError((error) => {
    if (error._tag === "UsageError") return error
    const text = error.message
    const isAbsent = error._tag === "SessionFileError" && error.reason === "no such file or directory"
    return isAbsent ? new UsageError({ text }) : new CommandFailed({ text })
  }),
  Effect.provide(StoredSessions.layer)
)
