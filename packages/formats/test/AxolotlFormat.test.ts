import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { type JsonObject } from "@pi-sessions/core/Json"
import { AxolotlFormat } from "../src/AxolotlFormat.ts"
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

const whole = sample(
  chain(
    message({ role: "system", content: "You are Pi.", timestamp: 1 }),
    user("go"),
    assistant([{ type: "thinking", thinking: "Hm." }, text("I look."), call("a", "bash", { command: "ls" })]),
    result("a", "x"),
    user("and?"),
    user("well?"),
    assistant([text("done")])
  )
)

/** A sample whose context holds an answer. */
const [, continued] = samples(
  chain(
    user("a"),
    assistant([text("1")]),
    user("b"),
    assistant([text("2")]),
    { type: "compaction", summary: "s", firstKeptEntryId: "e3", tokensBefore: 10 },
    user("c"),
    assistant([text("3")])
  )
)

describe("AxolotlFormat", () => {
  it("marks each answer as trained or not, and writes arguments and tools as text", () => {
    const { dropped, sample: line } = projectionOf(AxolotlFormat, whole)
    assert.deepStrictEqual<unknown>(line.messages, [
      { role: "system", content: "You are Pi." },
      { role: "user", content: "go" },
      {
        role: "assistant",
        content: "I look.",
        reasoning_content: "Hm.",
        train: true,
        tool_calls: [{ id: "a", type: "function", function: { name: "bash", arguments: '{"command":"ls"}' } }]
      },
      { role: "tool", tool_call_id: "a", name: "bash", content: "x" },
      { role: "user", content: "and?" },
      { role: "user", content: "well?" },
      { role: "assistant", content: "done", train: true }
    ])
    assert.strictEqual(typeof line.tools, "string")
    assert.deepStrictEqual(dropped, {})
  })

  it("writes arguments and tools as objects when asked to", () => {
    const line = lineOf(AxolotlFormat, whole, { arguments: "object" })
    assert.deepStrictEqual<unknown>(line.messages[2], {
      role: "assistant",
      content: "I look.",
      reasoning_content: "Hm.",
      tool_calls: [{ id: "a", type: "function", function: { name: "bash", arguments: { command: "ls" } } }],
      train: true
    })
    assert.deepStrictEqual(Array.isArray(line.tools) ? line.tools.length : 0, 1)
  })

  it("masks the answers of the context", () => {
    if (continued === undefined) throw new Error("no sample behind the compaction")
    const { messages } = lineOf(AxolotlFormat, continued)
    assert.deepStrictEqual(
      messages.flatMap((one) => (one.role === "assistant" ? [[one.content, one.train]] : [])),
      [
        ["2", false],
        ["3", true]
      ]
    )
  })

  it("rejects each violated rule", () => {
    const line = lineOf(AxolotlFormat, whole)
    const refused: ReadonlyArray<readonly [(messages: Array<JsonObject>) => void, string]> = [
      [(m) => void (m[2] = { ...m[2], train: false }), "the number of trained answers differs"],
      [(m) => void (m[6] = { role: "assistant", content: "done", train: false }), "the last answer is not trained"],
      [(m) => void (m[6] = { role: "assistant", content: "done" }), "messages[6].train"],
      [(m) => void (m[1] = { role: "user", content: "go", train: true }), "messages[1].train"],
      [(m) => void m.splice(3, 1), "messages[3]: the assistant message before it has a call without a result"],
      [(m) => void m.splice(6, 1), "the number of trained answers differs"],
      [
        (m) => {
          const broken = { id: "a", type: "function", function: { name: "bash", arguments: "[]" } }
          m[2] = { ...m[2], tool_calls: [broken] }
        },
        "messages[2]: arguments that are not a JSON object"
      ]
    ]
    for (const [change, message] of refused) {
      const messages: Array<JsonObject> = JSON.parse(JSON.stringify(line.messages))
      change(messages)
      assert.include(refusal(AxolotlFormat, { ...line, messages }), message)
    }
    assert.include(refusal(AxolotlFormat, { ...line, tools: "{}" }), "tools: not a JSON list of tools")
  })

  it("configures each file for Axolotl", () => {
    const files: ReadonlyArray<DataFile> = [
      { name: "train.jsonl", split: "train", file: "train", lines: 3 },
      { name: "validation.jsonl", split: "validation", file: "train", lines: 1 }
    ]
    const [config] = AxolotlFormat.sidecars?.(files.slice(0, 1)) ?? []
    if (config === undefined) throw new Error("no configuration")
    const check = (some: ReadonlyArray<DataFile>, text: string) =>
      AxolotlFormat.validateDataset?.({ files: some, sidecars: [{ ...config, text }] })
    assert.deepStrictEqual(check(files.slice(0, 1), config.text), Result.succeed([]))
    assert.include(String(check(files, config.text)), "no valid entry for validation.jsonl")
    const unmasked = config.text.replace("    message_field_training: train\n", "")
    assert.include(String(check(files.slice(0, 1), unmasked)), "axolotl.yml: no valid entry for train.jsonl")
  })
})
