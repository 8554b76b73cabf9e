/**
 * `session-index.sqlite`, the index of a sessions directory that other programs keep as well (seed 004). It is never
 * required and never the truth: a row counts only while the file it speaks of has the size and the time of its row.
 *
 * The table is exactly seed 004's; nothing is added to it, so that every program that knows it can go on with it.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { type Database, type Row, Sqlite, type SqliteError, number, text } from "@pi-sessions/sqlite/Sqlite"

export const FILE_NAME = "session-index.sqlite"

/** Seed 004, to the letter. */
export const TABLE = `CREATE TABLE sessions (
    path TEXT PRIMARY KEY,
    id TEXT NOT NULL,
    cwd TEXT NOT NULL,
    timestamp TEXT NOT NULL,
    message_count INTEGER NOT NULL,
    last_modified_ms INTEGER NOT NULL,
    size_bytes INTEGER NOT NULL,
    name TEXT
)`

const COLUMNS = ["path", "id", "cwd", "timestamp", "message_count", "last_modified_ms", "size_bytes", "name"] as const

/** What an index says of a session. */
export const SessionSummary = Schema.Struct({
  /** Absolute. */
  path: Schema.String,
  id: Schema.String,
  cwd: Schema.String,
  /** Of the header, as it stands there. */
  timestamp: Schema.String,
  /** Entries of type `message`, of all branches. */
  messageCount: Schema.Int,
  /** Unix time in milliseconds. */
  lastModifiedMs: Schema.Int,
  sizeBytes: Schema.Int,
  /** What a person called it. */
  name: Schema.optionalKey(Schema.String)
})
export type SessionSummary = typeof SessionSummary.Type

/** The index cannot be read or written now, or belongs to another version; the sessions themselves can still be read. */
export class IndexUnavailable extends Schema.TaggedError<IndexUnavailable>()("IndexUnavailable", {
  path: Schema.String,
  reason: Schema.String
}) {
  override get message(): string {
    return `${this.path}: ${this.reason}; the sessions are read without it`
  }
}

/** What `update` did. */
export interface IndexUpdate {
  readonly written: number
  readonly removed: number
  /** Where a damaged index was moved, when there was one. */
  readonly movedAside?: string
}

export class SessionIndex extends Context.Service<
  SessionIndex,
  {
    /** The rows of an index by path; empty when there is no index. Whoever uses a row compares it with the file. */
    readonly read: (file: string) => Effect.Effect<ReadonlyMap<string, SessionSummary>, IndexUnavailable>
    /**
     * Writes rows and removes others, all in one transaction. An index that is not there is made, one that is damaged
     * is moved aside and made anew. Safe beside other programs that write to it.
     */
    readonly update: (
      file: string,
      changes: { readonly write: ReadonlyArray<SessionSummary>; readonly remove: ReadonlyArray<string> }
    ) => Effect.Effect<IndexUpdate, IndexUnavailable>
  }
>()("@pi-sessions/catalog/SessionIndex") {
  static readonly layer = Layer.effect(
    SessionIndex,
    Effect.suspend(() => make)
  )
}

const make = Effect.gen(function* () {
  const sqlite = yield* Sqlite
  const fs = yield* FileSystem.FileSystem

  const unavailable = (error: SqliteError) => new IndexUnavailable({ path: error.path, reason: error.message })

  const read = Effect.fn("SessionIndex.read")(function* (file: string) {
    const exists = yield* fs.exists(file).pipe(Effect.orElseSucceed(() => false))
    if (!exists) return new Map<string, SessionSummary>()
    return yield* Effect.scoped(
      Effect.gen(function* () {
        const database = yield* sqlite.open(file, { readOnly: true })
        return yield* database.use("read the index", (connection) => {
          const rows = new Map<string, SessionSummary>()
          for (const row of connection.iterate(`SELECT ${COLUMNS.join(", ")} FROM sessions`)) {
            const summary = summaryOf(row)
            rows.set(summary.path, summary)
          }
          return rows
        })
      })
    ).pipe(Effect.mapError(unavailable))
  })

  const update = Effect.fn("SessionIndex.update")(function* (
    file: string,
    changes: { readonly write: ReadonlyArray<SessionSummary>; readonly remove: ReadonlyArray<string> }
  ) {
    const put = Effect.scoped(Effect.flatMap(sqlite.open(file), (database) => write(database, changes)))
    return yield* put.pipe(
      Effect.catchTag("SqliteError", (error) =>
        isDamaged(error)
          ? Effect.flatMap(moveAside(file), (movedAside) => Effect.map(put, (done) => ({ ...done, movedAside })))
          : Effect.fail(error)
      ),
      Effect.mapError((error) =>
        error._tag === "SqliteError" ? unavailable(error) : new IndexUnavailable({ path: file, reason: error.message })
      )
    )
  })

  /** Gives a damaged index another name, with what SQLite keeps beside it. */
  const moveAside = Effect.fnUntraced(function* (file: string) {
    let n = 1
    while (yield* fs.exists(`${file}.damaged-${n}`)) n++
    const aside = `${file}.damaged-${n}`
    yield* fs.rename(file, aside)
    for (const suffix of ["-wal", "-shm"]) yield* Effect.ignore(fs.rename(`${file}${suffix}`, `${aside}${suffix}`))
    return aside
  })

  return SessionIndex.of({ read, update })
})

/** SQLITE_CORRUPT and SQLITE_NOTADB. */
const isDamaged = (error: SqliteError): boolean => error.code !== undefined && [11, 26].includes(error.code & 0xff)

const write = (
  database: Database,
  changes: { readonly write: ReadonlyArray<SessionSummary>; readonly remove: ReadonlyArray<string> }
): Effect.Effect<IndexUpdate, SqliteError> =>
  database.transaction("write the index", (connection) => {
    const table = connection.get("SELECT name FROM sqlite_schema WHERE type = 'table' AND name = 'sessions'")
    if (table === undefined) connection.exec(TABLE)
    const places = COLUMNS.map(() => "?").join(", ")
    const set = COLUMNS.slice(1).map((column) => `${column} = excluded.${column}`)
    const upsert = `INSERT INTO sessions (${COLUMNS.join(", ")}) VALUES (${places}) ON CONFLICT (path) DO UPDATE SET ${set.join(", ")}`
    let written = 0
    for (const row of changes.write) {
      written += connection.run(
        upsert,
        row.path,
        row.id,
        row.cwd,
        row.timestamp,
        row.messageCount,
        row.lastModifiedMs,
        row.sizeBytes,
        row.name ?? null
      )
    }
    let removed = 0
    for (const path of changes.remove) removed += connection.run("DELETE FROM sessions WHERE path = ?", path)
    return { written, removed }
  })

const summaryOf = (row: Row): SessionSummary => ({
  path: text(row, "path"),
  id: text(row, "id"),
  cwd: text(row, "cwd"),
  timestamp: text(row, "timestamp"),
  messageCount: number(row, "message_count"),
  lastModifiedMs: number(row, "last_modified_ms"),
  sizeBytes: number(row, "size_bytes"),
  ...(typeof row["name"] === "string" ? { name: row["name"] } : {})
})

/** Whether a row still speaks of the file as it is. */
export const isCurrent = (row: SessionSummary, file: { readonly sizeBytes: number; readonly modifiedMs: number }) =>
  row.sizeBytes === file.sizeBytes && row.lastModifiedMs === Math.floor(file.modifiedMs)
