/** A reader on files that rot, shrink or are read by many fibers at once: it gives what was written, or an error. */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { NodeServices } from "@effect/platform-node"
import { assert, it } from "@effect/vitest"
import { Effect, FileSystem, Layer, Stream } from "effect"
import * as SessionContext from "@pi-sessions/core/SessionContext"
import * as Session from "@pi-sessions/core/Session"
import { SessionEntry } from "@pi-sessions/core/SessionLine"
import { memoryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { SessionStore } from "../src/SessionStore.ts"
import { type WriterOptions } from "../src/StoreWriter.ts"
import * as Sessions from "./support/sessions.ts"
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

it.live("many fibers read one reader at once, over more segments than stay open and a damaged index", () => {
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

it.live("a history that the segments do not have whole is damage, not a shorter session", () =>
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

it.live("a session does not become longer while it is read: rows made again end where the reader was opened", () =>
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

it.live("an entry whose id rots in the index is found in the segments", () =>
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

it.live("an index that breaks off under an open reader is done without", () =>
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

const thinking = (id: string, parentId: string, more: { readonly thinkingLevel?: string | null }) =>
  SessionEntry.make({ type: "thinking_level_change", id, parentId, timestamp: Sessions.timestamp, ...more })

it.live("a thinking level change that tells no level is passed over, as core does", () =>
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
