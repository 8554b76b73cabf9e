/** Reads and writes the index, beside another program that uses node:sqlite. */
import * as Files from "node:fs"
import * as Path from "node:path"
import { DatabaseSync } from "node:sqlite"
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Sqlite } from "@pi-sessions/sqlite/Sqlite"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as SessionIndex from "../src/SessionIndex.ts"
import { INDEX_TABLE } from "./support/indexTable.ts"

const summary = (n: number, name?: string): SessionIndex.SessionSummary => ({
  path: `/sessions/${n}.jsonl`,
  id: `id-${n}`,
  cwd: "/home/ann/gt/deacon",
  timestamp: "2026-02-25T08:30:46.710Z",
  messageCount: n,
  lastModifiedMs: 1_772_008_246_757,
  sizeBytes: 1000 + n,
  ...(name === undefined ? {} : { name })
})

const withIndex = <A, E>(
  use: (index: SessionIndex.SessionIndex["Service"], file: string) => Effect.Effect<A, E>
): Effect.Effect<A, E | Error> =>
  Effect.flatMap(temporaryFolder, (folder) =>
    Effect.flatMap(SessionIndex.SessionIndex, (index) => use(index, Path.join(folder, SessionIndex.FILE_NAME)))
  ).pipe(
    Effect.scoped,
    Effect.provide(SessionIndex.SessionIndex.layer.pipe(Layer.provide(Sqlite.layer), Layer.provide(NodeServices.layer)))
  )

describe("SessionIndex", () => {
  it.effect("creates exactly the documented table, and reads what it wrote", () =>
    withIndex((index, file) =>
      Effect.gen(function* () {
        assert.strictEqual((yield* index.read(file)).rows.size, 0)
        assert.isFalse(Files.existsSync(file), "reading creates no index")
        const rows = [summary(1), summary(2, 'deacon, \u00fcber "quotes"')]
        assert.deepStrictEqual(yield* index.update(file, { write: rows, remove: [] }), { written: 2, removed: 0 })
        const other = new DatabaseSync(file)
        const schema = other.prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL").all()
        other.close()
        assert.deepStrictEqual(
          schema.map(({ sql }) => sql),
          [INDEX_TABLE]
        )
        assert.deepStrictEqual([...(yield* index.read(file)).rows.values()], rows)
      })
    )
  )

  it.effect("keeps rows of another program, and changes and removes only the given rows", () =>
    withIndex((index, file) =>
      Effect.gen(function* () {
        const other = new DatabaseSync(file)
        other.exec(INDEX_TABLE)
        const put = other.prepare("INSERT INTO sessions VALUES (?, 'other', '/x', 't', 3, 4, 5, NULL)")
        for (const path of ["/a", "/b", "/c"]) put.run(path)
        const done = yield* index.update(file, { write: [{ ...summary(7), path: "/a" }], remove: ["/b", "/nowhere"] })
        assert.deepStrictEqual(done, { written: 1, removed: 1 })
        other.close()
        const { rows } = yield* index.read(file)
        assert.deepStrictEqual([...rows.keys()].toSorted(), ["/a", "/c"])
        assert.strictEqual(rows.get("/a")?.id, "id-7")
        assert.strictEqual(rows.get("/c")?.id, "other")
      })
    )
  )

  it.effect("moves a damaged index aside unchanged, and creates a new one", () =>
    withIndex((index, file) =>
      Effect.gen(function* () {
        Files.writeFileSync(file, "no database at all, but long enough to be looked at as one".repeat(40))
        const damaged = Files.readFileSync(file)
        assert.strictEqual((yield* Effect.flip(index.read(file)))._tag, "IndexUnavailable")
        const done = yield* index.update(file, { write: [summary(1)], remove: [] })
        assert.strictEqual(done.movedAside, `${file}.damaged-1`)
        assert.isTrue(Files.readFileSync(`${file}.damaged-1`).equals(damaged))
        assert.strictEqual((yield* index.read(file)).rows.size, 1)
      })
    )
  )

  it("considers a row current only while size and time match", () => {
    const row = summary(1)
    const file = { sizeBytes: row.sizeBytes, modifiedMs: row.lastModifiedMs + 0.9 }
    assert.isTrue(SessionIndex.isCurrent(row, file))
    assert.isFalse(SessionIndex.isCurrent(row, { ...file, sizeBytes: 1 }))
    assert.isTrue(SessionIndex.isCurrent(row, { ...file, modifiedMs: row.lastModifiedMs + 1 }), "rounded up")
    assert.isFalse(SessionIndex.isCurrent(row, { ...file, modifiedMs: row.lastModifiedMs + 2 }))
  })
})
