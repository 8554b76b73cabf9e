/** Databases, transactions, locks and errors. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import * as FileSystem from "node:fs"
import * as Path from "node:path"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as Sqlite from "../src/Sqlite.ts"

const open = (path: string, options?: Sqlite.OpenOptions) =>
  Effect.flatMap(Sqlite.Sqlite, (sqlite) => sqlite.open(path, options)).pipe(Effect.provide(Sqlite.Sqlite.layer))

const withTable = Effect.fnUntraced(function* (name = "t.sqlite") {
  const path = Path.join(yield* temporaryFolder, name)
  const database = yield* open(path)
  yield* database.use("make the table", (connection) =>
    connection.exec("CREATE TABLE t(a INTEGER PRIMARY KEY, b ANY) STRICT")
  )
  return { path, database }
})

const count = (database: Sqlite.Database) =>
  database.use("count", (connection) => Sqlite.number(connection.get("SELECT count(*) AS n FROM t") ?? {}, "n"))

describe("Sqlite", () => {
  it.effect("runs, gets, lists and iterates with parameters", () =>
    Effect.gen(function* () {
      const { database } = yield* withTable()
      const values = ["text", 7, null, Uint8Array.of(1, 2, 3), "naïve 🦄 \u0000 end"]
      const changes = yield* database.transaction("fill", (connection) =>
        values.map((value, index) => connection.run("INSERT INTO t VALUES (?, ?)", index, value))
      )
      assert.deepStrictEqual(changes, [1, 1, 1, 1, 1])
      const read = yield* database.use("read", (connection) => {
        const iterated: Array<Sqlite.Value | undefined> = []
        for (const row of connection.iterate("SELECT b FROM t ORDER BY a")) iterated.push(row["b"])
        return {
          iterated,
          all: connection.all("SELECT b FROM t WHERE a >= ? ORDER BY a", 0).map((row) => row["b"]),
          one: connection.get("SELECT b FROM t WHERE a = ?", 1)?.["b"],
          none: connection.get("SELECT b FROM t WHERE a = ?", 99)
        }
      })
      assert.deepStrictEqual(read, { iterated: values, all: values, one: 7, none: undefined })
    })
  )

  it.effect("runs a statement again after an unfinished iteration", () =>
    Effect.gen(function* () {
      const { database } = yield* withTable()
      const sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000000) SELECT i FROM n"
      const firsts = yield* database.use("read", (connection) =>
        [0, 1].map(() => {
          for (const row of connection.iterate(sql)) return Sqlite.number(row, "i")
          return undefined
        })
      )
      assert.deepStrictEqual(firsts, [1, 1])
    })
  )

  it.effect("rolls a transaction back when SQLite refuses, and when the work throws", () =>
    Effect.gen(function* () {
      const { database, path } = yield* withTable()
      const error = yield* Effect.flip(
        database.transaction("write twice", (connection) => {
          connection.run("INSERT INTO t VALUES (1, 'a')")
          connection.run("INSERT INTO t VALUES (1, 'b')")
        })
      )
      assert.deepInclude(error, { _tag: "SqliteError", path, operation: "write twice", code: 1555 })
      assert.include(error.message, `${path}: cannot write twice: UNIQUE constraint failed`)
      assert.strictEqual(yield* count(database), 0)

      const bug = yield* Effect.exit(
        database.transaction("write", (connection) => {
          connection.run("INSERT INTO t VALUES (1, 'a')")
          throw new TypeError("a bug")
        })
      )
      assert.isTrue(Exit.hasDies(bug))
      assert.strictEqual(yield* count(database), 0)
      yield* database.transaction("write", (connection) => connection.run("INSERT INTO t VALUES (1, 'a')"))
      assert.strictEqual(yield* count(database), 1)
    })
  )

  it.effect("keeps what was committed, in WAL mode, with full syncs", () =>
    Effect.gen(function* () {
      const path = Path.join(yield* temporaryFolder, "t.sqlite")
      const scope = yield* Scope.make()
      const first = yield* open(path).pipe(Scope.provide(scope))
      const modes = yield* first.transaction("write", (connection) => {
        connection.exec("CREATE TABLE t(a INTEGER PRIMARY KEY) STRICT; INSERT INTO t VALUES (1)")
        return [connection.get("PRAGMA journal_mode")?.["journal_mode"], connection.get("PRAGMA synchronous")]
      })
      assert.strictEqual(modes[0], "wal")
      assert.deepInclude(modes[1], { synchronous: 2 })
      yield* Scope.close(scope, Exit.void)
      assert.isTrue(Exit.hasDies(yield* Effect.exit(count(first))))
      assert.strictEqual(yield* count(yield* open(path, { readOnly: true })), 1)
    })
  )

  it.effect("refuses to write when opened read-only", () =>
    Effect.gen(function* () {
      const { path } = yield* withTable()
      const database = yield* open(path, { readOnly: true })
      assert.strictEqual(yield* count(database), 0)
      const error = yield* Effect.flip(
        database.use("write", (connection) => connection.run("INSERT INTO t VALUES (1, 1)"))
      )
      assert.include(error.message, "readonly database. Make it writable")
    })
  )

  it.effect("fails with a remedy when another connection writes", () =>
    Effect.gen(function* () {
      const { path, database } = yield* withTable()
      const other = yield* open(path, { busyTimeoutMs: 0 })
      const error = yield* database.transaction("hold", () =>
        Effect.runSync(Effect.flip(other.transaction("write", () => undefined)))
      )
      assert.isTrue(error.isBusy)
      assert.include(error.message, "try again when it is done")
      yield* other.transaction("write", (connection) => connection.run("INSERT INTO t VALUES (1, 1)"))
      assert.strictEqual(yield* count(database), 1)
    })
  )

  it.effect("names the file and the remedy when it cannot be opened, and leaves it as it is", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const notes = Path.join(folder, "notes.txt")
      FileSystem.writeFileSync(notes, "some notes\n".repeat(100))
      const fails = (path: string, options?: Sqlite.OpenOptions) =>
        Effect.map(Effect.flip(Effect.scoped(open(path, options))), (error) => error.message)
      assert.strictEqual(
        yield* fails(notes),
        `${notes}: cannot open: file is not a database. Give the path of a SQLite database, or of a file that is not there yet`
      )
      assert.strictEqual(FileSystem.readFileSync(notes, "utf8"), "some notes\n".repeat(100))
      assert.include(yield* fails(Path.join(folder, "no/such.sqlite")), "Check that its directory exists")
      assert.include(yield* fails(Path.join(folder, "none.sqlite"), { readOnly: true }), "unable to open")
      assert.deepStrictEqual(FileSystem.readdirSync(folder), ["notes.txt"])
    })
  )

  it.effect("fails with the column of an unexpected type", () =>
    Effect.gen(function* () {
      const { database } = yield* withTable()
      const error = yield* Effect.flip(
        database.use("read", (connection) => Sqlite.text(connection.get("SELECT NULL AS b") ?? {}, "b"))
      )
      assert.include(error.message, "column b holds NULL in place of a text")
      const row = { b: "text", c: Uint8Array.of(7), d: 7 }
      assert.deepStrictEqual(
        [Sqlite.text(row, "b"), Sqlite.bytes(row, "c"), Sqlite.number(row, "d")],
        ["text", Uint8Array.of(7), 7]
      )
      for (const column of ["b", "d", "e"]) {
        const wrong = yield* Effect.flip(database.use("read", () => Sqlite.bytes(row, column)))
        assert.match(wrong.message, /column . holds (string|number|nothing) in place of bytes/)
      }
    })
  )
})
