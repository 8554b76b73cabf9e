/**
 * The sessions there are, with what their headers say. Nothing is read beyond a header, and a header only where no
 * current row of the session index says what is in it.
 */
import type * as Config from "effect/Config"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import { SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import { type SessionRef, SessionSource } from "@pi-sessions/session-file/SessionSource"
import type { Sqlite } from "@pi-sessions/sqlite/Sqlite"
import type { SessionStore } from "@pi-sessions/store/SessionStore"
import * as StoreSource from "@pi-sessions/store/StoreSource"
import { type CatalogSession, type SessionFormat, columnsOf } from "./CatalogSession.ts"
import { FileSurvey } from "./FileSurvey.ts"
import * as SessionDiscovery from "./SessionDiscovery.ts"
import * as SessionIndex from "./SessionIndex.ts"
import * as SessionPlaces from "./internal/SessionPlaces.ts"
import { type Look, lookAtFiles, whichDatabases } from "./internal/lookAtFiles.ts"
import { summaryOf } from "./internal/summaryOf.ts"

/** A path that is no session or could not be read, and why. */
export interface OtherFile {
  readonly path: string
  readonly reason: string
}

/** What is where sessions are looked for. */
export interface Catalog extends SessionDiscovery.Discovery {
  /** In order of path; one for each session: its container where that is the active store, else its file. */
  readonly sessions: ReadonlyArray<CatalogSession>
  /** Files that are no sessions, and what could not be read: named, never guessed at. In order of path. */
  readonly others: ReadonlyArray<OtherFile>
}

/** Where to look, and what may be believed. */
export interface CatalogOptions extends SessionDiscovery.DiscoveryOptions {
  /** Whether current rows of the session index spare the look into their files; true unless told. */
  readonly useIndex?: boolean
}

/** What an index says of a session, and the session. */
export interface SummarizedSession extends SessionIndex.SessionSummary {
  readonly session: CatalogSession
}

export class SessionCatalog extends Context.Service<
  SessionCatalog,
  {
    /** Header columns only; no file is read further than its header. Fails where a path in `sessions` is not there. */
    readonly list: (options?: CatalogOptions) => Effect.Effect<Catalog, Config.ConfigError | SessionFileError>
    /**
     * Names and message counts, in the order of the sessions: from the session index where its row is current, else by
     * reading the session. One that cannot be read is a failure of its own, and the others go on.
     */
    readonly summarize: (
      sessions: ReadonlyArray<CatalogSession>
    ) => Stream.Stream<Result.Result<SummarizedSession, SessionFileError>>
  }
>()("@pi-sessions/catalog/SessionCatalog") {
  /** On the survey and the index that are provided. */
  static readonly layerWith = Layer.effect(
    SessionCatalog,
    Effect.suspend(() => make)
  )
  /** On Effect's FileSystem. */
  static readonly layer = Layer.suspend(() => SessionCatalog.layerWith).pipe(
    Layer.provide([FileSurvey.layer, SessionIndex.SessionIndex.layer])
  )
  /** For Node's own file system, and many times as fast. */
  static readonly layerNode = Layer.suspend(() => SessionCatalog.layerWith).pipe(
    Layer.provide([FileSurvey.layerNode, SessionIndex.SessionIndex.layer])
  )
}

/** What a listing gathers on its way. */
interface Gathered {
  readonly sessions: Array<CatalogSession>
  readonly others: Array<OtherFile>
}

const make = Effect.gen(function* () {
  const path = yield* Path.Path
  const survey = yield* FileSurvey
  const index = yield* SessionIndex.SessionIndex
  const context = yield* Effect.context<FileSurvey | SessionStore | Sqlite | FileSystem.FileSystem | Path.Path>()
  const source = yield* SessionSource.pipe(Effect.provide(StoreSource.layerPaths([]), { local: true }))

  const list = Effect.fn("SessionCatalog.list")(function* (options: CatalogOptions = {}) {
    const discovery = yield* SessionDiscovery.discover(options)
    yield* refuseMissing(discovery.roots)
    const places = SessionPlaces.empty()
    yield* SessionPlaces.addRoots(
      places,
      discovery.roots.map((root) => root.path)
    )
    const rows = options.useIndex === false ? [] : yield* rowsIn(places.indexed)
    const looks = yield* lookAtFiles(places, rows)
    /** Files of sessions that have moved on: into a container, or to another file. */
    const superseded = new Set<string>()
    const gathered: Gathered = { sessions: [], others: places.others }
    for (const container of new Set(places.containers)) {
      yield* addContainer(container, gathered)
      for (const file of yield* StoreSource.superseded(container)) superseded.add(file)
    }
    for (const look of looks) if (!superseded.has(look.path)) addFile(look, gathered)
    const databases = [...new Set(places.databases)].filter((at) => !superseded.has(at))
    for (const found of yield* whichDatabases(databases)) yield* addDatabase(found, gathered)
    gathered.sessions.sort(byPath)
    gathered.others.sort(byPath)
    return { ...discovery, ...gathered } satisfies Catalog
  }, Effect.provideContext(context))

  /** Where a person names what is not there, that is an error and no empty result. */
  const refuseMissing = Effect.fnUntraced(function* (roots: ReadonlyArray<SessionDiscovery.SessionRoot>) {
    const named = roots.filter((root) => root.why === "--sessions").map((root) => root.path)
    for (const facts of yield* survey.facts(named)) if (facts instanceof SessionFileError) return yield* facts
  })

  /** An index that cannot be read is none: whoever wants to know asks `IndexRefresh`. */
  const rowsIn = (directories: ReadonlySet<string>) =>
    Effect.forEach(directories, (directory) =>
      Effect.orElseSucceed(index.read(path.join(directory, SessionIndex.FILE_NAME)), () => NO_ROWS)
    )

  const headed = (ref: SessionRef, format: SessionFormat) =>
    Effect.map(source.header(ref), (header): CatalogSession => ({ ...ref, format, ...columnsOf(header.decode()) }))

  const addContainer = Effect.fnUntraced(function* (container: string, { others, sessions }: Gathered) {
    const found = yield* StoreSource.containerRef(container).pipe(
      Effect.flatMap((ref) => (ref === undefined ? Effect.undefined : headed(ref, "native_v2"))),
      Effect.result
    )
    if (Result.isFailure(found)) others.push({ path: container, reason: reasonOf(found.failure) })
    else if (found.success !== undefined) sessions.push(found.success)
  })

  const addFile = (found: Look, { others, sessions }: Gathered): void => {
    if ("reason" in found) others.push(found)
    else sessions.push(found)
  }

  const addDatabase = Effect.fnUntraced(function* (found: SessionRef | OtherFile, { others, sessions }: Gathered) {
    if ("reason" in found) {
      others.push(found)
      return
    }
    const session = yield* Effect.result(headed(found, "sqlite_v1"))
    if (Result.isSuccess(session)) sessions.push(session.success)
    else others.push({ path: found.path, reason: reasonOf(session.failure) })
  })

  const summarize = (sessions: ReadonlyArray<CatalogSession>) =>
    Stream.fromIterable(sessions).pipe(
      Stream.mapEffect((session) =>
        Effect.result(
          session.indexed === undefined
            ? Effect.map(summaryOf(source, session), (summary): SummarizedSession => ({ ...summary, session }))
            : Effect.succeed<SummarizedSession>({ ...session.indexed, session })
        )
      )
    )

  return SessionCatalog.of({ list, summarize })
})

const NO_ROWS: ReadonlyMap<string, SessionIndex.SessionSummary> = new Map()

const reasonOf = (error: { readonly message: string }): string =>
  error instanceof SessionFileError ? error.reason : "no line is a session header"

const byPath = (a: { readonly path: string }, b: { readonly path: string }): number => (a.path < b.path ? -1 : 1)
