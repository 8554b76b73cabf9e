/** Turns paths into sessions, by current rows of the index or else by the first bytes of each file. */
import * as Effect from "effect/Effect"
import { SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import { type SessionRef } from "@pi-sessions/session-file/SessionSource"
import * as StoreSource from "@pi-sessions/store/StoreSource"
import { type CatalogSession, type HeaderColumns } from "../../CatalogSession.ts"
import { type FileFacts } from "../../FileFacts.ts"
import { FileSurvey } from "../../FileSurvey.ts"
import { type OtherFile } from "../../OtherFile.ts"
import { type SessionSummary, isCurrent } from "../../SessionIndex.ts"
import * as SessionPlaces from "./SessionPlaces.ts"
import { NoHeader, peekColumns } from "./peekColumns.ts"

/** A session, or why a file is not one. */
export type Listed = CatalogSession | OtherFile

export const isSession = (listed: Listed): listed is CatalogSession => !("reason" in listed)

type Rows = ReadonlyArray<ReadonlyMap<string, SessionSummary>>

const rowOf = (rows: Rows, path: string): SessionSummary | undefined => {
  for (const table of rows) {
    const row = table.get(path)
    if (row !== undefined) return row
  }
  return undefined
}

/**
 * Identifies every file of `places`. Opens those without a current row, or all with `readHeaders`. Walks files that
 * turn out to be directories.
 */
export const identifyFiles = Effect.fnUntraced(function* (
  places: SessionPlaces.SessionPlaces,
  rows: Rows,
  readHeaders: boolean
) {
  const found: Array<Listed> = []
  const inodes = new Inodes()
  for (let files = places.files.splice(0); files.length > 0; files = places.files.splice(0)) {
    const unread = readHeaders ? files : yield* byRows(files, rows, found, inodes)
    const directories = yield* byHeads(unread, readHeaders ? rows : [], found, inodes)
    if (directories.length > 0) yield* SessionPlaces.addDirectories(places, directories)
  }
  return inodes.repeated.size === 0 ? found : yield* withoutRepeats(found, inodes.repeated)
})

/** Adds the files with a current row to `found`, and returns the others. */
const byRows = Effect.fnUntraced(function* (
  files: ReadonlyArray<string>,
  rows: Rows,
  found: Array<Listed>,
  inodes: Inodes
) {
  if (rows.length === 0) return files
  const known: Array<SessionSummary> = []
  const unread: Array<string> = []
  for (const file of files) {
    const row = rowOf(rows, file)
    if (row === undefined) unread.push(file)
    else known.push(row)
  }
  const survey = yield* FileSurvey
  const facts = yield* survey.facts(known.map((row) => row.path))
  for (let at = 0; at < known.length; at++) {
    const row = known[at]!
    const fact = facts[at]
    if (fact === undefined || fact instanceof SessionFileError || fact.type !== "File" || !isCurrent(row, fact)) {
      unread.push(row.path)
      continue
    }
    inodes.add(row.path, fact)
    found.push({
      path: row.path,
      sizeBytes: fact.sizeBytes,
      modifiedMs: fact.modifiedMs,
      format: "jsonl",
      id: row.id,
      cwd: row.cwd,
      timestamp: row.timestamp,
      indexed: row
    })
  }
  return unread
})

/** Adds the files to `found` by their first bytes, and returns those that are directories. */
const byHeads = Effect.fnUntraced(function* (
  files: ReadonlyArray<string>,
  rows: Rows,
  found: Array<Listed>,
  inodes: Inodes
) {
  const survey = yield* FileSurvey
  const heads = yield* survey.heads(files, peekColumns)
  const directories: Array<string> = []
  for (let at = 0; at < files.length; at++) {
    const path = files[at]!
    const head = heads[at]
    if (head === undefined) continue
    if (head instanceof SessionFileError) found.push({ path, reason: head.reason, why: "unread" })
    else if (head.type === "Directory") directories.push(path)
    else if (head.type === "Other") found.push({ path, reason: "no regular file" })
    else {
      inodes.add(path, head)
      const listed = listedAs(path, head, head.head)
      const row = rowOf(rows, path)
      const isIndexed = row !== undefined && isSession(listed) && isCurrent(row, head)
      found.push(isIndexed ? { ...listed, indexed: row } : listed)
    }
  }
  return directories
})

const listedAs = (path: string, facts: FileFacts, columns: HeaderColumns | NoHeader | undefined): Listed => {
  if (columns === undefined) return { path, reason: "no session header in its first MiB", why: "undecided" }
  if (columns instanceof NoHeader) return { path, reason: columns.reason }
  const { sizeBytes, modifiedMs } = facts
  const { id, cwd, timestamp, version, parentSession } = columns
  const session = { path, sizeBytes, modifiedMs, format: "jsonl", id, cwd, timestamp, version } as const
  return parentSession === undefined ? session : { ...session, parentSession }
}

/** Finds paths that may lead to the same file. */
class Inodes {
  readonly #first = new Map<number, string>()
  readonly repeated = new Set<string>()

  add(path: string, { inode }: FileFacts): void {
    const first = inode === undefined ? path : this.#first.get(inode)
    if (first === undefined || inode === undefined) {
      if (inode === undefined) this.repeated.add(path)
      else this.#first.set(inode, path)
      return
    }
    this.repeated.add(first).add(path)
  }
}

/** Removes repeated paths and symbolic links to listed files. A hard link is a session of its own. */
const withoutRepeats = Effect.fnUntraced(function* (found: ReadonlyArray<Listed>, repeated: ReadonlySet<string>) {
  const given = new Set<string>()
  const keep = new Set(yield* oneForEachFile(repeated))
  return found.filter(({ path }) => !repeated.has(path) || (keep.has(path) && !given.has(path) && given.add(path)))
})

/** One path for each file or directory: the real path if given, else the first. In order of path. */
export const oneForEachFile = Effect.fnUntraced(function* (given: Iterable<string>) {
  const survey = yield* FileSurvey
  const paths = [...new Set(given)].sort()
  const reals = yield* survey.realPaths(paths)
  const kept = new Map<string, string>()
  for (const [index, path] of paths.entries()) {
    const real = reals[index]
    const at = typeof real === "string" ? real : path
    if (!kept.has(at) || path === at) kept.set(at, path)
  }
  return [...kept.values()].sort()
})

/** Checks which files are databases with a session, by their first bytes. */
export const identifyDatabases = Effect.fnUntraced(function* (files: ReadonlyArray<string>) {
  const survey = yield* FileSurvey
  const heads = yield* survey.heads(files, StoreSource.hasSession)
  const found: Array<SessionRef | OtherFile> = []
  for (const [index, path] of files.entries()) {
    const head = heads[index]
    if (head === undefined) continue
    if (head instanceof SessionFileError) found.push({ path, reason: head.reason, why: "unread" })
    else if (head.head === true) found.push({ path, sizeBytes: head.sizeBytes, modifiedMs: head.modifiedMs })
    else if (head.type !== "Directory") found.push({ path, reason: "no SQLite database with a session" })
  }
  return found
})
