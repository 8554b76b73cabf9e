/**
 * Node's SQLite (`node:sqlite`) as a service. Connections are synchronous, and work on one is a plain function: no other
 * statement runs inside a transaction, and a batch costs one Effect, not one for each row. SQLite is loaded when the first
 * database is opened.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"

/** A value of a column. */
export type Value = null | number | bigint | string | Uint8Array

export interface Row {
  readonly [column: string]: Value | undefined
}

/** What the user can do about an error, by SQLite's primary result code. */
const REMEDIES: { readonly [code: number]: string } = {
  5: "Another program is writing to it; try again when it is done",
  8: "Make it writable, or open it read-only",
  10: "Look at the disk and the system's log",
  11: "Move the file aside and bring back a copy",
  13: "Free some space on the disk",
  14: "Check that its directory exists and may be written to",
  26: "Give the path of a SQLite database, or of a file that is not there yet"
}

/** SQLite failed, or a column has an unexpected type. */
export class SqliteError extends Schema.TaggedError<SqliteError>()("SqliteError", {
  path: Schema.String,
  operation: Schema.String,
  reason: Schema.String,
  /** SQLite's extended result code; the lowest eight bits are the primary code. Absent when SQLite did not fail. */
  code: Schema.optionalKey(Schema.Int)
}) {
  /** Whether another connection locked the database for longer than the busy timeout. */
  get isBusy(): boolean {
    return this.code !== undefined && (this.code & 0xff) === 5
  }
  override get message(): string {
    const remedy = this.code === undefined ? undefined : REMEDIES[this.code & 0xff]
    return `${this.path}: cannot ${this.operation}: ${this.reason}${remedy === undefined ? "" : `. ${remedy}`}`
  }
}

/** A column has an unexpected type: the database is another program's, or another version's. */
class UnexpectedColumn extends Error {}

/** The text in a column. Other values fail the work with a `SqliteError`. */
export const text = (row: Row, column: string): string => {
  const value = row[column]
  if (typeof value === "string") return value
  throw new UnexpectedColumn(`column ${column} holds ${described(value)} in place of a text`)
}

/** The number in a column. Other values fail the work with a `SqliteError`. */
export const number = (row: Row, column: string): number => {
  const value = row[column]
  if (typeof value === "number") return value
  throw new UnexpectedColumn(`column ${column} holds ${described(value)} in place of a number`)
}

/** The bytes in a column. Other values fail the work with a `SqliteError`. */
export const bytes = (row: Row, column: string): Uint8Array => {
  const value = row[column]
  if (value instanceof Uint8Array) return value
  throw new UnexpectedColumn(`column ${column} holds ${described(value)} in place of bytes`)
}

const described = (value: Value | undefined): string =>
  value === undefined ? "nothing" : value === null ? "NULL" : value instanceof Uint8Array ? "bytes" : typeof value

/** Statements on an open database, each prepared once. They throw; `use` and `transaction` catch. */
export interface Connection {
  /** Runs statements without parameters. */
  readonly exec: (sql: string) => void
  /** Runs one statement and returns the number of changed rows. */
  readonly run: (sql: string, ...parameters: ReadonlyArray<Value>) => number
  readonly get: (sql: string, ...parameters: ReadonlyArray<Value>) => Row | undefined
  readonly all: (sql: string, ...parameters: ReadonlyArray<Value>) => ReadonlyArray<Row>
  /** Rows one by one. Finish or end the loop before the same statement runs again. */
  readonly iterate: (sql: string, ...parameters: ReadonlyArray<Value>) => Iterable<Row>
}

/** An open database. */
export interface Database {
  readonly path: string
  /** Runs `work`, which must not keep the connection. `operation` ("read a page") is for the error. */
  readonly use: <A>(operation: string, work: (connection: Connection) => A) => Effect.Effect<A, SqliteError>
  /** Runs `work` as one write transaction, which is rolled back when `work` throws. */
  readonly transaction: <A>(operation: string, work: (connection: Connection) => A) => Effect.Effect<A, SqliteError>
}

export interface OpenOptions {
  readonly readOnly?: boolean
  /** Milliseconds that a statement waits for another connection's lock; the whole process waits. Default: 5000. */
  readonly busyTimeoutMs?: number
  /**
   * `full`: committed transactions survive a power loss. `normal`: they survive the end of the process, and a power loss
   * can undo the last ones, each as a whole. Default: `full`.
   */
  readonly synchronous?: "full" | "normal"
}

export class Sqlite extends Context.Service<
  Sqlite,
  {
    /** Opens the database at `path` in WAL mode, creates it when it does not exist, and closes it with the scope. */
    readonly open: (path: string, options?: OpenOptions) => Effect.Effect<Database, SqliteError, Scope.Scope>
    /**
     * Locks the file at `path` (created empty when it does not exist) until the scope closes. Does not wait: fails with
     * `isBusy` when another caller has the lock. The kernel releases the lock when the process ends.
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

/** A connection that is closed with the scope; open transactions are rolled back. */
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
          // Committed transactions are in the file or its log.
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
  // A transaction that begins with a read cannot always be upgraded to a write.
  database.exec("BEGIN IMMEDIATE")
  try {
    const result = work()
    database.exec("COMMIT")
    return result
  } catch (cause) {
    // SQLite rolls back by itself after some failures, such as a full disk.
    if (database.isTransaction) database.exec("ROLLBACK")
    throw cause
  }
}

/** Runs synchronous work. Errors of SQLite become a `SqliteError`, other exceptions defects. */
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

/** The result code of an error of SQLite. */
const resultCode = (cause: unknown): number | undefined =>
  typeof cause === "object" && cause !== null && "errcode" in cause && typeof cause.errcode === "number"
    ? cause.errcode
    : undefined
