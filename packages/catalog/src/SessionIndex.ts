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

/**
 * Rows as one JSON text a thousand, and the rowid of the last: a value costs a third of what it costs in a row object.
 * Rowids are texts because another program may choose them larger than a number is exact.
 */
const PAGE_QUERY = `SELECT json_group_array(json_array(${COLUMNS.join(", ")})) AS page, CAST(max(rowid) AS TEXT) AS last
  FROM (SELECT rowid, ${COLUMNS.join(", ")} FROM sessions WHERE rowid > ? ORDER BY rowid LIMIT 1000)`
/** The same where a column holds bytes, which no JSON can: another value that does not belong there stands for them. */
const ODD_PAGE_QUERY = `SELECT json_group_array(json_array(${COLUMNS.map((column) => `CASE typeof(${column}) WHEN 'blob' THEN ${column === "name" ? 0 : "NULL"} ELSE ${column} END`).join(", ")})) AS page, CAST(max(rowid) AS TEXT) AS last
  FROM (SELECT rowid, ${COLUMNS.join(", ")} FROM sessions WHERE rowid > ? ORDER BY rowid LIMIT 1000)`
const FIRST_ROWID = "-9223372036854775808"

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
  reason: Schema.String,
  /** Whether its file is damaged, so that `update` would move it aside and make a new one. */
  damaged: Schema.Boolean
}) {
  override get message(): string {
    return `${this.path}: ${this.reason}; the sessions are read without it`
  }
}

/** What an index holds. */
export interface IndexRows {
  /** By path. */
  readonly rows: ReadonlyMap<string, SessionSummary>
  /** Rows with a column that does not hold what it should: another program's doing. They say nothing. */
  readonly odd: number
}

export interface ReadOptions {
  /**
   * How long to wait for another program that locks the index, in which this one does nothing else; a moment unless
   * told, since everything can be found without the index.
   */
  readonly patienceMs?: number
}

/** What `update` is to do. */
export interface IndexChanges {
  readonly write: ReadonlyArray<SessionSummary>
  readonly remove: ReadonlyArray<string>
  /**
   * The rows as they were when the changes were decided. A row that another program wrote or changed since is left as it
   * is. Without it every change is made.
   */
  readonly seen?: ReadonlyMap<string, SessionSummary>
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
    /** The rows of an index; none when there is no index. Whoever uses a row compares it with the file. */
    readonly read: (file: string, options?: ReadOptions) => Effect.Effect<IndexRows, IndexUnavailable>
    /**
     * Writes rows and removes others, all in one transaction. An index that is not there is made, one that is damaged
     * is moved aside and made anew. Safe beside other programs that write to it.
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
          // Another program has just made the file.
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

  /** Damage in the depth of a file does not stop a transaction that happens to pass by it, but every row is read here. */
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

  /** Gives a damaged index another name, with what SQLite keeps beside it. */
  const moveAside = Effect.fnUntraced(
    function* (file: string) {
      let n = 1
      while (yield* fs.exists(`${file}.damaged-${n}`)) n++
      const aside = `${file}.damaged-${n}`
      // Where it is gone by now, another process has just done the same.
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

/** Another program's transaction takes a few milliseconds. */
const MOMENT_MS = 100

/** Without the path, which the error that it goes into tells too. */
const reasonOf = ({ message, path }: SqliteError): string =>
  message.startsWith(`${path}: `) ? message.slice(path.length + 2) : message

const pageAfter = (connection: Connection, rowid: bigint): Row => {
  let page: Row | undefined
  try {
    page = connection.get(PAGE_QUERY, rowid)
  } catch {
    // What is wrong with more than a column fails here again.
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
/** What tells a row from one that was written later. */
const SEEN = "sessions.last_modified_ms = ? AND sessions.size_bytes = ?"
/** A row that nobody can read is not what another program wants to keep. */
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
    /** No row has these: where none was seen, none may be changed. */
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

/** A row as it comes out of a page; undefined where another program put into a column what does not belong there. */
const summaryOf = (columns: ReadonlyArray<unknown>): SessionSummary | undefined => {
  // Taking an array apart in one go runs its iterator, which for some thousand rows takes as long as reading them.
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
 * Whether a row still speaks of the file as it is. Some programs cut a time to the millisecond below and others, Node's
 * dates among them, round it: one millisecond more or less is the same time.
 */
export const isCurrent = (row: SessionSummary, file: { readonly sizeBytes: number; readonly modifiedMs: number }) =>
  row.sizeBytes === file.sizeBytes && Math.abs(row.lastModifiedMs - Math.floor(file.modifiedMs)) <= 1
