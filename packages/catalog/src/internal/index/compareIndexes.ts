/** Compares the session indexes of directories with the session files below them. */
import * as Effect from "effect/Effect"
import * as Path from "effect/Path"
import * as Result from "effect/Result"
import { SessionFileError, reasons } from "@pi-sessions/session-file/SessionFileError"
import { type CatalogSession } from "../../CatalogSession.ts"
import { FileSurvey } from "../../FileSurvey.ts"
import { SessionCatalog } from "../../SessionCatalog.ts"
import { type DiscoveryOptions } from "../../SessionDiscovery.ts"
import * as SessionIndex from "../../SessionIndex.ts"

/** An index compared with the files below its directory. */
export interface Comparison {
  readonly root: string
  readonly file: string
  /** Why the index cannot be read. */
  readonly problem: SessionIndex.IndexUnavailable | undefined
  readonly rows: ReadonlyMap<string, SessionIndex.SessionSummary>
  readonly odd: number
  readonly sessions: ReadonlyArray<CatalogSession>
  /** Sessions that changed since their row was written. */
  readonly stale: ReadonlyArray<CatalogSession>
  /** Sessions without a row. */
  readonly missing: ReadonlyArray<CatalogSession>
  /** Paths of rows whose file no longer exists. */
  readonly gone: ReadonlyArray<string>
}

/** Lists the sessions and compares each directory with its index. Waits up to `patienceMs` for a locked index. */
export const compareIndexes = Effect.fnUntraced(function* (options: DiscoveryOptions, patienceMs?: number) {
  const path = yield* Path.Path
  const index = yield* SessionIndex.SessionIndex
  const catalog = yield* SessionCatalog
  const { indexes, roots, sessions } = yield* catalog.list(options)
  const rowsOf = (file: string) => {
    const read = indexes.get(file)
    if (read === undefined) return Effect.result(index.read(file))
    if (patienceMs === undefined || Result.isSuccess(read) || read.failure.damaged) return Effect.succeed(read)
    return Effect.result(index.read(file, { patienceMs }))
  }
  const files = sessions.filter(({ format }) => format === "jsonl")
  const directories = yield* existingDirectories(roots.map((root) => root.path))
  return yield* Effect.forEach(byDirectory(path, directories, files), ([root, below]) => {
    const file = path.join(root, SessionIndex.FILE_NAME)
    return Effect.flatMap(rowsOf(file), (read) => compare({ root, file, sessions: below }, read, files))
  })
})

const existingDirectories = Effect.fnUntraced(function* (paths: ReadonlyArray<string>) {
  const survey = yield* FileSurvey
  const facts = yield* survey.facts(paths)
  return paths.filter((_, at) => {
    const fact = facts[at]
    return fact !== undefined && !(fact instanceof SessionFileError) && fact.type === "Directory"
  })
})

/** The sessions below each directory. Of nested directories the innermost counts. */
const byDirectory = (
  path: Path.Path,
  directories: ReadonlyArray<string>,
  sessions: ReadonlyArray<CatalogSession>
): ReadonlyMap<string, ReadonlyArray<CatalogSession>> => {
  const innermostFirst = directories.toSorted((a, b) => b.length - a.length)
  const found = new Map(directories.map((root) => [root, new Array<CatalogSession>()]))
  for (const session of sessions) {
    const root = innermostFirst.find((directory) => isBelow(path, directory, session.path))
    found.get(root ?? "")?.push(session)
  }
  return found
}

const compare = Effect.fnUntraced(function* (
  directory: Pick<Comparison, "root" | "file" | "sessions">,
  read: Result.Result<SessionIndex.IndexRows, SessionIndex.IndexUnavailable>,
  all: ReadonlyArray<CatalogSession>
): Effect.fn.Return<Comparison, never, FileSurvey | Path.Path> {
  const path = yield* Path.Path
  const survey = yield* FileSurvey
  const { odd, rows } = Result.getOrElse(read, () => NO_ROWS)
  const stale: Array<CatalogSession> = []
  const missing: Array<CatalogSession> = []
  for (const session of directory.sessions) {
    const row = rows.get(session.path)
    if (row === undefined) missing.push(session)
    else if (!SessionIndex.isCurrent(row, session)) stale.push(session)
  }
  const listed = new Set(all.map((session) => session.path))
  const unlisted = [...rows.keys()].filter((at) => !listed.has(at) && isBelow(path, directory.root, at))
  const facts = yield* survey.facts(unlisted)
  const gone = unlisted.filter((_, at) => {
    const fact = facts[at]
    return fact instanceof SessionFileError && fact.reason === reasons.ENOENT
  })
  const problem = Result.isFailure(read) ? read.failure : undefined
  return { ...directory, problem, rows, odd, stale, missing, gone }
})

const NO_ROWS: SessionIndex.IndexRows = { rows: new Map(), odd: 0 }

const isBelow = (path: Path.Path, directory: string, at: string): boolean =>
  at.startsWith(directory.endsWith(path.sep) ? directory : directory + path.sep)
