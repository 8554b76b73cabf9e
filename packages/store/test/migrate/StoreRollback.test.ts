/** Rollbacks, and what happens to the file that was migrated. */
import * as Fs from "node:fs"
import { DatabaseSync } from "node:sqlite"
import * as Path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { memoryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { SessionStore } from "../../src/SessionStore.ts"
import { StoreMigration } from "../../src/StoreMigration.ts"
import * as Sessions from "../support/sessions.ts"
import * as Store from "../support/storeLayer.ts"
import { bytes, entries, inFolder, later, live, migrated, phases, rewriteManifest } from "../support/migratedSession.ts"

describe("a rollback", () => {
  it.live("exports appended entries, leaves the source unchanged, and the next container keeps the ledger", () =>
    Effect.gen(function* () {
      const { file, location } = yield* inFolder
      const store = yield* SessionStore
      const migration = yield* StoreMigration
      yield* migration.migrate(file)
      yield* Effect.scoped(Effect.flatMap(store.writer(location), (writer) => writer.append(later)))
      const back = yield* migration.rollback(location, { reason: "to see it" })
      assert.isTrue(back.exported)
      assert.notStrictEqual(back.path, file)
      assert.isTrue(Fs.readFileSync(file).equals(bytes))
      assert.strictEqual(Fs.readFileSync(back.path, "utf8"), `${bytes.toString("utf8")}${later.text}\n`)
      assert.strictEqual((yield* migration.migrate(back.path)).outcome, "migrated")
      const twice = yield* migration.rollback(location)
      assert.deepStrictEqual(
        [twice.exported, twice.path],
        [false, back.path],
        "without new entries it returns to the same file"
      )
      const cycle = ["planned", "staged", "verified", "completed", "rollback_planned", "rolled_back"]
      assert.deepStrictEqual(yield* phases(location), [...cycle, ...cycle])
      const events = yield* migration.ledger(location)
      assert.strictEqual(events[4]?.reason, "to see it")
      assert.strictEqual(new Set(events.slice(0, 6).map((event) => event.correlation_id)).size, 1)
      assert.strictEqual(new Set(events.map((event) => event.correlation_id)).size, 2)
      const inactive = yield* store.inactive(location)
      assert.deepStrictEqual(inactive, [file])
    }).pipe(Effect.scoped, Effect.provide(Store.live))
  )

  it.live("whose file is missing: FAILED, and a person can restore it or export", () =>
    Effect.gen(function* () {
      for (const way of ["bring it back", "export"] as const) {
        const { container, location } = yield* inFolder
        const store = yield* SessionStore
        const migration = yield* StoreMigration
        yield* migration.migrate(Path.join(location.directory, "s.jsonl"))
        yield* Effect.scoped(Effect.flatMap(store.writer(location), (writer) => writer.append(later)))
        const { path } = yield* migration.rollback(location)
        const held = Fs.readFileSync(path)
        Fs.renameSync(path, `${path}.away`)
        const found = (yield* store.verify(location)).findings.map(
          ({ invariant, message }) => `${invariant} ${message}`
        )
        assert.deepStrictEqual(found, [`INV-007 the active store, ${Path.basename(path)}, is not there`])
        for (let times = 0; times < 2; times++) {
          for (const failed of [
            yield* Effect.flip(Effect.scoped(store.writer(location))),
            yield* Effect.flip(migration.migrate(Path.join(location.directory, "s.jsonl")))
          ]) {
            assert.strictEqual(failed._tag, "StoreFailed")
            assert.include(failed.message, path)
            assert.include(failed.message, "store rollback")
          }
        }
        assert.strictEqual((yield* store.verify(location)).state, "FAILED")
        if (way === "bring it back") {
          Fs.renameSync(`${path}.away`, path)
          assert.strictEqual((yield* Effect.flip(migration.rollback(location)))._tag, "StoreNotActive")
        } else {
          const again = yield* migration.rollback(location)
          assert.isTrue(Fs.readFileSync(again.path).equals(held))
          assert.strictEqual(Path.resolve(location.directory, (yield* store.active(location))?.path ?? ""), again.path)
        }
        const report = yield* store.verify(location)
        assert.deepStrictEqual([report.state, report.findings], ["ROLLED_BACK", []])
        assert.isTrue(Fs.existsSync(container))
      }
    }).pipe(Effect.scoped, Effect.provide(Store.live))
  )

  it.live("returns to the source itself only while it holds every entry", () =>
    Effect.gen(function* () {
      const { file, location } = yield* inFolder
      const migration = yield* StoreMigration
      yield* migration.migrate(file)
      // Another program writes to the inactive file.
      Fs.appendFileSync(file, `${later.text}\n`)
      assert.strictEqual((yield* migration.migrate(file)).sourceGrewBy, later.text.length + 1)
      const back = yield* migration.rollback(location)
      assert.isTrue(back.exported)
      assert.isTrue(Fs.readFileSync(back.path).equals(bytes))
      assert.strictEqual(Fs.readFileSync(file, "utf8"), `${bytes.toString("utf8")}${later.text}\n`)
    }).pipe(Effect.scoped, Effect.provide(Store.live))
  )

  it.live("that was interrupted after its marker is finished by the next opening", () =>
    Effect.gen(function* () {
      const { container, file, location } = yield* inFolder
      const store = yield* SessionStore
      const migration = yield* StoreMigration
      yield* migration.migrate(file)
      yield* migration.rollback(location)
      // The state between the rename of the marker and the write of the manifest.
      rewriteManifest(container, { state: "CHECKPOINTED" })
      const ledger = Path.join(container, "migrations", "ledger.jsonl")
      const lines = Fs.readFileSync(ledger, "utf8").split("\n").slice(0, 5)
      Fs.writeFileSync(ledger, `${lines.join("\n")}\n`)
      assert.strictEqual((yield* Effect.flip(Effect.scoped(store.writer(location))))._tag, "StoreNotActive")
      assert.strictEqual((yield* store.verify(location)).state, "ROLLED_BACK")
      assert.deepStrictEqual((yield* phases(location)).slice(-2), ["rollback_planned", "rolled_back"])
      assert.deepStrictEqual((yield* store.verify(location)).findings, [])
      assert.isTrue(Fs.readFileSync(file).equals(bytes))
    }).pipe(Effect.scoped, Effect.provide(Store.live))
  )

  it.live("of a damaged container is refused, and the container stays the active store", () =>
    Effect.gen(function* () {
      const { container, directory, file, location } = yield* inFolder
      const migration = yield* StoreMigration
      yield* migration.migrate(file)
      const segment = Path.join(container, "segments", "0000000000000001.seg")
      const broken = Fs.readFileSync(segment)
      broken[broken.length - 10] = 0x21
      Fs.writeFileSync(segment, broken)
      const before = Fs.readdirSync(directory).toSorted()
      const failed = yield* Effect.flip(migration.rollback(location))
      assert.strictEqual(failed._tag, "VerificationFailed")
      assert.strictEqual((yield* (yield* SessionStore).active(location))?.active, "native_v2")
      assert.deepStrictEqual(Fs.readdirSync(directory).toSorted(), before)
    }).pipe(Effect.scoped, Effect.provide(Store.live))
  )
})

describe("the file that was migrated", () => {
  const grown = Buffer.concat([bytes, Buffer.from(`${later.text}\n`)])
  const edited = Buffer.from(bytes.toString("utf8").replace('"n":3', '"n":9'))
  const both = Buffer.concat([edited, Buffer.from(`${later.text}\n`)])
  it.live.each([
    { what: "no" as const, now: bytes, grewBy: 0 },
    { what: "grown" as const, now: grown, grewBy: grown.length - bytes.length },
    { what: "rewritten" as const, now: edited, grewBy: 0 },
    { what: "rewritten" as const, now: both, grewBy: grown.length - bytes.length }
  ])("has its later change reported: $what, $grewBy more bytes", ({ grewBy, now, what }) =>
    live(
      Effect.gen(function* () {
        const { file, location } = yield* migrated
        const migration = yield* StoreMigration
        Fs.writeFileSync(file, now)
        const already = yield* migration.migrate(file)
        assert.deepInclude(already, { outcome: "already", sourceChanged: what, sourceGrewBy: grewBy })
        yield* Effect.scoped(Effect.flatMap((yield* SessionStore).writer(location), (writer) => writer.append(later)))
        const back = yield* migration.rollback(location)
        assert.deepInclude(back, { exported: true, sourceChanged: what })
        assert.isTrue(Fs.readFileSync(file).equals(now))
        const superseded = yield* migration.migrate(file)
        assert.deepInclude(superseded, { outcome: "superseded", sourceChanged: what })
      })
    )
  )

  it.live("is migrated, and rolled back to, also when the manifest must be rebuilt", () =>
    live(
      Effect.gen(function* () {
        const { file, location, manifest } = yield* migrated
        const migration = yield* StoreMigration
        Fs.writeFileSync(manifest, "{")
        assert.deepInclude(yield* migration.migrate(file), { outcome: "already", sourceChanged: "no", entryCount: 6 })
        Fs.writeFileSync(manifest, "{")
        assert.deepInclude(yield* migration.rollback(location), { path: file, exported: false })
      })
    )
  )

  it.live("has each finding once", () =>
    live(
      Effect.gen(function* () {
        const { file } = yield* inFolder
        Fs.writeFileSync(file, '{"type":"session","version":2,"id":"s1"}\n{"type":"custom","id":"","parentId":null}\n')
        const refused = yield* Effect.flip((yield* StoreMigration).migrate(file))
        assert.strictEqual(refused._tag, "MigrationRefused")
        assert.strictEqual(refused._tag === "MigrationRefused" && refused.findings.length, 1, refused.message)
      })
    )
  )

  it.live.each([
    { name: "a text in place of bytes", at: 1, line: "text" as const, reason: "column line" },
    { name: "a row missing", at: 5, line: "bytes" as const, reason: "row 1 of session_line is missing" },
    { name: "a row before the header", at: -1, line: "bytes" as const, reason: "row -1 of session_line" }
  ])("of sqlite_v1 is refused with an error, not a defect: $name", ({ at, line, reason }) =>
    live(
      Effect.gen(function* () {
        const directory = yield* memoryFolder
        const file = Path.join(directory, "s.sqlite")
        const database = new DatabaseSync(file)
        database.exec("CREATE TABLE session_line (entry_seq INTEGER PRIMARY KEY, line)")
        const insert = database.prepare("INSERT INTO session_line VALUES (?, ?)")
        insert.run(0, Buffer.from(`${Sessions.headerLine().text}\n`))
        const text = `${entries[0]?.text}\n`
        insert.run(at, line === "text" ? text : Buffer.from(text))
        database.close()
        const failed = yield* Effect.flip((yield* StoreMigration).migrate(file, { format: "sqlite_v1" }))
        assert.strictEqual(failed._tag, "StoreIoError")
        assert.include(failed.message, reason)
      })
    )
  )
})
