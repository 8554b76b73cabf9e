/** Compares the matching of results and calls with a naive walk, and counts its steps. */
import { assert, describe, it } from "@effect/vitest"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import { Forest, ROOT } from "../src/internal/doctor/Forest.ts"
import { NO_CALL, match } from "../src/internal/doctor/ToolLinks.ts"
import { type MessageFacts } from "../src/internal/doctor/messageFacts.ts"

const facts = (more: Partial<MessageFacts>): MessageFacts => {
  return {
    faults: [],
    calls: [],
    mendedCalls: [],
    failed: false,
    resultOf: undefined,
    resultOfTool: undefined,
    ...more
  }
}

/** Calls and results name different tools, so they are matched by id only. */
const caller = (ids: ReadonlyArray<string>, failed = false): MessageFacts => {
  const calls = ids.map((id) => ({ id, name: "bash" }))
  return facts({ calls, mendedCalls: calls, failed })
}
const result = (of: string | null): MessageFacts => facts({ resultOf: of, resultOfTool: "read" })

/** The nearest ancestor with the call. */
const nearestByWalking = (facts: ReadonlyArray<MessageFacts>, forest: Forest, index: number): number => {
  const id = facts[index]!.resultOf
  for (const at of forest.up(forest.parents[index]!))
    if (id != null && facts[at]!.calls.some((call) => call.id === id)) return at
  return NO_CALL
}

/** Counts the questions about ancestors. */
class CountingForest extends Forest {
  asked = 0
  override isAncestor(ancestor: number, of: number): boolean {
    this.asked++
    return super.isAncestor(ancestor, of)
  }
}

describe("ToolLinks.match", () => {
  it("finds the nearest call, in random forests with parents before and after their children", () => {
    const random = SeededRandom.make(7)
    const below = (limit: number): number => Math.floor(random.next() * limit)
    for (let round = 0; round < 300; round++) {
      const count = 1 + below(30)
      // In half of the rounds parents may come after their children in the file.
      const order = Array.from({ length: count }, (_, at) => at)
      if (round % 2 === 1)
        for (let at = count - 1; at > 0; at--) {
          const other = below(at + 1)
          ;[order[at], order[other]] = [order[other]!, order[at]!]
        }
      const parents = new Int32Array(count).fill(ROOT)
      for (let at = 1; at < count; at++) parents[order[at]!] = below(5) === 0 ? ROOT : order[below(at)]!
      const facts = Array.from({ length: count }, () =>
        below(2) === 0
          ? caller(
              Array.from({ length: below(3) }, () => `c${below(3)}`),
              below(4) === 0
            )
          : result(below(6) === 0 ? null : `c${below(3)}`)
      )
      const forest = new Forest(parents)
      const links = match(facts, forest)
      for (let index = 0; index < count; index++) {
        if (facts[index]!.resultOf === undefined) continue
        const expected = nearestByWalking(facts, forest, index)
        assert.strictEqual(links.callOf[index], expected)
        const orphan =
          expected === NO_CALL ? "orphan-result" : facts[expected]!.failed ? "failed-turn-result" : undefined
        assert.strictEqual(links.orphans.get(index), orphan)
      }
    }
  })

  it("takes a constant number of steps for each call and result, however many share an id", () => {
    const n = 20_000
    const half = n / 2
    const families: ReadonlyArray<readonly [string, (index: number) => number, (index: number) => MessageFacts]> = [
      [
        "calls on branches, then their results",
        (i) => (i < half ? 0 : i - half),
        (i) => (i < half ? caller(["c"]) : result("c"))
      ],
      ["results of one call in a chain", (i) => i - 1, (i) => (i === 0 ? caller(["c"]) : result("c"))],
      ["results of one call on branches", () => 0, (i) => (i === 0 ? caller(["c"]) : result("c"))],
      ["calls in a chain", (i) => i - 1, (i) => (i < half ? caller(["c"]) : result("c"))],
      ["calls without ancestors", () => ROOT, (i) => (i < half ? caller(["c"]) : result("c"))]
    ]
    for (const [name, parentOf, factOf] of families) {
      const parents = Int32Array.from({ length: n }, (_, index) => (index === 0 ? ROOT : parentOf(index)))
      const forest = new CountingForest(parents)
      match(
        Array.from({ length: n }, (_, index) => factOf(index)),
        forest
      )
      assert.isAtMost(forest.asked, 3 * n, name)
    }
  })

  it("matches many calls of one message in any order, and reports those without a result", () => {
    const n = 2000
    const ids = Array.from({ length: n }, (_, index) => `c${index}`)
    const facts = [
      caller([...ids, "twice", "twice", "left"]),
      ...ids.toReversed().map((id) => result(id)),
      result("twice")
    ]
    const parents = Int32Array.from(facts, (_, index) => index - 1)
    const links = match(facts, new Forest(parents))
    assert.deepStrictEqual([...links.unanswered], [[0, ["twice", "left"]]])
  })
})
