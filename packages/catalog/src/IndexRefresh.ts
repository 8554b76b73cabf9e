/**
 * Keeping the session index of a directory of sessions: what is in it beside what is on the disk, and bringing it up to
 * date. Sessions are read before anything is written; the rows of a directory then change in one transaction.
 *
 * The index speaks of Pi's own files only: the programs that share it know no containers and no other databases.
 */
import type * as Config from "effect/Config"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import { SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import { type CatalogSession } from "./CatalogSession.ts"
import { FileSurvey } from "./FileSurvey.ts"
import { type OtherFile } from "./OtherFile.ts"
import { SessionCatalog } from "./SessionCatalog.ts"
import { type DiscoveryOptions } from "./SessionDiscovery.ts"
import * as SessionIndex from "./SessionIndex.ts"

/** The index of one directory beside the sessions below it. */
export interface IndexStatus {
  /** The directory. */
  readonly root: string
  readonly file: string
  /** Why the index cannot be read, where it cannot. */
  readonly problem?: SessionIndex.IndexUnavailable
  /** Session files below the directory. */
  readonly sessions: number
  /** Rows that speak of a session file as it is. */
  readonly current: number
  /** Rows of session files that have changed since. */
  readonly stale: number
  /** Session files without a row. */
  readonly missing: number
  /** Rows of files below the directory that are not there any more. */
  readonly gone: number
  /**
   * Rows that are none of our business: of files elsewhere, and of files that the catalog does not list; and rows with
   * columns that nobody can read.
   */
  readonly others: number
}

/** What a refresh did to one index. */
export interface RefreshedIndex extends SessionIndex.IndexUpdate {
  readonly root: string
  readonly file: string
  /** Session files below the directory. */
  readonly sessions: number
  /** Sessions that could not be read; they have no row now, or keep the one they had. */
  readonly unread: ReadonlyArray<OtherFile>
}

export interface RefreshOptions extends DiscoveryOptions {
  /** Is told how far the reading of sessions has come. */
  readonly onProgress?: (done: number, total: number) => Effect.Effect<void>
}

export class IndexRefresh extends Context.Service<
  IndexRefresh,
  {
    /** Each directory in which sessions are looked for, with its index; changes nothing. */
    readonly status: (
      options?: DiscoveryOptions
    ) => Effect.Effect<ReadonlyArray<IndexStatus>, Config.ConfigError | SessionFileError>
    /** Writes what is missing or stale, and removes what is gone. A directory without sessions gets no index. */
    readonly refresh: (
      options?: RefreshOptions
    ) => Effect.Effect<
      ReadonlyArray<RefreshedIndex>,
      Config.ConfigError | SessionFileError | SessionIndex.IndexUnavailable
    >
  }
>()("@pi-sessions/catalog/IndexRefresh") {
  static readonly layer = Layer.effect(
    IndexRefresh,
    Effect.suspend(() => make)
  )
}

/** An index and the files it speaks of, compared. */
interface Comparison {
  readonly root: string
  readonly file: string
  readonly problem: SessionIndex.IndexUnavailable | undefined
  readonly rows: ReadonlyMap<string, SessionIndex.SessionSummary>
  readonly odd: number
  readonly sessions: ReadonlyArray<CatalogSession>
  readonly stale: ReadonlyArray<CatalogSession>
  readonly missing: ReadonlyArray<CatalogSession>
  readonly gone: ReadonlyArray<string>
}

const NOT_THERE = "no such file or directory"

const make = Effect.gen(function* () {
  const path = yield* Path.Path
  const survey = yield* FileSurvey
  const index = yield* SessionIndex.SessionIndex
  const catalog = yield* SessionCatalog

  const directoriesOf = Effect.fnUntraced(function* (roots: ReadonlyArray<{ readonly path: string }>) {
    const paths = roots.map((root) => root.path)
    const facts = yield* survey.facts(paths)
    return paths.filter((_, at) => {
      const fact = facts[at]
      return fact !== undefined && !(fact instanceof SessionFileError) && fact.type === "Directory"
    })
  })

  /** With `patience` an index that another program locks is waited for. */
  const compare = Effect.fnUntraced(function* (options: DiscoveryOptions, patience: boolean) {
    const { indexes, roots, sessions } = yield* catalog.list(options)
    const rowsOf = Effect.fnUntraced(function* (file: string) {
      const known = indexes.get(file)
      if (known === undefined) return yield* Effect.result(index.read(file))
      if (!patience || Result.isSuccess(known) || known.failure.damaged) return known
      return yield* Effect.result(index.read(file, { patienceMs: PATIENCE_MS }))
    })
    const directories = yield* directoriesOf(roots)
    /** The innermost of the directories that a session lies in. */
    const rootOf = (at: string): string | undefined =>
      directories
        .filter((root) => isBelow(path, root, at))
        .reduce<string | undefined>(
          (best, root) => (best === undefined || root.length > best.length ? root : best),
          undefined
        )
    const files = sessions.filter(({ format }) => format === "jsonl")
    const bySite = new Map(directories.map((root) => [root, new Array<CatalogSession>()]))
    for (const session of files) bySite.get(rootOf(session.path) ?? "")?.push(session)
    return yield* Effect.forEach(bySite, ([root, below]) => {
      const file = path.join(root, SessionIndex.FILE_NAME)
      return Effect.flatMap(rowsOf(file), (read) => compareOne(root, file, read, below, files))
    })
  })

  const compareOne = Effect.fnUntraced(function* (
    root: string,
    file: string,
    read: Result.Result<SessionIndex.IndexRows, SessionIndex.IndexUnavailable>,
    sessions: ReadonlyArray<CatalogSession>,
    all: ReadonlyArray<CatalogSession>
  ): Effect.fn.Return<Comparison> {
    const { odd, rows } = Result.getOrElse(read, () => NO_ROWS)
    const stale: Array<CatalogSession> = []
    const missing: Array<CatalogSession> = []
    for (const session of sessions) {
      const row = rows.get(session.path)
      if (row === undefined) missing.push(session)
      else if (!SessionIndex.isCurrent(row, session)) stale.push(session)
    }
    const listed = new Set(all.map((session) => session.path))
    const unlisted = [...rows.keys()].filter((at) => !listed.has(at) && isBelow(path, root, at))
    const facts = yield* survey.facts(unlisted)
    const gone = unlisted.filter((_, at) => {
      const fact = facts[at]
      return fact instanceof SessionFileError && fact.reason === NOT_THERE
    })
    const problem = Result.isFailure(read) ? read.failure : undefined
    return { root, file, problem, rows, odd, sessions, stale, missing, gone }
  })

  const status = Effect.fn("IndexRefresh.status")(function* (options: DiscoveryOptions = {}) {
    return (yield* compare(options, false)).map(
      ({ file, gone, missing, odd, problem, root, rows, sessions, stale }): IndexStatus => {
        const current = sessions.length - stale.length - missing.length
        return {
          root,
          file,
          ...(problem === undefined ? {} : { problem }),
          sessions: sessions.length,
          current,
          stale: stale.length,
          missing: missing.length,
          gone: gone.length,
          others: rows.size + odd - current - stale.length - gone.length
        }
      }
    )
  })

  const refresh = Effect.fn("IndexRefresh.refresh")(function* (options: RefreshOptions = {}) {
    const comparisons = yield* compare(options, true)
    const total = comparisons.reduce((sum, { missing, stale }) => sum + missing.length + stale.length, 0)
    let done = 0
    const refreshed: Array<RefreshedIndex> = []
    for (const { file, gone, missing, problem, root, rows, sessions, stale } of comparisons) {
      if (problem !== undefined && !problem.damaged) return yield* problem
      const write: Array<SessionIndex.SessionSummary> = []
      const unread: Array<OtherFile> = []
      // A row of another index may be current, but the session itself is what counts here.
      const unindexed = [...missing, ...stale].map((session) => ({ ...session, indexed: undefined }))
      yield* Stream.runForEach(catalog.summarize(unindexed), (summary) => {
        if (Result.isFailure(summary)) unread.push({ path: summary.failure.path, reason: summary.failure.reason })
        else {
          const { session: _session, ...row } = summary.success
          write.push(row)
        }
        return options.onProgress?.(++done, total) ?? Effect.void
      })
      const isIdle = write.length === 0 && gone.length === 0 && problem === undefined
      const update = isIdle ? NOTHING : yield* index.update(file, { write, remove: gone, seen: rows })
      refreshed.push({ root, file, sessions: sessions.length, unread, ...update })
    }
    return refreshed
  })

  return IndexRefresh.of({ status, refresh })
})

const NO_ROWS: SessionIndex.IndexRows = { rows: new Map(), odd: 0 }

/** A refresh that gives up has read the sessions in vain. */
const PATIENCE_MS = 5000
const NOTHING: SessionIndex.IndexUpdate = { written: 0, removed: 0 }

const isBelow = (path: Path.Path, directory: string, at: string): boolean =>
  at.startsWith(directory.endsWith(path.sep) ? directory : directory + path.sep)
