/** Programs that use a store, and that expect a full disk, a fault or a crash at any call. */
import { Effect } from "effect"
import * as TestClock from "effect/testing/TestClock"
import * as Session from "@pi-sessions/core/Session"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import { SessionStore } from "../../src/SessionStore.ts"
import { StoreMigration } from "../../src/StoreMigration.ts"
import type * as StoreWriter from "../../src/StoreWriter.ts"
import { type Known, type Ledger, location, open, readActive, readNative } from "./crashSession.ts"
import * as sessions from "./sessions.ts"

export const header = sessions.headerLine(location.sessionId)

/** So small that a few entries fill a segment. */
export const SEGMENT_BYTES = 900

/** Gives each step its own time, so that its records differ from earlier ones. */
const tick = TestClock.adjust("1 second")

/** Retries after I/O errors. A fault must cause no other error, and no error after it ended. */
export const stubborn = <A, E extends { readonly _tag: string }, R>(effect: Effect.Effect<A, E, R>) =>
  effect.pipe(
    Effect.tapError(() => tick),
    Effect.retry({ times: 12, while: ({ _tag }) => _tag === "StoreIoError" })
  )

/** A step. By default it leaves a store that needs no repair. */
const step = <A, E extends { readonly _tag: string }, R>(
  ledger: Ledger,
  name: string,
  effect: Effect.Effect<A, E, R>,
  settles = true
) =>
  Effect.suspend(() => {
    ledger.attempt({ step: name, settles })
    return stubborn(effect)
  }).pipe(Effect.tap(() => Effect.sync(() => ledger.acknowledge({ step: name, settles }))))

/** Appends entries as one request, and records them. */
export const put = Effect.fnUntraced(function* (
  ledger: Ledger,
  writer: StoreWriter.StoreWriter,
  entries: ReadonlyArray<SessionEntry>
) {
  yield* stubborn(
    Effect.suspend(() => {
      for (const entry of entries) ledger.attempt({ line: entry.text })
      return writer.appendAll(entries)
    })
  )
  for (const entry of entries) ledger.acknowledge({ line: entry.text })
})

/** Appends entries as concurrent requests. */
export const putTogether = (ledger: Ledger, writer: StoreWriter.StoreWriter, entries: ReadonlyArray<SessionEntry>) =>
  Effect.forEach(entries, (entry) => put(ledger, writer, [entry]), { concurrency: "unbounded", discard: true })

export const create = Effect.fnUntraced(function* (ledger: Ledger, options?: StoreWriter.WriterOptions) {
  const store = yield* SessionStore
  ledger.attempt({ line: header.text })
  const writer = yield* store.create(location.directory, header, options).pipe(
    // The store was created, and a later step failed.
    Effect.catchTag("StoreExists", () => store.writer(location, options)),
    stubborn
  )
  ledger.acknowledge({ line: header.text })
  return writer
})

/** Opens the store for writing, with retries, and uses the writer. */
const withWriter = <A, E, R>(
  use: (writer: StoreWriter.StoreWriter) => Effect.Effect<A, E, R>,
  options?: StoreWriter.WriterOptions
) =>
  Effect.scoped(
    Effect.gen(function* () {
      const store = yield* SessionStore
      return yield* Effect.flatMap(stubborn(store.writer(location, options)), use)
    })
  )

/** A chain of entries with some text, `from` to `to`. */
export const entries = (from: number, to: number, size = 20): ReadonlyArray<SessionEntry> =>
  sessions.chain(to, { text: "x".repeat(size) }).slice(from - 1)

/** Entries with the same parent, so that each may be missing by itself. */
const siblings = [1, 2, 3, 4].map((n) => sessions.entryLine(`b${n}`, "e5", { text: "y".repeat(10 * n) }))

/** Creating, single entries, a group in one request, concurrent requests, and repeated entries. */
export const appending = Effect.fnUntraced(function* (ledger: Ledger) {
  const writer = yield* create(ledger)
  yield* tick
  yield* put(ledger, writer, entries(1, 1))
  yield* put(ledger, writer, entries(2, 2, 600))
  yield* stubborn(writer.append(entries(2, 2, 600)[0]!))
  yield* tick
  yield* put(ledger, writer, entries(3, 5))
  yield* stubborn(writer.appendAll(entries(4, 5)))
  yield* putTogether(ledger, writer, siblings)
}, Effect.scoped)

/** Segments that fill up, so that seals, index rows and checkpoints come between the appends. */
export const sealing = Effect.fnUntraced(function* (ledger: Ledger) {
  const writer = yield* create(ledger, { segmentBytes: SEGMENT_BYTES })
  for (let n = 1; n <= 7; n++) {
    yield* tick
    yield* put(ledger, writer, entries(n, n))
  }
  yield* put(ledger, writer, entries(8, 10, 300))
  yield* put(ledger, writer, entries(11, 11))
}, Effect.scoped)

/** Explicit checkpoints with appends after them, with the store closed in between. */
export const checkpointing = Effect.fnUntraced(function* (ledger: Ledger) {
  yield* Effect.scoped(
    Effect.gen(function* () {
      const writer = yield* create(ledger)
      yield* put(ledger, writer, [
        sessions.user("e1", null),
        sessions.assistant("e2", "e1"),
        sessions.entryLine("e3", "e2")
      ])
      yield* tick
      yield* step(ledger, "checkpoint", writer.checkpoint())
      yield* put(ledger, writer, [sessions.entryLine("e4", "e2")])
      yield* step(ledger, "checkpoint", writer.checkpoint())
      yield* step(ledger, "checkpoint again", writer.checkpoint())
    })
  )
  yield* tick
  yield* withWriter(
    Effect.fnUntraced(function* (writer) {
      yield* put(ledger, writer, [sessions.entryLine("e5", "e4")])
    })
  )
  yield* withWriter(
    Effect.fnUntraced(function* (writer) {
      yield* put(ledger, writer, [sessions.entryLine("e6", "e1")])
      yield* step(ledger, "checkpoint", writer.checkpoint())
    })
  )
})

/** A program that replaces a failed entry by a shorter one: the failed one must not appear. */
export const givingUp = Effect.fnUntraced(function* (ledger: Ledger) {
  const writer = yield* create(ledger, { segmentBytes: SEGMENT_BYTES })
  let last: string | null = null
  for (let n = 1; n <= 6; n++) {
    const long = sessions.entryLine(`long${n}`, last, { text: "x".repeat(300) })
    const short = sessions.entryLine(`short${n}`, last)
    const refused = (yield* Effect.result(writer.append(long)))._tag === "Failure"
    const entry: SessionEntry = refused ? short : long
    if (refused) yield* put(ledger, writer, [short])
    else {
      ledger.attempt({ line: long.text })
      ledger.acknowledge({ line: long.text })
    }
    last = entry.id
  }
}, Effect.scoped)

/** A program that closes its writer when an append fails, and retries with another one. */
export const reopening = Effect.fnUntraced(function* (ledger: Ledger) {
  const store = yield* SessionStore
  yield* Effect.scoped(create(ledger))
  for (const entry of entries(1, 5)) {
    const once = Effect.scoped(
      Effect.gen(function* () {
        const writer = yield* store.writer(location, { segmentBytes: SEGMENT_BYTES })
        ledger.attempt({ line: entry.text })
        yield* writer.append(entry)
      })
    )
    yield* stubborn(once)
    ledger.acknowledge({ line: entry.text })
  }
})

/** A session file as Pi writes it, to be migrated. */
export const sourceLines = [header.text, ...entries(1, 6).map((entry) => entry.text)]
export const source = {
  path: `${location.directory}/2026-01-05T10-00-00-000Z_s1.jsonl`,
  bytes: Buffer.from(sourceLines.map((line) => `${line}\n`).join(""))
}

/** The lines of the source are promised from the start. */
const promiseSource = (ledger: Ledger): void => {
  for (const line of sourceLines) {
    ledger.attempt({ line })
    ledger.acknowledge({ line })
  }
}

/** Migrates a file, and appends. */
export const migrating = Effect.fnUntraced(function* (ledger: Ledger) {
  promiseSource(ledger)
  const migration = yield* StoreMigration
  yield* step(ledger, "migrate", migration.migrate(source.path, { segmentBytes: SEGMENT_BYTES }))
  yield* tick
  yield* withWriter((writer) => put(ledger, writer, entries(7, 8)), { segmentBytes: SEGMENT_BYTES })
})

/** A repeated rollback, when only its last step had failed, reports the file as the active store. */
const rollback = Effect.gen(function* () {
  const migration = yield* StoreMigration
  return yield* migration
    .rollback(location, { reason: "a test" })
    .pipe(Effect.catchTag("StoreNotActive", ({ activePath }) => Effect.succeed({ path: activePath })))
})

/** Continues after a kill: entries that are there are promised from now on. */
export const resuming = (known: Known) =>
  Effect.fnUntraced(function* (ledger: Ledger) {
    const found = yield* readActive(known)
    const lines = (found?.bytes.toString() ?? "").split("\n").slice(0, -1)
    for (const line of lines) ledger.attempt({ line })
    for (const one of known.acknowledged) if ("line" in one) ledger.acknowledge(one)
    const promised = known.acknowledged.filter((one) => "line" in one).length
    const store = yield* SessionStore
    const migration = yield* StoreMigration
    yield* tick
    if (found === undefined) yield* Effect.scoped(create(ledger))
    else {
      // Opening the session finishes an interrupted cutover or rollback.
      yield* open
      const active = yield* store.active(location)
      const path = active === undefined ? known.source?.path : `${location.directory}/${active.path}`
      if (active?.active !== "native_v2") yield* step(ledger, "migrate", migration.migrate(path ?? ""))
    }
    yield* withWriter(
      Effect.fnUntraced(function* (writer) {
        const there = Session.read(yield* readNative).tree.getEntries()
        yield* stubborn(writer.appendAll(there.slice(-2)))
        for (const line of lines.slice(promised)) ledger.acknowledge({ line })
        yield* tick
        yield* put(ledger, writer, [sessions.entryLine("after-the-kill", there.at(-1)?.id ?? null)])
        yield* step(ledger, "checkpoint", writer.checkpoint())
      })
    )
  })

/** Rolls back to the unchanged file, and migrates again. */
export const rollingBack = Effect.fnUntraced(function* (ledger: Ledger) {
  promiseSource(ledger)
  const migration = yield* StoreMigration
  yield* step(ledger, "migrate", migration.migrate(source.path))
  yield* tick
  yield* step(ledger, "rollback", rollback)
  yield* tick
  yield* step(ledger, "migrate", migration.migrate(source.path))
})

/** Rolls back to a new file, because entries were appended, and migrates that file. */
export const exporting = Effect.fnUntraced(function* (ledger: Ledger) {
  promiseSource(ledger)
  const migration = yield* StoreMigration
  yield* step(ledger, "migrate", migration.migrate(source.path))
  yield* withWriter((writer) => put(ledger, writer, entries(7, 8)))
  yield* tick
  const back = yield* step(ledger, "rollback", rollback)
  yield* tick
  yield* step(ledger, "migrate", migration.migrate(back.path))
  yield* withWriter((writer) => put(ledger, writer, entries(9, 9)))
})

/** A program of random steps, the same for the same seed. */
export const random = (seed: number, migrates: boolean) =>
  Effect.fnUntraced(function* (ledger: Ledger) {
    const chance = SeededRandom.make(seed)
    const migration = yield* StoreMigration
    const store = yield* SessionStore
    const segmentBytes = chance.pick([300, 700, 1500, 1 << 20])
    const ids: Array<string> = []
    const fresh = (): SessionEntry => {
      const id = `n${ids.length + 1}`
      const parentId = ids.length === 0 ? null : chance.chance(0.8) ? ids.at(-1)! : chance.pick([ids[0]!, ...ids])
      ids.push(id)
      const text = "z".repeat(chance.int(chance.pick([20, 20, 200, 1200])))
      if (chance.chance(0.3)) return sessions.user(id, parentId, text)
      if (chance.chance(0.3)) return sessions.assistant(id, parentId, text)
      return sessions.entryLine(id, parentId, { text })
    }
    const use = Effect.fnUntraced(function* (writer: StoreWriter.StoreWriter) {
      for (let left = 1 + chance.int(5); left > 0; left--) {
        yield* tick
        const kind = chance.int(6)
        if (kind === 0) yield* step(ledger, "checkpoint", writer.checkpoint())
        else if (kind === 1) {
          const group = Array.from({ length: 2 + chance.int(4) }, fresh)
          yield* put(ledger, writer, group)
        } else yield* put(ledger, writer, [fresh()])
      }
    })
    if (migrates) {
      promiseSource(ledger)
      ids.push("e6")
      yield* step(ledger, "migrate", migration.migrate(source.path, { segmentBytes }))
    } else yield* Effect.scoped(Effect.flatMap(create(ledger, { segmentBytes }), use))
    for (let left = 1 + chance.int(3); left > 0; left--) {
      yield* tick
      const active = yield* stubborn(store.active(location))
      if (active?.active === "native_v2" && migrates && chance.chance(0.5)) {
        yield* step(ledger, "rollback", rollback)
      } else if (active !== undefined && active.active !== "native_v2") {
        yield* step(ledger, "migrate", migration.migrate(`${location.directory}/${active.path}`, { segmentBytes }))
      } else yield* withWriter(use, { segmentBytes })
    }
  })
