/** Every reader of text in this package takes steps in proportion to the length of the text. */
import { assert, describe, it } from "@effect/vitest"
import { StepCounter } from "@pi-sessions/testing/steps/StepCounter"
import { type TextReader, hostileTexts, steepTexts } from "@pi-sessions/testing/steps/StepGrowth"

const counter = new StepCounter()
const { DropTally } = await import("@pi-sessions/samples/DropCounts")
const { withoutMarks } = await import("../src/chat/turnGroups.ts")
const { scoreOf } = await import("../src/lora-forge/loraForgeQuality.ts")
const LoraForgeText = await import("../src/lora-forge/loraForgeText.ts")

const readers: ReadonlyArray<TextReader> = [
  { name: "loraForgeText.plain", read: (text) => LoraForgeText.plain(text, new DropTally()) },
  {
    name: "loraForgeText.mcpServerOf",
    read: (text) => [LoraForgeText.mcpServerOf(`mcp__${text}`), LoraForgeText.mcpServerOf(`mcp_${text}`)]
  },
  {
    name: "loraForgeText.callText",
    read: (text) => LoraForgeText.callText({ id: text, name: text, arguments: { [text]: text } })
  },
  {
    name: "loraForgeText.resultText",
    read: (text) =>
      LoraForgeText.resultText({ tool_call_id: text, tool_name: text, content: text, is_error: false }, new DropTally())
  },
  {
    name: "loraForgeText.callsIn, resultsIn",
    read: (text) => {
      const open = text.replaceAll(/[^]{40}/gu, '<tool_result tool_use_id="a">\n')
      return [text, open, open.replaceAll("result", "call")].map((one) => [
        LoraForgeText.callsIn(one),
        LoraForgeText.resultsIn(one)
      ])
    }
  },
  {
    name: "loraForgeQuality.scoreOf",
    read: (text) =>
      scoreOf([
        { role: "user", text: `let me check ${text}`, calls: 0 },
        { role: "assistant", text: `no ${text}`, calls: 0 }
      ])
  },
  { name: "withoutMarks", read: (text) => withoutMarks(text) }
]

describe("linear time", () => {
  it.each(readers)("$name", async (reader) => {
    assert.deepStrictEqual(await steepTexts(counter, reader, hostileTexts), [])
  })
})
