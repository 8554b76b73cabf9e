import { assert, describe, it } from "@effect/vitest"
import { type JsonObject } from "@pi-sessions/core/Json"
import { MsSwiftFormat } from "../src/MsSwiftFormat.ts"
import { type TrainingSample } from "@pi-sessions/samples/TrainingSample"
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

const project = (cut: TrainingSample) => {
  const { dropped, sample } = projectionOf(MsSwiftFormat, cut)
  return {
    dropped,
    messages: sample.messages.map((one) =>
      "loss" in one ? [one.role, one.content, one.loss] : [one.role, one.content]
    )
  }
}

const whole = sample(
  chain(
    message({ role: "system", content: "You are Pi.", timestamp: 1 }),
    user("go"),
    assistant([text("I look."), call("a", "bash", { n: 1 }), call("b", "ls", {})]),
    result("b", "second", "ls"),
    result("a", "first"),
    assistant([text("done")])
  )
)

describe("MsSwiftFormat", () => {
  it("writes calls and results as separate messages, in the order of the calls", () => {
    assert.deepStrictEqual(project(whole), {
      dropped: {},
      messages: [
        ["system", "You are Pi."],
        ["user", "go"],
        ["assistant", "I look.", true],
        ["tool_call", '{"name":"bash","arguments":{"n":1}}', true],
        ["tool_call", '{"name":"ls","arguments":{}}', true],
        ["tool_response", "first"],
        ["tool_response", "second"],
        ["assistant", "done", true]
      ]
    })
    const tools: ReadonlyArray<JsonObject> = JSON.parse(lineOf(MsSwiftFormat, whole).tools)
    assert.deepStrictEqual(
      tools.map(({ type }) => type),
      ["function", "function"]
    )
  })

  it("joins consecutive turns of one side and counts them", () => {
    const cut = sample(
      chain(
        user("one"),
        user("two"),
        assistant([{ type: "thinking", thinking: "Hm." }, text("a")]),
        assistant([text("b"), call("c")]),
        result("c", "x"),
        user("stop"),
        assistant([{ type: "thinking", thinking: "I write </think>." }, call("d", "write", { content: "<think>" })])
      )
    )
    assert.deepStrictEqual(project(cut), {
      dropped: { merged_assistant_turn: 1, merged_user_turn: 1, reasoning_with_marks: 1, user_text_in_observation: 1 },
      messages: [
        ["user", "one\n\ntwo"],
        ["assistant", "<think>\nHm.\n</think>\n\na\n\nb", true],
        ["tool_call", '{"name":"bash","arguments":{"command":"ls"}}', true],
        ["tool_response", "x\n\nstop"],
        ["tool_call", '{"name":"write","arguments":{"content":"\\u003cthink>"}}', true]
      ]
    })
  })

  it("masks the answers of the context, even if a target follows directly", () => {
    const [, cut] = samples(
      chain(
        user("a"),
        assistant([text("1")]),
        { type: "compaction", summary: "s", firstKeptEntryId: "e2", tokensBefore: 10 },
        assistant([call("c")]),
        result("c", "x"),
        assistant([text("3")])
      )
    )
    if (cut === undefined) throw new Error("no sample behind the compaction")
    assert.deepStrictEqual(project(cut).messages.slice(1), [
      ["assistant", "1", false],
      ["tool_call", '{"name":"bash","arguments":{"command":"ls"}}', true],
      ["tool_response", "x"],
      ["assistant", "3", true]
    ])
  })

  it("rejects each violated rule", () => {
    const line = lineOf(MsSwiftFormat, whole)
    const refused: ReadonlyArray<readonly [(messages: Array<JsonObject>) => void, string]> = [
      [(m) => void m.pop(), "the last message is not the model's"],
      [(m) => void m.splice(6, 1), "messages[5]: the numbers of results and calls differ"],
      [(m) => void m.splice(5, 2), "messages[5]: a call without a result"],
      [(m) => void m.splice(2, 3), "messages[2]: a result without a call"],
      [(m) => void m.splice(7, 0, { role: "user", content: "x" }), "messages[7]: a user message after tool_response"],
      [(m) => void m.splice(1, 0, { role: "user", content: "x" }), "messages[2]: a user message after user"],
      [(m) => void (m[4] = { ...m[4], loss: false }), "messages[4]: a mask that differs from the call before it"],
      [(m) => void (m[7] = { ...m[7], loss: false }), "the last answer is not trained"],
      [(m) => void (m[2] = { ...m[2], loss: false }), "masks that contradict the metadata"],
      [(m) => void (m[3] = { ...m[3], content: "ls" }), "messages[3]: not a JSON object with name and arguments"],
      [(m) => void (m[1] = { ...m[1], loss: true }), "messages[1].loss"],
      [(m) => void (m[7] = { role: "assistant", content: "done" }), "messages[7]"]
    ]
    for (const [change, message] of refused) {
      const messages: Array<JsonObject> = JSON.parse(JSON.stringify(line.messages))
      change(messages)
      assert.include(refusal(MsSwiftFormat, { ...line, messages }), message)
    }
    assert.include(refusal(MsSwiftFormat, { ...line, tools: "none" }), "tools: not a JSON list of tools")
  })
})
