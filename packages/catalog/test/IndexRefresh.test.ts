/** Refreshes the index while files change and while other processes write to it; one of them uses SQLite alone. */
import { spawn } from "node:child_process"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { DatabaseSync } from "node:sqlite"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import * as Dose from "@pi-sessions/testing/Dose"
import * as PiHome from "@pi-sessions/testing/sessions/PiHome"
import { memoryFolder, temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { IndexRefresh } from "../src/IndexRefresh.ts"
import { SessionCatalog } from "../src/SessionCatalog.ts"
import { fast, inEnvironment } from "./support/catalogLayer.ts"
import { INDEX_TABLE } from "./support/indexTable.ts"

const schemaOf = (file: string): ReadonlyArray<unknown> => {
  const database = new DatabaseSync(file, { readOnly: true })
  const rows = database.prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL").all()
  database.close()
  return rows.map(({ sql }) => sql)
}

const rowsOf = (file: string): ReadonlyMap<string, { readonly [column: string]: unknown }> => {
  const database = new DatabaseSync(file, { readOnly: true })
  const rows = database.prepare("SELECT * FROM sessions").all()
  database.close()
  return new Map(rows.map((row) => [String(row["path"]), { ...row }]))
}

const bench = Effect.gen(function* () {
  const folder = yield* memoryFolder
  const root = Path.join(folder, "sessions")
  const file = Path.join(root, "session-index.sqlite")
  const index = yield* IndexRefresh
  const options = { sessions: [root] }
  const status = Effect.map(index.status(options), (all) => {
    const { current, gone, missing, others, sessions, stale } = all[0]!
    return { sessions, current, stale, missing, gone, others }
  })
  const refresh = Effect.map(index.refresh(options), ([done]) => ({ written: done!.written, removed: done!.removed }))
  return { folder, root, file, status, refresh, index, options }
})

const run = <A, E>(effect: Effect.Effect<A, E, Effect.Services<typeof bench> | SessionCatalog>) =>
  effect.pipe(inEnvironment({ HOME: "/" }), Effect.provide(fast), Effect.scoped)

describe("IndexRefresh", () => {
  it.live("writes missing and stale rows, removes rows of deleted files, and touches no other row", () =>
    run(
      Effect.gen(function* () {
        const { file, folder, refresh, root, status } = yield* bench
        PiHome.makeMany(root, 120)
        assert.deepStrictEqual(yield* status, { sessions: 120, current: 0, stale: 0, missing: 120, gone: 0, others: 0 })
        assert.isFalse(Fs.existsSync(file), "status creates no index")
        assert.deepStrictEqual(yield* refresh, { written: 120, removed: 0 })
        assert.deepStrictEqual(schemaOf(file), [INDEX_TABLE])
        assert.deepStrictEqual(yield* status, { sessions: 120, current: 120, stale: 0, missing: 0, gone: 0, others: 0 })

        const [first = "", second = "", third = ""] = [...rowsOf(file).keys()].sort()
        Fs.appendFileSync(first, '{"type":"session_info","id":"n","parentId":null,"name":"найдено"}\n')
        Fs.rmSync(second)
        const outside = Path.join(folder, "elsewhere.jsonl")
        const other = new DatabaseSync(file)
        const put = other.prepare("INSERT INTO sessions VALUES (?, 'x', '/x', 't', 1, 2, 3, NULL)")
        put.run(outside)
        put.run(`${root}-beside/gone.jsonl`)
        other.prepare("DELETE FROM sessions WHERE path = ?").run(third)
        other.close()
        assert.deepStrictEqual(yield* status, { sessions: 119, current: 117, stale: 1, missing: 1, gone: 1, others: 2 })
        assert.deepStrictEqual(yield* refresh, { written: 2, removed: 1 })
        assert.deepStrictEqual(yield* status, { sessions: 119, current: 119, stale: 0, missing: 0, gone: 0, others: 2 })
        const rows = rowsOf(file)
        assert.strictEqual(rows.get(first)?.["name"], "найдено")
        assert.isTrue(rows.has(outside) && rows.has(`${root}-beside/gone.jsonl`))
        assert.deepStrictEqual(yield* refresh, { written: 0, removed: 0 })
      })
    )
  )

  it.live("keeps rows that another program wrote while the sessions were read", () =>
    run(
      Effect.gen(function* () {
        const { file, index, refresh, root, status } = yield* bench
        PiHome.makeMany(root, 60)
        yield* refresh
        const [first = "", second = "", third = ""] = [...rowsOf(file).keys()].sort()
        for (const path of [first, second]) Fs.appendFileSync(path, '{"type":"message","id":"b","parentId":null}\n')
        Fs.rmSync(third)
        let calls = 0
        yield* index.refresh({
          sessions: [root],
          onProgress: () =>
            Effect.sync(() => {
              if (calls++ > 0) return
              const other = new DatabaseSync(file)
              other
                .prepare("UPDATE sessions SET size_bytes = 1, name = 'theirs' WHERE path IN (?, ?)")
                .run(first, third)
              other.close()
            })
        })
        const rows = rowsOf(file)
        assert.strictEqual(rows.get(first)?.["name"], "theirs")
        assert.strictEqual(rows.get(third)?.["name"], "theirs")
        assert.strictEqual(rows.get(second)?.["message_count"], 2)
        assert.deepStrictEqual(yield* refresh, { written: 1, removed: 1 })
        assert.strictEqual((yield* status).current, 59)
      })
    )
  )

  it.live("uses a row only while it matches the file", () =>
    run(
      Effect.gen(function* () {
        const { file, refresh, root } = yield* bench
        PiHome.makeMany(root, 3)
        yield* refresh
        const other = new DatabaseSync(file)
        other.exec("UPDATE sessions SET cwd = '/from the index'")
        const [stale = ""] = [...rowsOf(file).keys()].sort()
        other.prepare("UPDATE sessions SET last_modified_ms = last_modified_ms - 5000 WHERE path = ?").run(stale)
        other.close()
        const catalog = yield* SessionCatalog
        const { sessions } = yield* catalog.list({ sessions: [root] })
        assert.deepStrictEqual(
          sessions.map(({ cwd }) => cwd),
          ["/home/ann/project/0", "/from the index", "/from the index"]
        )
        const read = yield* catalog.list({ sessions: [root], useIndex: false })
        assert.isTrue(read.sessions.every(({ cwd }) => cwd === "/home/ann/project/0"))
      })
    )
  )

  it.live("ignores rows with values of the wrong type, and rewrites those of sessions", () =>
    run(
      Effect.gen(function* () {
        const { file, refresh, root, status } = yield* bench
        PiHome.makeMany(root, 12)
        const odd = ["message_count = 'not a number'", "name = x'00ff'", "id = x'41'", "size_bytes = 'x'", "name = 7.5"]
        for (const damage of odd) {
          yield* refresh
          const other = new DatabaseSync(file)
          const [first = ""] = [...rowsOf(file).keys()].sort()
          other.exec("CREATE TABLE kept AS SELECT * FROM sessions; DROP TABLE sessions")
          // Columns without an affinity accept any value.
          other.exec(`CREATE TABLE sessions (path PRIMARY KEY, id, cwd, timestamp, message_count, last_modified_ms,
            size_bytes, name)`)
          other.exec("INSERT INTO sessions SELECT * FROM kept; DROP TABLE kept")
          other.exec(`UPDATE sessions SET ${damage} WHERE path = '${first}'`)
          other.exec("INSERT INTO sessions VALUES (NULL, 'x', '/x', 't', 1, 2, 3, NULL)")
          other.close()
          const catalog = yield* SessionCatalog
          const { indexes, sessions } = yield* catalog.list({ sessions: [root] })
          assert.strictEqual(sessions.filter(({ indexed }) => indexed !== undefined).length, 11, damage)
          assert.strictEqual(indexes.size, 1)
          assert.deepStrictEqual(
            yield* status,
            { sessions: 12, current: 11, stale: 0, missing: 1, gone: 0, others: 2 },
            damage
          )
          assert.deepStrictEqual(yield* refresh, { written: 1, removed: 0 }, damage)
          assert.strictEqual((yield* status).current, 12, damage)
          Fs.rmSync(file)
        }
      })
    )
  )

  it.live("lists sessions without waiting while another program locks the index, and names the file once", () =>
    run(
      Effect.gen(function* () {
        const { file, index, options, refresh, root } = yield* bench
        PiHome.makeMany(root, 5)
        yield* refresh
        const other = new DatabaseSync(file)
        other.exec("PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE")
        const catalog = yield* SessionCatalog
        const listed = yield* catalog.list(options)
        assert.strictEqual(listed.sessions.length, 5)
        const [reading] = listed.indexes.values()
        assert.isTrue(reading !== undefined && Result.isFailure(reading))
        const [found] = yield* index.status(options)
        assert.strictEqual(found?.missing, 5)
        const message = found?.problem?.message ?? ""
        assert.strictEqual(message.split(file).length, 2, message)
        other.exec("COMMIT")
        other.close()
        assert.strictEqual((yield* index.status(options))[0]?.current, 5)
      })
    )
  )

  it.live("replaces an index that is damaged anywhere", () =>
    run(
      Effect.gen(function* () {
        const { file, refresh, root, status } = yield* bench
        PiHome.makeMany(root, 400)
        const damages: ReadonlyArray<(bytes: Buffer) => Buffer> = [
          (bytes) => bytes.fill(0x55, 0, 100),
          (bytes) => bytes.subarray(0, bytes.length >> 1),
          (bytes) => bytes.fill(0xee, 8192, 40_000),
          () => Buffer.from("no database, but long enough to be looked at as one".repeat(100))
        ]
        for (const [at, damage] of damages.entries()) {
          yield* refresh
          new DatabaseSync(file).exec("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE")
          Fs.writeFileSync(file, damage(Fs.readFileSync(file)))
          const catalog = yield* SessionCatalog
          assert.strictEqual((yield* catalog.list({ sessions: [root] })).sessions.length, 400, `damage ${at}`)
          assert.deepStrictEqual(yield* refresh, { written: 400, removed: 0 }, `damage ${at}`)
          assert.deepStrictEqual(schemaOf(file), [INDEX_TABLE])
          assert.strictEqual((yield* status).current, 400)
          assert.isTrue(Fs.existsSync(`${file}.damaged-${at + 1}`))
        }
      })
    )
  )

  it.live("is replaced once if two processes find it damaged at the same time", () =>
    run(
      Effect.gen(function* () {
        const { file, root, status } = yield* bench
        PiHome.makeMany(root, 100)
        Fs.writeFileSync(file, "no database, but long enough to be looked at as one".repeat(100))
        const program = Path.join(import.meta.dirname, "support", "refreshing.ts")
        const ends = yield* Effect.promise(() => Promise.all([runProgram(program, root), runProgram(program, root)]))
        for (const { code, err } of ends) assert.strictEqual(code, 0, err)
        const { current, sessions } = yield* status
        assert.deepStrictEqual([sessions, current], [100, 100])
        assert.deepStrictEqual(schemaOf(file), [INDEX_TABLE])
      })
    )
  )

  it.live("loses no row while two processes refresh and a third writes rows of another program", () =>
    run(
      Effect.gen(function* () {
        const { file, root, status } = yield* bench
        const folder = yield* temporaryFolder
        PiHome.makeMany(root, SHARED)
        const program = Path.join(import.meta.dirname, "support", "refreshing.ts")
        const other = Path.join(folder, "other.mjs")
        Fs.writeFileSync(other, OTHER_PROGRAM)
        const ends = yield* Effect.promise(() =>
          Promise.all([runProgram(other, file), runProgram(program, root), runProgram(program, root)])
        )
        for (const { code, err } of ends) assert.strictEqual(code, 0, err)
        const rows = rowsOf(file)
        for (let n = 0; n < 400; n++) assert.isTrue(rows.has(`/of/another/program/${n}.jsonl`), `row ${n}`)
        assert.deepStrictEqual(yield* status, {
          sessions: SHARED,
          current: SHARED,
          stale: 0,
          missing: 0,
          gone: 0,
          others: 400
        })
        assert.deepStrictEqual(schemaOf(file), [INDEX_TABLE])
        const database = new DatabaseSync(file, { readOnly: true })
        assert.deepStrictEqual(
          database
            .prepare("PRAGMA integrity_check")
            .all()
            .map((row) => ({ ...row })),
          [{ integrity_check: "ok" }]
        )
        assert.deepStrictEqual({ ...database.prepare("PRAGMA journal_mode").get() }, { journal_mode: "wal" })
        database.close()
      })
    )
  )
})

/** Sessions that several processes index at the same time. */
const SHARED = Dose.of("PI_SESSIONS_SHARED_INDEX", { test: 400, campaign: 5000 })

/** Uses the table and SQLite, and nothing of this package. */
const OTHER_PROGRAM = `import { DatabaseSync } from "node:sqlite"
const database = new DatabaseSync(process.argv[2], { timeout: 20000 })
database.exec(\`${INDEX_TABLE.replace("TABLE", "TABLE IF NOT EXISTS")}\`)
const put = database.prepare("INSERT OR REPLACE INTO sessions VALUES (?, ?, '/x', 't', ?, 2, 3, NULL)")
for (let round = 0; round < 5; round++) {
  for (let n = 0; n < 400; n++) put.run("/of/another/program/" + n + ".jsonl", "id-" + n, round)
}
database.close()
`

const runProgram = (
  program: string,
  ...args: ReadonlyArray<string>
): Promise<{ readonly code: number | null; readonly err: string }> =>
  new Promise((resolve) => {
    const child = spawn(process.execPath, [program, ...args], { stdio: ["ignore", "ignore", "pipe"] })
    let err = ""
    child.stderr.on("data", (chunk) => (err += String(chunk)))
    child.on("close", (code) => resolve({ code, err }))
  })
