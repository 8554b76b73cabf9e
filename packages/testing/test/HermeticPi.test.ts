import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as HermeticPi from "../src/pi/HermeticPi.ts"
import type * as PiModule from "../src/pi/PiModule.ts"
import * as PiVersion from "../src/pi/PiVersion.ts"
import * as ScriptedModel from "../src/pi/ScriptedModel.ts"

const timeout = 60_000

const lines = (file: string): ReadonlyArray<PiModule.PiEntry> =>
  Fs.readFileSync(file, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line))

const history = (request: ScriptedModel.ChatRequest | undefined) =>
  request?.messages
    .filter(({ role }) => role !== "system")
    .map((message) => `${message.role}: ${ScriptedModel.textOf(message)}`)

describe.each(PiVersion.versions)("Pi %s", (version) => {
  it.live(
    "starts a session file and resumes it with the earlier turn",
    () =>
      Effect.gen(function* () {
        const pi = yield* HermeticPi.make([{ thinking: "hm", text: "hi there 🧪" }])
        const file = Path.join(pi.sessionDir, "one.jsonl")

        const first = yield* pi.prompt(version, file, "hello")
        assert.deepStrictEqual(first, { exitCode: 0, stdout: "hi there 🧪\n", stderr: "" })
        assert.deepStrictEqual((yield* pi.requests).map(history), [["user: hello"]])
        const begun = lines(file)
        assert.strictEqual(begun[0]?.["cwd"], pi.cwd)

        const second = yield* pi.prompt(version, file, "and again")
        assert.deepStrictEqual(second, { exitCode: 0, stdout: "ok\n", stderr: "" })
        const requests = yield* pi.requests
        assert.strictEqual(requests.length, 2)
        assert.deepStrictEqual(history(requests[1]), ["user: hello", "assistant: hi there 🧪", "user: and again"])
        assert.deepStrictEqual(lines(file).slice(0, begun.length), begun)

        assert.deepStrictEqual(Fs.readdirSync(pi.home), [])
        assert.deepStrictEqual(Fs.readdirSync(pi.cwd), [])
      }),
    timeout
  )

  it.live(
    "runs the tools that the model calls",
    () =>
      Effect.gen(function* () {
        const write = { name: "write", arguments: { path: "made.txt", content: "by the model" } }
        const pi = yield* HermeticPi.make((request, index) => {
          const names = request.tools?.map((tool) => tool.function.name) ?? []
          return index === 0 ? { text: "I will", toolCalls: [write] } : { text: names.join(" ") }
        })
        const exit = yield* pi.run(version, ["--no-session", "-p", "make a file"], { model: "fake-thinking" })
        assert.strictEqual(exit.exitCode, 0)
        assert.include(exit.stdout, "write")
        assert.strictEqual(Fs.readFileSync(Path.join(pi.cwd, "made.txt"), "utf8"), "by the model")
        const requests = yield* pi.requests
        assert.deepStrictEqual(
          requests.map(({ model }) => model),
          ["fake-thinking", "fake-thinking"]
        )
        assert.strictEqual(requests[1]?.messages.at(-1)?.tool_call_id, "call_0_0")
      }),
    timeout
  )

  it.live(
    "fails when the model answers with an error or drops the connection",
    () =>
      Effect.gen(function* () {
        const pi = yield* HermeticPi.make([
          { status: 500, message: "out of order" },
          { text: "half|gone", drop: true }
        ])
        const file = Path.join(pi.sessionDir, "one.jsonl")
        const refused = yield* pi.prompt(version, file, "hello")
        assert.strictEqual(refused.exitCode, 1)
        assert.include(refused.stderr, "out of order")
        const dropped = yield* pi.prompt(version, file, "hello")
        assert.strictEqual(dropped.exitCode, 1)
        assert.deepInclude(lines(file).at(-1)?.["message"], { stopReason: "error" })
        assert.include(JSON.stringify(lines(file).at(-1)), '"text":"half|"')
      }),
    timeout
  )

  it.live(
    "is killed in mid-stream when the run is interrupted",
    () =>
      Effect.gen(function* () {
        const paused = yield* Deferred.make<void>()
        const pause = Deferred.succeed(paused, undefined).pipe(Effect.andThen(Effect.never))
        const pi = yield* HermeticPi.make([{ text: "never whole", pause }])
        const run = yield* Effect.forkChild(pi.prompt(version, Path.join(pi.sessionDir, "one.jsonl"), "hello"))
        yield* Deferred.await(paused)
        yield* Fiber.interrupt(run)
        assert.strictEqual((yield* pi.requests).length, 1)
      }),
    timeout
  )

  it.live(
    "is killed when it takes too long",
    () =>
      Effect.gen(function* () {
        const pi = yield* HermeticPi.make([{ pause: Effect.never }])
        const error = yield* pi.run(version, ["-p", "hello"], { timeout: "50 millis" }).pipe(Effect.flip)
        assert.strictEqual(error._tag, "PiProcessError")
        assert.include(error.message, "not done after 50ms")
      }),
    timeout
  )
})
