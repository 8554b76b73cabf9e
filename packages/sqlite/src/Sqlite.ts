/**
 * SQLite, as Node brings it (`node:sqlite`), as a service.
 *
 * A connection is synchronous, so work on it is a plain function that runs in one go: nobody else's statement comes
 * between those of a transaction, and a batch costs one Effect and not one a row. Node loads SQLite when the first
 * database is opened, not when this module is imported.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"

/** What a column holds. */
export type Value = null | number | bigint | string | Uint8Array

export interface Row {
  readonly [column: string]: Value | undefined
}

/** SQLite's primary result codes that a person can do something about. */
const REMEDIES: { readonly [code: number]: string } = {
  5: "Another program is writing to it; try again when it is done",
  8: "Make it writable, or open it read-only",
  10: "Look at the disk and the system's log",
  11: "Move the file aside and bring back a copy",
  13: "Free some space on the disk",
  14: "Check that its directory exists and may be written to",
  26: "Give the path of a SQLite database, or of a file that is not there yet"
}

/** SQLite could not do something. */
export class SqliteError extends Schema.TaggedError<SqliteError>()("SqliteError", {
  path: Schema.String,
  operation: Schema.String,
  reason: Schema.String,
  /** SQLite's extended result code; the lowest eight bits are the primary one. Absent when SQLite was not reached. */
  code: Schema.optionalKey(Schema.Int)
}) {
  /** Whether another connection held the database for longer than the busy timeout. */
  get isBusy(): boolean {
    return this.code !== undefined && (this.code & 0xff) === 5
  }
  override get message(): string {
    const remedy = this.code === undefined ? undefined : REMEDIES[this.code & 0xff]
    return `${this.path}: cannot ${this.operation}: ${this.reason}${remedy === undefined ? "" : `. ${remedy}`}`
  }
}

/** A column does not hold what the program put there: another program's database, or another version's. */
class UnexpectedColumn extends Error {}

/** The text in a column; fails the work with a SqliteError when it holds anything else. */
export const text = (row: Row, column: string): string => {
  const value = row[column]
  if (typeof value === "string") return value
  throw new UnexpectedColumn(`column ${column} holds ${described(value)} in place of a text`)
}

/** The number in a column; fails the work with a SqliteError when it holds anything else. */
export const number = (row: Row, column: string): number => {
  const value = row[column]
  if (typeof value === "number") return value
  throw new UnexpectedColumn(`column ${column} holds ${described(value)} in place of a number`)
}

/** The bytes in a column; fails the work with a SqliteError when it holds anything else. */
export const bytes = (row: Row, column: string): Uint8Array => {
  const value = row[column]
  if (value instanceof Uint8Array) return value
  throw new UnexpectedColumn(`column ${column} holds ${described(value)} in place of bytes`)
}

const described = (value: Value | undefined): string =>
  value === undefined ? "nothing" : value === null ? "NULL" : value instanceof Uint8Array ? "bytes" : typeof value

/** Statements on an open database. Each one is prepared once. All of them throw what `use` and `transaction` catch. */
export interface Connection {
  /** Runs statements that take no parameters. */
  readonly exec: (sql: string) => void
  /** Runs one statement and tells how many rows it changed. */
  readonly run: (sql: string, ...parameters: ReadonlyArray<Value>) => number
  readonly get: (sql: string, ...parameters: ReadonlyArray<Value>) => Row | undefined
  readonly all: (sql: string, ...parameters: ReadonlyArray<Value>) => ReadonlyArray<Row>
  /** Rows one by one; use them up, or break off, before the same statement runs again. */
  readonly iterate: (sql: string, ...parameters: ReadonlyArray<Value>) => Iterable<Row>
}

/** An open database. */
export interface Database {
  readonly path: string
  /** Runs `work`, which must not keep the connection. `operation` ("read a page") goes into the error. */
  readonly use: <A>(operation: string, work: (connection: Connection) => A) => Effect.Effect<A, SqliteError>
  /** Runs `work` as one transaction that may write: all of it is done, or, when it throws, none. */
  readonly transaction: <A>(operation: string, work: (connection: Connection) => A) => Effect.Effect<A, SqliteError>
}

export interface OpenOptions {
  readonly readOnly?: boolean
  /** How long a statement waits, with the whole process, for another connection's lock; 5000 by default. */
  readonly busyTimeoutMs?: number
  /**
   * `full` (default): what was committed survives a power loss. `normal`: it survives the end of the process, and a
   * power loss may take the last transactions, but never half of one.
   */
  readonly synchronous?: "full" | "normal"
}

export class Sqlite extends Context.Service<
  Sqlite,
  {
    /** Opens the database at `path`, makes it when it is not there, and closes it with the scope. It is in WAL mode. */
    readonly open: (path: string, options?: OpenOptions) => Effect.Effect<Database, SqliteError, Scope.Scope>
    /**
     * Holds the file at `path` (made when it is not there, and left empty) locked against other callers of `lock` until
     * the scope closes. It does not wait: a lock held elsewhere fails with `isBusy`. The kernel lets go of it when the
     * process dies, so no lock is ever stale.
     */
    readonly lock: (path: string) => Effect.Effect<void, SqliteError, Scope.Scope>
  }
>()("@pi-sessions/sqlite/Sqlite") {
  static readonly layer = Layer.sync(Sqlite, () => Sqlite.of({ open, lock }))
}

const open = Effect.fn("Sqlite.open")(function* (
  path: string,
  options: OpenOptions = {}
): Effect.fn.Return<Database, SqliteError, Scope.Scope> {
  const readOnly = options.readOnly ?? false
  const attempt = attempting(path)
  const database = yield* acquire(path, { readOnly, timeout: options.busyTimeoutMs ?? 5000 })
  const connection = connect(database)
  yield* attempt("open", () => {
    if (readOnly) connection.get("PRAGMA schema_version")
    else {
      database.exec("PRAGMA journal_mode = WAL")
      database.exec(`PRAGMA synchronous = ${options.synchronous === "normal" ? "NORMAL" : "FULL"}`)
    }
  })
  return {
    path,
    use: (operation, work) => attempt(operation, () => work(connection)),
    transaction: (operation, work) => attempt(operation, () => transact(database, () => work(connection)))
  }
})

const lock = Effect.fn("Sqlite.lock")(function* (path: string): Effect.fn.Return<void, SqliteError, Scope.Scope> {
  const database = yield* acquire(path, { readOnly: false, timeout: 0 })
  yield* attempting(path)("lock", () => database.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE"))
})

/** A connection that is closed with the scope; what was not committed then is rolled back. */
const acquire = Effect.fnUntraced(function* (
  path: string,
  options: { readonly readOnly: boolean; readonly timeout: number }
): Effect.fn.Return<DatabaseSync, SqliteError, Scope.Scope> {
  const sqlite = yield* Effect.tryPromise({
    try: () => import("node:sqlite"),
    catch: () => new SqliteError({ path, operation: "open", reason: "this Node has no SQLite; 22.13 and later have" })
  })
  return yield* Effect.acquireRelease(
    attempting(path)("open", () => new sqlite.DatabaseSync(path, options)),
    (database) =>
      Effect.sync(() => {
        try {
          database.close()
        } catch {
          // What was committed is in the file or its log; there is nothing left to lose.
        }
      })
  )
})

const connect = (database: DatabaseSync): Connection => {
  const statements = new Map<string, StatementSync>()
  const prepared = (sql: string): StatementSync => {
    const known = statements.get(sql)
    if (known !== undefined) return known
    const statement = database.prepare(sql)
    statements.set(sql, statement)
    return statement
  }
  return {
    exec: (sql) => database.exec(sql),
    run: (sql, ...parameters) => Number(prepared(sql).run(...parameters).changes),
    get: (sql, ...parameters) => prepared(sql).get(...parameters),
    all: (sql, ...parameters) => prepared(sql).all(...parameters),
    iterate: (sql, ...parameters) => prepared(sql).iterate(...parameters)
  }
}

const transact = <A>(database: DatabaseSync, work: () => A): A => {
  // A transaction that begins by reading cannot always be made to write later.
  database.exec("BEGIN IMMEDIATE")
  try {
    const result = work()
    database.exec("COMMIT")
    return result
  } catch (cause) {
    // SQLite itself rolls back after some failures, a full disk for one.
    if (database.isTransaction) database.exec("ROLLBACK")
    throw cause
  }
}

/** Runs synchronous work; what SQLite refuses is a SqliteError, all else a defect. */
const attempting =
  (path: string) =>
  <A>(operation: string, work: () => A): Effect.Effect<A, SqliteError> =>
    Effect.suspend(() => {
      try {
        return Effect.succeed(work())
      } catch (cause) {
        if (cause instanceof UnexpectedColumn) {
          return Effect.fail(new SqliteError({ path, operation, reason: cause.message }))
        }
        const code = resultCode(cause)
        if (code === undefined || !(cause instanceof Error)) return Effect.die(cause)
        return Effect.fail(new SqliteError({ path, operation, reason: cause.message, code }))
      }
    })

/** The result code of an error that SQLite raised. */
const resultCode = (cause: unknown): number | undefined =>
  typeof cause === "object" && cause !== null && "errcode" in cause && typeof cause.errcode === "number"
    ? cause.errcode
    : undefined
