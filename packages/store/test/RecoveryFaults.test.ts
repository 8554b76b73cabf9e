/** Several faults at once, and faults outside the container: no acknowledged entry is cut off, and each fault is reported. */
import * as Fs from "node:fs"
import { DatabaseSync } from "node:sqlite"
import * as Path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, type Scope } from "effect"
import { memoryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as ActiveStore from "../src/wire/ActiveStore.ts"
import * as Manifest from "../src/wire/Manifest.ts"
import { SessionStore } from "../src/SessionStore.ts"
import { StoreMigration } from "../src/StoreMigration.ts"
import * as Files from "./support/files.ts"
import * as Sessions from "./support/sessions.ts"
import * as Store from "./support/storeLayer.ts"

const entries = Sessions.chain(6)
const bytes = Sessions.fileOf(Sessions.headerLine(), entries)
const later = Sessions.entryLine("later", "e6")

const inFolder = Effect.gen(function* () {
  const directory = yield* memoryFolder
  const file = Path.join(directory, "s.jsonl")
  Fs.writeFileSync(file, bytes)
  const container = Path.join(directory, "s1.v2")
  return {
    directory,
    file,
    container,
    location: { directory, sessionId: "s1" },
    ledger: Path.join(container, "migrations", "ledger.jsonl"),
    manifest: Path.join(container, "manifest.json"),
    marker: Path.join(directory, "s1.active.json"),
    offsets: Path.join(container, "index", "offsets.jsonl")
  }
})

const migrated = Effect.tap(inFolder, ({ file }) =>
  Effect.flatMap(StoreMigration, (migration) => migration.migrate(file, { segmentBytes: 600 }))
)

const flip = (file: string, at: number): void => {
  const broken = Fs.readFileSync(file)
  broken[at] = (broken[at] ?? 0) ^ 1
  Fs.writeFileSync(file, broken)
}

/** Offset of the middle of a line, lines counted from 0. */
const insideLine = (file: string, line: number): number =>
  Fs.readFileSync(file, "latin1")
    .split("\n")
    .slice(0, line)
    .reduce((at, text) => at + text.length + 1, 20)

const segment = (container: string, seq: number): string =>
  Path.join(container, "segments", `${String(seq).padStart(16, "0")}.seg`)

const write = (location: { readonly directory: string; readonly sessionId: string }) =>
  Effect.scoped(Effect.flatMap(SessionStore, (store) => Effect.map(store.writer(location), (writer) => writer.repairs)))

const live = <A, E>(program: Effect.Effect<A, E, SessionStore | StoreMigration | Scope.Scope>) =>
  program.pipe(Effect.scoped, Effect.provide(Store.live))

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
