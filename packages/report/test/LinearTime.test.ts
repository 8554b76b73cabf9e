/** Every function that reads hostile text takes linear time, counted in steps. */
import { assert, describe, it } from "@effect/vitest"
import { StepCounter } from "@pi-sessions/testing/steps/StepCounter"
import { type TextReader, hostileTexts, steepTexts } from "@pi-sessions/testing/steps/StepGrowth"

const counter = new StepCounter()
const TerminalText = await import("../src/TerminalText.ts")

const readers: ReadonlyArray<TextReader> = [
  { name: "TerminalText.harmless", read: (text) => TerminalText.harmless(text) },
  { name: "TerminalText.exact", read: (text) => TerminalText.exact(text) },
  { name: "TerminalText.json", read: (text) => TerminalText.json(JSON.stringify(text)) },
  { name: "TerminalText.width", read: (text) => TerminalText.width(text) },
  { name: "TerminalText.cut", read: (text) => TerminalText.cut(text, text.length / 4) },
  { name: "TerminalText.cutFront", read: (text) => TerminalText.cutFront(text, text.length / 4) },
  { name: "TerminalText.line", read: (text) => [TerminalText.line(text), TerminalText.line(text, 80)] },
  { name: "TerminalText.wrap", read: (text) => [...TerminalText.wrap(text, 80), ...TerminalText.wrap(text, 1)] }
]

describe("linear time", () => {
  it.each(readers)("$name", async (reader) => {
    assert.deepStrictEqual(await steepTexts(counter, reader, hostileTexts), [])
  })
})
