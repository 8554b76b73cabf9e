/**
 * Compares session indexes with the disk, and updates them. For each directory: reads the new and changed sessions, then changes its rows
 * change in one transaction. An index contains Pi's own files only, because the programs that share it know no
 * containers.
 */
import type * as Config from "effect/Config"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Path from "effect/Path"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import { type SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import type { FileSurvey } from "./FileSurvey.ts"
import { type OtherFile } from "./OtherFile.ts"
import { SessionCatalog } from "./SessionCatalog.ts"
import { type DiscoveryOptions } from "./SessionDiscovery.ts"
import * as SessionIndex from "./SessionIndex.ts"
import { type Comparison, compareIndexes } from "./internal/index/compareIndexes.ts"

/** The state of the index of one directory. */
export interface IndexStatus {
  /** The directory. */
  readonly root: string
  /** The file of the index. */
  readonly file: string
  /** Why the index cannot be read. */
  readonly problem?: SessionIndex.IndexUnavailable
  /** Number of session files below the directory. */
  readonly sessions: number
  /** Number of rows that match their session file. */
  readonly current: number
  /** Number of rows whose session file changed since. */
  readonly stale: number
  /** Number of session files without a row. */
  readonly missing: number
  /** Number of rows of files below the directory that no longer exist. */
  readonly gone: number
  /** Number of other rows: of files elsewhere, of files that are not listed, and with values of the wrong type. */
  readonly others: number
}

/** The result of updating one index. */
export interface RefreshedIndex extends SessionIndex.IndexUpdate {
  readonly root: string
  readonly file: string
  /** Number of session files below the directory. */
  readonly sessions: number
  /** Sessions that could not be read. Their rows are unchanged. */
  readonly unread: ReadonlyArray<OtherFile>
}

export interface RefreshOptions extends DiscoveryOptions {
  /** Receives the number of sessions read so far, and of all to read. */
  readonly onProgress?: (done: number, total: number) => Effect.Effect<void>
}

export class IndexRefresh extends Context.Service<
  IndexRefresh,
  {
    /** The state of the index of each directory. Changes nothing. */
    readonly status: (
      options?: DiscoveryOptions
    ) => Effect.Effect<ReadonlyArray<IndexStatus>, Config.ConfigError | SessionFileError>
    /** Writes missing and stale rows, and removes those of deleted files. Creates no index without rows. */
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

const make = Effect.gen(function* () {
  const context = yield* Effect.context<FileSurvey | SessionCatalog | SessionIndex.SessionIndex | Path.Path>()

  const status = Effect.fn("IndexRefresh.status")(function* (options: DiscoveryOptions = {}) {
    return (yield* compareIndexes(options)).map(statusOf)
  }, Effect.provideContext(context))

  const refresh = Effect.fn("IndexRefresh.refresh")(function* (options: RefreshOptions = {}) {
    const comparisons = yield* compareIndexes(options, PATIENCE_MS)
    const total = comparisons.reduce((sum, { missing, stale }) => sum + missing.length + stale.length, 0)
    let done = 0
    const onRead = () => options.onProgress?.(++done, total) ?? Effect.void
    return yield* Effect.forEach(comparisons, (comparison) => update(comparison, onRead))
  }, Effect.provideContext(context))

  return IndexRefresh.of({ status, refresh })
})

const statusOf = ({ file, gone, missing, odd, problem, root, rows, sessions, stale }: Comparison): IndexStatus => {
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

/** Reads the missing and stale sessions of a directory, then writes its index. */
const update = Effect.fnUntraced(function* (comparison: Comparison, onRead: () => Effect.Effect<void>) {
  const { file, gone, missing, problem, root, rows, sessions, stale } = comparison
  const catalog = yield* SessionCatalog
  const index = yield* SessionIndex.SessionIndex
  if (problem !== undefined && !problem.damaged) return yield* problem
  const write: Array<SessionIndex.SessionSummary> = []
  const unread: Array<OtherFile> = []
  // Read even if another index has a current row.
  const unindexed = [...missing, ...stale].map((session) => ({ ...session, indexed: undefined }))
  yield* Stream.runForEach(catalog.summarize(unindexed), (summary) => {
    if (Result.isFailure(summary)) unread.push({ path: summary.failure.path, reason: summary.failure.reason })
    else {
      const { session: _session, ...row } = summary.success
      write.push(row)
    }
    return onRead()
  })
  const isIdle = write.length === 0 && gone.length === 0 && problem === undefined
  const updated = isIdle ? NOTHING : yield* index.update(file, { write, remove: gone, seen: rows })
  return { root, file, sessions: sessions.length, unread, ...updated } satisfies RefreshedIndex
})

/** Milliseconds to wait for a locked index. Long, because refresh fails if the index stays locked. */
const PATIENCE_MS = 5000
const NOTHING: SessionIndex.IndexUpdate = { written: 0, removed: 0 }
