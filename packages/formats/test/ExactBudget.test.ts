/** Budgets in a model's own tokens. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { countOf, fitExactly } from "../src/model/ExactBudget.ts"
import { type LocalModel } from "../src/model/LocalModel.ts"
import { type Overflow, fit } from "@pi-sessions/samples/Overflow"
import { estimate } from "@pi-sessions/samples/TokenCount"
import { TokensFormat } from "../src/TokensFormat.ts"
import { type TrainingSample } from "@pi-sessions/samples/TrainingSample"
import { lineOf } from "./support/formats.ts"
import { MODELS, load } from "./support/models.ts"
import { assistant, call, chain, result, sample, text, user } from "@pi-sessions/samples/test/sessions"

/** Digits are a token each with two of these models, and a fourth of one by the estimate. */
const DIGITS = "3141592653589793 ".repeat(20)

const long = sample(
  chain(
    ...Array.from({ length: 8 }, (_, at) => [
      user(`step ${at}`),
      assistant([text(`I look at ${at}.`), call(`c${at}`)]),
      result(`c${at}`, DIGITS),
      assistant([text(`It is ${at}.`)])
    ]).flat()
  )
)

const targetsOf = (pieces: ReadonlyArray<TrainingSample>) =>
  pieces.flatMap(({ first_target, turns }) =>
    turns.flatMap(({ content, role }, at) => (role === "assistant" && at >= first_target ? [content] : []))
  )

describe("an exact budget", () => {
  it.live.each(MODELS)("is kept by every sample, and is what the lines of tokens have: %s", (name) =>
    Effect.gen(function* () {
      const model = yield* load(name)
      assert.strictEqual(countOf(long, model), countIn(long, model))
      const budgets: ReadonlyArray<readonly [Overflow, number]> = [
        ["window", 900],
        ["window", 1000],
        ["window", 1001],
        ["window", 2500],
        ["elide-results", 1500],
        ["elide-results", 2500]
      ]
      for (const [overflow, maxTokens] of budgets) {
        const pieces = fitExactly(long, { maxTokens, overflow, count: estimate }, model)
        assert.isAbove(pieces.length, 0)
        for (const piece of pieces) assert.isAtMost(countIn(piece, model), maxTokens)
        assert.deepStrictEqual(targetsOf(pieces), targetsOf([long]), `${overflow} ${maxTokens}`)
      }
      // An estimate takes what does not fit for what does.
      const guessed = fit(long, { maxTokens: 1000, overflow: "window", count: estimate })
      assert.isAbove(Math.max(...guessed.map((piece) => countIn(piece, model))), 1000)
    })
  )

  it.live("does not change samples that fit", () =>
    Effect.gen(function* () {
      const model = yield* load("drops-thinking")
      const exact = countOf(long, model)
      const budget = { overflow: "window", count: estimate } as const
      assert.deepStrictEqual(fitExactly(long, { ...budget, maxTokens: exact }, model), [long])
      assert.isAbove(fitExactly(long, { ...budget, maxTokens: exact - 1 }, model).length, 1)
      assert.deepStrictEqual(fitExactly(long, { ...budget, overflow: "drop", maxTokens: exact - 1 }, model), [])
      const unable: LocalModel = {
        ...model,
        get template(): never {
          throw new Error("counted")
        }
      }
      assert.deepStrictEqual(fitExactly(long, { ...budget, maxTokens: 5 * exact }, unable), [long])
    })
  )
})

const countIn = (piece: TrainingSample, model: LocalModel): number =>
  lineOf(TokensFormat, { ...piece }, { model }).input_ids.length
