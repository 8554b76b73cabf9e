/** Samples of the real Pis that exceed a token budget, in windows or without tool results. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as process from "node:process"
import * as PiVersion from "@pi-sessions/testing/pi/PiVersion"
import * as Overflow from "../src/Overflow.ts"
import * as SampleCut from "../src/SampleCut.ts"
import * as TokenCount from "../src/TokenCount.ts"
import { type TrainingSample } from "../src/TrainingSample.ts"
import * as Sessions from "./support/sessions.ts"
import { walkedSessions } from "./support/walks.ts"

const count = TokenCount.estimate

const samplesOf = Effect.fnUntraced(function* (version: PiVersion.PiVersion) {
  const sessions = yield* walkedSessions(version, 80, { test: 6, campaign: 100 })
  return sessions.flatMap(({ path, session }) => {
    const options = { sourcePath: path, role: { role: "unknown", roleSource: "none" }, branches: "all" } as const
    return SampleCut.cut(session, options).samples
  })
})

const targetsOf = ({ first_target, turns }: TrainingSample): ReadonlyArray<string> =>
  turns.flatMap((turn, at) => (turn.role === "assistant" && at >= first_target ? [JSON.stringify(turn)] : []))

/** Asserts what holds for any budget. */
const checkWhole = (sample: TrainingSample, of: TrainingSample): void => {
  const { metadata, turns } = sample
  const first = turns.find((turn) => turn.role !== "system")
  assert.strictEqual(first?.tool_results.length, 0, "it does not begin with a tool result")
  assert.strictEqual(turns.at(-1)?.role, "assistant", "it ends on an answer")
  assert.strictEqual(metadata.targets, targetsOf(sample).length)
  assert.strictEqual(metadata.context, sample === of ? of.metadata.context : "reduced")
  for (const [at, turn] of turns.slice(0, -1).entries()) {
    const answered = (turns[at + 1]?.tool_results ?? []).map((result) => result.tool_call_id)
    assert.sameMembers(
      answered,
      turn.tool_calls.map((call) => call.id)
    )
  }
}

describe.each(PiVersion.versions)("samples of Pi %s over a budget", (version) => {
  it.effect("become windows that fit, with each target at most once", () =>
    Effect.gen(function* () {
      let windows = 0
      let lost = 0
      for (const sample of yield* samplesOf(version)) {
        for (const maxTokens of [150, 400, 1500]) {
          const fitting = Overflow.fit(sample, { maxTokens, overflow: "window", count })
          for (const window of fitting) {
            assert.isAtMost(TokenCount.ofSample(window, count), maxTokens)
            checkWhole(window, sample)
          }
          const [ours, theirs] = [fitting.flatMap(targetsOf), targetsOf(sample)]
          assert.strictEqual(new Set(ours).size, new Set(ours.filter((target) => theirs.includes(target))).size)
          assert.isAtMost(ours.length, theirs.length)
          windows += fitting.length
          lost += theirs.length - ours.length
        }
      }
      process.stdout.write(`Overflow: Pi ${version}: ${windows} windows, ${lost} targets that fit nowhere\n`)
      assert.isAbove(windows, 0)
    })
  )

  it.effect("lose only tool results, which become a mark", () =>
    Effect.gen(function* () {
      let elided = 0
      for (const sample of yield* samplesOf(version)) {
        const whole = TokenCount.ofSample(sample, count)
        const [fitting] = Overflow.fit(sample, { maxTokens: Math.floor(whole * 0.9), overflow: "elide-results", count })
        if (fitting === undefined) continue
        checkWhole(fitting, sample)
        const results = (of: TrainingSample) => of.turns.flatMap((turn) => turn.tool_results)
        const changed = results(fitting).map((result, at) => result.content !== results(sample)[at]?.content)
        assert.isTrue(results(fitting).every(({ content }, at) => !changed[at] || content === Overflow.ELIDED))
        const restored = fitting.turns.map((turn, at) => ({
          ...turn,
          tool_results: sample.turns[at]?.tool_results ?? []
        }))
        assert.deepStrictEqual(restored, [...sample.turns])
        elided++
      }
      assert.isAbove(elided, 0)
    })
  )
})

describe("a window", () => {
  it("in the middle of the work begins with the question", () => {
    const lines = Sessions.chain(
      Sessions.user("please look at all of them"),
      ...Array.from({ length: 6 }, (_, at) => [
        Sessions.assistant([Sessions.call(`c${at}`, "bash", { command: `cat ${at}` })]),
        Sessions.result(`c${at}`, `${at} `.repeat(100))
      ]).flat(),
      Sessions.assistant([Sessions.text("done")])
    )
    const sample = Sessions.sample(lines)
    const windows = Overflow.fit(sample, { maxTokens: 380, overflow: "window", count })
    assert.deepStrictEqual(
      windows.map(({ first_target, turns }) => [
        first_target,
        turns.map((turn) => turn.content || turn.tool_calls[0]?.id)
      ]),
      [
        [1, ["please look at all of them", "c0", undefined, "c1", undefined, "c2"]],
        [1, ["please look at all of them", "c3", undefined, "c4", undefined, "c5", undefined, "done"]]
      ]
    )
    assert.deepStrictEqual(Overflow.fit(sample, { maxTokens: 380, overflow: "drop", count }), [])
    assert.deepStrictEqual(Overflow.fit(sample, { maxTokens: 10_000, overflow: "drop", count }), [sample])
  })
})
