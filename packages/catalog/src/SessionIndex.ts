/**
 * Reads and writes `session-index.sqlite`, which other programs share (docs/adr/004-discovery-and-search.md). The index
 * is optional. A row is valid only while its size and time match the file. The table must not change.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import {
  type Connection,
  type Database,
  type Row,
  Sqlite,
  type SqliteError,
  type Value,
  text
} from "@pi-sessions/sqlite/Sqlite"

export const FILE_NAME = "session-index.sqlite"

/** The statement of docs/adr/004-discovery-and-search.md, character by character. */
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

/**
 * A page of 1,000 rows as one JSON text, which takes a third of the time of row objects, and its last rowid. The rowid
 * is a text because it may exceed the exact integers of JavaScript.
 */
const PAGE_QUERY = `SELECT json_group_array(json_array(${COLUMNS.join(", ")})) AS page, CAST(max(rowid) AS TEXT) AS last
  FROM (SELECT rowid, ${COLUMNS.join(", ")} FROM sessions WHERE rowid > ? ORDER BY rowid LIMIT 1000)`
/** The same for pages with blobs, which JSON cannot contain. A blob becomes a value that `summaryOf` rejects. */
const ODD_PAGE_QUERY = `SELECT json_group_array(json_array(${COLUMNS.map((column) => `CASE typeof(${column}) WHEN 'blob' THEN ${column === "name" ? 0 : "NULL"} ELSE ${column} END`).join(", ")})) AS page, CAST(max(rowid) AS TEXT) AS last
  FROM (SELECT rowid, ${COLUMNS.join(", ")} FROM sessions WHERE rowid > ? ORDER BY rowid LIMIT 1000)`
const FIRST_ROWID = "-9223372036854775808"

/** A row of the index. */
export const SessionSummary = Schema.Struct({
  /** Absolute. */
  path: Schema.String,
  id: Schema.String,
  cwd: Schema.String,
  /** The header's timestamp, unchanged. */
  timestamp: Schema.String,
  /** Number of entries of type `message`, on all branches. */
  messageCount: Schema.Int,
  /** Unix time in milliseconds. */
  lastModifiedMs: Schema.Int,
  sizeBytes: Schema.Int,
  /** The name that the user gave it. */
  name: Schema.optionalKey(Schema.String)
})
export type SessionSummary = typeof SessionSummary.Type

/** The index is locked, damaged or of another version. The sessions can be read without it. */
export class IndexUnavailable extends Schema.TaggedError<IndexUnavailable>()("IndexUnavailable", {
  path: Schema.String,
  reason: Schema.String,
  /** Whether the file is damaged. Then `update` moves it aside and creates a new one. */
  damaged: Schema.Boolean
}) {
  override get message(): string {
    return `${this.path}: ${this.reason}; the sessions are read without it`
  }
}

/** The rows of an index. */
export interface IndexRows {
  /** Rows by path. */
  readonly rows: ReadonlyMap<string, SessionSummary>
  /** Number of rows with a value of the wrong type, written by other programs. They are ignored. */
  readonly odd: number
}

export interface ReadOptions {
  /** Milliseconds to wait for a lock of another program; blocks the process. Default: 100. */
  readonly patienceMs?: number
}

/** Changes for `update`. */
export interface IndexChanges {
  readonly write: ReadonlyArray<SessionSummary>
  readonly remove: ReadonlyArray<string>
  /** The rows on which the changes are based. Rows that changed since are skipped. Default: skip none. */
  readonly seen?: ReadonlyMap<string, SessionSummary>
}

/** The result of `update`. */
export interface IndexUpdate {
  readonly written: number
  readonly removed: number
  /** The new path of a damaged index. */
  readonly movedAside?: string
}

export class SessionIndex extends Context.Service<
  SessionIndex,
  {
    /** The rows of an index; empty if it does not exist. Check each with `isCurrent` before use. */
    readonly read: (file: string, options?: ReadOptions) => Effect.Effect<IndexRows, IndexUnavailable>
    /**
     * Writes and removes rows in one transaction. Creates a missing index; moves a damaged one aside and creates a new
     * one. Safe while other programs write to it.
     */
    readonly update: (file: string, changes: IndexChanges) => Effect.Effect<IndexUpdate, IndexUnavailable>
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

  const unavailable = (error: SqliteError) =>
    new IndexUnavailable({ path: error.path, reason: reasonOf(error), damaged: isDamaged(error) })

  const read = Effect.fn("SessionIndex.read")(function* (file: string, options: ReadOptions = {}) {
    const exists = yield* fs.exists(file).pipe(Effect.orElseSucceed(() => false))
    if (!exists) return NO_ROWS
    return yield* Effect.scoped(
      Effect.gen(function* () {
        const database = yield* sqlite.open(file, { readOnly: true, busyTimeoutMs: options.patienceMs ?? MOMENT_MS })
        return yield* database.use("read the index", (connection): IndexRows => {
          const rows = new Map<string, SessionSummary>()
          let odd = 0
          // Another program may have just created the file.
          if (!hasTable(connection)) return NO_ROWS
          let after: string | undefined = FIRST_ROWID
          while (after !== undefined) {
            const page: Row = pageAfter(connection, BigInt(after))
            const columns: ReadonlyArray<ReadonlyArray<unknown>> = JSON.parse(text(page, "page"))
            for (const row of columns) {
              const summary = summaryOf(row)
              if (summary === undefined) odd++
              else rows.set(summary.path, summary)
            }
            after = page["last"] === null ? undefined : text(page, "last")
          }
          return { rows, odd }
        })
      })
    ).pipe(Effect.mapError(unavailable))
  })

  const put = (file: string, changes: IndexChanges) =>
    Effect.scoped(Effect.flatMap(sqlite.open(file), (database) => write(database, changes))).pipe(
      Effect.mapError(unavailable)
    )

  /** Reads every row, because a transaction does not notice damage on pages that it does not touch. */
  const isWhole = (file: string) =>
    read(file).pipe(
      Effect.as(true),
      Effect.catchTag("IndexUnavailable", ({ damaged }) => Effect.succeed(!damaged))
    )

  const update = Effect.fn("SessionIndex.update")(function* (file: string, changes: IndexChanges) {
    if (yield* isWhole(file)) return yield* put(file, changes)
    const movedAside = yield* moveAside(file)
    return { ...(yield* put(file, changes)), movedAside }
  })

  /** Renames a damaged index and the files that SQLite keeps beside it. */
  const moveAside = Effect.fnUntraced(
    function* (file: string) {
      let n = 1
      while (yield* fs.exists(`${file}.damaged-${n}`)) n++
      const aside = `${file}.damaged-${n}`
      // If it is gone, another process has just moved it.
      yield* fs.rename(file, aside).pipe(Effect.catchReason("PlatformError", "NotFound", () => Effect.void))
      for (const suffix of ["-wal", "-shm"]) yield* Effect.ignore(fs.rename(`${file}${suffix}`, `${aside}${suffix}`))
      return aside
    },
    (moving, file) =>
      Effect.mapError(moving, ({ message }) => new IndexUnavailable({ path: file, reason: message, damaged: true }))
  )

  return SessionIndex.of({ read, update })
})

const NO_ROWS: IndexRows = { rows: new Map(), odd: 0 }

/** Longer than another program's usual transaction, which takes a few milliseconds. */
const MOMENT_MS = 100

/** The message without the path, which IndexUnavailable adds. */
const reasonOf = ({ message, path }: SqliteError): string =>
  message.startsWith(`${path}: `) ? message.slice(path.length + 2) : message

const pageAfter = (connection: Connection, rowid: bigint): Row => {
  let page: Row | undefined
  try {
    page = connection.get(PAGE_QUERY, rowid)
  } catch {
    // Any error other than a blob fails again.
    page = connection.get(ODD_PAGE_QUERY, rowid)
  }
  return page ?? {}
}

/** SQLITE_CORRUPT and SQLITE_NOTADB. */
const isDamaged = (error: SqliteError): boolean => error.code !== undefined && [11, 26].includes(error.code & 0xff)

const hasTable = (connection: Connection): boolean =>
  connection.get("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'sessions'") !== undefined

const PLACES = COLUMNS.map(() => "?").join(", ")
const SET = COLUMNS.slice(1).map((column) => `${column} = excluded.${column}`)
const UPSERT = `INSERT INTO sessions (${COLUMNS.join(", ")}) VALUES (${PLACES}) ON CONFLICT (path) DO UPDATE SET ${SET.join(", ")}`
const DELETE = "DELETE FROM sessions WHERE path = ?"
/** True for a row that is unchanged since it was read. */
const SEEN = "sessions.last_modified_ms = ? AND sessions.size_bytes = ?"
/** True for a row with a value of the wrong type, which may be overwritten. */
const ODD = [
  ...["id", "cwd", "timestamp"].map((column) => `typeof(sessions.${column}) <> 'text'`),
  ...["message_count", "last_modified_ms", "size_bytes"].map(
    (column) => `typeof(sessions.${column}) NOT IN ('integer', 'real')`
  ),
  "typeof(sessions.name) NOT IN ('text', 'null')"
].join(" OR ")

const write = (database: Database, changes: IndexChanges): Effect.Effect<IndexUpdate, SqliteError> =>
  database.transaction("write the index", (connection) => {
    if (!hasTable(connection)) connection.exec(TABLE)
    const { seen } = changes
    /** Null equals nothing, so a row that was not seen is not changed. */
    const marks = (path: string): ReadonlyArray<Value> => {
      const row = seen?.get(path)
      return row === undefined ? [null, null] : [row.lastModifiedMs, row.sizeBytes]
    }
    const put = seen === undefined ? UPSERT : `${UPSERT} WHERE (${SEEN}) OR ${ODD}`
    const take = seen === undefined ? DELETE : `${DELETE} AND ${SEEN}`
    const conditions = (path: string): ReadonlyArray<Value> => (seen === undefined ? [] : marks(path))
    let written = 0
    for (const row of changes.write) written += connection.run(put, ...valuesOf(row), ...conditions(row.path))
    let removed = 0
    for (const path of changes.remove) removed += connection.run(take, path, ...conditions(path))
    return { written, removed }
  })

const valuesOf = (row: SessionSummary): ReadonlyArray<Value> => [
  row.path,
  row.id,
  row.cwd,
  row.timestamp,
  row.messageCount,
  row.lastModifiedMs,
  row.sizeBytes,
  row.name ?? null
]

/** A row from the columns of a page; undefined if a value has the wrong type. */
const summaryOf = (columns: ReadonlyArray<unknown>): SessionSummary | undefined => {
  // Destructuring would run the array's iterator, which takes as long as reading the rows.
  const path = columns[0]
  const id = columns[1]
  const cwd = columns[2]
  const timestamp = columns[3]
  const messageCount = columns[4]
  const lastModifiedMs = columns[5]
  const sizeBytes = columns[6]
  const name = columns[7]
  if (
    typeof path === "string" &&
    typeof id === "string" &&
    typeof cwd === "string" &&
    typeof timestamp === "string" &&
    typeof messageCount === "number" &&
    typeof lastModifiedMs === "number" &&
    typeof sizeBytes === "number" &&
    (typeof name === "string" || name === null)
  ) {
    const summary = { path, id, cwd, timestamp, messageCount, lastModifiedMs, sizeBytes }
    return name === null ? summary : { ...summary, name }
  }
  return undefined
}

/**
 * Whether size and time of a row match the file. Times may differ by one millisecond, because some programs round and
 * others truncate.
 */
export const isCurrent = (row: SessionSummary, file: { readonly sizeBytes: number; readonly modifiedMs: number }) =>
  row.sizeBytes === file.sizeBytes && Math.abs(row.lastModifiedMs - Math.floor(file.modifiedMs)) <= 1
