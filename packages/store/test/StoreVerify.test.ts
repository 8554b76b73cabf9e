/** `verify` beside a live writer: a sound store has no findings at any moment. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import * as FaultyFileSystem from "@pi-sessions/testing/disk/FaultyFileSystem"
import { memoryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { SessionStore } from "../src/SessionStore.ts"
import * as OtherProcess from "./support/otherProcess.ts"
import * as Sessions from "./support/sessions.ts"
import * as settings from "./support/settings.ts"
import * as Store from "./support/storeLayer.ts"

describe("verify beside a writer at work", () => {
  it.effect("finds nothing in any interleaving", () =>
    Effect.gen(function* () {
      const store = yield* SessionStore
      const writer = yield* store.create("/d", Sessions.headerLine(), { segmentBytes: 1500 })
      const writing = yield* Effect.forkChild(
        Effect.forEach(Sessions.chain(120), (entry, at) =>
          Effect.andThen(writer.append(entry), at % 7 === 6 ? writer.checkpoint() : Effect.void)
        )
      )
      let rounds = 0
      for (; writing.pollUnsafe() === undefined; rounds++) {
        const report = yield* store.verify({ directory: "/d", sessionId: "s1" })
        assert.deepStrictEqual(report.findings, [], `round ${rounds}`)
      }
      yield* Fiber.join(writing)
      settings.note(`StoreVerify: ${rounds} times beside a writer`)
      assert.isAbove(rounds, 3)
      const { entryCount, findings } = yield* store.verify({ directory: "/d", sessionId: "s1" })
      assert.deepStrictEqual([entryCount, findings], [120, []])
    }).pipe(Effect.scoped, Effect.provide(Store.over(FaultyFileSystem.make({ interleave: true }).layer)))
  )

  it.live("finds nothing in a store that another process appends to", () =>
    Effect.gen(function* () {
      const directory = yield* memoryFolder
      const location = { directory, sessionId: "s1" }
      const store = yield* SessionStore
      yield* Effect.scoped(store.create(directory, Sessions.headerLine()))
      const other = yield* OtherProcess.start(location, "append")
      const findings = new Map<string, number>()
      let rounds = 0
      while (other.acknowledged().length < settings.walks({ test: 300, campaign: 10_000 })) {
        for (const { invariant, message } of (yield* store.verify(location)).findings) {
          const what = `${invariant}: ${message.replaceAll(/p?[0-9-]+/g, "#")}`
          findings.set(what, (findings.get(what) ?? 0) + 1)
        }
        rounds++
      }
      yield* other.kill
      settings.note(`StoreVerify: ${rounds} times beside another process, ${other.acknowledged().length} entries`)
      assert.deepStrictEqual([...findings], [])
    }).pipe(Effect.scoped, Effect.provide(Store.live))
  )
})
