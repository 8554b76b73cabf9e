import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as HermeticPi from "../src/pi/HermeticPi.ts"
import * as PiResume from "../src/pi/PiResume.ts"
import * as PiVersion from "../src/pi/PiVersion.ts"
import * as ScriptedModel from "../src/pi/ScriptedModel.ts"

const session = (cwd: string, command: unknown): Buffer => {
  const timestamp = "2026-01-01T00:00:00.000Z"
  const entries = [
    { type: "session", version: 3, id: "s", timestamp, cwd },
    { type: "message", id: "a", parentId: null, timestamp, message: { role: "user", content: "hello" } },
    { type: "message", id: "b", parentId: "a", timestamp, message: { role: "bashExecution", command, output: "x" } }
  ]
  return Buffer.from(entries.map((entry) => `${JSON.stringify(entry)}\n`).join(""))
}

describe.each(PiVersion.versions)("PiResume of Pi %s", (version) => {
  it.live.each([["ls"], [{ toString: 1 }], [null]])("sends and fails as the command line does: command %j", (command) =>
    Effect.gen(function* () {
      const pi = yield* HermeticPi.make()
      const file = Path.join(pi.sessionDir, "s.jsonl")
      Fs.writeFileSync(file, session(pi.cwd, command))
      const run = yield* pi.prompt(version, file, "and now?")
      const requests = yield* pi.requests
      const here = yield* PiResume.make(version)
      const resumed = yield* here.resume(session(here.cwd, command), "and now?")
      assert.strictEqual(resumed.error === undefined, run.exitCode === 0, resumed.error ?? run.stderr)
      if (resumed.error !== undefined) assert.include(run.stderr, resumed.error)
      const spoken = (request: ScriptedModel.ChatRequest | undefined) =>
        request?.messages.filter(({ role }) => role !== "system").map(ScriptedModel.textOf)
      assert.deepStrictEqual(spoken(resumed.request), spoken(requests.at(-1)))
    })
  )
})
