/** Runs `list`. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import * as DocumentaryStores from "@pi-sessions/catalog/DocumentaryStores"
import { type OtherFile } from "@pi-sessions/catalog/OtherFile"
import { type Catalog, SessionCatalog } from "@pi-sessions/catalog/SessionCatalog"
import * as SessionRole from "@pi-sessions/catalog/SessionRole"
import * as TerminalText from "@pi-sessions/report/TerminalText"
import { SessionSource } from "@pi-sessions/session-file/SessionSource"
import { UsageError, missingIsUsage } from "../../Exit.ts"
import { Invocation } from "../../Invocation.ts"
import * as FlagCheck from "../../flags/FlagCheck.ts"
import * as PointInTime from "../../flags/PointInTime.ts"
import * as ResultPrinter from "../../print/ResultPrinter.ts"
import * as StoredSessions from "../../StoredSessions.ts"
import * as CatalogNotes from "../../print/CatalogNotes.ts"
import * as LocalTime from "../../print/LocalTime.ts"
import { counted } from "../../print/Words.ts"
import { type Input } from "../list.ts"
import { COLUMNS, type ColumnName } from "./ColumnName.ts"
import * as ListedSession from "./ListedSession.ts"
import * as SessionSelection from "./SessionSelection.ts"
import * as SessionTable from "../../print/SessionTable.ts"
import * as ShortIds from "../../print/ShortIds.ts"

/** Sessions that are read at once for rig and role. */
const OPENINGS_AT_ONCE = 8

const DEFAULT_COLUMNS: ReadonlyArray<ColumnName> = ["id", "modified", "size", "cwd"]
/** Default with an index, which has messages and names. */
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

const criteriaOf = Effect.fnUntraced(function* (input: Input) {
  const invocation = yield* Invocation
  return {
    cwd: Option.match(input.cwd, { onNone: () => [], onSome: (given) => [given, invocation.resolve(given)] }),
    rigs: input.rig,
    roles: input.role,
    ...(yield* PointInTime.periodMs(input)),
    name: Option.getOrUndefined(input.name)
  } satisfies SessionSelection.Criteria
})

const check = ({ cwd, documents, json, limit, name, ndjson, others, rig, sessions }: Input) =>
  FlagCheck.all(
    FlagCheck.emptySessions(sessions),
    FlagCheck.empty({ "--cwd": cwd, "--name": name, "--rig": rig }),
    FlagCheck.exclusive({ "--json": json, "--ndjson": ndjson }),
    FlagCheck.exclusive({ "--others": others, "--documents": documents }),
    FlagCheck.tooSmall({ "--limit": limit }, 1)
  )

/** Adds messages and names that are not in the index, by reading the sessions. */
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

/** Adds rigs and roles, by reading the start of each session. */
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
  // Facts that filters or the order need are read from all sessions; others only from sessions that are printed.
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

const listSessions = Effect.fnUntraced(function* (input: Input, catalog: Catalog) {
  const asked = yield* columnsOf(input.columns)
  const listed = yield* select(input, catalog, asked ?? [])
  if (listed.length === 0) {
    const found = `${counted(catalog.sessions.length, "session")} found`
    const advice = catalog.sessions.length > 0 ? "try fewer filters" : "name a place with --sessions"
    return yield* new UsageError({
      text: `no session matches: ${CatalogNotes.searched(catalog)}; ${found}; ${advice}`
    })
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
    return yield* new UsageError({ text: `every file is a session: ${CatalogNotes.searched(catalog)}` })
  }
  if (input.json) return yield* ResultPrinter.lines([ResultPrinter.json({ others }, 2)])
  const layout = yield* ResultPrinter.layout()
  const line = ({ path, reason }: Pick<OtherFile, "path" | "reason">) =>
    `${ResultPrinter.pathText(layout, path)}: ${TerminalText.line(reason)}`
  yield* ResultPrinter.lines(others.map((other) => (input.ndjson ? ResultPrinter.json(other) : line(other))))
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
    modifiedMs === undefined ? "" : LocalTime.minutes(modifiedMs),
    path,
    holds
  ])
  yield* ResultPrinter.lines(SessionTable.render(["store", "is", "size", "modified", "path", "holds"], rows, layout))
})

export const run = Effect.fnUntraced(
  function* (input: Input) {
    yield* check(input)
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
    if (input.others) return yield* listOthers(input, catalog)
    yield* CatalogNotes.noteOthers(catalog)
    return yield* listSessions(input, catalog)
  },
  missingIsUsage,
  Effect.provide(StoredSessions.layer)
)
