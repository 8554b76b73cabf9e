/** Contexts that a reader builds from checkpoints: the same as core builds from the whole session. */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import * as SessionContext from "@pi-sessions/core/SessionContext"
import * as Session from "@pi-sessions/core/Session"
import { SessionEntry } from "@pi-sessions/core/SessionLine"
import * as Checkpoint from "../src/wire/Checkpoint.ts"
import { SessionStore } from "../src/SessionStore.ts"
import * as Sessions from "./support/sessions.ts"
import * as settings from "./support/settings.ts"
import * as Store from "./support/storeLayer.ts"
import * as WatchedFiles from "./support/watchedFiles.ts"
import { closedStore, thinking } from "./support/closedStore.ts"

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
        const { location } = yield* closedStore(some, { settledAt })
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
  const other = yield* closedStore([one, two, compaction, Sessions.assistant("e4", "e3")])
  const given = [one, two, Sessions.user("e3", "e2"), Sessions.assistant("e4", "e3")]
  const { location } = yield* closedStore(given)
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
        const { location } = yield* closedStore(given, { settledAt })
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
    const { index, location } = yield* closedStore(given, { settledAt: 2 })
    const reader = yield* (yield* SessionStore).reader(location)
    counts.clear()
    const context = yield* reader.context()
    const session = Session.read(Sessions.fileOf(Sessions.headerLine(), given))
    assert.deepStrictEqual(context, SessionContext.build(session.tree))
    assert.isBelow(counts.get(index) ?? 0, Fs.statSync(index).size / 4)
  }).pipe(Effect.scoped, Effect.provide(WatchedFiles.counting(counts)))
})
