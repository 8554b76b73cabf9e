/** `pi-sessions stats`: tables, Markdown and JSON, compared with the report of `extract`. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Files from "node:fs"
import * as Path from "node:path"
import { ExtractReport } from "@pi-sessions/extract/ExtractReport"
import { sumSessions } from "@pi-sessions/report/SessionStatistics"
import { StatsReport } from "@pi-sessions/report/StatsReport"
import * as TerminalText from "@pi-sessions/report/TerminalText"
import { golden } from "./support/golden.ts"
import * as PseudoTerminal from "./support/pseudoTerminal.ts"
import * as SessionHome from "./support/sessionHome.ts"
import { fixtures } from "./support/storeFolder.ts"

const MODEL = Path.join(fixtures, "models/chatml-marked")

const decodeStats = Schema.decodeUnknownSync(Schema.fromJsonString(StatsReport))
const decodeReport = Schema.decodeUnknownSync(Schema.fromJsonString(ExtractReport))

describe("pi-sessions stats", () => {
  for (const width of [60, 80, 120]) {
    it.live(`draws tables, funnel and lengths into ${width} columns`, () =>
      Effect.gen(function* () {
        const { run } = yield* SessionHome.make
        const args = ["stats", "--sessions", "sessions", "--max-tokens", "250", "--width", String(width)]
        const { status, stderr, stdout } = yield* run(...args)
        assert.strictEqual(status, 0, stderr)
        assert.strictEqual(stdout, golden(`stats-${width}.txt`, stdout))
        for (const line of stdout.split("\n")) assert.isAtMost(TerminalText.width(line), width, line)
      })
    )
  }

  it.live("fits names of any length and script into its columns", () =>
    Effect.gen(function* () {
      const { run, sessions } = yield* SessionHome.make
      const rig = "\u65e5\u672c\u8a9e\u306e\u9577\u3044\u540d\u524d".repeat(6)
      const file = Files.readFileSync(Path.join(sessions, "gt/witness-patrol.jsonl"), "utf8")
      Files.writeFileSync(Path.join(sessions, "long.jsonl"), file.replaceAll("/gt/gastown", `/gt/${rig}`))
      for (const width of [40, 60, 80, 120]) {
        const { stdout } = yield* run("stats", "--sessions", "sessions", "--width", String(width))
        assert.include(stdout, rig.slice(0, 8))
        for (const line of stdout.split("\n")) assert.isAtMost(TerminalText.width(line), width, line)
      }
    })
  )

  it.live("writes Markdown for a card, and only the table of --by", () =>
    Effect.gen(function* () {
      const { run } = yield* SessionHome.make
      const { stdout } = yield* run("stats", "--sessions", "sessions", "--md")
      assert.strictEqual(stdout, golden("stats-markdown.txt", stdout))
      const one = yield* run("stats", "--sessions", "sessions", "--by", "week")
      assert.deepStrictEqual(
        one.stdout.split("\n").filter((line) => line.startsWith("by ")).length,
        1,
        "the week alone"
      )
      assert.include(one.stdout, "2026-W10")
      // Text and Markdown show days and projects only on request.
      for (const form of ["--md", "--width=120"]) {
        const usual = yield* run("stats", "--sessions", "sessions", form)
        assert.notMatch(usual.stdout, /by day|\| day|by project|\| project|\/home/)
      }
      const days = yield* run("stats", "--sessions", "sessions", "--by", "day", "--md")
      assert.match(days.stdout, /^\| day \| sessions/m)
      assert.match(days.stdout, /^\| 2026-11-21 \| 7 \| 38 \|/m)
      const projects = yield* run("stats", "--sessions", "sessions", "--by", "project")
      assert.match(projects.stdout, /^by project/m)
      assert.match(projects.stdout, /^\/home\/ann\/app +4 /m)
      assert.match(projects.stdout, /^….*\/polecats\/nux\/gastown +1 /m)
    })
  )

  it.live("agrees with the report of extract in every number, for every selection", () =>
    Effect.gen(function* () {
      const { cwd, run } = yield* SessionHome.make
      const selections: ReadonlyArray<ReadonlyArray<string>> = [
        [],
        ["--rig", "gastown"],
        ["--role", "deacon", "--role", "mayor"],
        ["--model", "fake-1"],
        ["--since", "2026-03-01", "--until", "2026-06-01"],
        ["--max-tokens", "150"],
        ["--branches", "all", "--no-redact"],
        ["--format", "tokens", "--max-tokens", "200", "--tokenizer", MODEL],
        ["--format", "parquet"],
        ...["sharegpt", "axolotl", "dpo", "lora-forge"].map((format) => ["--format", format])
      ]
      for (const [at, selection] of selections.entries()) {
        const name = selection.join(" ")
        const asked = ["--sessions", "sessions", ...selection, "--json"]
        const stats = yield* run("stats", ...asked)
        assert.strictEqual(stats.status, 0, `${name}: ${stats.stderr}`)
        const { extract, groups, lengths, sessions } = decodeStats(stats.stdout)
        const report = decodeReport((yield* run("extract", ...asked, "--out", `out-${at}`)).stdout)
        const { files, families, format, is_redacted, samples, skipped, total } = report
        const splits: { [split: string]: number } = {}
        for (const { samples, split } of report.outputs.files) {
          // A format with files by role writes each line twice.
          if (format !== "lora-forge") splits[split] = (splits[split] ?? 0) + samples
        }
        assert.deepStrictEqual(
          { ...extract, ...(format === "lora-forge" ? { splits } : {}) },
          {
            format,
            sessions: report.sessions,
            files,
            families,
            samples,
            is_redacted,
            skipped,
            total,
            splits: Object.fromEntries(Object.entries(splits).filter(([, count]) => count > 0))
          },
          name
        )
        // All selected sessions are counted, also those without a sample.
        const asked_for = report.rows.filter(
          ({ outcome }) => !["not_selected", "out_of_time", "not_a_session", "unreadable"].includes(outcome)
        )
        if (!selection.includes("--model")) assert.strictEqual(sessions.sessions, asked_for.length, name)
        else assert.isBelow(sessions.sessions, asked_for.length, name)
        for (const by of ["rig", "role", "project", "week", "day"] as const) {
          const { sessions: of, usage, ...counts } = sumSessions(groups[by])
          const { cost, ...tokens } = usage
          assert.deepInclude(sessions, { ...counts, copied_cost: sessions.copied_cost }, `${name}, by ${by}`)
          if (by === "week" || by === "day") assert.isAtLeast(of, sessions.sessions, name)
          else assert.strictEqual(of, sessions.sessions, name)
          assert.deepInclude(sessions.usage, tokens, `${name}, by ${by}`)
          assert.closeTo(cost, sessions.usage.cost, 1e-9)
        }
        const { cost, total: tokens } = sessions.usage
        if (!selection.includes("--model")) {
          assert.strictEqual(
            groups.model.reduce((sum, { usage }) => sum + usage.total, 0),
            tokens,
            name
          )
        }
        assert.isAtLeast(cost, total.cost - 1e-9, name)
        assert.isAtLeast(lengths.samples, 1, name)
        assert.strictEqual(lengths.is_estimate, !selection.includes("--tokenizer"))
        Files.rmSync(Path.join(cwd, `out-${at}`), { recursive: true })
      }
    })
  )

  it.live("counts as fitting the samples that extract keeps with --overflow drop", () =>
    Effect.gen(function* () {
      const { run } = yield* SessionHome.make
      const sessions = ["--sessions", "sessions", "--branches", "all"]
      const budgets = ["60", "100", "160", "250", "100000"].map((tokens) => [tokens])
      for (const [tokens = "", ...model] of [...budgets, ["150", "--tokenizer", MODEL]]) {
        const budget = [...sessions, "--max-tokens", tokens, ...model, "--json"]
        const { lengths } = decodeStats((yield* run("stats", ...budget)).stdout)
        const report = decodeReport(
          (yield* run("extract", ...budget, "--overflow", "drop", "--out", `out-${tokens}`)).stdout
        )
        assert.deepStrictEqual(lengths.budget, { max_tokens: Number(tokens), fit: report.samples.kept })
        assert.strictEqual(lengths.samples, report.samples.kept + (report.samples.dropped["over_budget"] ?? 0))
      }
    })
  )

  it.live("counts sessions that extract leaves out, and entries that forks copied", () =>
    Effect.gen(function* () {
      const { run } = yield* SessionHome.make
      const { extract, sessions } = decodeStats((yield* run("stats", "--sessions", "sessions", "--json")).stdout)
      assert.deepStrictEqual(extract.sessions.dropped, { duplicate_targets: 1, hydrated: 1 })
      assert.deepStrictEqual(extract.files, { not_a_session: 1, unreadable: 0 })
      assert.strictEqual(sessions.sessions, extract.sessions.found)
      assert.strictEqual(sessions.damaged, 1)
      const hydrated = decodeStats((yield* run("stats", "--sessions", "sessions/hydrated.jsonl", "--json")).stdout)
      assert.deepStrictEqual([hydrated.sessions.answers, hydrated.extract.samples.found], [1, 0])
      const fork = yield* run("fork", "sessions/secrets.jsonl", "--at", "e5", "--out", "sessions/fork.jsonl")
      assert.strictEqual(fork.status, 0, fork.stderr)
      const forked = decodeStats((yield* run("stats", "--sessions", "sessions", "--json")).stdout).sessions
      assert.deepStrictEqual([forked.forks, forked.copied, forked.copied_cost], [1, 5, 3 * 0.0125])
      assert.include(
        (yield* run("stats", "--sessions", "sessions")).stdout,
        "5 entries that forks copied count in both"
      )
    })
  )

  it.live("exits 2 and says what to do if nothing matches or the call is wrong", () =>
    Effect.gen(function* () {
      const { run } = yield* SessionHome.make
      const wrong: ReadonlyArray<readonly [args: ReadonlyArray<string>, message: RegExp]> = [
        [["--sessions", ""], /--sessions is empty/],
        [["--sessions", "sessions", "--rig", "nowhere"], /none of \d+ sessions matches --rig nowhere; rigs found: /],
        [["--sessions", "sessions", "--json", "--md"], /--json and --md exclude each other/],
        [["--sessions", "sessions", "--max-tokens", "0"], /--max-tokens must be 1 or more/],
        [["--sessions", "sessions", "--since", "soon"], /--since: "soon" is not a time/],
        [["--sessions", "sessions", "--model", ""], /--model is empty/],
        [
          ["--sessions", "sessions", "--model", "nobody"],
          /none of \d+ sessions has an answer of --model nobody; models found: .*fake-2 \(\d+\)/
        ],
        [["--sessions", "sessions", "--format", "tokens"], /--format tokens needs --tokenizer DIR/],
        [["--sessions", "sessions", "--by", "moon"], /by/]
      ]
      for (const [args, message] of wrong) {
        const { status, stderr, stdout } = yield* run("stats", ...args)
        assert.deepStrictEqual([status, stdout], [2, ""], args.join(" "))
        assert.match(stderr, message)
      }
      const help = yield* run("stats", "--help")
      assert.include(help.stdout, "EXAMPLES")
    })
  )

  it.live.skipIf(PseudoTerminal.missing !== undefined)("has colours at a terminal, unless NO_COLOR is set", () =>
    Effect.gen(function* () {
      const { cwd } = yield* SessionHome.make
      const screen = (env: Readonly<Record<string, string>>) =>
        Effect.map(
          Effect.promise(() => PseudoTerminal.run(["stats", "--sessions", "sessions"], { cwd, columns: 70, env })),
          (run) => run.screen
        )
      assert.include(yield* screen({}), "\u001b[36m█")
      const plain = yield* screen({ NO_COLOR: "1" })
      assert.notInclude(plain, "\u001b[")
      assert.include(plain, "█")
    })
  )
})
