/**
 * Random operations on a store, compared with a simple model: an array of lines, read by core's Session, SessionTree and
 * SessionContext. `PI_SESSIONS_SEED=<seed> PI_SESSIONS_WALKS=1` repeats one sequence.
 */
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as Util from "node:util"
import { DatabaseSync } from "node:sqlite"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope, Stream } from "effect"
import { type JsonObject } from "@pi-sessions/core/Json"
import * as Session from "@pi-sessions/core/Session"
import * as SessionContext from "@pi-sessions/core/SessionContext"
import { SessionEntry } from "@pi-sessions/core/SessionLine"
import { memoryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as PiVersion from "@pi-sessions/testing/pi/PiVersion"
import * as RandomMessage from "@pi-sessions/testing/sessions/RandomMessage"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import { SessionStore } from "../src/SessionStore.ts"
import { StoreMigration } from "../src/StoreMigration.ts"
import { type StoreWriter } from "../src/StoreWriter.ts"
import * as RandomRecords from "./support/randomRecords.ts"
import * as Sessions from "./support/sessions.ts"
import * as settings from "./support/settings.ts"
import * as Store from "./support/storeLayer.ts"

const same = (ours: unknown, expected: unknown, name: string): void => {
  // The assertion is slow even when it succeeds.
  if (!Util.isDeepStrictEqual(ours, expected)) assert.deepStrictEqual(ours, expected, name)
}

/** Entries of every type, with ids in every script, anywhere in the tree. */
class Model {
  readonly random: SeededRandom.SeededRandom
  readonly #messages: RandomMessage.RandomMessages
  /** The session as a file. */
  bytes: Buffer
  readonly entries: Array<SessionEntry>
  readonly sessionId: string

  constructor(seed: number, start: Buffer) {
    this.random = SeededRandom.make(seed)
    this.#messages = { version: "1.5", random: this.random, clock: 0, serial: 0 }
    this.bytes = start
    const session = Session.read(start)
    this.entries = [...session.tree.getEntries()]
    this.sessionId = String(session.header?.decode()["id"])
  }

  get session(): Session.Session {
    return Session.read(this.bytes)
  }

  add(entry: SessionEntry): void {
    this.entries.push(entry)
    const open = this.bytes.at(-1) === 0x0a ? this.bytes : Buffer.concat([this.bytes, Buffer.from("\n")])
    this.bytes = Buffer.concat([open, Buffer.from(`${entry.text}\n`)])
  }

  anyId(): string | null {
    return this.entries[this.random.int(this.entries.length)]?.id ?? null
  }

  /** A possible next entry, after the last one or after `after`, which is not appended yet. */
  next(after?: string | null): SessionEntry {
    const { random } = this
    const last = after === undefined ? (this.entries.at(-1)?.id ?? null) : after
    const parentId = random.weighted<() => string | null>([70, () => last], [22, () => this.anyId()], [8, () => null])()
    const taken = new Set(this.entries.map((entry) => entry.id))
    let id = RandomRecords.id(random)
    while (taken.has(id) || id === this.sessionId) id += "."
    return SessionEntry.make({ ...this.#payload(parentId), id, parentId, timestamp: Sessions.timestamp })
  }

  #payload(parentId: string | null): JsonObject & { readonly type: string } {
    const { random } = this
    const message = (message: unknown) => ({ type: "message", message: plain(message) })
    return random.weighted<() => JsonObject & { readonly type: string }>(
      [8, () => message(RandomMessage.user(this.#messages))],
      [8, () => message(RandomMessage.assistant(this.#messages).message)],
      [2, () => message(RandomMessage.system(this.#messages))],
      [2, () => ({ type: "thinking_level_change", thinkingLevel: random.pick(["off", "high", "low"]) })],
      [2, () => ({ type: "model_change", provider: "fake", modelId: random.pick(["a", "b"]) })],
      [3, () => ({ type: "compaction", summary: "so far", firstKeptEntryId: this.#kept(parentId), tokensBefore: 9 })],
      [1, () => ({ type: "compaction", summary: "lost", tokensBefore: 9 })],
      [1, () => ({ type: "branch_summary", fromId: this.anyId() ?? "root", summary: "left" })],
      [1, () => ({ type: "context_edit", targetId: this.anyId() ?? "none", replacement: null })],
      [1, () => ({ type: "label", targetId: this.anyId() ?? "none", label: "x" })],
      [1, () => ({ type: RandomRecords.id(random), unknown: { "": [1, null] } })],
      [1, () => ({ type: "custom", customType: "big", data: "x".repeat(random.int(4000)) })]
    )()
  }

  #kept(parentId: string | null): string {
    const branch = this.session.tree.branchAt(parentId)
    return this.random.chance(0.9) ? (branch[this.random.int(branch.length)]?.id ?? "none") : "nobody"
  }
}

const plain = (value: unknown): JsonObject => JSON.parse(JSON.stringify(value))

const sqliteBytes = (file: string): Buffer => {
  const database = new DatabaseSync(file, { readOnly: true })
  const lines = database.prepare("SELECT line FROM session_line ORDER BY entry_seq").all()
  database.close()
  return Buffer.concat(lines.map((row) => (row["line"] instanceof Uint8Array ? row["line"] : Buffer.alloc(0))))
}

const isError = (tag: string) => (error: { readonly _tag: string }) => error._tag === tag

const text = (entries: ReadonlyArray<SessionEntry>) => entries.map((entry) => entry.text)

/** One sequence of operations on one session. */
const sequence = Effect.fnUntraced(function* (seed: number, start: Buffer | undefined, steps: number) {
  const directory = yield* memoryFolder
  const store = yield* SessionStore
  const migration = yield* StoreMigration
  const header = Sessions.headerLine("0198c2f4-7d31-7e35-b1f1-6a2d6d6b9f10")
  const model = new Model(seed, start ?? Sessions.fileOf(header, []))
  const { random } = model
  const location = { directory, sessionId: model.sessionId }
  const segmentBytes = () => random.pick([1, 700, 3000, 20_000, 1 << 24])
  const counts = new Map<string, number>()
  let done: Array<string> = []
  const where = () => `seed ${seed}, after ${done.slice(-12).join(", ")}`

  let scope = yield* Scope.make()
  let writer: StoreWriter | undefined
  const close = Effect.suspend(() => {
    const old = scope
    writer = undefined
    return Effect.andThen(
      Scope.close(old, Exit.void),
      Effect.flatMap(Scope.make(), (next) => Effect.sync(() => (scope = next)))
    )
  })
  const open = Effect.suspend(() =>
    writer === undefined
      ? Effect.tap(Scope.provide(store.writer(location, { segmentBytes: segmentBytes() }), scope), (opened) =>
          Effect.sync(() => {
            assert.deepStrictEqual(opened.repairs, [], where())
            writer = opened
          })
        )
      : Effect.succeed(writer)
  )

  const read = Effect.gen(function* () {
    const reader = yield* store.reader(location)
    const { session } = model
    const { entries } = model
    assert.strictEqual(reader.entryCount, entries.length, where())
    assert.strictEqual(reader.header.text, session.header?.text, where())
    assert.isUndefined(reader.trailing, where())
    for (let times = 0; times < 3; times++) {
      const seq = random.int(entries.length + 3)
      const expected = seq === 0 ? undefined : entries[seq - 1]
      if (expected === undefined)
        assert.isTrue(isError("EntryNotFound")(yield* Effect.flip(reader.entry(seq))), where())
      else {
        const entry = yield* reader.entry(seq)
        assert.strictEqual(entry.text, expected.text, where())
        assert.strictEqual((yield* reader.entryById(expected.id ?? "")).text, expected.text, where())
        // A migrated file may have blank lines.
        if (start === undefined) assert.strictEqual(entry.line, seq + 1, where())
      }
    }
    for (const id of ["nobody", "", model.sessionId, '","entry_id":"']) {
      if (entries.some((entry) => entry.id === id)) continue
      assert.isTrue(isError("EntryNotFound")(yield* Effect.flip(reader.entryById(id))), `${where()}: ${id}`)
    }
    const from = random.int(entries.length + 2) - 1
    const to = from + random.int(entries.length + 2)
    same(
      text(yield* Stream.runCollect(reader.range(from, to))),
      text(entries.slice(Math.max(0, from - 1), Math.max(0, to))),
      where()
    )
    const count = random.int(entries.length + 2)
    same(text(yield* reader.last(count)), text(count === 0 ? [] : entries.slice(-count)), where())
    const leafId = random.chance(0.5) ? undefined : (model.anyId() ?? undefined)
    const tree = leafId === undefined ? session.tree : session.tree.branch(leafId)
    const profile = random.pick(["0.78", "1.5"] as const)
    const at = leafId === undefined ? {} : { leafId }
    same(text(yield* reader.path(leafId)), text(tree?.getBranch() ?? []), `${where()}: path of ${leafId}`)
    same(
      yield* reader.context({ ...at, profile }),
      tree === undefined ? undefined : SessionContext.build(tree, profile),
      `${where()}: context at ${leafId}`
    )
    if (random.chance(0.4)) {
      assert.isTrue(Buffer.from(Session.toBytes(yield* reader.session)).equals(model.bytes), `${where()}: its bytes`)
      const lines = yield* Stream.runCollect(reader.lines)
      same(
        lines.map((line) => line.text),
        session.lines.map((line) => line.text),
        `${where()}: its lines`
      )
    }
  }).pipe(Effect.scoped)

  const verify = Effect.gen(function* () {
    yield* close
    const report = yield* store.verify(location)
    assert.deepStrictEqual(report.findings, [], where())
    assert.strictEqual(report.entryCount, model.entries.length, where())
    assert.isTrue(report.hashChainMatch)
  })

  const operations = {
    append: Effect.gen(function* () {
      const entry = model.next()
      same(
        yield* (yield* open).append(entry),
        { entryId: entry.id, entrySeq: model.entries.length + 1, written: true },
        where()
      )
      model.add(entry)
    }),
    "append many": Effect.gen(function* () {
      const before = model.entries.length
      const entries: Array<SessionEntry> = []
      let last: string | null | undefined
      for (let n = 1 + random.int(20); n > 0; n--) {
        const entry = model.next(last)
        if (entries.some(({ id }) => id === entry.id)) continue
        entries.push(entry)
        last = entry.id
        // The same line again within one call.
        if (random.chance(0.1)) entries.push(entry)
      }
      const appended = yield* (yield* open).appendAll(entries)
      const known = new Map<string | null, number>()
      for (const [at, entry] of entries.entries()) {
        const entrySeq = known.get(entry.id) ?? model.entries.length + 1
        same(appended[at], { entryId: entry.id, entrySeq, written: !known.has(entry.id) }, where())
        if (!known.has(entry.id)) model.add(entry)
        known.set(entry.id, entrySeq)
      }
      assert.isAbove(model.entries.length, before)
    }),
    "append at once": Effect.gen(function* () {
      const writer = yield* open
      const entries = Array.from({ length: 2 + random.int(6) }, () => model.next())
      const unique = entries.filter((entry, at) => entries.findIndex(({ id }) => id === entry.id) === at)
      const first = model.entries.length + 1
      const appended = yield* Effect.all(
        unique.map((entry) => writer.append(entry)),
        { concurrency: "unbounded" }
      )
      const order = appended
        .map(({ entrySeq }, at) => ({ entrySeq, entry: unique[at]! }))
        .sort((a, b) => a.entrySeq - b.entrySeq)
      same(
        order.map(({ entrySeq }) => entrySeq),
        order.map((_, at) => first + at),
        where()
      )
      for (const { entry } of order) model.add(entry)
    }),
    retry: Effect.gen(function* () {
      if (model.entries.length === 0) return
      const seq = 1 + random.int(model.entries.length)
      const entry = model.entries[seq - 1]!
      const copy = Session.readText(`${Sessions.headerLine().text}\n${entry.text}\n`).tree.getEntries()[0]!
      same(yield* (yield* open).append(copy), { entryId: entry.id, entrySeq: seq, written: false }, where())
    }),
    "conflicting id": Effect.gen(function* () {
      const id = model.anyId()
      if (id === null) return
      const error = yield* Effect.flip((yield* open).append(Sessions.entryLine(id, null, { other: random.next() })))
      assert.isTrue(error._tag === "EntryRefused" && error.why === "id-taken", where())
    }),
    "unknown parent": Effect.gen(function* () {
      const parent = random.chance(0.2) ? model.sessionId : "nobody"
      const error = yield* Effect.flip((yield* open).append(Sessions.entryLine("orphan", parent)))
      assert.isTrue(error._tag === "EntryRefused" && error.why === "unknown-parent", where())
    }),
    "none of many": Effect.gen(function* () {
      const good = model.next()
      const bad = Sessions.entryLine("orphan", "nobody")
      const error = yield* Effect.flip((yield* open).appendAll([good, bad, model.next()]))
      assert.strictEqual(error._tag, "EntryRefused", where())
      assert.isFalse((yield* open).has(good.id ?? ""), where())
    }),
    checkpoint: Effect.gen(function* () {
      yield* (yield* open).checkpoint()
      assert.strictEqual((yield* open).state, "CHECKPOINTED", where())
    }),
    reopen: Effect.andThen(close, open),
    read,
    verify,
    migrate: Effect.gen(function* () {
      yield* close
      const format = random.pick(["jsonl_v3", "sqlite_v1"] as const)
      const back = yield* migration.rollback(location, { format, reason: "the model asks" })
      const held = format === "sqlite_v1" ? sqliteBytes(back.path) : Fs.readFileSync(back.path)
      assert.isTrue(held.equals(model.bytes), `${where()}: rolled back to ${format}`)
      assert.strictEqual(back.entryCount, model.entries.length, where())
      assert.isTrue(isError("StoreNotActive")(yield* Effect.flip(Effect.scoped(store.writer(location)))), where())
      const again = yield* migration.migrate(back.path, { format, segmentBytes: segmentBytes() })
      assert.deepStrictEqual([again.outcome, again.entryCount], ["migrated", model.entries.length], where())
      assert.strictEqual((yield* migration.migrate(back.path, { format })).outcome, "already")
    })
  }

  if (start === undefined)
    yield* Scope.provide(store.create(directory, header, { segmentBytes: segmentBytes() }), scope)
  else {
    const file = Path.join(directory, "s.jsonl")
    Fs.writeFileSync(file, start)
    yield* migration.migrate(file, { segmentBytes: segmentBytes() })
  }
  yield* close
  for (let step = 0; step < steps; step++) {
    const name = random.weighted<keyof typeof operations>(
      [20, "append"],
      [10, "append many"],
      [5, "append at once"],
      [4, "retry"],
      [2, "conflicting id"],
      [2, "unknown parent"],
      [2, "none of many"],
      [5, "checkpoint"],
      [6, "reopen"],
      [20, "read"],
      [3, "verify"],
      [1, "migrate"]
    )
    done.push(name)
    counts.set(name, (counts.get(name) ?? 0) + 1)
    yield* operations[name].pipe(
      Effect.mapError(
        (error: unknown) =>
          new Error(`${where()}: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
      )
    )
  }
  yield* read
  yield* verify
  return { counts, entries: model.entries.length }
}, Effect.scoped)

const SEQUENCES = settings.walks({ test: 3, campaign: 300 })

describe("a store and its model", () => {
  const run = Effect.fnUntraced(function* (name: string, starts: ReadonlyArray<Buffer | undefined>, sequences: number) {
    const total = new Map<string, number>()
    let entries = 0
    for (const seed of settings.seeds(sequences)) {
      const result = yield* sequence(seed, starts[seed % starts.length], 40)
      for (const [operation, count] of result.counts) total.set(operation, (total.get(operation) ?? 0) + count)
      entries += result.entries
    }
    settings.note(
      `StoreModel, ${name}: ${sequences} sequences, ${entries} entries, ${JSON.stringify(Object.fromEntries(total))}`
    )
  })

  it.live("agree on a session that is created in its store", () =>
    run("created", [undefined], SEQUENCES).pipe(Effect.provide(Store.live))
  )

  it.live("agree on migrated sessions of both Pis, also with blank lines and without a final newline", () =>
    Effect.gen(function* () {
      const walks = yield* Effect.forEach(PiVersion.versions, (version) =>
        Sessions.walks(version, settings.walks({ test: 1, campaign: 20 }))
      )
      const starts = walks
        .flat()
        .flatMap(({ bytes }) => [
          bytes,
          bytes.subarray(0, -1),
          Buffer.from(bytes.toString("latin1").replaceAll("\n", "\n \n"), "latin1"),
          Buffer.from(`${bytes.toString("latin1")}\n\n  `, "latin1")
        ])
      const sound = starts.filter((bytes) => Sessions.versionOf(bytes) === 3)
      assert.isAtLeast(sound.length, 4)
      yield* run("migrated", sound, SEQUENCES)
    }).pipe(Effect.scoped, Effect.provide(Store.live))
  )
})
