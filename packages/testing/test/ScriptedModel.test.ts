import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as ScriptedModel from "../src/pi/ScriptedModel.ts"

const post = (url: string, body: string) =>
  Effect.promise(async () => {
    const response = await fetch(`${url}/chat/completions`, { method: "POST", body })
    return { status: response.status, text: await response.text() }
  })

const request = { model: "m", messages: [{ role: "user", content: [{ type: "text", text: "a\ud800" }] }], n: 1 }

it.live("streams the parts of a message in order and keeps the request whole", () =>
  Effect.gen(function* () {
    const toolCalls = [{ name: "read", arguments: { path: "x" } }]
    const model = yield* ScriptedModel.make([{ thinking: "hm", text: "👩‍🚀!", toolCalls, usage: { input: 7 } }])
    const { status, text } = yield* post(model.url, JSON.stringify(request))
    assert.strictEqual(status, 200)
    assert.isTrue(text.endsWith("data: [DONE]\n\n"))
    const events = text
      .split("\n\n")
      .slice(0, -2)
      .map((event) => JSON.parse(event.slice("data: ".length)))
    const deltas = events.flatMap(({ choices }) => choices).map(({ delta }) => delta)
    const joined = (key: string) => deltas.map((delta) => delta[key] ?? "").join("")
    assert.strictEqual(joined("reasoning_content"), "hm")
    assert.strictEqual(joined("content"), "👩‍🚀!")
    const calls = deltas.flatMap((delta) => delta.tool_calls ?? [])
    assert.strictEqual(calls.map((call) => call.function.arguments).join(""), '{"path":"x"}')
    assert.strictEqual(events.at(-2)?.choices[0].finish_reason, "tool_calls")
    assert.deepInclude(events.at(-1)?.usage, { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 })
    assert.deepStrictEqual(JSON.parse(JSON.stringify(yield* model.requests)), [request])
  })
)

it.live('answers "ok" when the script has run out', () =>
  Effect.gen(function* () {
    const model = yield* ScriptedModel.make([{ status: 429 }])
    const body = JSON.stringify(request)
    assert.strictEqual((yield* post(model.url, body)).status, 429)
    const { status, text } = yield* post(model.url, body)
    assert.strictEqual(status, 200)
    assert.include(text, '"content":"o"')
    assert.strictEqual((yield* model.requests).length, 2)
  })
)

it.live("refuses what is no chat request, and does not record it", () =>
  Effect.gen(function* () {
    const model = yield* ScriptedModel.make()
    const { status, text } = yield* post(model.url, '{"model":"m","messages":[{"role":"nobody"}]}')
    assert.strictEqual(status, 400)
    assert.include(text, "role")
    assert.strictEqual((yield* post(`${model.url}/else`, "{}")).status, 404)
    assert.deepStrictEqual(yield* model.requests, [])
  })
)

it.live("reports a script that throws", () =>
  Effect.gen(function* () {
    const model = yield* ScriptedModel.make(() => {
      throw new Error("not in the script")
    })
    const { status, text } = yield* post(model.url, JSON.stringify(request))
    assert.strictEqual(status, 500)
    assert.include(text, "not in the script")
  })
)
