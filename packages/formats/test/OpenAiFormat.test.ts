import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { type JsonObject } from "@pi-sessions/core/Json"
import { OpenAiFormat } from "../src/OpenAiFormat.ts"
import { type DataFile } from "../src/SampleFormat.ts"
import { lineOf, projectionOf, refusal } from "./support/formats.ts"
import {
  assistant,
  call,
  chain,
  message,
  result,
  sample,
  samples,
  text,
  user
} from "@pi-sessions/samples/test/sessions"

const LONG_ID = `call_1|fc_${"0".repeat(50)}`

const whole = sample(
  chain(
    message({ role: "system", content: "You are Pi.", timestamp: 1 }),
    user("go"),
    assistant([{ type: "thinking", thinking: "Hm." }, text("I look."), call(LONG_ID), call("b", "ls", {})]),
    result(LONG_ID, "x"),
    result("b", "y", "ls"),
    user("and?"),
    assistant([text("done")])
  )
)

describe("OpenAiFormat", () => {
  it("writes OpenAI's shape and nothing beside it", () => {
    const { dropped, sample: line } = projectionOf(OpenAiFormat, whole)
    const made = line.messages[3]?.role === "tool" ? line.messages[3].tool_call_id : ""
    assert.match(made, /^call_[0-9a-f]{24}$/u)
    assert.deepStrictEqual<unknown>(line.messages, [
      { role: "system", content: "You are Pi." },
      { role: "user", content: "go" },
      {
        role: "assistant",
        content: "I look.",
        tool_calls: [
          { id: made, type: "function", function: { name: "bash", arguments: '{"command":"ls"}' } },
          { id: "b", type: "function", function: { name: "ls", arguments: "{}" } }
        ],
        weight: 1
      },
      { role: "tool", tool_call_id: made, content: "x" },
      { role: "tool", tool_call_id: "b", content: "y" },
      { role: "user", content: "and?" },
      { role: "assistant", content: "done", weight: 1 }
    ])
    assert.deepStrictEqual(Object.keys(line), ["messages", "tools", "parallel_tool_calls"])
    assert.strictEqual(line.parallel_tool_calls, true)
    assert.deepStrictEqual(dropped, { reasoning: 1, replaced_call_id: 1 })
  })

  it("has no tool fields without tools", () => {
    assert.deepStrictEqual(Object.keys(lineOf(OpenAiFormat, sample(chain(user("a"), assistant([text("1")]))))), [
      "messages"
    ])
  })

  it("gives answers of the context the weight 0", () => {
    const [, continued] = samples(
      chain(
        user("a"),
        assistant([text("1")]),
        { type: "compaction", summary: "s", firstKeptEntryId: "e1", tokensBefore: 10 },
        user("b"),
        assistant([text("2")])
      )
    )
    if (continued === undefined) throw new Error("no sample behind the compaction")
    assert.deepStrictEqual(
      lineOf(OpenAiFormat, continued).messages.flatMap((one) => (one.role === "assistant" ? [one.weight] : [])),
      [0, 1]
    )
  })

  it("makes no line if the service refuses a tool's name", () => {
    for (const name of ["mail.send", "x".repeat(65), ""]) {
      const cut = sample(chain(user("a"), assistant([call("c", name)])))
      assert.deepStrictEqual(OpenAiFormat.project(cut), { _tag: "None", reason: "tool_name" }, name)
    }
  })

  it("rejects each violated rule", () => {
    const line = lineOf(OpenAiFormat, whole)
    const refused: ReadonlyArray<readonly [(messages: Array<JsonObject>) => void, string]> = [
      [(m) => void m.pop(), "the last message is not the assistant's"],
      [(m) => void m.splice(3, 1), "messages[4]: the assistant message before it has a call without a result"],
      [(m) => void (m[6] = { ...m[6], weight: 0 }), "the last answer is not trained"],
      [(m) => void (m[6] = { ...m[6], weight: 0.5 }), "messages[6].weight"],
      [(m) => void (m[6] = { ...m[6], reasoning_content: "Hm." }), "messages[6].reasoning_content"],
      [(m) => void (m[3] = { ...m[3], tool_call_id: "z" }), "messages[3]: a tool message without an open call"]
    ]
    for (const [change, message] of refused) {
      const messages: Array<JsonObject> = JSON.parse(JSON.stringify(line.messages))
      change(messages)
      assert.include(refusal(OpenAiFormat, { ...line, messages }), message)
    }
    const named = (change: JsonObject) => ({
      ...line,
      messages: [line.messages[1], { role: "assistant", content: "", tool_calls: [change], weight: 1 }]
    })
    const one = { id: "a", type: "function", function: { name: "ls", arguments: "{}" } }
    assert.strictEqual(refusal(OpenAiFormat, named(one)), "accepted")
    assert.include(refusal(OpenAiFormat, named({ ...one, id: LONG_ID })), "a call id that the service refuses")
    const { function: of } = one
    assert.include(
      refusal(OpenAiFormat, named({ ...one, function: { ...of, name: "a b" } })),
      "tool name that the service refuses"
    )
    assert.include(refusal(OpenAiFormat, named({ ...one, function: { ...of, arguments: "ls" } })), "not a JSON object")
    assert.include(refusal(OpenAiFormat, named({ ...one, function: { ...of, arguments: {} } })), "arguments")
    assert.include(refusal(OpenAiFormat, { ...line, metadata: {} }), "metadata")
    assert.include(refusal(OpenAiFormat, { ...line, tools: [] }), "parallel_tool_calls: there are no tools")
  })

  it("reports a file of fewer than ten lines", () => {
    const file: DataFile = { name: "train.jsonl", split: "train", file: "train", lines: 9 }
    const notes = (lines: number) => OpenAiFormat.validateDataset?.({ files: [{ ...file, lines }], sidecars: [] })
    assert.deepStrictEqual(notes(9), Result.succeed(["train.jsonl has 9 lines; OpenAI takes files of at least 10"]))
    assert.deepStrictEqual(notes(10), Result.succeed([]))
  })
})
