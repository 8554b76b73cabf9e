import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as HermeticPi from "../src/pi/HermeticPi.ts"
import * as PiRpc from "../src/pi/PiRpc.ts"
import * as PiVersion from "../src/pi/PiVersion.ts"

const start = (pi: HermeticPi.HermeticPi, version: PiVersion.PiVersion, file: string) =>
  PiRpc.start(version, {
    agentDir: pi.agentDir(version),
    cwd: pi.cwd,
    home: pi.home,
    args: ["--session", file]
  })

describe.each(PiVersion.versions)("Pi %s", (version) => {
  it.live(
    "answers, tells events, refuses what it cannot do, and ends when its input does",
    Effect.fnUntraced(function* () {
      const pi = yield* HermeticPi.make([{ text: "a line\u2028and another" }])
      const file = Path.join(pi.sessionDir, "one.jsonl")
      const rpc = yield* start(pi, version, file)
      const events = yield* rpc.prompt("hello")
      assert.isTrue(events.some(({ type }) => type === "agent_end"))
      assert.deepInclude(yield* rpc.request({ type: "get_state" }), { sessionFile: file, isStreaming: false })
      const refusal = yield* Effect.flip(rpc.request({ type: "set_model", provider: "none", modelId: "none" }))
      assert.include(refusal.message, "none/none")
      assert.strictEqual(yield* rpc.stop, 0)
      assert.include(Fs.readFileSync(file, "utf8"), "a line\u2028and another")
      const ended = yield* Effect.flip(rpc.request({ type: "get_state" }))
      assert.strictEqual(ended.reason, "Pi has ended")
    }),
    60_000
  )

  it.live(
    "is gone after a kill, and when its scope closes",
    Effect.fnUntraced(function* () {
      const pi = yield* HermeticPi.make([{ pause: Effect.never }])
      const file = Path.join(pi.sessionDir, "one.jsonl")
      const killed = yield* start(pi, version, file)
      yield* killed.request({ type: "prompt", message: "hello" })
      yield* killed.event(({ type }) => type === "message_start")
      yield* killed.kill
      assert.throws(() => process.kill(killed.pid, 0))
      const closed = yield* Effect.scoped(
        Effect.tap(start(pi, version, file), (rpc) => rpc.request({ type: "get_state" }))
      )
      assert.throws(() => process.kill(closed.pid, 0))
    }),
    60_000
  )
})
