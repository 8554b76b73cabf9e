/**
 * Lists sessions with the columns of their headers. Reads headers only, and none for which the session index has a
 * current row.
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
import { SessionSource } from "@pi-sessions/session-file/SessionSource"
import type { Sqlite } from "@pi-sessions/sqlite/Sqlite"
import type { SessionStore } from "@pi-sessions/store/SessionStore"
import * as StoreSource from "@pi-sessions/store/StoreSource"
import { type CatalogSession } from "./CatalogSession.ts"
import { FileSurvey } from "./FileSurvey.ts"
import { type OtherFile } from "./OtherFile.ts"
import * as SessionDiscovery from "./SessionDiscovery.ts"
import * as SessionIndex from "./SessionIndex.ts"
import * as SessionPlaces from "./internal/find/SessionPlaces.ts"
import { withLateHeader } from "./internal/find/lateHeader.ts"
import { isSession, identifyFiles } from "./internal/find/identifyFiles.ts"
import { inContainers, inDatabases } from "./internal/find/storedSessions.ts"
import { withParents } from "./internal/find/withParents.ts"
import { summaryOf } from "./internal/index/summaryOf.ts"

/** The result of a listing. */
export interface Catalog extends SessionDiscovery.Discovery {
  /** In order of path. A session is listed once: its container if that is the active store, else its file. */
  readonly sessions: ReadonlyArray<CatalogSession>
  /** Files that are not sessions or cannot be read, with reasons. In order of path. */
  readonly others: ReadonlyArray<OtherFile>
  /** The indexes that were read, by file. Empty without `useIndex`. */
  readonly indexes: ReadonlyMap<string, Result.Result<SessionIndex.IndexRows, SessionIndex.IndexUnavailable>>
}

/** Options of a listing. */
export interface CatalogOptions extends SessionDiscovery.DiscoveryOptions {
  /** Whether to use current rows of the session index instead of opening files. Default: true. */
  readonly useIndex?: boolean
  /** Whether to read headers even of files with a current row, for the columns that the index lacks. Default: false. */
  readonly readHeaders?: boolean
}

/** A session with its name and message count. */
export interface SummarizedSession extends SessionIndex.SessionSummary {
  readonly session: CatalogSession
}

export class SessionCatalog extends Context.Service<
  SessionCatalog,
  {
    /** Lists sessions. Fails if a path in `options.sessions` does not exist. */
    readonly list: (options?: CatalogOptions) => Effect.Effect<Catalog, Config.ConfigError | SessionFileError>
    /**
     * Adds names and message counts, in the order of the sessions: from the index row if it is current, else by reading
     * the session. A session that cannot be read is one failure in the stream.
     */
    readonly summarize: (
      sessions: ReadonlyArray<CatalogSession>
    ) => Stream.Stream<Result.Result<SummarizedSession, SessionFileError>>
  }
>()("@pi-sessions/catalog/SessionCatalog") {
  /** With the survey and the index that are provided. */
  static readonly layerWith = Layer.effect(
    SessionCatalog,
    Effect.suspend(() => make)
  )
  /** With Effect's FileSystem. */
  static readonly layer = Layer.suspend(() => SessionCatalog.layerWith).pipe(
    Layer.provide([FileSurvey.layer, SessionIndex.SessionIndex.layer])
  )
  /** With Node's file system: several times as fast. */
  static readonly layerNode = Layer.suspend(() => SessionCatalog.layerWith).pipe(
    Layer.provide([FileSurvey.layerNode, SessionIndex.SessionIndex.layer])
  )
}

const make = Effect.gen(function* () {
  const index = yield* SessionIndex.SessionIndex
  const context = yield* Effect.context<FileSurvey | SessionStore | Sqlite | FileSystem.FileSystem | Path.Path>()
  const source = yield* SessionSource.pipe(Effect.provide(StoreSource.layerPaths([]), { local: true }))

  const list = Effect.fn("SessionCatalog.list")(function* (options: CatalogOptions = {}) {
    const discovery = yield* SessionDiscovery.discover(options)
    const named = yield* namedPaths(discovery.roots)
    const places = yield* SessionPlaces.walk(discovery.roots.map((root) => root.path))
    const indexes = options.useIndex === false ? NO_INDEXES : yield* readIndexes(index, places.indexed)
    // An unreadable index counts as none. `IndexRefresh.status` reports it.
    const rows = [...indexes.values()].flatMap((index) => (Result.isSuccess(index) ? [index.success.rows] : []))
    const identified = yield* identifyFiles(places, rows, options.readHeaders ?? false)
    const containers = yield* inContainers(source, places.containers)
    const replaced = new Set([...containers.superseded.values()].flat())
    const listed = [...containers.listed]
    for (const file of identified) {
      if (replaced.has(file.path)) continue
      const isUndecided = "why" in file && file.why === "undecided" && named.has(file.path)
      listed.push(isUndecided ? yield* withLateHeader(source, file) : file)
    }
    listed.push(...(yield* inDatabases(source, places.databases, replaced)))
    const sessions = listed.filter(isSession).sort(byPath)
    const others = [...places.others, ...listed.filter((one): one is OtherFile => !isSession(one))].sort(byPath)
    return {
      ...discovery,
      sessions: yield* withParents(sessions, containers.superseded),
      others,
      indexes
    } satisfies Catalog
  }, Effect.provideContext(context))

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

/** The explicitly named paths. Fails if one of them does not exist. */
const namedPaths = Effect.fnUntraced(function* (roots: ReadonlyArray<SessionDiscovery.SessionRoot>) {
  const survey = yield* FileSurvey
  const paths = roots.filter(({ why }) => why === "--sessions").map((root) => root.path)
  for (const facts of yield* survey.facts(paths)) if (facts instanceof SessionFileError) return yield* facts
  return new Set(paths)
})

const readIndexes = Effect.fnUntraced(function* (
  index: SessionIndex.SessionIndex["Service"],
  directories: ReadonlySet<string>
) {
  const path = yield* Path.Path
  const files = [...directories].map((directory) => path.join(directory, SessionIndex.FILE_NAME))
  const read = yield* Effect.forEach(files, (file) =>
    Effect.map(Effect.result(index.read(file)), (rows) => [file, rows] as const)
  )
  return new Map(read)
})

const NO_INDEXES: Catalog["indexes"] = new Map()

const byPath = (a: { readonly path: string }, b: { readonly path: string }): number => (a.path < b.path ? -1 : 1)
