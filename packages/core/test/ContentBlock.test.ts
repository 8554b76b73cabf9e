/** The guards of content blocks and usage agree with their schemas. */
import { assert, describe, it } from "@effect/vitest"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import * as Schema from "effect/Schema"
import * as ContentBlock from "../src/payload/ContentBlock.ts"
import { type Json, type JsonObject } from "../src/Json.ts"
import { Usage, isUsage } from "../src/payload/Usage.ts"
import * as settings from "./support/settings.ts"

const values: ReadonlyArray<Json> = [
  "text",
  "thinking",
  "image",
  "",
  0,
  1.5,
  true,
  null,
  [],
  {},
  { total: 1 },
  { total: "1" }
]

/** An object of some of these members, each with some value. */
const objectOf = (random: SeededRandom.SeededRandom, keys: ReadonlyArray<string>): JsonObject =>
  Object.fromEntries(
    keys.filter(() => random.chance(0.6)).map((key) => [key, values[random.int(values.length)] ?? null])
  )

describe("the guards in plain code say what the schemas say", () => {
  const random = SeededRandom.make(settings.firstSeed())

  it(`of content blocks (seed ${settings.firstSeed()})`, () => {
    const pairs = [
      ["text", ContentBlock.isTextBlock, Schema.is(ContentBlock.TextBlock)],
      ["thinking", ContentBlock.isThinkingBlock, Schema.is(ContentBlock.ThinkingBlock)],
      ["image", ContentBlock.isImageBlock, Schema.is(ContentBlock.ImageBlock)]
    ] as const
    const keys = ["text", "textSignature", "thinking", "thinkingSignature", "redacted", "data", "mimeType", "more"]
    let accepted = 0
    for (let round = 0; round < 20_000; round++) {
      const [type, guard, schema] = pairs[random.int(pairs.length)] ?? pairs[0]
      const block = { ...objectOf(random, keys), type: random.chance(0.9) ? type : "other" }
      assert.strictEqual(guard(block), schema(block), JSON.stringify(block))
      if (guard(block)) accepted++
    }
    assert.isAbove(accepted, 100)
  })

  it(`of usage (seed ${settings.firstSeed()})`, () => {
    const schema = Schema.is(Usage)
    const keys = [
      "input",
      "output",
      "cacheRead",
      "cacheWrite",
      "totalTokens",
      "cacheWrite1h",
      "reasoning",
      "cost",
      "more"
    ]
    for (const value of values) assert.strictEqual(isUsage(value), schema(value), JSON.stringify(value))
    let accepted = 0
    for (let round = 0; round < 20_000; round++) {
      // Each key also alone: with all keys nearly every value would be rejected.
      const usage = objectOf(random, [keys[random.int(keys.length)] ?? "", ...(random.chance(0.3) ? keys : [])])
      assert.strictEqual(isUsage(usage), schema(usage), JSON.stringify(usage))
      if (isUsage(usage)) accepted++
    }
    assert.isAbove(accepted, 100)
  })
})
