import { assert, describe, it } from "@effect/vitest"
import { type JsonObject } from "@pi-sessions/core/Json"
import { MistralFormat } from "../src/MistralFormat.ts"
import { lineOf, projectionOf, refusal } from "./support/formats.ts"
import { assistant, call, chain, result, sample, samples, text, user } from "@pi-sessions/samples/test/sessions"

const whole = sample(
  chain(
    user("go"),
    assistant([{ type: "thinking", thinking: "Hm." }, text("I look."), call("a"), call("b")]),
    result("b", "y"),
    result("a", "x"),
    user("and?"),
    assistant([text("done")])
  )
)

describe("MistralFormat", () => {
  it("writes ids of nine letters and digits, the same for call and result", () => {
    const { dropped, sample: line } = projectionOf(MistralFormat, whole)
    const [, asked, ...others] = line.messages
    if (asked?.role !== "assistant") throw new Error("no answer")
    const ids = asked.tool_calls?.map(({ id }) => id) ?? []
    for (const id of ids) assert.match(id, /^[a-zA-Z0-9]{9}$/u)
    assert.strictEqual(new Set(ids).size, 2)
    assert.deepStrictEqual<unknown>(others.slice(0, 2), [
      { role: "tool", tool_call_id: ids[1], content: "y" },
      { role: "tool", tool_call_id: ids[0], content: "x" }
    ])
    assert.deepStrictEqual(
      line.messages.flatMap((one) => (one.role === "assistant" ? [one.weight] : [])),
      [1, 1]
    )
    assert.deepStrictEqual(Object.keys(line), ["messages", "tools"])
    assert.deepStrictEqual(dropped, { reasoning: 1 })
  })

  it("derives ids from the session's ids alone", () => {
    assert.deepStrictEqual(lineOf(MistralFormat, whole), lineOf(MistralFormat, whole))
    const other = sample(chain(user("other"), assistant([call("a")])))
    const idOf = (cut: typeof whole) => {
      const asked = lineOf(MistralFormat, cut).messages[1]
      return asked?.role === "assistant" ? asked.tool_calls?.[0].id : undefined
    }
    assert.strictEqual(idOf(other), idOf(whole))
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
      lineOf(MistralFormat, continued).messages.flatMap((one) => (one.role === "assistant" ? [one.weight] : [])),
      [0, 1]
    )
  })

  it("begins with a user message or a system prompt", () => {
    const cut = sample(
      chain(assistant([text("Hello."), call("a")]), result("a", "x"), user("go"), assistant([text("done")]))
    )
    const { dropped, sample: line } = projectionOf(MistralFormat, cut)
    assert.deepStrictEqual(
      line.messages.map(({ content, role }) => [role, content]),
      [
        ["user", "go"],
        ["assistant", "done"]
      ]
    )
    assert.deepStrictEqual(dropped, { leading_assistant_turn: 1, orphan_tool_result: 1 })
    assert.deepStrictEqual(MistralFormat.project(sample(chain(assistant([text("Hello.")])))), {
      _tag: "None",
      reason: "no_assistant_turn"
    })
    assert.include(refusal(MistralFormat, { messages: line.messages.slice(1) }), "begins with an answer")
  })

  it("rejects each violated rule", () => {
    const line = lineOf(MistralFormat, whole)
    const refused: ReadonlyArray<readonly [(messages: Array<JsonObject>) => void, string]> = [
      [(m) => void m.pop(), "the last message is not the assistant's"],
      [(m) => void (m[2] = { ...m[2], tool_call_id: "a" }), "messages[2]: a tool message without an open call"],
      [(m) => void (m[5] = { ...m[5], weight: 2 }), "messages[5].weight"],
      [
        (m) => {
          const asked = { id: "a", type: "function", function: { name: "ls", arguments: "{}" } }
          m[5] = { ...m[5], tool_calls: [asked] }
        },
        "messages[5]: a call id that the service refuses"
      ]
    ]
    for (const [change, message] of refused) {
      const messages: Array<JsonObject> = JSON.parse(JSON.stringify(line.messages))
      change(messages)
      assert.include(refusal(MistralFormat, { ...line, messages }), message)
    }
  })
})
