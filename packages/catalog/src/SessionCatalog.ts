/**
 * The sessions there are, with what their headers say. Nothing is read beyond a header, and a header only where no
 * current row of the session index says what is in it.
 */
import type * as Config from "effect/Config"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import { HeaderLine, SessionEntry } from "@pi-sessions/core/SessionLine"
import { SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import { type SessionRef, SessionSource } from "@pi-sessions/session-file/SessionSource"
import type { Sqlite } from "@pi-sessions/sqlite/Sqlite"
import type { SessionStore } from "@pi-sessions/store/SessionStore"
import * as StoreSource from "@pi-sessions/store/StoreSource"
import { type CatalogSession, type SessionFormat, columnsOf } from "./CatalogSession.ts"
import { FileSurvey } from "./FileSurvey.ts"
import { type OtherFile } from "./OtherFile.ts"
import * as SessionDiscovery from "./SessionDiscovery.ts"
import * as SessionIndex from "./SessionIndex.ts"
import * as SessionPlaces from "./internal/find/SessionPlaces.ts"
import { type Look, lookAtFiles, oneForEachFile, whichDatabases } from "./internal/find/lookAtFiles.ts"
import { summaryOf } from "./internal/index/summaryOf.ts"
import { withParents } from "./internal/find/withParents.ts"

/** What is where sessions are looked for. */
export interface Catalog extends SessionDiscovery.Discovery {
  /** In order of path; one for each session: its container where that is the active store, else its file. */
  readonly sessions: ReadonlyArray<CatalogSession>
  /** Files that are no sessions, and what could not be read: named, never guessed at. In order of path. */
  readonly others: ReadonlyArray<OtherFile>
  /** What the indexes that were found say, by their files: read once, and not at all without `useIndex`. */
  readonly indexes: ReadonlyMap<string, Result.Result<SessionIndex.IndexRows, SessionIndex.IndexUnavailable>>
}

/** Where to look, and what may be believed. */
export interface CatalogOptions extends SessionDiscovery.DiscoveryOptions {
  /** Whether current rows of the session index spare the look into their files; true unless told. */
  readonly useIndex?: boolean
  /** Whether headers are read also where the index tells what most of their columns hold; false unless told. */
  readonly readHeaders?: boolean
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
    const indexes = options.useIndex === false ? NO_INDEXES : yield* indexesIn(places.indexed)
    // An index that cannot be read is none: whoever wants to know asks `IndexRefresh`.
    const rows = [...indexes.values()].flatMap((index) => (Result.isSuccess(index) ? [index.success.rows] : []))
    const looks = yield* lookAtFiles(places, rows, options.readHeaders ?? false)
    /** Files of sessions that have moved on, by where they are now: in a container, or in another file. */
    const superseded = new Map<string, ReadonlyArray<string>>()
    const gathered: Gathered = { sessions: [], others: places.others }
    for (const container of yield* oneForEachFile(places.containers)) {
      yield* addContainer(container, gathered)
      superseded.set(container, yield* StoreSource.superseded(container))
    }
    const left = new Set([...superseded.values()].flat())
    const named = new Set(discovery.roots.filter(isNamed).map((root) => root.path))
    for (const look of looks) {
      if (left.has(look.path)) continue
      // Pi opens a file that it is told to open, however long its header is.
      const isPatient = "why" in look && look.why === "undecided" && named.has(look.path)
      addFile(isPatient ? yield* readOn(look) : look, gathered)
    }
    const databases = (yield* oneForEachFile(places.databases)).filter((at) => !left.has(at))
    for (const found of yield* whichDatabases(databases)) yield* addDatabase(found, gathered)
    gathered.sessions.sort(byPath)
    gathered.others.sort(byPath)
    const sessions = yield* withParents(gathered.sessions, superseded)
    return { ...discovery, sessions, others: gathered.others, indexes } satisfies Catalog
  }, Effect.provideContext(context))

  /** Where a person names what is not there, that is an error and no empty result. */
  const refuseMissing = Effect.fnUntraced(function* (roots: ReadonlyArray<SessionDiscovery.SessionRoot>) {
    const named = roots.filter(isNamed).map((root) => root.path)
    for (const facts of yield* survey.facts(named)) if (facts instanceof SessionFileError) return yield* facts
  })

  const indexesIn = Effect.fnUntraced(function* (directories: ReadonlySet<string>) {
    const files = [...directories].map((directory) => path.join(directory, SessionIndex.FILE_NAME))
    const read = yield* Effect.forEach(files, (file) => Effect.result(index.read(file)))
    return new Map(files.flatMap((file, at) => (read[at] === undefined ? [] : [[file, read[at]] as const])))
  })

  const headed = (ref: SessionRef, format: SessionFormat) =>
    Effect.map(source.header(ref), (header): CatalogSession => ({ ...ref, format, ...columnsOf(header.decode()) }))

  /** Looks for a header beyond the first MiB. */
  const readOn = Effect.fnUntraced(function* (other: OtherFile): Effect.fn.Return<Look> {
    const [facts] = yield* survey.facts([other.path])
    if (facts === undefined || facts instanceof SessionFileError) return other
    const { modifiedMs, sizeBytes } = facts
    const ref = { path: other.path, sizeBytes, modifiedMs }
    const first = yield* source.lines(ref).pipe(
      Stream.filter((line) => line instanceof HeaderLine || line instanceof SessionEntry),
      Stream.runHead,
      Effect.orElseSucceed(() => Option.none())
    )
    return Option.isSome(first) && first.value instanceof HeaderLine
      ? { ...ref, format: "jsonl", ...columnsOf(first.value.decode()) }
      : { path: other.path, reason: "no session header" }
  })

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

const isNamed = ({ why }: SessionDiscovery.SessionRoot): boolean => why === "--sessions"

const NO_INDEXES: Catalog["indexes"] = new Map()

const reasonOf = (error: { readonly message: string }): string =>
  error instanceof SessionFileError ? error.reason : "no line is a session header"

const byPath = (a: { readonly path: string }, b: { readonly path: string }): number => (a.path < b.path ? -1 : 1)
