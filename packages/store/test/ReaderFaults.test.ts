/** A reader of damaged or shrinking files, and of one store by many fibers: it returns what was written, or an error. */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { NodeServices } from "@effect/platform-node"
import { assert, it } from "@effect/vitest"
import { Effect, FileSystem, Layer, Result, Stream } from "effect"
import { memoryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { closedStore } from "./support/closedStore.ts"
import { SessionStore } from "../src/SessionStore.ts"
import { StoreMigration } from "../src/StoreMigration.ts"
import { withFile, writeFully } from "../src/files/durable.ts"
import * as Sessions from "./support/sessions.ts"
import * as Store from "./support/storeLayer.ts"

const COUNT = 100
const entries = Sessions.chain(COUNT)
const textOf = (seq: number) => entries[seq - 1]?.text

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
    const { index, location, segments } = yield* closedStore(entries)
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
    const { index, location, segments } = yield* closedStore(entries)
    flipFrame(segments, 50)
    Fs.rmSync(index)
    const error = yield* Effect.flip(Effect.scoped((yield* SessionStore).reader(location)))
    assert.isTrue(error._tag === "StoreDamaged" && error.invariant === "INV-005", error.message)
  }).pipe(Effect.scoped, Effect.provide(Store.live))
)

it.live("a session does not become shorter while it is read", () =>
  Effect.gen(function* () {
    const { index, location, segments } = yield* closedStore(entries)
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
    const { index, location } = yield* closedStore(entries, { settledAt: 0 })
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
    const { index, location } = yield* closedStore(entries)
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
    const { index, location } = yield* closedStore(entries)
    const store = yield* SessionStore
    const readers = [yield* store.reader(location), yield* store.reader(location), yield* store.reader(location)]
    Fs.truncateSync(index, 1000)
    assert.strictEqual((yield* readers[0]!.entryById("e50")).text, textOf(50))
    assert.strictEqual((yield* readers[1]!.entry(50)).text, textOf(50))
    Fs.truncateSync(index, 0)
    assert.strictEqual((yield* readers[2]!.session).tree.getEntries().length, COUNT)
  }).pipe(Effect.scoped, Effect.provide(Store.live))
)

it.live("large entries come a few at a time: a batch does not grow with them", () =>
  Effect.gen(function* () {
    const megabyte = "x".repeat(1 << 20)
    const given = Sessions.chain(24, { megabyte })
    const { location } = yield* closedStore(given, {})
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
