/** The groups of `stats`, on sessions of real Pis with entries on many days. */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Fs from "node:fs"
import * as Session from "@pi-sessions/core/Session"
import { type ExtractReport, REPORT_KIND } from "@pi-sessions/extract/ExtractReport"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import { dayOf, weekOf } from "../src/Calendar.ts"
import * as SessionStatistics from "../src/SessionStatistics.ts"
import * as StatsReport from "../src/StatsReport.ts"
import { walked } from "./support/walks.ts"

const NOTHING: ExtractReport = {
  kind: REPORT_KIND,
  format: "messages",
  rigs: [],
  roles: [],
  sessions: { found: 0, kept: 0, dropped: {} },
  files: { not_a_session: 0, unreadable: 0 },
  families: { found: 0, largest: 0 },
  samples: { found: 0, kept: 0, dropped: {} },
  is_redacted: false,
  skipped: [],
  total: {
    samples: 0,
    exact: 0,
    targets: 0,
    turns: 0,
    tool_calls: 0,
    tokens: { input: 0, output: 0, cache_read: 0, cache_write: 0, total: 0 },
    cost: 0,
    redacted: {},
    dropped: {},
    diagnostics: 0
  },
  outputs: { train: "", files: [], report: "" },
  rows: []
}

const TIME = /"timestamp":"[^"]*"/g
const times: readonly [string, ...ReadonlyArray<string>] = [
  "soon",
  "",
  "2026-03-01T23:59:59.999Z",
  "2026-03-02T00:00:00.000Z",
  "2026-03-02T00:30:00+01:00"
]

/** The session with random times in all its lines. */
const spread = (text: string, random: SeededRandom.SeededRandom): string =>
  text.replace(TIME, () => {
    const day = new Date(Date.UTC(2025, 11, 20) + random.int(40) * 86_400_000).toISOString()
    return JSON.stringify({ timestamp: random.chance(0.2) ? random.pick(times) : day }).slice(1, -1)
  })

const counted = (text: string, cwd: string): StatsReport.CountedSession => {
  const session = Session.readText(text)
  return {
    row: { path: "", outcome: "kept", rig: cwd.slice(0, 6) },
    statistics: SessionStatistics.of(session),
    timestamp: "",
    cwd,
    isFork: false,
    isDamaged: false
  }
}

const sumOf = <C extends object>(counts: C): Omit<C, "sessions"> => {
  const { sessions: _, ...rest } = counts as C & { readonly sessions: number }
  return rest
}

const assertSame = (own: object, expected: object, name: string): void => {
  const flat = (value: object): ReadonlyArray<readonly [string, number]> =>
    Object.entries(value)
      .flatMap(([key, one]) => (typeof one === "object" ? flat(one) : [[key, Number(one)] as const]))
      .sort(([a], [b]) => (a < b ? -1 : 1))
  const [left, right] = [flat(own), flat(expected)]
  assert.deepStrictEqual(
    left.map(([key]) => key),
    right.map(([key]) => key)
  )
  for (const [at, [key, value]] of left.entries()) assert.closeTo(value, right[at]?.[1] ?? -1, 1e-9, `${name}: ${key}`)
}

describe("the groups of a report", () => {
  it.effect("add up to the whole, and count each entry on its own day", () =>
    Effect.gen(function* () {
      const random = SeededRandom.make(1)
      const tally = new StatsReport.StatsTally()
      const days = new Map<string, number>()
      const texts = (yield* walked).map(({ file }) => spread(Fs.readFileSync(file, "utf8"), random))
      texts.push(
        `{"type":"session","version":3,"id":"empty","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/nothing"}\n`
      )
      for (const text of texts) {
        tally.add(counted(text, random.pick(["/srv/a", "/srv/b", ""])))
        for (const line of text.split("\n").slice(1)) {
          if (line === "") continue
          const { message, timestamp } = JSON.parse(line) as {
            readonly timestamp: string
            readonly message?: { readonly timestamp?: number }
          }
          // An entry without a date counts on the day of its message.
          const own = dayOf(timestamp)
          const day =
            own === "(none)" && message?.timestamp !== undefined
              ? dayOf(new Date(message.timestamp).toISOString())
              : own
          days.set(day, (days.get(day) ?? 0) + 1)
        }
      }
      const { groups, sessions } = tally.report(NOTHING)
      const { damaged: _d, first: _f, forks: _k, last: _l, ...all } = sessions
      for (const by of ["rig", "role", "project"] as const) {
        assertSame(SessionStatistics.sumSessions(groups[by]), all, by)
      }
      for (const by of ["week", "day"] as const) {
        assertSame(sumOf(SessionStatistics.sumSessions(groups[by])), sumOf(all), by)
        const names = groups[by].map(({ name }) => name)
        assert.deepStrictEqual(names, names.toSorted())
        for (const { sessions } of groups[by]) assert.isTrue(sessions >= 1 && sessions <= texts.length)
      }
      const { usage, ...models } = sumOf(SessionStatistics.sumModels(groups.model))
      assertSame({ usage, ...models }, { usage: all.usage, ...pick(all) }, "model")
      assert.deepStrictEqual(new Map(groups.day.map(({ entries, name }) => [name, entries])), new Map([...days].sort()))
      for (const { name } of groups.day)
        assert.include(
          groups.week.map((week) => week.name),
          weekOf(name)
        )
      assert.isAbove(groups.day.length, 40)
      assert.isAbove(groups.model.length, 2)
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it("count a session once in a week, and are empty without sessions", () => {
    const entry = (id: string, day: string) =>
      `{"type":"label","id":"${id}","parentId":null,"timestamp":"${day}T10:00:00Z","targetId":"x"}\n`
    const header = `{"type":"session","version":3,"id":"s","timestamp":"2026-02-01T00:00:00.000Z","cwd":"/a"}\n`
    const tally = new StatsReport.StatsTally()
    assert.deepStrictEqual(tally.report(NOTHING).groups, {
      rig: [],
      role: [],
      project: [],
      model: [],
      week: [],
      day: []
    })
    tally.add(counted(header + entry("1", "2026-03-03") + entry("2", "2026-03-04"), "/a"))
    const { groups } = tally.report(NOTHING)
    const shown = (all: ReadonlyArray<StatsReport.SessionGroup>) =>
      all.map(({ entries, name, sessions }) => ({ name, sessions, entries }))
    assert.deepStrictEqual(shown(groups.week), [{ name: "2026-W10", sessions: 1, entries: 2 }])
    assert.deepStrictEqual(shown(groups.day), [
      { name: "2026-03-03", sessions: 1, entries: 1 },
      { name: "2026-03-04", sessions: 1, entries: 1 }
    ])
    assert.deepStrictEqual(groups.model, [])
  })
})

const pick = ({ answers, failed_answers, tool_calls, tool_errors, tool_results }: SessionStatistics.ModelCounts) => ({
  answers,
  failed_answers,
  tool_calls,
  tool_errors,
  tool_results
})
