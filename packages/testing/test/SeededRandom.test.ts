import { assert, it } from "@effect/vitest"
import * as SeededRandom from "../src/SeededRandom.ts"

const numbers = (seed: number) => {
  const random = SeededRandom.make(seed)
  return Array.from({ length: 5 }, () => random.int(1_000_000))
}

it("repeats itself for a seed", () => {
  assert.deepStrictEqual(numbers(1), [627073, 2735, 527447, 981050, 968377])
  assert.deepStrictEqual(numbers(1), numbers(1))
  assert.notDeepEqual(numbers(1), numbers(2))
})

it("picks by weight, and never what has none", () => {
  const random = SeededRandom.make(3)
  const picks = Array.from({ length: 10_000 }, () =>
    random.weighted([0, "never"], [3, "often"], [1, "seldom"], [0, "no"])
  )
  const share = (value: string) => picks.filter((pick) => pick === value).length / picks.length
  assert.strictEqual(share("never") + share("no"), 0)
  assert.approximately(share("often"), 0.75, 0.02)
})
