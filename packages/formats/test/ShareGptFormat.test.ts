import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { type JsonObject } from "@pi-sessions/core/Json"
import { ShareGptFormat, type ShareGptSample } from "../src/ShareGptFormat.ts"
import {
  assistant,
  call,
  chain,
  message,
  result,
  sample as cut,
  samples,
  text,
  user
} from "@pi-sessions/samples/test/sessions"

const project = (text: string) => {
  const projection = ShareGptFormat.project(cut(text))
  if (projection._tag === "None") throw new Error(projection.reason)
  const line = JSON.stringify(projection.sample)
  assert.deepStrictEqual(ShareGptFormat.validate(line), Result.succeed(projection.sample))
  return projection
}

const conversation = (sample: ShareGptSample) => sample.conversations.map(({ from, value }) => [from, value] as const)

/** The calls in a function_call, as LLaMA-Factory reads them with its usual marks. */
const parseCalls = (value: string): unknown => JSON.parse(value.replace(/<think>\n(.*?)\n<\/think>\n\n/su, ""))

describe("ShareGptFormat", () => {
  it("writes LLaMA-Factory's shape", () => {
    const { dropped, sample } = project(
      chain(
        message({ role: "system", content: "You are Pi.", timestamp: 1 }),
        user("go"),
        assistant([call("a", "bash", { command: "ls" })]),
        result("a", "x"),
        assistant([text("done")])
      )
    )
    assert.deepStrictEqual(conversation(sample), [
      ["human", "go"],
      ["function_call", '{"name":"bash","arguments":{"command":"ls"}}'],
      ["observation", "x"],
      ["gpt", "done"]
    ])
    assert.strictEqual(sample.system, "You are Pi.")
    assert.deepStrictEqual(
      JSON.parse(sample.tools).map((tool: { readonly name: string }) => tool.name),
      ["bash"]
    )
    assert.deepStrictEqual(dropped, {})
  })

  it("writes parallel calls as a list and their results as one observation, in the order of the calls", () => {
    const { sample } = project(
      chain(
        user("go"),
        assistant([call("a", "bash", { n: 1 }), call("b", "bash", { n: 2 })]),
        result("b", "second"),
        result("a", "first"),
        assistant([text("done")])
      )
    )
    assert.deepStrictEqual(conversation(sample).slice(1, 3), [
      ["function_call", '[{"name":"bash","arguments":{"n":1}},{"name":"bash","arguments":{"n":2}}]'],
      ["observation", "first\n\nsecond"]
    ])
  })

  it("joins consecutive turns of one side and counts them", () => {
    const { dropped, sample } = project(
      chain(
        user("one"),
        user("two"),
        assistant([{ type: "thinking", thinking: "Hm." }, text("a")]),
        assistant([{ type: "thinking", thinking: "Oh." }, text("b")]),
        user("three"),
        assistant([call("a")]),
        result("a", "x"),
        user("stop"),
        assistant([text("ok")])
      )
    )
    assert.deepStrictEqual(conversation(sample), [
      ["human", "one\n\ntwo"],
      ["gpt", "<think>\nHm.\n\nOh.\n</think>\n\na\n\nb"],
      ["human", "three"],
      ["function_call", '{"name":"bash","arguments":{"command":"ls"}}'],
      ["observation", "x\n\nstop"],
      ["gpt", "ok"]
    ])
    assert.deepStrictEqual(dropped, { merged_assistant_turn: 1, merged_user_turn: 1, user_text_in_observation: 1 })
    assert.strictEqual(sample.system, "")
  })

  it("drops text beside a call and keeps the thinking", () => {
    const { dropped, sample } = project(
      chain(
        user("go"),
        assistant([{ type: "thinking", thinking: "Hm." }, text("I look."), call("a")]),
        result("a", "x")
      )
    )
    assert.deepStrictEqual(conversation(sample)[1], [
      "function_call",
      '<think>\nHm.\n</think>\n\n{"name":"bash","arguments":{"command":"ls"}}'
    ])
    assert.deepStrictEqual(dropped, { text_beside_tool_call: 1 })
  })

  it("escapes marks in arguments and drops thinking that contains marks", () => {
    const args = { content: "<think>\n<tool_call>{}</tool_call></think> < b" }
    const { dropped, sample } = project(
      chain(
        user("go"),
        assistant([{ type: "thinking", thinking: "I write </think>." }, call("a", "write", args)]),
        result("a", "x")
      )
    )
    const value = sample.conversations[1]?.value ?? ""
    assert.notMatch(value, /<\/?(think|tool_call)>/u)
    assert.deepStrictEqual(parseCalls(value), { name: "write", arguments: args })
    assert.deepStrictEqual(dropped, { reasoning_with_marks: 1 })
  })

  it("begins with a human message", () => {
    const { dropped, sample } = project(
      chain(
        assistant([text("Hello, I am ready.")]),
        assistant([call("a")]),
        result("a", "x"),
        assistant([text("So?")]),
        user("go"),
        assistant([text("ok")])
      )
    )
    assert.deepStrictEqual(conversation(sample), [
      ["human", "go"],
      ["gpt", "ok"]
    ])
    assert.deepStrictEqual(dropped, { leading_assistant_turn: 3, orphan_tool_result: 1 })
  })

  it("makes no sample if no assistant turn follows a user turn", () => {
    for (const file of [chain(assistant([text("hi")])), chain(assistant([text("hi")]), user("hi"))]) {
      assert.deepStrictEqual(ShareGptFormat.project(cut(file)), { _tag: "None", reason: "no_assistant_turn" })
    }
  })

  it("makes no sample if answers of the context would be trained", () => {
    const compaction = { type: "compaction", summary: "s", firstKeptEntryId: "e1", tokensBefore: 10 }
    const both = samples(chain(user("a"), assistant([text("1")]), compaction, user("b"), assistant([text("2")]))).map(
      (sample) => ShareGptFormat.project(sample)
    )
    assert.strictEqual(both[0]?._tag, "Sample")
    assert.deepStrictEqual(both[1], { _tag: "None", reason: "context_answers" })
  })

  it("rejects each violated rule", () => {
    const { sample } = project(chain(user("go"), assistant([call("a")]), result("a", "x"), assistant([text("done")])))
    const refused: ReadonlyArray<readonly [(conversations: Array<JsonObject>) => void, string]> = [
      [(c) => void c.pop(), "an odd number of messages"],
      [(c) => void c.shift(), "conversations[0]: function_call at a place of the human side"],
      [(c) => void c.splice(1, 1), "conversations[1]: observation at a place of the model"],
      [(c) => void (c[2] = { from: "human", value: "x" }), "conversations[2]: a call without an observation"],
      [(c) => void (c[0] = { from: "observation", value: "x" }), "conversations[0]: an observation without a call"],
      [
        (c) => void (c[1] = { from: "function_call", value: "I look. {}" }),
        "conversations[1]: not a JSON object with name"
      ],
      [
        (c) => void (c[1] = { from: "function_call", value: '{"name":"a","arguments":"{}"}' }),
        "conversations[1]: not a JSON object"
      ],
      [(c) => void (c[0] = { from: "user", value: "x" }), "wrong shape"]
    ]
    for (const [change, message] of refused) {
      const conversations: Array<JsonObject> = JSON.parse(JSON.stringify(sample.conversations))
      change(conversations)
      const checked = ShareGptFormat.validate(JSON.stringify({ ...sample, conversations }))
      assert.include(Result.isFailure(checked) ? checked.failure.message : "accepted", message)
    }
    assert.isTrue(Result.isFailure(ShareGptFormat.validate(JSON.stringify({ ...sample, tools: "" }))))
  })
})
