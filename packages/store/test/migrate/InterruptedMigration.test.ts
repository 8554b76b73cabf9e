/** Migrations during which the source is written, interrupted migrations, and containers that lost their marker. */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SessionStore } from "../../src/SessionStore.ts"
import { StoreMigration } from "../../src/StoreMigration.ts"
import * as Files from "../support/files.ts"
import * as Sessions from "../support/sessions.ts"
import * as Store from "../support/storeLayer.ts"
import { whenRenamed } from "../support/watchedFiles.ts"
import { bytes, inFolder, later, payloads, phases, rewriteManifest } from "../support/migratedSession.ts"

describe("a source that is written to during its migration", () => {
  it.live.each([
    { when: "before the container is put in place", suffix: "s1.v2" },
    { when: "just before the cutover", suffix: ".active.json" }
  ])("stays the active store, with what was appended: $when", ({ suffix }) =>
    Effect.gen(function* () {
      const { directory, file, location } = yield* inFolder
      let times = 0
      const appending = whenRenamed(suffix, () => {
        if (times++ === 0) Fs.appendFileSync(file, `${later.text}\n`)
      })
      const program = Effect.gen(function* () {
        const migration = yield* StoreMigration
        const failed = yield* Effect.flip(migration.migrate(file))
        assert.strictEqual(failed._tag, "VerificationFailed")
        assert.include(failed.message, "written to during the migration")
        assert.isTrue(Fs.readFileSync(file).equals(Buffer.concat([bytes, Buffer.from(`${later.text}\n`)])))
        const active = yield* (yield* SessionStore).active(location)
        assert.deepStrictEqual([active?.active, active?.path], ["jsonl_v3", "s.jsonl"])
        assert.strictEqual(
          (yield* Effect.flip(Effect.scoped((yield* SessionStore).writer(location))))._tag,
          "StoreNotActive"
        )
        assert.deepStrictEqual(yield* phases(location), [
          "planned",
          "staged",
          "verified",
          "rollback_planned",
          "rolled_back"
        ])
        // Without further writes the migration succeeds.
        const again = yield* migration.migrate(file)
        assert.deepStrictEqual([again.outcome, again.entryCount], ["migrated", 7])
        assert.isTrue((yield* payloads(location)).equals(Fs.readFileSync(file)))
      })
      yield* program.pipe(Effect.provide(appending))
      assert.isAbove(times, 0)
      assert.deepStrictEqual(
        Fs.readdirSync(directory).filter((name) => name.includes("staging")),
        []
      )
    }).pipe(Effect.scoped)
  )
})

describe("a migration that was interrupted", () => {
  it.live("before its marker: the source is the active store, and the next attempt starts again", () =>
    Effect.gen(function* () {
      const { container, directory, file, location } = yield* inFolder
      // The machine stops at the commit.
      const stopped = yield* Effect.exit(
        Effect.flatMap(StoreMigration, (migration) => migration.migrate(file)).pipe(
          Effect.provide(
            whenRenamed(".active.json", () => {
              throw new Error("stopped")
            })
          )
        )
      )
      assert.strictEqual(stopped._tag, "Failure")
      yield* Effect.gen(function* () {
        const store = yield* SessionStore
        assert.isUndefined(yield* store.active(location))
        assert.isTrue(Fs.existsSync(container))
        assert.strictEqual((yield* Effect.flip(Effect.scoped(store.reader(location))))._tag, "StoreDamaged")
        assert.isTrue(Fs.readFileSync(file).equals(bytes))
        assert.strictEqual((yield* (yield* StoreMigration).migrate(file)).outcome, "migrated")
        assert.isTrue((yield* payloads(location)).equals(bytes))
        assert.deepStrictEqual((yield* store.verify(location)).findings, [])
        assert.deepStrictEqual(
          yield* phases(location),
          ["planned", "staged", "verified", "planned", "staged", "verified", "completed"],
          "the ledger has the first attempt too"
        )
        assert.isFalse(Fs.existsSync(`${container}.retired-1`), "a container that was never active is not retired")
      }).pipe(Effect.provide(Store.live))
      assert.isAbove(Fs.readdirSync(directory).length, 2)
    }).pipe(Effect.scoped)
  )

  /** Marker moved, container not finished. */
  const unfinished = Effect.gen(function* () {
    const place = yield* inFolder
    const migration = yield* StoreMigration
    yield* migration.migrate(place.file)
    const ledger = Path.join(place.container, "migrations", "ledger.jsonl")
    const lines = Fs.readFileSync(ledger, "utf8").split("\n")
    Fs.writeFileSync(ledger, `${lines.slice(0, 3).join("\n")}\n`)
    rewriteManifest(place.container, { state: "MIGRATION_STAGING" })
    return place
  })

  it.live.each(["writer", "migrate", "rollback"] as const)(
    "after its marker: FAILED, and back to the source, at the next %s",
    (who) =>
      Effect.gen(function* () {
        const { container, file, location } = yield* unfinished
        const store = yield* SessionStore
        const migration = yield* StoreMigration
        // Pi may have written to the source in the meantime.
        Fs.appendFileSync(file, `${later.text}\n`)
        if (who === "migrate") {
          assert.strictEqual((yield* migration.migrate(file)).outcome, "migrated")
          assert.isTrue((yield* payloads(location)).equals(Fs.readFileSync(file)))
          return
        }
        const refused = yield* Effect.flip(
          who === "writer"
            ? Effect.asVoid(Effect.scoped(store.writer(location)))
            : Effect.asVoid(migration.rollback(location))
        )
        assert.strictEqual(refused._tag, "StoreNotActive")
        assert.include(refused.message, file)
        const active = yield* store.active(location)
        assert.deepStrictEqual([active?.active, active?.manifest], ["jsonl_v3", null])
        const report = yield* store.verify(location)
        assert.deepStrictEqual([report.state, report.findings], ["ROLLED_BACK", []])
        assert.deepStrictEqual((yield* phases(location)).slice(-2), ["rollback_planned", "rolled_back"])
        const events = yield* migration.ledger(location)
        assert.strictEqual(new Set(events.map((event) => event.correlation_id)).size, 1)
        assert.isString(events.at(-1)?.reason)
        const before = Files.below(container)
        yield* Effect.flip(Effect.scoped(store.writer(location)))
        assert.deepStrictEqual(Files.changed(before, Files.below(container)), [], "a second attempt changes nothing")
      }).pipe(Effect.scoped, Effect.provide(Store.live))
  )

  it.live("with a missing source: FAILED, and a person can restore it or export", () =>
    Effect.gen(function* () {
      for (const way of ["bring it back", "export"] as const) {
        const { container, file, location } = yield* unfinished
        const store = yield* SessionStore
        const migration = yield* StoreMigration
        Fs.renameSync(file, `${file}.away`)
        for (let times = 0; times < 2; times++) {
          const failed = yield* Effect.flip(Effect.scoped(store.writer(location)))
          assert.strictEqual(failed._tag, "StoreFailed")
          assert.include(failed.message, file)
          assert.include(failed.message, "rollback")
        }
        assert.strictEqual((yield* store.verify(location)).state, "FAILED")
        assert.deepStrictEqual((yield* phases(location)).slice(-1), ["rolled_back (failed)"])
        const read = yield* payloads(location)
        assert.isTrue(read.equals(bytes), "it can still be read")
        if (way === "bring it back") {
          Fs.renameSync(`${file}.away`, file)
          assert.strictEqual((yield* Effect.flip(Effect.scoped(store.writer(location))))._tag, "StoreNotActive")
          assert.strictEqual((yield* migration.migrate(file)).outcome, "migrated")
        } else {
          const back = yield* migration.rollback(location, { reason: "its source is gone" })
          assert.isTrue(Fs.readFileSync(back.path).equals(bytes))
          assert.strictEqual((yield* store.active(location))?.active, "jsonl_v3")
          assert.strictEqual((yield* migration.migrate(back.path)).outcome, "migrated")
        }
        assert.deepStrictEqual((yield* store.verify(location)).findings, [])
        assert.isTrue(Fs.existsSync(container))
      }
    }).pipe(Effect.scoped, Effect.provide(Store.live))
  )

  it.live("with another file in place of its source: FAILED, and that file is unchanged", () =>
    Effect.gen(function* () {
      const { file, location } = yield* unfinished
      Fs.writeFileSync(file, bytes.toString("utf8").replace('"n":3', '"n":9'))
      const before = Fs.readFileSync(file)
      const failed = yield* Effect.flip(Effect.scoped((yield* SessionStore).writer(location)))
      assert.strictEqual(failed._tag, "StoreFailed")
      assert.isTrue(Fs.readFileSync(file).equals(before))
    }).pipe(Effect.scoped, Effect.provide(Store.live))
  )

  it.live("before its last event: it is completed, and the ledger says so", () =>
    Effect.gen(function* () {
      const { container, file, location } = yield* inFolder
      yield* (yield* StoreMigration).migrate(file)
      const ledger = Path.join(container, "migrations", "ledger.jsonl")
      const lines = Fs.readFileSync(ledger, "utf8").split("\n")
      Fs.writeFileSync(ledger, `${lines.slice(0, 3).join("\n")}\n`)
      yield* Effect.scoped((yield* SessionStore).writer(location))
      assert.deepStrictEqual(yield* phases(location), ["planned", "staged", "verified", "completed"])
      assert.deepStrictEqual((yield* (yield* SessionStore).verify(location)).findings, [])
    }).pipe(Effect.scoped, Effect.provide(Store.live))
  )
})

describe("a container that lost its marker", () => {
  const lost = Effect.gen(function* () {
    const place = yield* inFolder
    yield* (yield* StoreMigration).migrate(place.file)
    const store = yield* SessionStore
    yield* Effect.scoped(Effect.flatMap(store.writer(place.location), (writer) => writer.append(later)))
    const marker = Path.join(place.directory, `${place.location.sessionId}.active.json`)
    const held = yield* payloads(place.location)
    return { ...place, marker, held, store }
  })

  it.live("is not replaced by a migration or a new store, and can be made active again", () =>
    Effect.gen(function* () {
      const { directory, file, held, location, marker, store } = yield* lost
      Fs.rmSync(marker)
      const before = Files.below(directory)
      for (const refused of [
        yield* Effect.flip((yield* StoreMigration).migrate(file)),
        yield* Effect.flip(store.create(directory, Sessions.headerLine()))
      ]) {
        assert.strictEqual(refused._tag, "MarkerLost")
        assert.include(refused.message, "store activate")
      }
      assert.deepStrictEqual(
        Files.changed(before, Files.below(directory)).filter((name) => !/\.lock/.test(name)),
        []
      )
      assert.strictEqual(yield* store.activate(location), "activated")
      assert.isTrue((yield* payloads(location)).equals(held))
      assert.deepStrictEqual((yield* store.verify(location)).findings, [])
      assert.strictEqual(yield* store.activate(location), "already")
      assert.strictEqual((yield* (yield* StoreMigration).migrate(file)).outcome, "already")
    }).pipe(Effect.scoped, Effect.provide(Store.live))
  )

  it.live("to a flipped bit can be made active again, also without a manifest, and the damaged marker is kept", () =>
    Effect.gen(function* () {
      const { container, held, location, marker, store } = yield* lost
      const damaged = Buffer.from(
        Fs.readFileSync(marker).toString("latin1").replace("native_v2", "native_v3"),
        "latin1"
      )
      Fs.writeFileSync(marker, damaged)
      Fs.rmSync(Path.join(container, "manifest.json"))
      assert.strictEqual(yield* store.activate(location), "activated")
      assert.isTrue((yield* payloads(location)).equals(held))
      assert.isTrue(Fs.readFileSync(`${marker}.damaged-1`).equals(damaged))
      assert.deepStrictEqual((yield* store.verify(location)).findings, [])
    }).pipe(Effect.scoped, Effect.provide(Store.live))
  )

  it.live("is not made active when another store is active, after a rollback, or when it is damaged", () =>
    Effect.gen(function* () {
      const { container, location, marker, store } = yield* lost
      const kept = Fs.readFileSync(marker)
      const segment = Path.join(container, "segments", "0000000000000001.seg")
      const sound = Fs.readFileSync(segment)
      const broken = Buffer.from(sound)
      broken[400] = (broken[400] ?? 0) ^ 1
      Fs.writeFileSync(segment, broken)
      Fs.rmSync(marker)
      assert.strictEqual((yield* Effect.flip(store.activate(location)))._tag, "StoreDamaged")
      assert.isFalse(Fs.existsSync(marker))
      Fs.writeFileSync(segment, sound)
      Fs.writeFileSync(marker, kept)
      yield* (yield* StoreMigration).rollback(location)
      assert.strictEqual((yield* Effect.flip(store.activate(location)))._tag, "StoreNotActive")
      Fs.rmSync(marker)
      assert.strictEqual((yield* Effect.flip(store.activate(location)))._tag, "StoreFailed")
    }).pipe(Effect.scoped, Effect.provide(Store.live))
  )
})
