/** Fifteen reported losses of agents' sessions: what happens to the data in a store. */
import { spawnSync } from "node:child_process"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import * as FullDisk from "@pi-sessions/testing/disk/FullDisk"
import { memoryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as LargeSession from "@pi-sessions/testing/sessions/LargeSession"
import { SessionSource } from "@pi-sessions/session-file/SessionSource"
import * as Session from "@pi-sessions/core/Session"
import { SessionEntry } from "@pi-sessions/core/SessionLine"
import { SessionStore } from "../src/SessionStore.ts"
import { StoreMigration } from "../src/StoreMigration.ts"
import * as StoreSource from "../src/StoreSource.ts"
import { type StoreWriter } from "../src/StoreWriter.ts"
import { framesOf } from "./support/containerBundle.ts"
import * as Files from "./support/files.ts"
import * as OtherProcess from "./support/otherProcess.ts"
import * as Sessions from "./support/sessions.ts"
import * as settings from "./support/settings.ts"
import * as Store from "./support/storeLayer.ts"
import { counting, whenRenamed } from "./support/watchedFiles.ts"

interface Location {
  readonly directory: string
  readonly sessionId: string
}

const texts = (location: Location) =>
  Effect.scoped(
    Effect.gen(function* () {
      const reader = yield* (yield* SessionStore).reader(location)
      return (yield* Stream.runCollect(reader.range(1, 1e9))).map((entry) => entry.text)
    })
  )

const created = Effect.fnUntraced(function* (directory: string) {
  const store = yield* SessionStore
  const writer = yield* store.create(directory, Sessions.headerLine(), { segmentBytes: 30_000 })
  return { store, writer, location: { directory, sessionId: "s1" }, container: Path.join(directory, "s1.v2") }
})

const toolCall = (id: string, parentId: string | null) =>
  SessionEntry.make({
    type: "message",
    id,
    parentId,
    message: {
      role: "assistant",
      content: [{ type: "toolCall", id, name: "bash", arguments: { command: `rm -rf ${"build ".repeat(200)}` } }]
    }
  })

/** Appends until the disk is full. Returns the refused entry. */
const appendUntilFull = Effect.fnUntraced(function* (writer: StoreWriter, acknowledged: Array<string>) {
  for (let n = 0; ; n++) {
    const entry = toolCall(`t${n}-${acknowledged.length}`, null)
    const result = yield* Effect.result(writer.append(entry))
    if (result._tag === "Success") {
      acknowledged.push(entry.text)
      continue
    }
    const { failure } = result
    assert.isTrue(failure._tag === "StoreIoError" && failure.code === "ENOSPC", failure.message)
    assert.include(failure.message, "Free some space and try again")
    return entry
  }
})

const DISK_BYTES = 512 * 1024

describe.skipIf(FullDisk.refusal() !== undefined)("on a disk that is really full", () => {
  it.live("case 1, earendil-works/pi/pull/8575: a short write leaves nothing that fuses with the next entry", () =>
    Effect.gen(function* () {
      const disk = yield* FullDisk.make(DISK_BYTES)
      const { container, location, store, writer } = yield* created(disk.root)
      const acknowledged: Array<string> = []
      for (let round = 0; round < 3; round++) {
        disk.fill(12_288)
        const refused = yield* appendUntilFull(writer, acknowledged)
        assert.deepStrictEqual(
          yield* texts(location),
          acknowledged,
          "acknowledged entries can be read while the disk is full"
        )
        disk.free()
        // The same entry again.
        assert.isTrue((yield* writer.append(refused)).written)
        acknowledged.push(refused.text)
      }
      yield* writer.checkpoint()
      assert.deepStrictEqual(yield* texts(location), acknowledged)
      assert.deepStrictEqual((yield* store.verify(location)).findings, [])
      for (const { payload } of framesOf(container)) JSON.parse(payload.toString("utf8"))
    }).pipe(Effect.scoped, Effect.provide(Store.live))
  )

  it.live(
    "case 2, can1357/oh-my-pi/issues/8596: the failure is reported at once, and a tool call keeps its arguments after a restart",
    () =>
      Effect.gen(function* () {
        const disk = yield* FullDisk.make(DISK_BYTES)
        const acknowledged: Array<string> = []
        const { location, refused } = yield* Effect.scoped(
          Effect.gen(function* () {
            const { location, writer } = yield* created(disk.root)
            disk.fill(8192)
            return { location, refused: yield* appendUntilFull(writer, acknowledged) }
          })
        )
        // Still full: it can be read.
        assert.deepStrictEqual(yield* texts(location), acknowledged)
        disk.free()
        yield* Effect.scoped(
          Effect.gen(function* () {
            const writer = yield* (yield* SessionStore).writer(location)
            yield* writer.append(refused)
          })
        )
        assert.deepStrictEqual(yield* texts(location), [...acknowledged, refused.text])
        assert.include((yield* texts(location)).at(-1), "rm -rf build build")
        assert.deepStrictEqual((yield* (yield* SessionStore).verify(location)).findings, [])
      }).pipe(Effect.scoped, Effect.provide(Store.live))
  )

  it.live(
    "case 3, MoonshotAI/kimi-code/issues/2902: the writer continues when there is space; nothing is only in memory",
    () =>
      Effect.gen(function* () {
        const disk = yield* FullDisk.make(DISK_BYTES)
        const { location, writer } = yield* created(disk.root)
        const acknowledged: Array<string> = []
        disk.fill(8192)
        yield* appendUntilFull(writer, acknowledged)
        for (let times = 0; times < 3; times++) yield* Effect.flip(writer.append(toolCall("again", null)))
        disk.free()
        for (let n = 0; n < 20; n++) {
          const entry = toolCall(`after${n}`, null)
          yield* writer.append(entry)
          acknowledged.push(entry.text)
          // Acknowledged entries are on disk for any other reader.
          assert.deepStrictEqual(yield* texts(location), acknowledged)
        }
      }).pipe(Effect.scoped, Effect.provide(Store.live))
  )
})

describe("in the field", () => {
  it.live("case 4, earendil-works/pi/issues/6002: a file that is no session is never written to", () =>
    Effect.gen(function* () {
      const directory = yield* memoryFolder
      const notes = Path.join(directory, "notes.md")
      Fs.writeFileSync(notes, "# Notes\n".repeat(1000))
      // At the path of a container, and at that of a marker.
      Fs.writeFileSync(Path.join(directory, "s1.v2"), "mine\n")
      Fs.writeFileSync(Path.join(directory, "s2.active.json"), "mine\n")
      const before = Files.below(directory)
      const store = yield* SessionStore
      const migration = yield* StoreMigration
      yield* Effect.flip(migration.migrate(notes))
      yield* Effect.flip(migration.migrate(notes, { format: "sqlite_v1" }))
      yield* Effect.flip(Effect.scoped(store.reader({ directory, sessionId: "s1" })))
      yield* Effect.flip(Effect.scoped(store.writer({ directory, sessionId: "s1" })))
      yield* Effect.flip(store.verify({ directory, sessionId: "s1" }))
      assert.deepStrictEqual(Files.changed(before, Files.below(directory)), [])
      for (const id of ["s1", "s2"])
        yield* Effect.result(Effect.scoped(store.create(directory, Sessions.headerLine(id))))
      const kept = [...Files.below(directory)].filter(([, bytes]) => bytes.toString() === "mine\n")
      assert.strictEqual(kept.length, 2, "other files are kept, possibly renamed")
      assert.isTrue(Fs.readFileSync(notes).equals(before.get("notes.md") ?? Buffer.alloc(0)))
    }).pipe(Effect.scoped, Effect.provide(Store.live))
  )

  it.live("case 5, can1357/oh-my-pi/issues/9915: a bad header line loses no transcript", () =>
    Effect.gen(function* () {
      const directory = yield* memoryFolder
      const file = Path.join(directory, "s.jsonl")
      const bytes = Sessions.fileOf(Sessions.headerLine(), Sessions.chain(20))
      bytes[3] = 0x21
      Fs.writeFileSync(file, bytes)
      assert.strictEqual((yield* Effect.flip((yield* StoreMigration).migrate(file)))._tag, "MigrationRefused")
      assert.deepStrictEqual(Fs.readdirSync(directory), ["s.jsonl"])
      assert.isTrue(Fs.readFileSync(file).equals(bytes))
      // The same for the header's frame in a container.
      const { container, location, store } = yield* Effect.scoped(
        Effect.tap(created(directory), ({ writer }) =>
          Effect.andThen(writer.appendAll(Sessions.chain(20)), writer.checkpoint())
        )
      )
      const segment = Path.join(container, "segments", "0000000000000001.seg")
      const broken = Fs.readFileSync(segment)
      broken[broken.indexOf("\n") + 3] = 0x21
      Fs.writeFileSync(segment, broken)
      assert.strictEqual((yield* Effect.flip(Effect.scoped(store.reader(location))))._tag, "StoreDamaged")
      yield* Effect.result(Effect.scoped(store.writer(location)))
      assert.isTrue(Fs.readFileSync(segment).equals(broken), "opening it overwrites nothing")
      assert.isAtLeast((yield* store.verify(location)).findings.length, 1)
    }).pipe(Effect.scoped, Effect.provide(Store.live))
  )

  it.live(
    "case 6, earendil-works/pi/issues/8939: appending to a deleted store fails, and does not start a new one",
    () =>
      Effect.gen(function* () {
        const directory = yield* memoryFolder
        const { container, location, store, writer } = yield* created(directory)
        yield* writer.append(Sessions.user("a", null))
        Fs.rmSync(container, { recursive: true })
        const failed = yield* Effect.flip(writer.append(Sessions.user("b", "a")))
        assert.strictEqual(failed._tag, "StoreIoError")
        yield* Effect.flip(writer.append(Sessions.user("b", "a")))
        yield* Effect.flip(writer.checkpoint())
        assert.isFalse(
          Fs.existsSync(Path.join(container, "segments", "0000000000000001.seg")),
          "no store without a header"
        )
        assert.isDefined(yield* store.active(location))
      }).pipe(Effect.scoped, Effect.provide(Store.live))
  )

  it.live("case 7, earendil-works/pi/issues/9413: the first user message is on disk before any answer", () =>
    Effect.gen(function* () {
      const directory = yield* memoryFolder
      const { container, location, writer } = yield* created(directory)
      const first = Sessions.user("a", null, "the first words")
      yield* writer.append(first)
      assert.deepStrictEqual(yield* texts(location), [first.text])
      assert.include(
        Fs.readFileSync(Path.join(container, "segments", "0000000000000001.seg"), "utf8"),
        "the first words"
      )
    }).pipe(Effect.scoped, Effect.provide(Store.live))
  )

  it.live("case 8, earendil-works/pi/issues/9596: two writers make no branches, because the second is refused", () =>
    Effect.gen(function* () {
      const directory = yield* memoryFolder
      const { location, store } = yield* Effect.scoped(created(directory))
      const other = yield* OtherProcess.start(location, "append")
      const refused = yield* Effect.flip(Effect.scoped(store.writer(location)))
      assert.strictEqual(refused._tag, "StoreLocked")
      assert.include(refused.message, String(other.pid))
      yield* other.saysMore(10)
      yield* other.kill
      const reader = yield* store.reader(location)
      const session = yield* reader.session
      assert.strictEqual(session.tree.getBranch().length, reader.entryCount, "one line of entries")
    }).pipe(Effect.scoped, Effect.provide(Store.live))
  )

  const inChild = (file: string, heapMb: number) => {
    const script = Path.join(import.meta.dirname, "support", "openLarge.ts")
    const child = spawnSync(process.execPath, [`--max-old-space-size=${heapMb}`, script, file], { encoding: "utf8" })
    assert.strictEqual(child.status, 0, child.stderr)
    const result: { entryCount: number; openMs: number; messages: number; first: string; last: string; rssMb: number } =
      JSON.parse(child.stdout)
    return result
  }

  it.live(
    "case 9, earendil-works/pi/issues/5231: a session larger than any string or than the heap is migrated and opened",
    () =>
      Effect.gen(function* () {
        const directory = yield* memoryFolder
        const file = Path.join(directory, "s.jsonl")
        // The test: 54 MB with a heap of 48 MB. The campaign: more than V8's longest string, 0x1fffffe8 bytes.
        const isHuge = settings.isCampaign
        const entries = isHuge ? 480_000 : 6000
        const options = { entries, seed: 3, meanBytes: isHuge ? 1300 : 9000, compactEvery: isHuge ? 2000 : 300 }
        const { bytes, leafId } = yield* Effect.promise(() => LargeSession.write(file, options))
        assert.isAbove(bytes, isHuge ? 0x1fffffe8 : 50 << 20)
        const result = inChild(file, isHuge ? 256 : 48)
        assert.deepStrictEqual([result.entryCount, result.last], [entries, leafId])
        settings.note(`FieldCases, case 9: ${bytes} bytes, ${JSON.stringify(result)}`)
      }).pipe(Effect.scoped, Effect.provide(Store.live))
  )

  it.live("case 10, earendil-works/pi/issues/4583: listing reads no session", () =>
    Effect.gen(function* () {
      const directory = yield* memoryFolder
      const count = 10
      for (let n = 0; n < count; n++) {
        const file = Path.join(directory, `${n}.jsonl`)
        Fs.writeFileSync(
          file,
          Sessions.fileOf(Sessions.headerLine(`s${n}`), Sessions.chain(30, { data: "x".repeat(2000) }))
        )
        yield* (yield* StoreMigration).migrate(file).pipe(Effect.provide(Store.live, { local: true }))
      }
      const read = new Map<string, number>()
      const listed = yield* Effect.gen(function* () {
        const source = yield* SessionSource
        return yield* source.list
      }).pipe(Effect.provide(StoreSource.layerDirectory(directory)), Effect.provide(counting(read), { local: true }))
      assert.strictEqual(listed.sessions.length, count)
      assert.deepStrictEqual(
        [...read.keys()].filter((path) => /\.(seg|jsonl)$/.test(path) && !path.endsWith("ledger.jsonl")),
        []
      )
      const total = [...read.values()].reduce((sum, bytes) => sum + bytes, 0)
      assert.isBelow(total, count * 6000, "a marker and a ledger for each")
    }).pipe(Effect.scoped, Effect.provide(Store.live))
  )

  it.live("case 11, earendil-works/pi/issues/8843: opening reads the end, not the whole", () =>
    Effect.gen(function* () {
      const directory = yield* memoryFolder
      const file = Path.join(directory, "s.jsonl")
      const { bytes } = yield* Effect.promise(() =>
        LargeSession.write(file, { entries: 7000, seed: 5, compactEvery: 70 })
      )
      const { location } = yield* (yield* StoreMigration).migrate(file)
      const read = new Map<string, number>()
      const messages = yield* Effect.scoped(
        Effect.gen(function* () {
          const reader = yield* (yield* SessionStore).reader(location)
          return (yield* reader.context()).messages.length
        })
      ).pipe(Effect.provide(counting(read), { local: true }))
      const total = [...read.values()].reduce((sum, bytes) => sum + bytes, 0)
      settings.note(`FieldCases, case 11: ${total} of ${bytes} bytes read for a context of ${messages} messages`)
      assert.isAbove(messages, 5)
      assert.isBelow(total, bytes / 20)
    }).pipe(Effect.scoped, Effect.provide(Store.live))
  )

  it.live("case 12, openclaw/openclaw/issues/86801: no caller waits for a lock, and no lock outlives its holder", () =>
    Effect.gen(function* () {
      const directory = yield* memoryFolder
      const { location, store } = yield* Effect.scoped(created(directory))
      const other = yield* OtherProcess.start(location, "hold")
      assert.strictEqual((yield* Effect.flip(Effect.scoped(store.writer(location))))._tag, "StoreLocked")
      yield* other.kill
      yield* Effect.scoped(Effect.flatMap(store.writer(location), (writer) => writer.append(Sessions.user("a", null))))
      assert.strictEqual((yield* texts(location)).length, 1)
    }).pipe(Effect.scoped, Effect.provide(Store.live))
  )

  it.live(
    "case 13, Yeachan-Heo/gajae-code/pull/1193: repeated ids and cycles of parents come only from files, and reading them ends",
    () =>
      Effect.gen(function* () {
        const directory = yield* memoryFolder
        for (const name of ["cycle.jsonl", "duplicate-id.jsonl"]) {
          const file = Path.join(directory, name)
          const bytes = Sessions.damaged().find((sample) => sample.name === name)?.bytes ?? assert.fail()
          Fs.writeFileSync(file, bytes)
          const { location } = yield* (yield* StoreMigration).migrate(file)
          const reader = yield* (yield* SessionStore).reader(location)
          const { tree } = Session.read(bytes)
          assert.deepStrictEqual(
            (yield* reader.path()).map(({ text }) => text),
            tree.getBranch().map(({ text }) => text)
          )
        }
        const { location, writer } = yield* created(directory)
        yield* writer.append(Sessions.user("a1b2c3d4", null))
        const wrong = [
          [Sessions.entryLine("a1b2c3d4", null)],
          [Sessions.entryLine("self", "self")],
          [Sessions.entryLine("x", "y"), Sessions.entryLine("y", "x")],
          [Sessions.entryLine("z", null), Sessions.entryLine("z", "z")]
        ]
        for (const entries of wrong)
          assert.strictEqual((yield* Effect.flip(writer.appendAll(entries)))._tag, "EntryRefused")
        assert.strictEqual((yield* texts(location)).length, 1)
      }).pipe(Effect.scoped, Effect.provide(Store.live))
  )

  it.live.each(["replaced", "replaced, with a hard-linked copy of it elsewhere", "copied back with its container"])(
    "case 14, can1357/oh-my-pi/issues/4338: no append to a file that lost its name is acknowledged: %s",
    (how) =>
      Effect.gen(function* () {
        const directory = yield* memoryFolder
        const { container, location, store, writer } = yield* created(directory)
        yield* writer.appendAll(Sessions.chain(3))
        const segment = Path.join(container, "segments", "0000000000000001.seg")
        if (how.startsWith("copied")) {
          Fs.renameSync(container, `${container}.moved`)
          Fs.cpSync(`${container}.moved`, container, { recursive: true })
        } else {
          if (how.includes("hard-linked")) Fs.linkSync(segment, Path.join(directory, "backup.seg"))
          Fs.copyFileSync(segment, `${segment}.new`)
          Fs.renameSync(`${segment}.new`, segment)
        }
        const before = Fs.readFileSync(segment)
        for (let attempt = 1; attempt <= 2; attempt++) {
          const refused = yield* Effect.flip(writer.append(Sessions.entryLine("e4", "e3")))
          assert.isTrue(
            refused._tag === "StoreIoError" && /open the store again/.test(refused.message),
            refused.message
          )
        }
        yield* writer.close
        assert.isTrue(Fs.readFileSync(segment).equals(before), "the replacing file is not written")
        yield* Effect.scoped(Effect.flatMap(store.reader(location), (reader) => reader.last(3)))
      }).pipe(Effect.scoped, Effect.provide(Store.live))
  )

  it.live("case 14, again: after opening the store again, the acknowledged entries are there", () =>
    Effect.gen(function* () {
      const directory = yield* memoryFolder
      const { container, location, store } = yield* Effect.scoped(
        Effect.gen(function* () {
          const store = yield* created(directory)
          yield* store.writer.appendAll(Sessions.chain(3))
          const segment = Path.join(store.container, "segments", "0000000000000001.seg")
          Fs.copyFileSync(segment, `${segment}.new`)
          Fs.renameSync(`${segment}.new`, segment)
          yield* Effect.flip(store.writer.append(Sessions.entryLine("e4", "e3")))
          return store
        })
      )
      const expected = Sessions.chain(6).map((entry) => entry.text)
      const logs = [
        Path.join(container, "segments", "0000000000000001.seg"),
        Path.join(container, "index", "offsets.jsonl")
      ]
      const inodes = new Set<number>()
      const writer = yield* store.writer(location)
      for (const entry of Sessions.chain(6).slice(3)) {
        yield* writer.append(entry)
        yield* writer.checkpoint()
        for (const log of logs) inodes.add(Fs.statSync(log).ino)
      }
      assert.strictEqual(inodes.size, 2, "the store itself replaces no file")
      assert.deepStrictEqual(yield* texts(location), expected)
    }).pipe(Effect.scoped, Effect.provide(Store.live))
  )

  it.live(
    "case 15, openclaw/openclaw/issues/155021: no container becomes active before it was read again and compared",
    () =>
      Effect.gen(function* () {
        const directory = yield* memoryFolder
        const file = Path.join(directory, "s.jsonl")
        const bytes = Sessions.fileOf(Sessions.headerLine(), Sessions.chain(30))
        Fs.writeFileSync(file, bytes)
        let broken = 0
        // The disk changes what was written to it.
        const breaking = whenRenamed(Path.join("checkpoints", "0000000000000001.json"), (to) => {
          const segment = Path.join(Path.dirname(to), "..", "segments", "0000000000000001.seg")
          const content = Fs.readFileSync(segment)
          content[content.length - 20] = 0x21
          Fs.writeFileSync(segment, content)
          broken++
        })
        const failed = yield* Effect.flip(
          Effect.flatMap(StoreMigration, (migration) => migration.migrate(file)).pipe(
            Effect.provide(breaking, { local: true })
          )
        )
        assert.deepStrictEqual([broken, failed._tag], [1, "VerificationFailed"])
        assert.isUndefined(yield* (yield* SessionStore).active({ directory, sessionId: "s1" }))
        assert.isTrue(Fs.readFileSync(file).equals(bytes))
        const { location } = yield* (yield* StoreMigration).migrate(file)
        assert.strictEqual((yield* texts(location)).length, 30)
        const phases = (yield* (yield* StoreMigration).ledger(location)).map(
          ({ outcome, phase }) => `${phase} ${outcome}`
        )
        assert.include(phases, "aborted failed", "the ledger has the attempt")
      }).pipe(Effect.scoped, Effect.provide(Store.live))
  )
})
