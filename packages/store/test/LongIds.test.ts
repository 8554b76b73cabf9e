/** Long ids work, and too long ones are refused. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { memoryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { SessionStore } from "../src/SessionStore.ts"
import * as Sessions from "./support/sessions.ts"
import * as Store from "./support/storeLayer.ts"

it.live("entries with ids of up to 60 KB are found again, and longer ones are refused", () =>
  Effect.gen(function* () {
    const directory = yield* memoryFolder
    const location = { directory, sessionId: "s1" }
    const store = yield* SessionStore
    // Many, so that headers cross the borders of read buffers.
    const long = Array.from({ length: 60 }, (_, n) => `${n}-${"é".repeat(3000 + 200 * n)}`)
    yield* Effect.scoped(
      Effect.gen(function* () {
        const writer = yield* store.create(directory, Sessions.headerLine())
        for (const id of long) yield* writer.append(Sessions.entryLine(id, null))
        const last = Sessions.entryLine("x".repeat(60_000), null)
        yield* writer.append(last)
        for (const length of [65_000, 100_000, 2_000_000]) {
          const refused = yield* Effect.flip(writer.append(Sessions.entryLine("y".repeat(length), null)))
          assert.isTrue(refused._tag === "EntryRefused" && refused.why === "too-long")
          assert.isBelow(refused.message.length, 1000)
        }
        const child = yield* Effect.flip(writer.append(Sessions.entryLine("z".repeat(10_000), last.id)))
        assert.strictEqual(child._tag, "EntryRefused")
      })
    )
    yield* Effect.scoped(
      Effect.gen(function* () {
        const writer = yield* store.writer(location)
        assert.deepStrictEqual(writer.repairs, [])
        for (const id of long) assert.isTrue(writer.has(id))
        const reader = yield* store.reader(location)
        for (const id of long) assert.strictEqual((yield* reader.entryById(id)).id, id)
        assert.strictEqual((yield* reader.entry(61)).id?.length, 60_000)
      })
    )
    assert.deepStrictEqual((yield* store.verify(location)).findings, [])
  }).pipe(Effect.scoped, Effect.provide(Store.live))
)
