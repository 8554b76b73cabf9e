/** One writer at a time, readers at any time, and no lock that outlives its process; tested with several processes. */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { SessionStore } from "../src/SessionStore.ts"
import { StoreMigration } from "../src/StoreMigration.ts"
import * as OtherProcess from "./support/otherProcess.ts"
import * as Sessions from "./support/sessions.ts"
import * as settings from "./support/settings.ts"
import * as Store from "./support/storeLayer.ts"

const inFolder = Effect.gen(function* () {
  const directory = yield* temporaryFolder
  const location = { directory, sessionId: "s1" }
  const store = yield* SessionStore
  yield* Effect.scoped(Effect.asVoid(store.create(directory, Sessions.headerLine())))
  return { directory, location, store }
})

describe("a store that another process writes to", () => {
  it.live("is refused to a second writer at once, with the holder's name, and to a migration and a rollback too", () =>
    Effect.gen(function* () {
      const { directory, location, store } = yield* inFolder
      const other = yield* OtherProcess.start(location, "hold")
      const refused = yield* Effect.flip(Effect.scoped(store.writer(location)))
      assert.strictEqual(refused._tag, "StoreLocked")
      assert.include(refused.message, `process ${other.pid} (storeWriter.ts), since 20`)
      const migration = yield* StoreMigration
      assert.strictEqual((yield* Effect.flip(migration.rollback(location)))._tag, "StoreLocked")
      assert.strictEqual((yield* Effect.flip(store.retire(location)))._tag, "StoreLocked")
      const file = Path.join(directory, "s.jsonl")
      Fs.writeFileSync(file, Sessions.fileOf(Sessions.headerLine(), []))
      assert.strictEqual((yield* Effect.flip(migration.migrate(file)))._tag, "StoreLocked")
      const again = yield* Effect.flip(Effect.scoped(store.create(directory, Sessions.headerLine())))
      assert.strictEqual(again._tag, "StoreLocked")
    }).pipe(Effect.scoped, Effect.provide(Store.live))
  )

  it.live("is opened at once by the next writer after kill -9, with every acknowledged entry", () =>
    Effect.gen(function* () {
      const { location, store } = yield* inFolder
      const acknowledged: Array<string> = []
      const rounds = settings.kills({ test: 2, campaign: 50 })
      for (let round = 0; round < rounds; round++) {
        const other = yield* OtherProcess.start(location, "append")
        yield* other.saysMore(20 + 15 * round)
        yield* other.kill
        acknowledged.push(...other.acknowledged())
        yield* Effect.scoped(
          Effect.gen(function* () {
            const writer = yield* store.writer(location)
            assert.isAtLeast(writer.entryCount, acknowledged.length)
            // Whole entries that were not acknowledged yet may be there.
            assert.isAtMost(writer.entryCount, acknowledged.length + round + 1)
          })
        )
        const texts = yield* Effect.scoped(
          Effect.flatMap(store.reader(location), (reader) =>
            Effect.map(Stream.runCollect(reader.range(1, 1e9)), (entries) => entries.map((entry) => entry.text))
          )
        )
        const known = new Set(acknowledged)
        assert.deepStrictEqual(
          texts.filter((text) => known.has(text)),
          acknowledged,
          "all acknowledged entries, in order"
        )
        const report = yield* store.verify(location)
        assert.deepStrictEqual(report.findings, [])
      }
      settings.note(`StoreLock: ${acknowledged.length} entries acknowledged before ${rounds} kills`)
    }).pipe(Effect.scoped, Effect.provide(Store.live))
  )

  it.live("is read without waiting, as a whole prefix that only grows", () =>
    Effect.gen(function* () {
      const { location, store } = yield* inFolder
      const other = yield* OtherProcess.start(location, "append")
      let longest = 0
      let reads = 0
      while (reads < settings.kills({ test: 8, campaign: 500 })) {
        const before = other.acknowledged().length
        const texts = yield* Effect.scoped(
          Effect.gen(function* () {
            const reader = yield* store.reader(location)
            assert.strictEqual(reader.header.text, Sessions.headerLine().text)
            const lines = yield* Stream.runCollect(reader.lines)
            assert.strictEqual(lines.length, reader.entryCount + 1)
            const last = yield* reader.last(5)
            assert.deepStrictEqual(
              last.map((entry) => entry.text),
              lines
                .slice(1)
                .slice(-5)
                .map((line) => line.text)
            )
            return lines.slice(1).map((line) => line.text)
          })
        )
        assert.isAtLeast(texts.length, before, "entries acknowledged before the reader opened are there")
        assert.isAtLeast(texts.length, longest)
        longest = texts.length
        reads++
        yield* other.saysMore(1)
        const known = other.acknowledged()
        const shared = Math.min(known.length, texts.length)
        assert.deepStrictEqual(texts.slice(0, shared), known.slice(0, shared))
      }
      yield* other.kill
      settings.note(`StoreLock: ${reads} readers beside a writer, of up to ${longest} entries`)
    }).pipe(Effect.scoped, Effect.provide(Store.live))
  )
})

describe("the lock file", () => {
  it.live("has no effect by itself: removed, left over, or with any holder's name in it", () =>
    Effect.gen(function* () {
      const { directory, location, store } = yield* inFolder
      const lock = Path.join(directory, "s1.lock")
      const open = Effect.scoped(Effect.map(store.writer(location), (writer) => writer.repairs))
      Fs.rmSync(lock, { force: true })
      assert.deepStrictEqual(yield* open, [])
      assert.isTrue(Fs.existsSync(lock))
      Fs.writeFileSync(`${lock}.holder`, "process 1 (somebody), since long ago\n")
      assert.deepStrictEqual(yield* open, [])
      assert.isFalse(Fs.existsSync(`${lock}.holder`), "the holder's name is removed when it ends")
    }).pipe(Effect.scoped, Effect.provide(Store.live))
  )

  it.live("with other bytes is a typed error that names it, and readers ignore it", () =>
    Effect.gen(function* () {
      const { directory, location, store } = yield* inFolder
      const lock = Path.join(directory, "s1.lock")
      Fs.writeFileSync(lock, "garbage ".repeat(1000))
      const result = yield* Effect.result(Effect.scoped(store.writer(location)))
      if (result._tag === "Failure") {
        assert.strictEqual(result.failure._tag, "StoreIoError")
        assert.include(result.failure.message, lock)
      }
      assert.strictEqual(yield* Effect.scoped(Effect.map(store.reader(location), (reader) => reader.entryCount)), 0)
      Fs.rmSync(lock)
      yield* Effect.scoped(store.writer(location))
    }).pipe(Effect.scoped, Effect.provide(Store.live))
  )

  it.live("is released when a writer closes and when its opening fails", () =>
    Effect.gen(function* () {
      const { directory, location, store } = yield* inFolder
      const manifest = Path.join(directory, "s1.v2", "segments", "0000000000000001.seg")
      yield* Effect.scoped(Effect.flatMap(store.writer(location), (writer) => writer.checkpoint()))
      const bytes = Fs.readFileSync(manifest)
      Fs.writeFileSync(manifest, bytes.subarray(0, -3))
      for (let times = 0; times < 2; times++) {
        assert.strictEqual((yield* Effect.flip(Effect.scoped(store.writer(location))))._tag, "StoreDamaged")
      }
      Fs.writeFileSync(manifest, bytes)
      yield* Effect.scoped(store.writer(location))
      yield* Effect.scoped(store.writer(location))
    }).pipe(Effect.scoped, Effect.provide(Store.live))
  )
})
