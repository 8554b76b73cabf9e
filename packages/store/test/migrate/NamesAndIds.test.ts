/** Session ids as file names, records of other sessions, and names that lead out of the directory. */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { memoryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as ActiveStore from "../../src/wire/ActiveStore.ts"
import * as Manifest from "../../src/wire/Manifest.ts"
import { SessionStore } from "../../src/SessionStore.ts"
import { StoreMigration } from "../../src/StoreMigration.ts"
import * as Files from "../support/files.ts"
import * as Sessions from "../support/sessions.ts"
import { entries, flip, live, migrated, segment, write } from "../support/migratedSession.ts"

describe("names and ids", () => {
  it.live("of a session may have as many bytes as fit in a file name, with any characters", () =>
    live(
      Effect.gen(function* () {
        for (const [id, isTaken] of [
          ["é".repeat(100), true],
          ["é".repeat(101), false],
          ["x".repeat(200), true]
        ] as const) {
          const directory = yield* memoryFolder
          const file = Path.join(directory, "s.jsonl")
          Fs.writeFileSync(file, Sessions.fileOf(Sessions.headerLine(id), entries))
          const migration = yield* StoreMigration
          if (!isTaken) {
            assert.strictEqual((yield* Effect.flip(migration.migrate(file)))._tag, "MigrationRefused")
            continue
          }
          const { location } = yield* migration.migrate(file)
          assert.isTrue(Fs.readFileSync((yield* migration.rollback(location)).path).length > 0)
        }
      })
    )
  )

  it("that lead out of the directory are refused", () => {
    const marker = {
      schema: ActiveStore.SCHEMA_ID,
      session_id: "s1",
      active: "native_v2",
      path: "s1.v2",
      manifest: "s1.v2/manifest.json",
      correlation_id: null,
      changed_at: Sessions.timestamp
    } as const
    const isRead = (changes: object) =>
      Result.isSuccess(ActiveStore.decode(ActiveStore.encode({ ...marker, ...changes })))
    assert.isTrue(isRead({}))
    for (const path of ["..s", "...", "a\nb", "日本語.jsonl"]) assert.isTrue(isRead({ path }), path)
    for (const path of ["", ".", "..", "../x", "/etc/passwd", "a/b", "a\\b", "a\0b"]) {
      assert.isFalse(isRead({ path }), path)
      assert.isFalse(isRead({ manifest: `${path}/manifest.json` }), path)
    }
    assert.isFalse(isRead({ manifest: "s1.v2/other.json" }))
  })

  it.live("of another session's container are reported by reader, writer and verify", () =>
    live(
      Effect.gen(function* () {
        const { container, directory, location, manifest } = yield* migrated
        const store = yield* SessionStore
        yield* Effect.scoped(
          Effect.flatMap(store.create(directory, Sessions.headerLine("s2")), (writer) => writer.append(entries[0]!))
        )
        Fs.rmSync(container, { recursive: true })
        Fs.cpSync(Path.join(directory, "s2.v2"), container, { recursive: true })
        for (const how of ["copied", "with this session's manifest"] as const) {
          if (how !== "copied") {
            const { crc32: _crc32, ...rest } = JSON.parse(Fs.readFileSync(manifest, "utf8"))
            Fs.writeFileSync(manifest, Manifest.encode({ ...rest, session_id: "s1" }))
          }
          const before = Files.below(container)
          for (const failed of [
            yield* Effect.flip(Effect.asVoid(Effect.scoped(store.reader(location)))),
            yield* Effect.flip(Effect.asVoid(write(location)))
          ]) {
            assert.strictEqual(failed._tag, "StoreDamaged", how)
            assert.include(failed.message, "session s2", how)
          }
          const invariants = (yield* store.verify(location)).findings.map(({ invariant }) => invariant)
          assert.include(invariants, "INV-007", how)
          assert.deepStrictEqual(Files.changed(before, Files.below(container)), [], how)
        }
      })
    )
  )

  it.live("of another session's marker are reported too", () =>
    live(
      Effect.gen(function* () {
        const { location, marker } = yield* migrated
        const { crc32: _crc32, ...rest } = JSON.parse(Fs.readFileSync(marker, "utf8"))
        Fs.writeFileSync(marker, ActiveStore.encode({ ...rest, session_id: "s2" }))
        const store = yield* SessionStore
        assert.strictEqual((yield* Effect.flip(Effect.scoped(store.reader(location))))._tag, "StoreDamaged")
        const { findings } = yield* store.verify(location)
        assert.deepStrictEqual(
          findings.map(({ invariant, path }) => [invariant, path]),
          [["INV-007", marker]]
        )
      })
    )
  )

  it.live("a damaged marker is a finding, and everything else is still verified", () =>
    live(
      Effect.gen(function* () {
        const { container, location, marker } = yield* migrated
        flip(marker, 30)
        flip(segment(container, 1), 300)
        const { findings, segmentCount } = yield* (yield* SessionStore).verify(location)
        assert.isAtLeast(segmentCount, 1)
        const found = findings.map(({ invariant, path }) => `${invariant} ${path}`)
        assert.include(found, `INV-007 ${marker}`)
        assert.include(found, `INV-005 ${segment(container, 1)}`)
      })
    )
  )
})
