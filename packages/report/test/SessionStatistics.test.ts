import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as Session from "@pi-sessions/core/Session"
import { objectAt } from "@pi-sessions/core/Json"
import * as PiModule from "@pi-sessions/testing/pi/PiModule"
import * as PiStats from "@pi-sessions/testing/pi/PiStats"
import * as SessionStatistics from "../src/SessionStatistics.ts"
import { lengthsOf } from "../src/StatsReport.ts"
import { walked } from "./support/walks.ts"

const FIXTURES = Path.resolve(import.meta.dirname, "../../../fixtures/sessions")

interface Line {
  readonly type: string
  readonly id: string
  readonly parentId: string | null
  readonly usage?: { readonly totalTokens: number; readonly cost: { readonly total: number } }
  readonly message?: {
    readonly role: string
    readonly content: ReadonlyArray<{ readonly type: string }>
    readonly usage?: Line["usage"]
    readonly stopReason?: string
    readonly isError?: boolean
  }
}

/** The oracle: counts roles and blocks of the parsed lines. For undamaged sessions of version 3. */
const counted = (text: string) => {
  const lines = text
    .split("\n")
    .filter((line) => line !== "")
    .map((line): Line => JSON.parse(line))
  const entries = lines.slice(1)
  const messages = entries.filter(({ type }) => type === "message").flatMap(({ message }) => message ?? [])
  const answers = messages.filter(({ role }) => role === "assistant")
  const results = messages.filter(({ role }) => role === "toolResult")
  const others = entries.filter(({ type }) => type !== "message")
  const spent = [...answers, ...results, ...others].flatMap(({ usage }) => usage ?? [])
  const parents = new Set(entries.map(({ parentId }) => parentId))
  const sum = (numbers: ReadonlyArray<number>): number => numbers.reduce((all, one) => all + one, 0)
  const later = entries.filter(
    ({ message, parentId }) =>
      message?.role === "toolResult" && entries.find(({ id }) => id === parentId)?.message?.role === "toolResult"
  )
  return {
    entries: entries.length,
    branches: entries.filter(({ id }) => !parents.has(id)).length,
    compactions: entries.filter(({ type }) => type === "compaction").length,
    user_messages: messages.filter(({ role }) => role === "user").length,
    answers: answers.length,
    failed_answers: answers.filter(({ stopReason }) => ["error", "aborted"].includes(stopReason ?? "")).length,
    tool_calls: sum(answers.map(({ content }) => content.filter(({ type }) => type === "toolCall").length)),
    tool_results: results.length,
    tool_errors: results.filter(({ isError }) => isError).length,
    turns: messages.filter(({ role }) => role === "user").length + answers.length + results.length - later.length,
    tokens: sum(spent.map(({ totalTokens }) => totalTokens)),
    cost: sum(spent.map(({ cost }) => cost.total))
  }
}

const shown = ({ counts }: SessionStatistics.SessionStatistics) => {
  const { copied: _, copied_cost: _c, sessions: _s, usage, ...rest } = counts
  return { ...rest, tokens: usage.total, cost: usage.cost }
}

/** Compares with the oracle; costs up to rounding. */
const assertSame = (text: string, name: string): void => {
  const own = shown(SessionStatistics.of(Session.readText(text)))
  const expected = counted(text)
  assert.closeTo(own.cost, expected.cost, 1e-9, name)
  assert.deepStrictEqual({ ...own, cost: 0 }, { ...expected, cost: 0 }, name)
}

describe("SessionStatistics.of", () => {
  it.effect("counts tokens, cost and messages like the real Pis, with usage on every type of entry", () =>
    Effect.gen(function* () {
      const { SessionManager } = yield* Effect.promise(() => PiModule.load("1.5"))
      const older = yield* Effect.promise(() => PiModule.load("0.78"))
      const places = new Set<string>()
      for (const { file, name, session } of yield* walked) {
        const { counts } = SessionStatistics.of(session)
        const own = {
          userMessages: counts.user_messages,
          assistantMessages: counts.answers,
          toolCalls: counts.tool_calls,
          toolResults: counts.tool_results,
          tokens: {
            input: counts.usage.input,
            output: counts.usage.output,
            cacheRead: counts.usage.cache_read,
            cacheWrite: counts.usage.cache_write,
            total: counts.usage.total
          }
        }
        const oracles = [yield* Effect.promise(() => PiStats.count("1.5", SessionManager.open(file)))]
        if (name.startsWith("Pi 0.78")) {
          oracles.push(yield* Effect.promise(() => PiStats.count("0.78", older.SessionManager.open(file))))
        }
        for (const { cost, ...expected } of oracles) {
          assert.deepInclude(expected, own, name)
          assert.closeTo(counts.usage.cost, cost, 1e-9, name)
        }
        for (const entry of session.tree.getEntries()) {
          const payload = entry.decode()
          const usage = payload["usage"] ?? objectAt(payload, "message")?.["usage"]
          if (usage !== undefined) places.add(entry.role ?? entry.type)
        }
      }
      assert.includeMembers([...places], ["assistant", "toolResult", "compaction", "branch_summary", "usage"])
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("agrees with the oracle on sessions of both real Pis", () =>
    Effect.gen(function* () {
      let answers = 0
      for (const { file, name } of yield* walked) {
        const text = Fs.readFileSync(file, "utf8")
        assertSame(text, name)
        answers += SessionStatistics.of(Session.readText(text)).counts.answers
      }
      assert.isAbove(answers, 100)
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it("agrees with the oracle on fixtures, and models add up to the session", () => {
    for (const name of Fs.readdirSync(FIXTURES, { recursive: true, encoding: "utf8" })) {
      if (!name.endsWith(".jsonl") || /version-1|pi-rust/.test(name)) continue
      const text = Fs.readFileSync(Path.join(FIXTURES, name), "utf8")
      assertSame(text, name)
      const { counts, models } = SessionStatistics.of(Session.readText(text))
      const { answers, failed_answers, tool_calls, tool_errors, tool_results } = SessionStatistics.sumModels(
        models.values()
      )
      assert.deepInclude(counts, { answers, failed_answers, tool_calls, tool_errors, tool_results }, name)
    }
  })

  const line = (value: object): string => `${JSON.stringify(value)}\n`
  const at = (second: number) => ({ timestamp: `2026-01-05T10:00:0${second}.000Z` })
  const usage = (input: number, more: object = {}) => ({ usage: { input, output: 1, cacheRead: 2, ...more } })

  it("assigns usage to models and days, and counts entries that a fork copied", () => {
    const text =
      line({ type: "session", version: 3, id: "f", ...at(3), cwd: "/", parentSession: "/s/a.jsonl" }) +
      line({ type: "message", id: "1", parentId: null, ...at(1), message: { role: "user", content: "hi" } }) +
      line({
        type: "message",
        id: "2",
        parentId: "1",
        ...at(2),
        message: {
          role: "assistant",
          model: "a",
          content: [{ type: "toolCall", id: "c1", name: "x", arguments: {} }],
          ...usage(10, { cost: { input: 0.5, output: 0.25 } })
        }
      }) +
      line({
        type: "message",
        id: "3",
        parentId: "2",
        ...at(4),
        message: { role: "toolResult", toolCallId: "c1", content: [], isError: true, ...usage(3) }
      }) +
      line({
        type: "message",
        id: "4",
        parentId: "3",
        ...at(5),
        message: { role: "assistant", model: "b", content: [], stopReason: "aborted", ...usage(5, { totalTokens: 99 }) }
      }) +
      line({ type: "usage", id: "5", parentId: "4", ...at(6), kind: "warm", provider: "p", model: "b", ...usage(1) }) +
      line({ type: "compaction", id: "6", parentId: "5", ...at(7), summary: "s", ...usage(2) })
    const { counts, days, models } = SessionStatistics.of(Session.readText(text))
    assert.deepStrictEqual(counts, {
      sessions: 1,
      entries: 6,
      turns: 4,
      user_messages: 1,
      answers: 2,
      failed_answers: 1,
      tool_calls: 1,
      tool_results: 1,
      tool_errors: 1,
      branches: 1,
      compactions: 1,
      usage: { input: 21, output: 5, cache_read: 10, cache_write: 0, total: 13 + 8 + 4 + 5 + 6, cost: 0.75 },
      copied: 2,
      copied_cost: 0.75
    })
    assert.deepStrictEqual([...models.keys()], ["a", "b"])
    assert.deepInclude(models.get("a"), { answers: 1, tool_calls: 1, tool_errors: 1, failed_answers: 0 })
    assert.strictEqual(models.get("a")?.usage.total, 13 + 6)
    assert.deepInclude(models.get("b"), { answers: 1, tool_results: 0, failed_answers: 1 })
    assert.strictEqual(models.get("b")?.usage.total, 8 + 4 + 5)
    assert.deepStrictEqual([...days.keys()], ["2026-01-05"])
  })

  it("uses the recorded total only if no part of it is recorded", () => {
    const message = { role: "assistant", model: "a", content: [], usage: { totalTokens: 99 } }
    const text =
      line({ type: "session", version: 3, id: "f", ...at(3), cwd: "/" }) +
      line({ type: "message", id: "1", parentId: null, ...at(1), message })
    assert.strictEqual(SessionStatistics.of(Session.readText(text)).counts.usage.total, 99)
  })

  it("counts damaged sessions", () => {
    for (const folder of ["damaged", "unsound"]) {
      const directory = Path.join(FIXTURES, "..", folder)
      for (const name of Fs.readdirSync(directory)) {
        const session = Session.read(Fs.readFileSync(Path.join(directory, name)))
        const { counts } = SessionStatistics.of(session)
        assert.strictEqual(counts.entries, session.tree.getEntries().length, name)
        assert.isAtMost(counts.tool_errors, counts.tool_results, name)
        for (const value of Object.values(counts.usage)) assert.isFalse(Number.isNaN(value), name)
      }
    }
  })
})

describe("lengthsOf", () => {
  const Length = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 5000 }))

  it.prop("agrees with a plain count", [Schema.Array(Length), Length], ([lengths, budget]) => {
    const {
      budget: reported,
      histogram,
      longest,
      median,
      nine_tenths,
      samples,
      total
    } = lengthsOf(lengths, { maxTokens: budget })
    const sum = lengths.reduce((all, one) => all + one, 0)
    assert.deepStrictEqual([samples, total, longest], [lengths.length, sum, Math.max(0, ...lengths)])
    const notLonger = (than: number) => lengths.filter((one) => one <= than).length
    assert.deepStrictEqual(reported, { max_tokens: budget, fit: notLonger(budget) })
    assert.isAtLeast(2 * notLonger(median), lengths.length)
    assert.isAtLeast(10 * notLonger(nine_tenths), 9 * lengths.length)
    assert.isTrue([median, nine_tenths].every((one) => lengths.length === 0 || lengths.includes(one)))
    let below = 0
    for (const { samples, up_to } of histogram) {
      assert.strictEqual(samples, notLonger(up_to) - notLonger(below))
      assert.isTrue(below === 0 || up_to === 2 * below)
      below = up_to
    }
    assert.isAtLeast(below, longest)
  })
})
