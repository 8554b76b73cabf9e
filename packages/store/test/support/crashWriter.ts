/**
 * A program that uses a store until it is killed: `node crashWriter.ts <directory> append|move <seed>`. It prints a line
 * when the store acknowledged an entry, and when the session was migrated or rolled back.
 */
import * as Fs from "node:fs"
import * as process from "node:process"
import { Effect } from "effect"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import { SessionStore } from "../../src/SessionStore.ts"
import { StoreMigration } from "../../src/StoreMigration.ts"
import type * as StoreWriter from "../../src/StoreWriter.ts"
import { entryOf, header, sessionId, sourceOf } from "./crashRounds.ts"
import * as StoreLayer from "./storeLayer.ts"

const [, , directory = "", mode = "append", seed = "1"] = process.argv
const location = { directory, sessionId }
const chance = SeededRandom.make(Number(seed))
const say = (line: string): void => void Fs.writeSync(1, `${line}\n`)

const appendSome = Effect.fnUntraced(function* (writer: StoreWriter.StoreWriter, rounds: number) {
  for (let round = 0; round < rounds; round++) {
    const from = writer.entryCount + 1
    const entries = Array.from({ length: 1 + chance.int(6) }, (_, at) => entryOf(from + at))
    if (chance.chance(0.5)) {
      yield* writer.appendAll(entries)
      for (let at = 0; at < entries.length; at++) say(`ack ${from + at}`)
    } else {
      // Concurrent requests share a write and a sync; each is acknowledged when its entry is durable.
      yield* Effect.forEach(entries, (entry, at) => Effect.map(writer.append(entry), () => say(`ack ${from + at}`)), {
        concurrency: "unbounded",
        discard: true
      })
    }
    if (chance.chance(0.05)) yield* writer.checkpoint()
  }
})

const program = Effect.gen(function* () {
  const store = yield* SessionStore
  const migration = yield* StoreMigration
  const options = { segmentBytes: 20_000 }
  if (mode === "append") {
    const isThere = (yield* store.active(location)) !== undefined
    const writer = isThere ? yield* store.writer(location, options) : yield* store.create(directory, header, options)
    return yield* appendSome(writer, Infinity)
  }
  for (;;) {
    const active = yield* store.active(location)
    if (active?.active !== "native_v2") {
      yield* migration.migrate(active === undefined ? sourceOf(directory) : `${directory}/${active.path}`, options)
      say("migrated")
    }
    const isNative = yield* Effect.scoped(
      Effect.flatMap(store.writer(location, options), (writer) => appendSome(writer, chance.int(3)))
    ).pipe(
      Effect.as(true),
      // Opening the store undoes an interrupted cutover.
      Effect.catchTag("StoreNotActive", () => Effect.succeed(false))
    )
    if (!isNative) continue
    yield* migration.rollback(location, { reason: "a test" })
    say("rolled back")
  }
}).pipe(Effect.scoped, Effect.provide(StoreLayer.live))

say("ready")
await Effect.runPromise(program)
