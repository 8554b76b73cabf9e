/** A real full disk and real killed processes: every acknowledged entry is kept. */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as FullDisk from "@pi-sessions/testing/disk/FullDisk"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import { SessionStore } from "../../src/SessionStore.ts"
import { StoreMigration } from "../../src/StoreMigration.ts"
import * as settings from "../support/settings.ts"
import { entryOf, fileOf, header, heldIn, killAfter, reopen, sessionId, sourceOf } from "../support/crashRounds.ts"
import * as StoreLayer from "../support/storeLayer.ts"

const seed = settings.firstSeed

const isFull = (error: { readonly _tag: string; readonly code?: string | undefined }) =>
  error._tag === "StoreIoError" && error.code === "ENOSPC"

describe.skipIf(FullDisk.refusal() !== undefined)("a real disk that is full", () => {
  it.live("keeps every acknowledged entry, and the same writer continues when there is space", () =>
    Effect.gen(function* () {
      const disk = yield* FullDisk.make(4 << 20)
      const directory = Path.join(disk.root, "sessions")
      Fs.mkdirSync(directory)
      const chance = SeededRandom.make(seed)
      const store = yield* SessionStore
      let refusals = 0
      let repairs = 0
      yield* Effect.scoped(
        Effect.gen(function* () {
          const writer = yield* store.create(directory, header, { segmentBytes: 100_000 })
          for (let round = 0; round < settings.kills({ test: 4, campaign: 40 }); round++) {
            disk.fill(chance.int(6) * 4096)
            for (let failed = 0; failed < 3;) {
              const from = writer.entryCount + 1
              const entries = Array.from({ length: 1 + chance.int(20) }, (_, at) => entryOf(from + at))
              const exit = yield* Effect.result(writer.appendAll(entries))
              if (exit._tag === "Success") continue
              assert.isTrue(isFull(exit.failure), String(exit.failure))
              failed += 1
              refusals += 1
              assert.strictEqual(yield* heldIn(directory), writer.entryCount)
            }
            disk.free()
            yield* writer.append(entryOf(writer.entryCount + 1))
            if (chance.chance(0.3)) yield* writer.checkpoint()
            assert.strictEqual(yield* heldIn(directory), writer.entryCount)
          }
          repairs = writer.entryCount
        })
      )
      const held = repairs
      assert.deepStrictEqual(yield* reopen(directory), [])
      assert.strictEqual(yield* heldIn(directory), held)
      settings.note(`full tmpfs: ${held} entries, ${refusals} refused appends, seed ${seed}`)
    }).pipe(Effect.scoped, Effect.provide(StoreLayer.live))
  )

  it.live("leaves a session in its file when a migration does not fit, and migrates it when it does", () =>
    Effect.gen(function* () {
      const disk = yield* FullDisk.make(2 << 20)
      const directory = Path.join(disk.root, "sessions")
      Fs.mkdirSync(directory)
      const source = sourceOf(directory)
      const bytes = fileOf(400)
      Fs.writeFileSync(source, bytes)
      const migration = yield* StoreMigration
      let refusals = 0
      for (let pages = 0; pages < 70; pages += settings.isCampaign ? 3 : 12) {
        disk.fill(pages * 4096)
        const exit = yield* Effect.result(migration.migrate(source))
        disk.free()
        if (exit._tag === "Success") break
        refusals += 1
        const { failure } = exit
        assert.strictEqual(failure._tag, "StoreIoError", String(failure))
        assert.isTrue(Fs.readFileSync(source).equals(bytes))
        assert.strictEqual(yield* heldIn(directory), 400)
      }
      yield* migration.migrate(source)
      assert.deepStrictEqual(yield* reopen(directory), [])
      assert.strictEqual(yield* heldIn(directory), 400)
      disk.fill(8192)
      const location = { directory, sessionId }
      const store = yield* SessionStore
      const more = yield* Effect.scoped(
        Effect.flatMap(store.writer(location), (writer) => writer.append(entryOf(401)))
      ).pipe(Effect.result)
      const back = yield* Effect.result(migration.rollback(location))
      if (back._tag === "Failure") assert.strictEqual(back.failure._tag, "StoreIoError", String(back.failure))
      disk.free()
      assert.isAtLeast(yield* heldIn(directory), more._tag === "Success" ? 401 : 400)
      yield* Effect.ignore(migration.rollback(location))
      assert.isAtLeast(yield* heldIn(directory), more._tag === "Success" ? 401 : 400)
      yield* reopen(directory)
      assert.isTrue(Fs.readFileSync(source).equals(bytes))
      settings.note(`full tmpfs: ${refusals} refused migrations`)
      assert.isAbove(refusals, 1)
    }).pipe(Effect.scoped, Effect.provide(StoreLayer.live))
  )
})

describe("kill -9 of a real writer", () => {
  const rounds = settings.kills({ test: 2, campaign: 100 })

  it.live("loses nothing that it acknowledged while appending", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryFolder
      const chance = SeededRandom.make(seed)
      let [promised, repaired] = [0, 0]
      for (let round = 0; round < rounds; round++) {
        const { acknowledged } = yield* killAfter(
          directory,
          "append",
          seed * 1000 + round,
          2 + chance.int(150),
          chance.int(10)
        )
        promised = Math.max(promised, acknowledged)
        const before = yield* heldIn(directory)
        assert.isAtLeast(before, promised, `seed ${seed}, round ${round}`)
        if ((yield* reopen(directory)).length > 0) repaired += 1
        assert.strictEqual(yield* heldIn(directory), before)
        assert.deepStrictEqual(yield* reopen(directory), [])
        promised = before
      }
      settings.note(`kill -9: ${rounds} rounds while appending, ${promised} entries, ${repaired} repairs, seed ${seed}`)
      assert.isAtLeast(promised, rounds)
    }).pipe(Effect.scoped, Effect.provide(StoreLayer.live))
  )

  it.live("loses nothing while the session moves between stores, and changes no byte of its first file", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryFolder
      const chance = SeededRandom.make(seed + 1)
      const source = fileOf(20)
      Fs.writeFileSync(sourceOf(directory), source)
      let [promised, moved] = [20, 0]
      for (let round = 0; round < rounds; round++) {
        const { acknowledged, moves } = yield* killAfter(
          directory,
          "move",
          seed * 1000 + round,
          2 + chance.int(20),
          chance.int(20)
        )
        promised = Math.max(promised, acknowledged)
        moved += moves
        const before = yield* heldIn(directory)
        assert.isAtLeast(before, promised, `seed ${seed}, round ${round}`)
        yield* reopen(directory)
        assert.strictEqual(yield* heldIn(directory), before)
        assert.isTrue(Fs.readFileSync(sourceOf(directory)).equals(source))
        promised = before
      }
      settings.note(`kill -9: ${rounds} rounds while moving, ${promised} entries, ${moved} moves, seed ${seed}`)
      assert.isAbove(moved, 0)
    }).pipe(Effect.scoped, Effect.provide(StoreLayer.live))
  )
})
