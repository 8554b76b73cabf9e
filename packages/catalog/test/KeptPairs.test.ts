/** Compares KeptPairs with a naive walk, and counts its steps. */
import { assert, describe, it } from "@effect/vitest"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import { Forest, ROOT } from "../src/internal/doctor/Forest.ts"
import { KeptPairs } from "../src/internal/doctor/KeptPairs.ts"
import { NO_CALL, type ToolLinks } from "../src/internal/doctor/ToolLinks.ts"

const linksOf = (callOf: Int32Array, orphans: ToolLinks["orphans"] = new Map()): ToolLinks => ({
  callOf,
  orphans,
  unanswered: new Map(),
  byPlace: new Map()
})

/** `wholeFrom` by a naive walk up the branch. */
const byWalking = (forest: Forest, { callOf, orphans }: ToolLinks, first: number, below: number): number => {
  let from = first
  for (const at of forest.up(forest.parents[below]!)) {
    const call = callOf[at]!
    if (call !== NO_CALL && !orphans.has(at) && forest.isAncestor(call, from)) from = call
    if (at === from) break
  }
  return from
}

describe("KeptPairs.wholeFrom", () => {
  it("returns the same as a naive walk", () => {
    const random = SeededRandom.make(11)
    const below = (limit: number): number => Math.floor(random.next() * limit)
    let moved = 0
    for (let round = 0; round < 300; round++) {
      const count = 2 + below(60)
      const near = 1 + below(4)
      const parents = Int32Array.from({ length: count }, (_, at) =>
        at === 0 || below(30) === 0 ? ROOT : at - 1 - below(Math.min(near, at))
      )
      const forest = new Forest(parents)
      const callOf = parents.map((_, at) => {
        const above = [...forest.up(at)].slice(1)
        return above.length === 0 || below(3) > 0 ? NO_CALL : above[below(Math.min(6, above.length))]!
      })
      const orphans = new Map(
        [...callOf.keys()].filter(() => below(8) === 0).map((at) => [at, "orphan-result"] as const)
      )
      const links = linksOf(callOf, orphans)
      const pairs = new KeptPairs(forest, links)
      for (let index = 0; index < count; index++) {
        for (const first of [...forest.up(index)].slice(1)) {
          const expected = byWalking(forest, links, first, index)
          assert.strictEqual(pairs.wholeFrom(first, index), expected)
          if (expected !== first) moved++
        }
      }
    }
    assert.isAbove(moved, 1000)
  })

  it("takes a logarithmic number of steps on a long branch", () => {
    const n = 1 << 15
    const parents = Int32Array.from({ length: n }, (_, at) => at - 1)
    const pairs = new KeptPairs(new Forest(parents), linksOf(new Int32Array(n).fill(NO_CALL)))
    for (let index = 2; index < n; index++) assert.strictEqual(pairs.wholeFrom(1, index), 1)
    assert.isAtMost(pairs.steps, n * 3 * 15)
  })
})
