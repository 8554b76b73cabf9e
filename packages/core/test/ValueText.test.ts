/** Text of any JSON value, also of deep ones. */
import { assert, describe, it } from "@effect/vitest"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import { type Json } from "../src/Json.ts"
import * as ModelContext from "../src/ModelContext.ts"
import { SessionEntry } from "../src/SessionLine.ts"
import * as ValueText from "../src/ValueText.ts"
import * as settings from "./support/settings.ts"

const SCALARS = [null, true, 0, -1.5, 1e300, "", 'a"\\\n\u2028\ud800', "für 日本語 😀"] as const
const KEYS = ["a", "", "0", "10", "__proto__", "constructor", "toString", "toJSON", "\ud800", 'say "so"'] as const

/** Random JSON text with any keys, also repeated ones. */
const jsonText = (random: SeededRandom.SeededRandom, levels: number): string => {
  const members = levels === 0 ? -1 : random.int(8) - 3
  if (members < 0) return JSON.stringify(SCALARS[random.int(SCALARS.length)])
  const values = Array.from({ length: members }, () => jsonText(random, levels - 1))
  return random.chance(0.5)
    ? `[${values.join(",")}]`
    : `{${values.map((value) => `${JSON.stringify(random.pick(KEYS))}:${value}`).join(",")}}`
}

const DEPTH = 10_000
const arrays = "[".repeat(DEPTH) + "]".repeat(DEPTH)
const objects = `${'{"__proto__":'.repeat(DEPTH)}1${"}".repeat(DEPTH)}`

describe("ValueText.stringify", () => {
  it("writes what JSON.stringify writes, also inside a value that is too deep for it", () => {
    const written = settings.seeds(settings.fuzz(300)).map((seed) => {
      const value: Json = JSON.parse(jsonText(SeededRandom.make(seed), 5))
      const expected = JSON.stringify(value)
      assert.strictEqual(ValueText.stringify(value), expected, `seed ${seed}`)
      return expected
    })
    const whole = `[${[arrays, ...written].join(",")}]`
    assert.throws(() => JSON.stringify(JSON.parse(whole)), RangeError)
    assert.isTrue(ValueText.stringify(JSON.parse(whole)) === whole)
  })

  it("writes any depth, and keys that every object has", () => {
    for (const text of [arrays, objects]) {
      const value: Json = JSON.parse(text)
      assert.isTrue(ValueText.stringify(value) === text)
    }
  })
})

describe("ValueText.textOf", () => {
  it("is the result of String, or JSON where String throws", () => {
    for (const value of [undefined, null, 1, "a", [1, [2]], {}, { a: 1 }, [{}]]) {
      assert.strictEqual(ValueText.textOf(value), String(value))
    }
    assert.strictEqual(ValueText.textOf({ toString: 1 }), '{"toString":1}')
    assert.strictEqual(ValueText.textOf([{ toString: 1, valueOf: 2 }]), '[{"toString":1,"valueOf":2}]')
    assert.isTrue(ValueText.textOf(JSON.parse(arrays)) === arrays)
  })
})

describe("values in place of texts", () => {
  const wrong: ReadonlyArray<Json> = [{ toString: 1 }, [{ toString: 1 }], JSON.parse(arrays), JSON.parse(objects)]

  it("are sent as some text", () => {
    for (const value of wrong) {
      for (const message of [
        {
          role: "bashExecution",
          command: value,
          output: value,
          exitCode: value,
          truncated: true,
          fullOutputPath: value
        },
        { role: "branchSummary", summary: value },
        { role: "compactionSummary", summary: value }
      ]) {
        const [sent] = ModelContext.convertToLlm([message])
        assert.isNotEmpty(ModelContext.contentText(sent?.["content"]))
      }
    }
  })

  it("survive when their entry is written", () => {
    for (const value of wrong) {
      const entry = SessionEntry.make({ type: "custom", id: "a", parentId: null, data: value })
      assert.isTrue(ValueText.stringify(entry.decode()["data"] ?? null) === ValueText.stringify(value))
    }
  })
})
