/**
 * Migration and rollback: every session of version 3 comes back byte for byte, every other file is refused and unchanged,
 * and every interruption ends in a state that ADR 003 lists.
 */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Session from "@pi-sessions/core/Session"
import * as SessionContext from "@pi-sessions/core/SessionContext"
import { Effect, Stream } from "effect"
import { memoryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as LargeSession from "@pi-sessions/testing/LargeSession"
import * as PiVersion from "@pi-sessions/testing/PiVersion"
import * as Manifest from "../src/wire/Manifest.ts"
import { SessionStore } from "../src/SessionStore.ts"
import { StoreMigration } from "../src/StoreMigration.ts"
import * as Files from "./support/files.ts"
import * as Sessions from "./support/sessions.ts"
import * as settings from "./support/settings.ts"
import * as Store from "./support/storeLayer.ts"
import { whenRenamed } from "./support/watchedFiles.ts"

const phases = Effect.fnUntraced(function* (location: { readonly directory: string; readonly sessionId: string }) {
  const events = yield* (yield* StoreMigration).ledger(location)
  return events.map(({ outcome, phase }) => (outcome === "ok" ? phase : `${phase} (${outcome})`))
})

/** The bytes that a container gives back. */
const payloads = (location: { readonly directory: string; readonly sessionId: string }) =>
  Effect.scoped(
    Effect.gen(function* () {
      const reader = yield* (yield* SessionStore).reader(location)
      const pieces = yield* Stream.runCollect(reader.payloads)
      return Buffer.concat(pieces.flat())
    })
  )

/** Migrates, reads, rolls back to SQLite, migrates again and rolls back to JSONL; compares the bytes at each step. */
const roundTrip = Effect.fnUntraced(function* (name: string, bytes: Buffer, segmentBytes: number) {
  const directory = yield* memoryFolder
  const file = Path.join(directory, "s.jsonl")
  Fs.writeFileSync(file, bytes)
  const store = yield* SessionStore
  const migration = yield* StoreMigration
  const first = yield* migration.migrate(file, { segmentBytes })
  assert.strictEqual(first.outcome, "migrated", name)
  assert.strictEqual(first.byteLength, bytes.length, name)
  assert.isTrue((yield* payloads(first.location)).equals(bytes), `${name}: from the container`)
  assert.deepStrictEqual((yield* store.verify(first.location)).findings, [], name)
  const database = yield* migration.rollback(first.location, { format: "sqlite_v1" })
  assert.isTrue(database.exported, name)
  const second = yield* migration.migrate(database.path, { format: "sqlite_v1", segmentBytes: 1 << 24 })
  assert.strictEqual(second.entryCount, first.entryCount, name)
  const back = yield* migration.rollback(second.location, { format: "jsonl_v3" })
  assert.isTrue(back.exported, name)
  assert.isTrue(Fs.readFileSync(back.path).equals(bytes), `${name}: by way of sqlite_v1`)
  assert.isTrue(Fs.readFileSync(file).equals(bytes), `${name}: the source`)
  return first.entryCount
}, Effect.scoped)

/** The same session with other line ends and blank lines. */
const variants = ({ bytes, name }: Sessions.Sample): ReadonlyArray<Sessions.Sample> => {
  const text = bytes.toString("latin1")
  const lines = text.split("\n")
  const variant = (what: string, latin1: string) => ({ name: `${name}, ${what}`, bytes: Buffer.from(latin1, "latin1") })
  return [
    { name, bytes },
    variant("without a final newline", text.replace(/\n$/, "")),
    variant("with blank lines everywhere", lines.join("\n\n  \n")),
    variant("with blank lines first", `\n \n${text}`),
    variant("with blank lines last", `${text}\n\t\n`),
    variant("with blanks at its end", `${text}  `),
    variant("with CRLF", lines.join("\r\n")),
    variant("with CRLF and no final newline", lines.join("\r\n").replace(/\r\n$/, ""))
  ]
}

describe("a sound session of version 3", () => {
  it.live("comes back byte for byte: fixtures with any kind of line ends and blank lines", () =>
    Effect.gen(function* () {
      const sound = Sessions.fixtures().filter(({ bytes }) => Sessions.versionOf(bytes) === 3)
      assert.isAtLeast(sound.length, 8)
      let count = 0
      // A small dose has each variant of one fixture, and each fixture in one variant.
      const samples = sound.flatMap((sample, n) =>
        variants(sample).filter((_, at) => settings.isCampaign || n === 0 || at === n % 8)
      )
      for (const sample of samples) {
        yield* roundTrip(sample.name, sample.bytes, [1, 1500, 1 << 24][count % 3] ?? 1)
        count++
      }
      settings.note(`StoreMigration: ${count} variants of ${sound.length} fixtures`)
    }).pipe(Effect.provide(Store.live))
  )

  it.live("comes back byte for byte: sessions of both Pis, and the corpus", () =>
    Effect.gen(function* () {
      const count = settings.walks({ test: 1, campaign: 50 })
      const walks = yield* Effect.forEach(PiVersion.versions, (version) => Sessions.walks(version, count))
      const inCorpus = Sessions.corpus().filter(({ bytes }) => Sessions.versionOf(bytes) === 3)
      const corpus = settings.spread(inCorpus, settings.walks({ test: 5, campaign: 10_000 }))
      const samples = [...walks.flat(), ...corpus]
      let entries = 0
      // Forks of 0.78 may lack parents.
      for (const { bytes, name } of samples) entries += yield* roundTrip(name, bytes, 20_000)
      settings.note(`StoreMigration: ${samples.length} sessions, ${entries} entries`)
    }).pipe(Effect.scoped, Effect.provide(Store.live))
  )

  it.live("comes back byte for byte: no entry, one entry, and very many", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* roundTrip("no entry", Sessions.fileOf(Sessions.headerLine(), []), 1), 0)
      assert.strictEqual(yield* roundTrip("one entry", Sessions.fileOf(Sessions.headerLine(), Sessions.chain(1)), 1), 1)
      const directory = yield* memoryFolder
      const file = Path.join(directory, "s.jsonl")
      const entries = settings.walks({ test: 2000, campaign: 100_000 })
      yield* Effect.promise(() => LargeSession.write(file, { entries, seed: 7, meanBytes: 700, compactEvery: 500 }))
      const size = Fs.statSync(file).size
      const migration = yield* StoreMigration
      let progress = 0
      const started = Date.now()
      const { entryCount, location } = yield* migration.migrate(file, {
        onProgress: (bytes) => Effect.sync(() => (progress = Math.max(progress, bytes)))
      })
      const took = Date.now() - started
      assert.deepStrictEqual([entryCount, progress], [entries, size])
      assert.deepStrictEqual((yield* (yield* SessionStore).verify(location)).findings, [])
      const back = yield* migration.rollback(location, { format: "sqlite_v1" })
      const again = yield* migration.migrate(back.path, { format: "sqlite_v1", segmentBytes: 1 << 20 })
      const { path } = yield* migration.rollback(again.location, { format: "jsonl_v3" })
      assert.isTrue(Fs.readFileSync(path).equals(Fs.readFileSync(file)))
      settings.note(`StoreMigration: ${entries} entries, ${size} bytes, migrated in ${took} ms`)
    }).pipe(Effect.scoped, Effect.provide(Store.live))
  )
})

/** Files without a header of version 3 in the first line. */
const OTHERS = new Set([
  "header-not-first.jsonl",
  "header-without-id.jsonl",
  "newer-version.jsonl",
  "no-header.jsonl",
  "not-a-session.jsonl",
  "unversioned-tree.jsonl",
  "version-2.jsonl"
])

describe("a file of which no container can be made", () => {
  const refusals: ReadonlyArray<Sessions.Sample> = [
    ...Sessions.damaged().filter(({ name }) => OTHERS.has(name)),
    ...Sessions.fixtures().filter(({ bytes }) => Sessions.versionOf(bytes) !== 3),
    {
      name: "version 2",
      bytes: Buffer.from('{"type":"session","version":2,"id":"s1"}\n{"type":"custom","id":"a","parentId":null}\n')
    },
    {
      name: "version 4",
      bytes: Buffer.from('{"type":"session","version":4,"id":"s1"}\n{"type":"custom","id":"a","parentId":null}\n')
    },
    { name: "no id", bytes: Buffer.from('{"type":"session","version":3}\n') },
    { name: "an empty id", bytes: Buffer.from('{"type":"session","version":3,"id":""}\n') },
    { name: "an id that is a path", bytes: Buffer.from('{"type":"session","version":3,"id":"../elsewhere"}\n') },
    { name: "an id that is a hidden file", bytes: Buffer.from('{"type":"session","version":3,"id":".x"}\n') },
    { name: "an empty file", bytes: Buffer.alloc(0) }
  ]

  it.live.each(refusals)("is refused with findings and left unchanged: $name", ({ bytes, name }) =>
    Effect.gen(function* () {
      const directory = yield* memoryFolder
      const file = Path.join(directory, "s.jsonl")
      Fs.writeFileSync(file, bytes)
      const before = Files.below(directory)
      const refused = yield* Effect.flip((yield* StoreMigration).migrate(file))
      if (refused._tag !== "MigrationRefused") return assert.fail(`${name}: ${refused._tag}: ${refused.message}`)
      assert.isAtLeast(refused.findings.length, 1, name)
      for (const { byteOffset, line, message } of refused.findings) {
        assert.isTrue(byteOffset >= 0 && byteOffset <= bytes.length, name)
        assert.isAtLeast(line, 1, name)
        assert.isAtLeast(message.length, 5, name)
      }
      assert.deepStrictEqual(Files.changed(before, Files.below(directory)), [], `${name}: bytes and names`)
      assert.deepStrictEqual(
        Fs.readdirSync(Path.dirname(directory)).filter((one) => one.startsWith("elsewhere")),
        []
      )
    }).pipe(Effect.scoped, Effect.provide(Store.live))
  )
})

describe("a session that is not sound", () => {
  it.live.each([
    ...Sessions.damaged().filter(({ name }) => !OTHERS.has(name)),
    {
      name: "an entry with the session's id",
      bytes: Sessions.fileOf(Sessions.headerLine(), [Sessions.entryLine("s1", null), Sessions.entryLine("a", "s1")])
    },
    {
      name: "an entry with an id of 100,000 characters",
      bytes: Sessions.fileOf(Sessions.headerLine(), [Sessions.entryLine("i".repeat(100_000), null)])
    },
    {
      name: "a type of 100,000 characters",
      bytes: Buffer.from(`${Sessions.headerLine().text}\n{"type":"${"t".repeat(100_000)}","id":"a","parentId":null}\n`)
    }
  ])("comes back byte for byte: $name", ({ bytes, name }) => roundTrip(name, bytes, 1).pipe(Effect.provide(Store.live)))

  it.live("distinguishes a parent that the file lacked from one that the store lost", () =>
    Effect.gen(function* () {
      const directory = yield* memoryFolder
      const file = Path.join(directory, "s.jsonl")
      const entries = [Sessions.entryLine("a", null), Sessions.entryLine("b", "gone"), Sessions.entryLine("c", "b")]
      Fs.writeFileSync(file, Sessions.fileOf(Sessions.headerLine(), entries))
      const { location } = yield* (yield* StoreMigration).migrate(file)
      const store = yield* SessionStore
      assert.deepStrictEqual((yield* store.verify(location)).findings, [])
      const reader = yield* store.reader(location)
      assert.deepStrictEqual(
        (yield* reader.path()).map(({ id }) => id),
        ["b", "c"]
      )
      const segment = Path.join(directory, "s1.v2", "segments", "0000000000000001.seg")
      const text = Fs.readFileSync(segment, "utf8")
      assert.include(text, '"entry_id":"b","parent_entry_id":null,"missing_parent_id":"gone",')
      // Removes the frame of `b`, the parent of `c`.
      const from = text.indexOf('{"schema"', text.indexOf('"id":"a"'))
      Fs.writeFileSync(segment, text.slice(0, from) + text.slice(text.indexOf('{"schema"', text.indexOf('"id":"b"'))))
      const { findings } = yield* store.verify(location)
      assert.isTrue(findings.some(({ message }) => message.includes("entry c has an unknown parent b")))
    }).pipe(Effect.scoped, Effect.provide(Store.live))
  )

  it.live("follows parents that are numbers, as Pi does, without reading the whole session", () =>
    Effect.gen(function* () {
      const directory = yield* memoryFolder
      const file = Path.join(directory, "s.jsonl")
      const message = { role: "user", content: "text", timestamp: 1 }
      const entries = [
        { type: "message", id: 1, parentId: null, message },
        { type: "message", id: 2, parentId: 1, message: { ...message, content: "kept" } },
        { type: "compaction", id: 3, parentId: 2, summary: "so far", firstKeptEntryId: 2, tokensBefore: 1 },
        { type: "message", id: 4, parentId: 3, message }
      ]
      const text = [Sessions.headerLine().text, ...entries.map((entry) => JSON.stringify(entry)), ""].join("\n")
      Fs.writeFileSync(file, text)
      const { location } = yield* (yield* StoreMigration).migrate(file)
      const segment = Path.join(directory, "s1.v2", "segments", "0000000000000001.seg")
      assert.notInclude(Fs.readFileSync(segment, "utf8"), "links_in_lines")
      const reader = yield* (yield* SessionStore).reader(location)
      const { tree } = Session.readText(text)
      assert.deepStrictEqual(
        (yield* reader.path()).map(({ id }) => id),
        ["#1", "#2", "#3", "#4"]
      )
      const context = yield* reader.context()
      assert.lengthOf(context.messages, 3)
      assert.deepStrictEqual(context, SessionContext.build(tree))
    }).pipe(Effect.scoped, Effect.provide(Store.live))
  )

  it.live("accepts no appended entry without an id or with an unknown parent", () =>
    Effect.gen(function* () {
      const directory = yield* memoryFolder
      const file = Path.join(directory, "s.jsonl")
      Fs.writeFileSync(file, `${Sessions.headerLine().text}\n{"type":"custom"}\n{"type":"custom","parentId":"gone"}\n`)
      const { location } = yield* (yield* StoreMigration).migrate(file)
      const writer = yield* (yield* SessionStore).writer(location)
      for (const entry of [
        Sessions.entryLine("", null),
        Sessions.entryLine("a", ""),
        Sessions.entryLine("a", "gone"),
        Sessions.entryLine("a", "s1")
      ]) {
        assert.strictEqual((yield* Effect.flip(writer.append(entry)))._tag, "EntryRefused", entry.text)
      }
      assert.isFalse(writer.has(""))
      yield* writer.append(Sessions.entryLine("a", null))
      const reader = yield* (yield* SessionStore).reader(location)
      assert.deepStrictEqual(
        (yield* reader.path()).map(({ id }) => id),
        ["a"]
      )
    }).pipe(Effect.scoped, Effect.provide(Store.live))
  )
})

const entries = Sessions.chain(6)
const bytes = Sessions.fileOf(Sessions.headerLine(), entries)
const later = Sessions.entryLine("later", "e6")

const inFolder = Effect.gen(function* () {
  const directory = yield* memoryFolder
  const file = Path.join(directory, "s.jsonl")
  Fs.writeFileSync(file, bytes)
  return { directory, file, location: { directory, sessionId: "s1" }, container: Path.join(directory, "s1.v2") }
})

/** Rewrites a container's manifest, with a valid checksum. */
const rewriteManifest = (container: string, changes: Partial<Manifest.Manifest>): void => {
  const file = Path.join(container, "manifest.json")
  const { crc32: _crc32, ...manifest } = JSON.parse(Fs.readFileSync(file, "utf8"))
  Fs.writeFileSync(file, Manifest.encode({ ...manifest, ...changes }))
}

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
