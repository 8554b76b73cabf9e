/** A writer that several fibers share, and the store after it was closed. */
import * as Files from "node:fs"
import * as Path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope } from "effect"
import { HeaderLine, SessionEntry } from "@pi-sessions/core/SessionLine"
import { memoryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { SessionStore } from "../src/SessionStore.ts"
import * as Store from "./support/storeLayer.ts"

const header = HeaderLine.make({
  type: "session",
  version: 3,
  id: "s",
  timestamp: "2026-01-01T00:00:00.000Z",
  cwd: "/"
})
const entry = (n: number, text = "") =>
  SessionEntry.make({ type: "custom", id: `e${n}`, parentId: n === 0 ? null : `e${n - 1}`, data: text })
const entries = (from: number, to: number, bytes = 0) =>
  Array.from({ length: to - from }, (_, n) => entry(from + n, "x".repeat(bytes)))

const live = <A, E>(use: (directory: string) => Effect.Effect<A, E, SessionStore | Scope.Scope>) =>
  Effect.flatMap(memoryFolder, use).pipe(Effect.scoped, Effect.provide(Store.live))

describe("StoreWriter", () => {
  it.live("writes nothing after its scope has closed, because its lock is released", () =>
    live((directory) =>
      Effect.gen(function* () {
        const store = yield* SessionStore
        const scope = yield* Scope.make()
        const first = yield* Scope.provide(store.create(directory, header), scope)
        yield* first.appendAll(entries(0, 5))
        yield* Scope.close(scope, Exit.void)
        const location = { directory, sessionId: "s" }
        const second = yield* store.writer(location)
        yield* second.append(entry(5))
        for (const late of [first.append(entry(5, "late")), first.checkpoint()]) {
          const refused = yield* Effect.flip(late)
          assert.include(refused.message, "this writer is closed")
        }
        yield* second.append(entry(6))
        const report = yield* store.verify(location)
        assert.deepStrictEqual([report.findings, report.entryCount], [[], 7])
      })
    )
  )

  it.live("answers each request of a group by itself: a refused one does not affect the others", () =>
    live((directory) =>
      Effect.gen(function* () {
        const store = yield* SessionStore
        const writer = yield* store.create(directory, header)
        yield* writer.appendAll(entries(0, 3))
        // The first one has its turn while the container is removed, so that the others wait together.
        const first = yield* Effect.forkChild(Effect.exit(writer.appendAll(entries(3, 200, 4000))))
        yield* Effect.yieldNow
        Files.renameSync(Path.join(directory, "s.v2"), Path.join(directory, "gone"))
        const [retry, fresh] = yield* Effect.all(
          [Effect.exit(writer.append(entry(2))), Effect.exit(writer.append(entry(200)))],
          { concurrency: 2 }
        )
        yield* Fiber.join(first)
        assert.isTrue(Exit.isFailure(retry) && !Exit.hasDies(retry), "refused, and by no defect")
        assert.strictEqual(Exit.isSuccess(fresh), writer.has("e200"))
      })
    )
  )

  it.live("rolls segments inside a group, and retries a long one without writing", () =>
    live((directory) =>
      Effect.gen(function* () {
        const store = yield* SessionStore
        const writer = yield* store.create(directory, header, { segmentBytes: 20_000 })
        const all = entries(0, 1000, 300)
        yield* writer.appendAll(all)
        const sizes = Files.readdirSync(Path.join(directory, "s.v2/segments")).map(
          (name) => Files.statSync(Path.join(directory, "s.v2/segments", name)).size
        )
        assert.isAbove(sizes.length, 10)
        assert.isBelow(Math.max(...sizes), 60_000)
        const again = yield* writer.appendAll(all)
        assert.isTrue(again.every(({ written }, at) => !written && again[at]?.entrySeq === at + 1))
      })
    )
  )

  it.live.each(["removed", "replaced by an older copy"])(
    "continues when its index was %s: it rebuilds the index",
    (how) =>
      live((directory) =>
        Effect.gen(function* () {
          const store = yield* SessionStore
          const writer = yield* store.create(directory, header)
          const index = Path.join(directory, "s.v2/index")
          const offsets = Path.join(index, "offsets.jsonl")
          yield* writer.appendAll(entries(0, 3))
          yield* writer.checkpoint()
          Files.copyFileSync(offsets, Path.join(directory, "older"))
          yield* writer.appendAll(entries(3, 5))
          yield* writer.checkpoint()
          if (how === "removed") Files.rmSync(index, { recursive: true })
          else Files.renameSync(Path.join(directory, "older"), offsets)
          yield* writer.appendAll(entries(5, 9))
          yield* writer.checkpoint()
          const report = yield* store.verify({ directory, sessionId: "s" })
          assert.deepStrictEqual([report.findings, report.entryCount, report.state], [[], 9, "CHECKPOINTED"])
        })
      )
  )
})
