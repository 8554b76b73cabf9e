/** Migration and back: every session of version 3 comes back byte for byte, every other file is refused and unchanged. */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Session from "@pi-sessions/core/Session"
import * as SessionContext from "@pi-sessions/core/SessionContext"
import { Effect } from "effect"
import { memoryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as LargeSession from "@pi-sessions/testing/sessions/LargeSession"
import * as PiVersion from "@pi-sessions/testing/pi/PiVersion"
import { SessionStore } from "../../src/SessionStore.ts"
import { StoreMigration } from "../../src/StoreMigration.ts"
import * as Files from "../support/files.ts"
import * as Sessions from "../support/sessions.ts"
import * as settings from "../support/settings.ts"
import * as Store from "../support/storeLayer.ts"
import { payloads } from "../support/migratedSession.ts"

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
