/** Preference pairs: two answers to one context. */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Result } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { SessionSource } from "@pi-sessions/session-file/SessionSource"
import { memoryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { DpoFormat } from "@pi-sessions/formats/DpoFormat"
import { Extract } from "../src/Extract.ts"
import * as PreferencePairs from "@pi-sessions/samples/PreferencePairs"
import { assistant, call, chain, header, result, samples, text, user } from "@pi-sessions/samples/test/sessions"

const told = (file: string) =>
  PreferencePairs.of(samples(file)).map((pair) => {
    const projection = DpoFormat.project(pair)
    if (projection._tag === "None") throw new Error(projection.reason)
    const { sample } = projection
    assert.deepStrictEqual(DpoFormat.validate(JSON.stringify(sample)), Result.succeed(sample))
    const same = JSON.stringify({ ...sample, rejected: sample.chosen })
    assert.isTrue(Result.isFailure(DpoFormat.validate(same)), "a pair of one answer is refused")
    return {
      prompt: sample.prompt.map(({ content }) => content),
      chosen: sample.chosen[0].content,
      rejected: sample.rejected[0].content
    }
  })

describe("pairs of answers to one context", () => {
  it("prefer the answer of the branch that was continued, also when the prompt was typed again", () => {
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

  it("need two different, complete answers", () => {
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

  it("have one context", () => {
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

describe("a dataset of pairs", () => {
  it.live("holds each pair once, of all branches and forks, without secrets", () =>
    Effect.gen(function* () {
      const root = yield* memoryFolder
      const token = ["ghp", "q8Zr2mXw7KcVt4LsBy9NpEa3JdHf6UgR1oTi"].join("_")
      const entries = chain(
        user(`which one? ${token}`),
        assistant([text(`jest ${token}`)]),
        { ...user(`which one? ${token}`), parentId: null },
        assistant([text("vitest")])
      )
      const sessions = Path.join(root, "sessions")
      Fs.mkdirSync(sessions)
      Fs.writeFileSync(Path.join(sessions, "a.jsonl"), entries)
      const fork = { parentSession: Path.join(sessions, "a.jsonl"), id: "s2", timestamp: "2026-01-06T10:00:00.000Z" }
      const lines = [JSON.stringify(header(fork)), ...entries.split("\n").slice(1)]
      Fs.writeFileSync(Path.join(sessions, "b.jsonl"), lines.join("\n"))
      const report = yield* Effect.flatMap(Extract, (extract) =>
        extract.run({ rigs: [], roles: [], format: "dpo", out: Path.join(root, "out") })
      ).pipe(
        Effect.provide(Extract.layer.pipe(Layer.provide(SessionSource.layerPaths([sessions])))),
        Effect.provide(NodeServices.layer)
      )
      assert.deepStrictEqual(report.samples, { found: 2, kept: 1, dropped: { duplicate_targets: 1 } })
      const written = Fs.readFileSync(report.outputs.train, "utf8")
      assert.notInclude(written, token)
      assert.isTrue(Result.isSuccess(DpoFormat.validate(written.trimEnd())))
    })
  )
})
