/** A reader of damaged or shrinking files, and of one store by many fibers: it returns what was written, or an error. */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { NodeServices } from "@effect/platform-node"
import { assert, it } from "@effect/vitest"
import { Effect, FileSystem, Layer, Result, Stream } from "effect"
import * as SessionContext from "@pi-sessions/core/SessionContext"
import * as Session from "@pi-sessions/core/Session"
import { SessionEntry } from "@pi-sessions/core/SessionLine"
import { memoryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as Checkpoint from "../src/wire/Checkpoint.ts"
import { SessionStore } from "../src/SessionStore.ts"
import { StoreMigration } from "../src/StoreMigration.ts"
import { type WriterOptions } from "../src/StoreWriter.ts"
import { withFile, writeFully } from "../src/files/durable.ts"
import * as Sessions from "./support/sessions.ts"
import * as settings from "./support/settings.ts"
import * as Store from "./support/storeLayer.ts"
import * as WatchedFiles from "./support/watchedFiles.ts"

const COUNT = 100
const entries = Sessions.chain(COUNT)
const textOf = (seq: number) => entries[seq - 1]?.text

/** A closed store of `given`, settled with a checkpoint after the first `settledAt` of them. */
const made = Effect.fnUntraced(function* (
  given: ReadonlyArray<SessionEntry> = entries,
  { settledAt = given.length, ...options }: WriterOptions & { readonly settledAt?: number } = { segmentBytes: 500 }
) {
  const directory = yield* memoryFolder
  const store = yield* SessionStore
  yield* Effect.scoped(
    Effect.gen(function* () {
      const writer = yield* store.create(directory, Sessions.headerLine(), options)
      yield* writer.appendAll(given.slice(0, settledAt))
      if (settledAt > 0) yield* writer.checkpoint()
      yield* writer.appendAll(given.slice(settledAt))
    })
  )
  const container = Path.join(directory, "s1.v2")
  return {
    location: { directory, sessionId: "s1" },
    index: Path.join(container, "index", "offsets.jsonl"),
    segments: Path.join(container, "segments")
  }
})

/** Flips a bit in the middle of what the file has for `text`. */
const flip = (path: string, text: string): void => {
  const bytes = Fs.readFileSync(path)
  const at = bytes.indexOf(text)
  assert.isAtLeast(at, 0, text)
  const middle = at + (text.length >> 1)
  bytes[middle] = (bytes[middle] ?? 0) ^ 1
  Fs.writeFileSync(path, bytes)
}

const flipRow = (index: string, id: string) => flip(index, `,"entry_id":"${id}",`)

const flipFrame = (segments: string, seq: number): void => {
  const text = textOf(seq) ?? ""
  for (const name of Fs.readdirSync(segments)) {
    const path = Path.join(segments, name)
    if (Fs.readFileSync(path).includes(text)) return flip(path, text)
  }
  assert.fail(`no frame of entry ${seq}`)
}

/** Over Node's file system; `current` is how many files are open. */
const countingOpen = (open: { current: number }) =>
  Store.over(
    Layer.merge(
      NodeServices.layer,
      Layer.effect(
        FileSystem.FileSystem,
        Effect.map(FileSystem.FileSystem, (fs) =>
          FileSystem.FileSystem.of({
            ...fs,
            open: (path, options) =>
              Effect.acquireRelease(
                Effect.sync(() => open.current++),
                () => Effect.sync(() => open.current--)
              ).pipe(Effect.andThen(fs.open(path, options)))
          })
        )
      ).pipe(Layer.provide(NodeServices.layer))
    )
  )

it.live("many fibers use one reader at once, with more segments than stay open, and with a damaged index", () => {
  const open = { current: 0 }
  return Effect.gen(function* () {
    const { index, location, segments } = yield* made()
    assert.isAbove(Fs.readdirSync(segments).length, 16)
    for (const damaged of [false, true]) {
      if (damaged) flipRow(index, "e50")
      const before = open.current
      yield* Effect.scoped(
        Effect.gen(function* () {
          const reader = yield* (yield* SessionStore).reader(location)
          const seqs = Array.from({ length: COUNT }, (_, at) => ((at * 37) % COUNT) + 1)
          const found = yield* Effect.forEach(
            seqs,
            (seq) => (seq % 2 === 0 ? reader.entry(seq) : reader.entryById(`e${seq}`)),
            { concurrency: "unbounded" }
          )
          assert.deepStrictEqual(
            found.map((entry) => entry.text),
            seqs.map(textOf)
          )
          assert.strictEqual(reader.entryCount, COUNT)
          assert.strictEqual(reader.head?.entry_seq, COUNT)
        })
      )
      assert.strictEqual(open.current, before, "files left open")
    }
  }).pipe(Effect.scoped, Effect.provide(countingOpen(open)))
})

it.live("segments that lost a frame are damage, not a shorter session", () =>
  Effect.gen(function* () {
    const { index, location, segments } = yield* made()
    flipFrame(segments, 50)
    Fs.rmSync(index)
    const error = yield* Effect.flip(Effect.scoped((yield* SessionStore).reader(location)))
    assert.isTrue(error._tag === "StoreDamaged" && error.invariant === "INV-005", error.message)
  }).pipe(Effect.scoped, Effect.provide(Store.live))
)

it.live("a session does not become shorter while it is read", () =>
  Effect.gen(function* () {
    const { index, location, segments } = yield* made()
    flipRow(index, "e50")
    flipFrame(segments, 50)
    const reader = yield* (yield* SessionStore).reader(location)
    assert.strictEqual(reader.entryCount, COUNT)
    for (const read of [Effect.asVoid(Stream.runCollect(reader.payloads)), Effect.asVoid(reader.session)]) {
      const error = yield* Effect.flip(read)
      assert.isTrue(error._tag === "StoreDamaged" && error.invariant === "INV-005", error.message)
    }
    assert.strictEqual(reader.entryCount, COUNT)
    assert.strictEqual((yield* reader.entry(COUNT)).text, textOf(COUNT))
  }).pipe(Effect.scoped, Effect.provide(Store.live))
)

it.live.each(["as long as the old one", "longer"])(
  "a reader returns no data of a container that replaced its own, %s",
  (how) =>
    Effect.gen(function* () {
      const directory = yield* memoryFolder
      const location = { directory, sessionId: "s1" }
      const file = Path.join(directory, "s.jsonl")
      const given = Array.from({ length: 40 }, (_, i) =>
        Sessions.user(`e${i + 1}`, i === 0 ? null : `e${i}`, `old-${i}`)
      )
      Fs.writeFileSync(file, Sessions.fileOf(Sessions.headerLine(), given))
      const [store, migration] = [yield* SessionStore, yield* StoreMigration]
      yield* migration.migrate(file, { segmentBytes: 2000 })
      const reader = yield* store.reader(location)
      yield* reader.entry(1)
      const back = yield* migration.rollback(location)
      const other = Fs.readFileSync(back.path, "utf8").replaceAll("old-", how === "longer" ? "longer-" : "new-")
      Fs.writeFileSync(back.path, other)
      yield* migration.migrate(back.path, { segmentBytes: 2000 })
      let failures = 0
      for (const [at, entry] of given.entries()) {
        const found = yield* Effect.result(reader.entry(at + 1))
        if (Result.isSuccess(found)) assert.strictEqual(found.success.text, entry.text)
        else {
          assert.isTrue(
            found.failure._tag === "StoreIoError" && found.failure.message.includes("open it again"),
            found.failure.message
          )
          failures++
        }
      }
      assert.isAbove(failures, 0)
      yield* Effect.flip(Stream.runCollect(reader.range(1, 40)))
      const again = yield* store.reader(location)
      assert.strictEqual((yield* Stream.runCollect(again.payloads)).flat().map(String).join(""), other)
    }).pipe(Effect.scoped, Effect.provide(Store.live))
)

it.live("a session does not become longer while it is read: rebuilt rows end where the reader was opened", () =>
  Effect.gen(function* () {
    const { index, location } = yield* made(entries, { settledAt: 0 })
    const store = yield* SessionStore
    const reader = yield* store.reader(location)
    const head = reader.head
    yield* Effect.scoped(
      Effect.flatMap(store.writer(location), (writer) => writer.append(Sessions.entryLine("new", `e${COUNT}`)))
    )
    flipRow(index, "e50")
    assert.strictEqual((yield* reader.session).tree.getEntries().length, COUNT)
    assert.strictEqual(reader.entryCount, COUNT)
    assert.deepStrictEqual(reader.head, head)
  }).pipe(Effect.scoped, Effect.provide(Store.live))
)

it.live("an entry whose id is damaged in the index is found in the segments", () =>
  Effect.gen(function* () {
    const { index, location } = yield* made()
    flipRow(index, "e50")
    const store = yield* SessionStore
    const byId = yield* Effect.flatMap(store.reader(location), (reader) => reader.entryById("e50"))
    assert.strictEqual(byId.text, textOf(50))
    const context = yield* Effect.flatMap(store.reader(location), (reader) => reader.context({ leafId: "e50" }))
    assert.deepStrictEqual(context.messages, [])
    const missing = yield* Effect.flip(Effect.flatMap(store.reader(location), (reader) => reader.entryById("nowhere")))
    assert.strictEqual(missing._tag, "EntryNotFound")
  }).pipe(Effect.scoped, Effect.provide(Store.live))
)

it.live("an index that is truncated under an open reader is ignored", () =>
  Effect.gen(function* () {
    const { index, location } = yield* made()
    const store = yield* SessionStore
    const readers = [yield* store.reader(location), yield* store.reader(location), yield* store.reader(location)]
    Fs.truncateSync(index, 1000)
    assert.strictEqual((yield* readers[0]!.entryById("e50")).text, textOf(50))
    assert.strictEqual((yield* readers[1]!.entry(50)).text, textOf(50))
    Fs.truncateSync(index, 0)
    assert.strictEqual((yield* readers[2]!.session).tree.getEntries().length, COUNT)
  }).pipe(Effect.scoped, Effect.provide(Store.live))
)

const thinking = (id: string, parentId: string | null, more: { readonly thinkingLevel?: string | null }) =>
  SessionEntry.make({ type: "thinking_level_change", id, parentId, timestamp: Sessions.timestamp, ...more })

it.live("a thinking level change without a level is ignored, as in core", () =>
  Effect.gen(function* () {
    const given = [
      Sessions.user("a1", null),
      thinking("a2", "a1", { thinkingLevel: "high" }),
      Sessions.assistant("a3", "a2"),
      thinking("a4", "a3", {}),
      Sessions.user("a5", "a4"),
      thinking("a6", "a5", { thinkingLevel: null })
    ]
    for (let count = 1; count <= given.length; count++) {
      for (const settledAt of [0, count - 1, count]) {
        const some = given.slice(0, count)
        const { location } = yield* made(some, { settledAt })
        const reader = yield* (yield* SessionStore).reader(location)
        const session = Session.read(Sessions.fileOf(Sessions.headerLine(), some))
        const name = `${count} entries, ${settledAt} settled`
        assert.deepStrictEqual(yield* reader.context(), SessionContext.build(session.tree), name)
      }
    }
  }).pipe(Effect.scoped, Effect.provide(Store.live))
)

/** Two histories with the same ids, each with a checkpoint; the first one has a compaction. */
const histories = Effect.gen(function* () {
  const compaction = SessionEntry.make({
    type: "compaction",
    id: "e3",
    parentId: "e2",
    timestamp: Sessions.timestamp,
    summary: "so far",
    firstKeptEntryId: "e2",
    tokensBefore: 1
  })
  const [one, two] = [Sessions.user("e1", null), Sessions.user("e2", "e1")]
  const other = yield* made([one, two, compaction, Sessions.assistant("e4", "e3")])
  const given = [one, two, Sessions.user("e3", "e2"), Sessions.assistant("e4", "e3")]
  const { location } = yield* made(given)
  const checkpoint = (of: { readonly directory: string }, seq: number) =>
    Path.join(of.directory, "s1.v2", "checkpoints", `${String(seq).padStart(16, "0")}.json`)
  const expected = SessionContext.build(Session.read(Sessions.fileOf(Sessions.headerLine(), given)).tree)
  const context = Effect.scoped(
    Effect.flatMap(SessionStore, (store) => Effect.flatMap(store.reader(location), (reader) => reader.context()))
  )
  return { location, checkpoint, expected, context, theirs: Fs.readFileSync(checkpoint(other.location, 1)) }
})

it.live("a checkpoint of another history is reported, not used, and not continued", () =>
  Effect.gen(function* () {
    const { checkpoint, context, expected, location, theirs } = yield* histories
    const store = yield* SessionStore
    const planted = checkpoint(location, 2)
    Fs.writeFileSync(planted, theirs)
    assert.deepStrictEqual(yield* context, expected)
    const named = (yield* store.verify(location)).findings.filter(({ path }) => path === planted)
    assert.isTrue(named.some(({ message }) => message.includes("not in the hash chain")))
    // The writer does not overwrite it, and folds from the one before.
    const bytes = Fs.readFileSync(planted)
    yield* Effect.scoped(
      Effect.gen(function* () {
        const writer = yield* store.writer(location)
        yield* writer.append(Sessions.user("e5", "e4"))
        yield* writer.checkpoint()
        assert.strictEqual(writer.manifest.checkpoint_seq, 3)
      })
    )
    assert.isTrue(Fs.readFileSync(planted).equals(bytes))
    assert.strictEqual((yield* context).messages.length, expected.messages.length + 1)
    const after = (yield* store.verify(location)).findings
    assert.deepStrictEqual([...new Set(after.map(({ path }) => path))], [planted])
  }).pipe(Effect.scoped, Effect.provide(Store.live))
)

it.live.each(["session_id", "checkpoint_seq"])("a checkpoint with another %s is not used", (member) =>
  Effect.gen(function* () {
    const { checkpoint, context, expected, location } = yield* histories
    const own = Result.getOrThrow(Checkpoint.decode(Fs.readFileSync(checkpoint(location, 1))))
    // Its active context differs, so that using it would be visible.
    const active_context = { ...own.active_context, compaction: { entry_seq: 2, entry_id: "e2" } }
    const changed = { ...own, active_context, [member]: member === "session_id" ? "s2" : 7 }
    Fs.writeFileSync(checkpoint(location, 2), Checkpoint.encode(changed))
    assert.deepStrictEqual(yield* context, expected)
    const { findings } = yield* (yield* SessionStore).verify(location)
    assert.isTrue(findings.some(({ path }) => path === checkpoint(location, 2)))
  }).pipe(Effect.scoped, Effect.provide(Store.live))
)

it.live("a checkpoint whose active context differs from its history is reported", () =>
  Effect.gen(function* () {
    const { checkpoint, location } = yield* histories
    const file = checkpoint(location, 1)
    const own = Result.getOrThrow(Checkpoint.decode(Fs.readFileSync(file)))
    assert.deepStrictEqual((yield* (yield* SessionStore).verify(location)).findings, [])
    const active_context = { ...own.active_context, compaction: { entry_seq: 2, entry_id: "e2" } }
    Fs.writeFileSync(file, Checkpoint.encode({ ...own, active_context }))
    const { findings } = yield* (yield* SessionStore).verify(location)
    assert.deepStrictEqual(
      findings.map(({ invariant, path }) => [invariant, path]),
      [["INV-006", file]]
    )
  }).pipe(Effect.scoped, Effect.provide(Store.live))
)

it.live("no checkpoint changes the thinking level and the model of the context", () => {
  const kinds: ReadonlyArray<(id: string, parentId: string | null) => SessionEntry> = [
    Sessions.user,
    Sessions.assistant,
    (id, parentId) => thinking(id, parentId, { thinkingLevel: `level of ${id}` }),
    (id, parentId) => thinking(id, parentId, { thinkingLevel: null }),
    (id, parentId) => thinking(id, parentId, {})
  ]
  const sessions = kinds.flatMap((a) =>
    kinds.flatMap((b) => kinds.map((c) => [a("e1", null), b("e2", "e1"), c("e3", "e2"), Sessions.user("e4", "e3")]))
  )
  return Effect.gen(function* () {
    for (const given of settings.spread(sessions, settings.walks({ test: 16, campaign: 1000 }))) {
      const session = Session.read(Sessions.fileOf(Sessions.headerLine(), given))
      const expected = SessionContext.build(session.tree)
      for (const settledAt of [0, 1, 2, 3]) {
        const { location } = yield* made(given, { settledAt })
        const context = yield* Effect.scoped(
          Effect.flatMap(SessionStore, (store) => Effect.flatMap(store.reader(location), (reader) => reader.context()))
        )
        const name = `${given.map(({ text }) => text).join()}, ${settledAt} settled`
        assert.deepStrictEqual(context, expected, name)
      }
    }
  }).pipe(Effect.scoped, Effect.provide(Store.live))
})

it.live("the context on another branch than the checkpoint's is read from its end, not from the root", () => {
  const counts = new Map<string, number>()
  return Effect.gen(function* () {
    const main = [Sessions.user("m1", null), Sessions.assistant("m2", "m1")]
    const branch = Array.from({ length: 6000 }, (_, at) => Sessions.user(`b${at}`, at === 0 ? "m1" : `b${at - 1}`))
    const compaction = SessionEntry.make({
      type: "compaction",
      id: "c1",
      parentId: "t1",
      timestamp: Sessions.timestamp,
      summary: "so far",
      firstKeptEntryId: "b5999",
      tokensBefore: 1
    })
    const end = [thinking("t1", "b5999", { thinkingLevel: "low" }), compaction, Sessions.assistant("a1", "c1")]
    const given = [...main, ...branch, ...end]
    const { index, location } = yield* made(given, { settledAt: 2 })
    const reader = yield* (yield* SessionStore).reader(location)
    counts.clear()
    const context = yield* reader.context()
    const session = Session.read(Sessions.fileOf(Sessions.headerLine(), given))
    assert.deepStrictEqual(context, SessionContext.build(session.tree))
    assert.isBelow(counts.get(index) ?? 0, Fs.statSync(index).size / 4)
  }).pipe(Effect.scoped, Effect.provide(WatchedFiles.counting(counts)))
})

it.live("large entries come a few at a time: a batch does not grow with them", () =>
  Effect.gen(function* () {
    const megabyte = "x".repeat(1 << 20)
    const given = Sessions.chain(24, { megabyte })
    const { location } = yield* made(given, {})
    const reader = yield* (yield* SessionStore).reader(location)
    const most = { pieces: 0, entries: 0 }
    let bytes = 0
    yield* Stream.runForEach(reader.payloads, (pieces) =>
      Effect.sync(() => {
        const size = pieces.reduce((sum, piece) => sum + piece.length, 0)
        most.pieces = Math.max(most.pieces, size)
        bytes += size
      })
    )
    yield* Stream.runForEachArray(reader.range(1, 24), (entries) =>
      Effect.sync(() => (most.entries = Math.max(most.entries, entries.length)))
    )
    assert.strictEqual(bytes, Sessions.fileOf(Sessions.headerLine(), given).length)
    assert.isAtMost(most.pieces, 4 << 20)
    assert.isAtMost(most.entries, 4)
    const { path } = yield* (yield* StoreMigration).rollback(location)
    assert.isTrue(Fs.readFileSync(path).equals(Sessions.fileOf(Sessions.headerLine(), given)))
  }).pipe(Effect.scoped, Effect.provide(Store.live))
)

it.live("more bytes than one system call accepts are written", () =>
  Effect.gen(function* () {
    // Never touched, so it takes no memory.
    const bytes = Buffer.alloc(2 ** 31 + 5)
    yield* withFile("/dev/null", "w", (file) => writeFully(file, "/dev/null", bytes))
  }).pipe(Effect.provide(Store.live))
)
