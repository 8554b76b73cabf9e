/** Several faults at once, and faults outside the container: no acknowledged entry is cut off, and each fault is reported. */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import * as Manifest from "../../src/wire/Manifest.ts"
import { SessionStore } from "../../src/SessionStore.ts"
import { StoreMigration } from "../../src/StoreMigration.ts"
import * as Files from "../support/files.ts"
import * as Sessions from "../support/sessions.ts"
import { bytes, flip, inFolder, insideLine, later, live, migrated, segment, write } from "../support/migratedSession.ts"

describe("opening for writing", () => {
  it.live("cuts off no acknowledged frame, also when an earlier row is damaged", () =>
    live(
      Effect.gen(function* () {
        const { container, directory, location, offsets } = yield* inFolder
        const store = yield* SessionStore
        yield* Effect.scoped(
          Effect.flatMap(store.create(directory, Sessions.headerLine()), (writer) =>
            writer.appendAll(Sessions.chain(200))
          )
        )
        flip(offsets, insideLine(offsets, 41))
        flip(segment(container, 1), Fs.statSync(segment(container, 1)).size >> 1)
        const before = Files.below(container)
        const refused = yield* Effect.flip(write(location))
        assert.strictEqual(refused._tag, "StoreDamaged")
        assert.include(refused.message, "was acknowledged and is not whole any more")
        assert.deepStrictEqual(Files.changed(before, Files.below(container)), [])
      })
    )
  )

  it.live("changes nothing when a sealed segment proves damaged while the index is rebuilt", () =>
    live(
      Effect.gen(function* () {
        const { container, ledger, location, offsets } = yield* migrated
        flip(segment(container, 1), 300)
        flip(offsets, insideLine(offsets, 0))
        Fs.appendFileSync(ledger, '{"schema":')
        const before = Files.below(container)
        const refused = yield* Effect.flip(write(location))
        assert.strictEqual(refused._tag, "StoreDamaged")
        assert.deepStrictEqual(Files.changed(before, Files.below(container)), [])
      })
    )
  )

  it.live("undoes an unfinished cutover whose manifest is damaged", () =>
    live(
      Effect.gen(function* () {
        const { file, ledger, location, manifest } = yield* migrated
        Fs.writeFileSync(ledger, `${Fs.readFileSync(ledger, "utf8").split("\n").slice(0, 3).join("\n")}\n`)
        Fs.writeFileSync(manifest, "{")
        assert.strictEqual((yield* Effect.flip(write(location)))._tag, "StoreNotActive")
        const store = yield* SessionStore
        assert.strictEqual((yield* store.active(location))?.path, "s.jsonl")
        const report = yield* store.verify(location)
        assert.deepStrictEqual([report.state, report.findings], ["ROLLED_BACK", []])
        assert.isTrue(Fs.readFileSync(file).equals(bytes))
      })
    )
  )

  it.live("loses no appended entry when the ledger lost its end and the manifest is damaged", () =>
    live(
      Effect.gen(function* () {
        const { ledger, location, manifest } = yield* migrated
        const store = yield* SessionStore
        yield* Effect.scoped(Effect.flatMap(store.writer(location), (writer) => writer.append(later)))
        Fs.writeFileSync(ledger, `${Fs.readFileSync(ledger, "utf8").split("\n").slice(0, 3).join("\n")}\n`)
        Fs.writeFileSync(manifest, "{")
        assert.isAtLeast((yield* write(location)).length, 1)
        const reader = yield* store.reader(location)
        assert.strictEqual(reader.entryCount, 7)
      })
    )
  )

  it.live("takes the source of a rebuilt manifest from the newest migration only", () =>
    live(
      Effect.gen(function* () {
        const { file, ledger, location, manifest } = yield* migrated
        const store = yield* SessionStore
        const migration = yield* StoreMigration
        const back = yield* migration.rollback(location, { format: "sqlite_v1" })
        yield* migration.migrate(back.path, { format: "sqlite_v1" })
        yield* Effect.scoped(Effect.flatMap(store.writer(location), (writer) => writer.append(later)))
        // Without its end, so that the end of the first migration is the last event.
        Fs.writeFileSync(ledger, Fs.readFileSync(ledger, "utf8").replace(/[^\n]*\n$/, ""))
        Fs.writeFileSync(manifest, "{")
        yield* write(location)
        const found = Result.getOrThrow(Manifest.decode(Fs.readFileSync(manifest)))
        assert.strictEqual(found.source?.path, Path.basename(back.path))
        // A session that was created has no source, also when its ledger has events of earlier containers.
        yield* store.retire(location)
        yield* Effect.scoped(store.create(location.directory, Sessions.headerLine()))
        Fs.writeFileSync(manifest, "{")
        yield* write(location)
        const created = Result.getOrThrow(Manifest.decode(Fs.readFileSync(manifest)))
        assert.deepStrictEqual([created.source, created.correlation_id], [null, null])
        assert.isTrue(Fs.existsSync(file))
      })
    )
  )
  it.live("with an older manifest counts every segment, and accepts no id twice", () =>
    live(
      Effect.gen(function* () {
        const { container, directory, ledger, location, manifest, offsets } = yield* inFolder
        const store = yield* SessionStore
        const chain = Sessions.chain(30)
        const segmentBytes = 2000
        const older = yield* Effect.scoped(
          Effect.gen(function* () {
            const writer = yield* store.create(directory, Sessions.headerLine(), { segmentBytes })
            for (const entry of chain.slice(0, 6)) yield* writer.append(entry)
            yield* writer.checkpoint()
            const older = Fs.readFileSync(manifest)
            for (const entry of chain.slice(6)) yield* writer.append(entry)
            yield* writer.checkpoint()
            return older
          })
        )
        const segments = Fs.readdirSync(Path.join(container, "segments")).length
        assert.isAbove(segments, 3)
        Fs.writeFileSync(manifest, older)
        const messages = (yield* store.verify(location)).findings.map(({ message }) => message)
        assert.include(messages.join(), "the manifest is older than the segments")
        const repairs = yield* Effect.scoped(
          Effect.gen(function* () {
            const writer = yield* store.writer(location, { segmentBytes })
            assert.strictEqual(writer.state, "DIRTY")
            assert.isTrue(chain.every(({ id }) => writer.has(id ?? "")))
            yield* writer.append(Sessions.entryLine("child", "e10"))
            const again = yield* Effect.flip(writer.append(Sessions.entryLine("e10", "e30", { other: true })))
            assert.strictEqual(again._tag, "EntryRefused")
            yield* writer.checkpoint()
            return writer.repairs
          })
        )
        assert.isTrue(
          repairs.some((what) => what.includes("sealed again")),
          repairs.join()
        )
        const found = Result.getOrThrow(Manifest.decode(Fs.readFileSync(manifest)))
        assert.deepStrictEqual(
          found.segments.map(({ segment_seq }) => segment_seq),
          found.segments.map((_, at) => at + 1)
        )
        const rows = Fs.readFileSync(offsets, "utf8").split("\n").slice(0, -1)
        assert.deepStrictEqual(
          rows.map((row): unknown => JSON.parse(row).entry_seq),
          rows.map((_, at) => at)
        )
        assert.deepStrictEqual((yield* store.verify(location)).findings, [])
        const events = Fs.readFileSync(ledger, "utf8")
        assert.deepStrictEqual(yield* write(location), [])
        assert.strictEqual(Fs.readFileSync(ledger, "utf8"), events)
      })
    )
  )

  it.live.each(["missing", "cut short"])(
    "is refused when a segment before the last one is %s, with an older manifest",
    (how) =>
      live(
        Effect.gen(function* () {
          const { container, directory, location, manifest, offsets } = yield* inFolder
          const store = yield* SessionStore
          yield* Effect.scoped(
            Effect.flatMap(store.create(directory, Sessions.headerLine(), { segmentBytes: 2000 }), (writer) =>
              Effect.gen(function* () {
                yield* writer.checkpoint()
                const older = Fs.readFileSync(manifest)
                for (const entry of Sessions.chain(20)) yield* writer.append(entry)
                yield* writer.checkpoint()
                Fs.writeFileSync(manifest, older)
              })
            )
          )
          // Without the rows of acknowledged entries.
          Fs.truncateSync(offsets, 0)
          const third = segment(container, 3)
          if (how === "missing") Fs.rmSync(third)
          else Fs.truncateSync(third, Fs.statSync(third).size - 5)
          const before = Files.below(container)
          const refused = yield* Effect.flip(write(location))
          assert.strictEqual(refused._tag, "StoreDamaged", refused.message)
          assert.deepStrictEqual(Files.changed(before, Files.below(container)), [])
        })
      )
  )

  it.live("rebuilds a manifest whose list of segments has a gap", () =>
    live(
      Effect.gen(function* () {
        const { file, location, manifest } = yield* inFolder
        yield* (yield* StoreMigration).migrate(file, { segmentBytes: 300 })
        const found = Result.getOrThrow(Manifest.decode(Fs.readFileSync(manifest)))
        assert.isAbove(found.segments.length, 2)
        Fs.writeFileSync(manifest, Manifest.encode({ ...found, segments: found.segments.toSpliced(1, 1) }))
        const store = yield* SessionStore
        const messages = (yield* store.verify(location)).findings.map(({ message }) => message)
        assert.include(messages.join(), "without a gap")
        assert.isAbove((yield* write(location)).length, 0)
        const rebuilt = Result.getOrThrow(Manifest.decode(Fs.readFileSync(manifest)))
        assert.deepStrictEqual(rebuilt.segments, found.segments.slice(0, -1))
        assert.deepStrictEqual((yield* store.verify(location)).findings, [])
      })
    )
  )
})

describe("the ledger", () => {
  it.live("loses one event to a flipped bit, and verify reports its line", () =>
    live(
      Effect.gen(function* () {
        const { ledger, location } = yield* migrated
        const store = yield* SessionStore
        const migration = yield* StoreMigration
        const was = yield* migration.ledger(location)
        const start = insideLine(ledger, 1) - 20
        flip(ledger, start + 20)
        assert.deepStrictEqual(
          yield* migration.ledger(location),
          was.filter((_, at) => at !== 1)
        )
        const { findings } = yield* store.verify(location)
        assert.deepStrictEqual(
          findings.map(({ byte_offset, path }) => [path, byte_offset]),
          [[ledger, start]]
        )
        const before = Fs.readFileSync(ledger)
        yield* write(location)
        yield* migration.rollback(location)
        assert.isTrue(Fs.readFileSync(ledger).subarray(0, before.length).equals(before), "nothing is cut off")
        assert.deepStrictEqual(
          (yield* migration.ledger(location)).slice(-2).map(({ phase }) => phase),
          ["rollback_planned", "rolled_back"]
        )
      })
    )
  )

  it.live("continues in the container that replaces a retired one", () =>
    live(
      Effect.gen(function* () {
        const { file, location } = yield* migrated
        const migration = yield* StoreMigration
        yield* (yield* SessionStore).retire(location)
        yield* migration.migrate(file)
        assert.strictEqual((yield* migration.ledger(location)).filter(({ phase }) => phase === "completed").length, 2)
      })
    )
  )
})

it.live("a store whose retirement was interrupted by a power cut is moved aside by the next one", () =>
  live(
    Effect.gen(function* () {
      const { container, directory, location, marker } = yield* migrated
      const store = yield* SessionStore
      // The state between the two renames of a retirement.
      Fs.renameSync(marker, `${container}.retired-1.active.json`)
      const before = Files.below(Path.join(container, "segments"))
      yield* Effect.scoped(store.create(directory, Sessions.headerLine()))
      assert.deepStrictEqual(Files.changed(before, Files.below(Path.join(`${container}.retired-1`, "segments"))), [])
      assert.strictEqual((yield* store.reader(location)).entryCount, 0)
    })
  )
)
