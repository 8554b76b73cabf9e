/** Samples over a budget, of genuine sessions: what fits, what stays, what is whole. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as process from "node:process"
import * as Session from "@pi-sessions/core/Session"
import * as PiVersion from "@pi-sessions/testing/PiVersion"
import * as SessionWalk from "@pi-sessions/testing/SessionWalk"
import { memoryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as Overflow from "../src/Overflow.ts"
import * as SampleCut from "../src/SampleCut.ts"
import * as TokenCount from "../src/TokenCount.ts"
import { type TrainingSample } from "../src/TrainingSample.ts"
import * as Sessions from "./support/sessions.ts"

const WALKS = Number(process.env["PI_SESSIONS_WALKS"] || 25)
const FIRST_SEED = Number(process.env["PI_SESSIONS_SEED"] || 1)
const count = TokenCount.estimate

const samplesOf = Effect.fnUntraced(function* (version: PiVersion.PiVersion) {
  const root = yield* memoryFolder
  const found: Array<TrainingSample> = []
  for (let seed = FIRST_SEED; seed < FIRST_SEED + WALKS; seed++) {
    const dir = Path.join(root, String(seed))
    const walk = yield* Effect.promise(() => SessionWalk.walk(version, { seed, steps: 80, dir, cwd: "/srv/project" }))
    for (const path of walk.files) {
      const options = { sourcePath: path, role: { role: "unknown", roleSource: "none" }, branches: "all" } as const
      found.push(...SampleCut.cut(Session.read(Fs.readFileSync(path)), options).samples)
    }
  }
  return found
})

const targetsOf = ({ first_target, turns }: TrainingSample): ReadonlyArray<string> =>
  turns.flatMap((turn, at) => (turn.role === "assistant" && at >= first_target ? [JSON.stringify(turn)] : []))

/** What no budget may break. */
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
  it.effect("become windows that fit, with each target once", () =>
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

  it.effect("lose tool results to a mark, the oldest first, and nothing else", () =>
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
  it("in the middle of the work is told the question", () => {
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
