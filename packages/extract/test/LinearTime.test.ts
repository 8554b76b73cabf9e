/** Every reader of text in this package takes steps in proportion to the length of the text. */
import { assert, describe, it } from "@effect/vitest"
import { StepCounter } from "@pi-sessions/testing/steps/StepCounter"
import { type TextReader, hostileTexts, steepTexts } from "@pi-sessions/testing/steps/StepGrowth"

const counter = new StepCounter()
const { MinHash } = await import("../src/plan/MinHash.ts")

const readers: ReadonlyArray<TextReader> = [{ name: "MinHash", read: (text) => new MinHash().add(text) }]

describe("linear time", () => {
  it.each(readers)("$name", async (reader) => {
    assert.deepStrictEqual(await steepTexts(counter, reader, hostileTexts), [])
  })
})
