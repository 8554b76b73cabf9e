/** The state machine, compared with the list in docs/adr/003-session-store-v2.md, copied by hand. */
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { StoreState, TRANSITIONS, isAllowed, transition } from "../src/StoreState.ts"

const ADR = `
CLEAN -> DIRTY | MIGRATION_STAGING
DIRTY -> SEGMENT_SEALED | FAILED
SEGMENT_SEALED -> INDEXED | FAILED
INDEXED -> CHECKPOINTED | DIRTY | FAILED
CHECKPOINTED -> DIRTY | MIGRATION_STAGING | ROLLED_BACK | FAILED
MIGRATION_STAGING -> MIGRATED | ROLLED_BACK | FAILED
MIGRATED -> DIRTY | FAILED
ROLLED_BACK -> DIRTY | FAILED
FAILED -> DIRTY | ROLLED_BACK
`

const listed = new Set(
  ADR.trim()
    .split("\n")
    .flatMap((line) => {
      const [from = "", to = ""] = line.split(" -> ")
      return to.split(" | ").map((target) => `${from} -> ${target}`)
    })
)

const states = StoreState.literals
const pairs = states.flatMap((from) => states.map((to) => ({ from, to })))

describe("the states of a store", () => {
  it("are the nine of ADR 003, in its order", () => {
    assert.deepStrictEqual(
      [...states],
      ADR.trim()
        .split("\n")
        .map((line) => line.split(" ")[0])
    )
  })

  it.each(pairs)("$from -> $to is what the ADR says of it", ({ from, to }) => {
    const result = transition(from, to)
    assert.strictEqual(isAllowed(from, to), listed.has(`${from} -> ${to}`))
    if (listed.has(`${from} -> ${to}`)) {
      assert.deepStrictEqual(result, Result.succeed(to))
      return
    }
    if (Result.isSuccess(result)) return assert.fail("a transition that the ADR does not list")
    assert.strictEqual(result.failure._tag, "IllegalTransition")
    assert.deepStrictEqual([result.failure.from, result.failure.to], [from, to])
    assert.include(result.failure.message, from)
    assert.include(result.failure.message, to)
  })

  it("has 81 pairs, of which 22 are allowed, and the table says the same", () => {
    assert.strictEqual(pairs.length, 81)
    assert.strictEqual(listed.size, 22)
    const table = Object.entries(TRANSITIONS).flatMap(([from, targets]) => targets.map((to) => `${from} -> ${to}`))
    assert.deepStrictEqual(new Set(table), listed)
  })
})
