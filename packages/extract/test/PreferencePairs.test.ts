import { assert, describe, it } from "@effect/vitest"
import * as PreferencePairs from "../src/PreferencePairs.ts"
import { assistant, call, chain, result, samples, text, user } from "./support/sessions.ts"

const told = (file: string) =>
  PreferencePairs.of(samples(file)).map(({ at, chosen, rejected, sample }) => ({
    prompt: sample.turns.slice(0, at).map((turn) => turn.content),
    chosen: chosen.content,
    rejected: rejected.content
  }))

describe("pairs of answers to one context", () => {
  it("are chosen by the branch that was gone on with, also where the prompt was typed again", () => {
    const file = chain(
      user("which one?"),
      assistant([text("jest")]),
      { ...user("which one?"), parentId: null },
      assistant([text("vitest")]),
      user("good"),
      assistant([text("thanks")])
    )
    assert.deepStrictEqual(told(file), [{ prompt: ["which one?"], chosen: "vitest", rejected: "jest" }])
  })

  it("need two different answers, both whole", () => {
    const branches = (...answers: ReadonlyArray<Parameters<typeof assistant>>) =>
      chain(user("go"), ...answers.map((answer) => ({ ...assistant(...answer), parentId: "e1" })))
    assert.deepStrictEqual(told(branches([[text("a")]], [[text("a")]])), [])
    assert.deepStrictEqual(told(branches([[text("a")], { stopReason: "length" }], [[text("b")]])), [])
    assert.deepStrictEqual(told(branches([[text("a")], { stopReason: "aborted" }], [[text("b")]])), [])
    assert.deepStrictEqual(
      told(branches([[text("a")]], [[text("c")]], [[text("b")]])).map(({ chosen, rejected }) => [chosen, rejected]),
      [
        ["b", "a"],
        ["b", "c"]
      ]
    )
  })

  it("are of one context only", () => {
    const file = chain(
      user("go"),
      assistant([call("a")], { stopReason: "toolUse" }),
      result("a", "x"),
      assistant([text("done")]),
      { ...result("a", "y"), parentId: "e2" },
      assistant([text("failed")])
    )
    assert.deepStrictEqual(told(file), [])
  })
})
