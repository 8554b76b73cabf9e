/** Lists a session of 2 GiB, more than the longest string. `PI_SESSIONS_HUGE_MIB`: its size. */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect, Result, Stream } from "effect"
import * as Dose from "@pi-sessions/testing/Dose"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { SessionCatalog } from "../src/SessionCatalog.ts"
import { fast, inEnvironment } from "./support/catalogLayer.ts"

const MIB = Dose.of("PI_SESSIONS_HUGE_MIB", { test: 1, campaign: 2048 })

it.live(`lists a session of ${MIB} MiB by its first bytes, and counts its messages`, () =>
  Effect.gen(function* () {
    const folder = yield* temporaryFolder
    const file = Path.join(folder, "huge.jsonl")
    const entry = (n: number): string =>
      `${JSON.stringify({ type: "message", id: String(n).padStart(8, "0"), parentId: null, message: { role: "user", content: "x".repeat(100_000) } })}\n`
    const handle = Fs.openSync(file, "w")
    Fs.writeSync(handle, '{"type":"session","version":3,"id":"huge","timestamp":"t","cwd":"/x"}\n')
    let messages = 0
    for (let bytes = 0; bytes < MIB * 1024 ** 2; messages++) bytes += Fs.writeSync(handle, entry(messages))
    Fs.closeSync(handle)
    const catalog = yield* SessionCatalog
    const { sessions } = yield* catalog.list({ sessions: [folder] })
    assert.deepStrictEqual(
      sessions.map(({ id, sizeBytes }) => [id, sizeBytes]),
      [["huge", Fs.statSync(file).size]]
    )
    const [summary] = yield* Stream.runCollect(catalog.summarize(sessions))
    assert.strictEqual(Result.getOrThrow(summary!).messageCount, messages)
  }).pipe(inEnvironment({ HOME: "/" }), Effect.provide(fast), Effect.scoped)
)
