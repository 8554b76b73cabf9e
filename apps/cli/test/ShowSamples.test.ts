/** `pi-sessions show --as`: samples beside the timeline, compared with `extract`. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Files from "node:fs"
import * as Path from "node:path"
import { FormatName } from "@pi-sessions/formats/FormatName"
import * as TerminalText from "@pi-sessions/report/TerminalText"
import { golden } from "./support/golden.ts"
import * as PseudoTerminal from "./support/pseudoTerminal.ts"
import * as SessionHome from "./support/sessionHome.ts"
import { fixtures } from "./support/storeFolder.ts"

const MODEL = Path.join(fixtures, "models/chatml-marked")

/** Every line that extract wrote, of all files. */
const written = (out: string): ReadonlySet<string> =>
  new Set(
    Files.readdirSync(out)
      .filter((name) => name.endsWith(".jsonl") && !/sessions|shard/.test(name))
      .flatMap((name) => Files.readFileSync(Path.join(out, name), "utf8").split("\n").slice(0, -1))
  )

describe("pi-sessions show --as", () => {
  it.live("keeps a session with calls and tools nested at any depth, as extract does", () =>
    Effect.gen(function* () {
      const { run, sessions } = yield* SessionHome.make
      const deep = `${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`
      const entry = (id: string, parentId: string | null, message: string) =>
        `{"type":"message","id":"${id}","parentId":${JSON.stringify(parentId)},"timestamp":"2026-03-02T10:00:00.000Z","message":${message}}\n`
      Files.writeFileSync(
        Path.join(sessions, "deep.jsonl"),
        [
          '{"type":"session","version":3,"id":"deep","timestamp":"2026-03-02T10:00:00.000Z","cwd":"/srv"}\n',
          entry("a", null, `{"role":"system","content":"p","toolsAdded":[{"name":"bash","parameters":${deep}}]}`),
          entry("b", "a", '{"role":"user","content":"hi"}'),
          entry("c", "b", '{"role":"assistant","content":[{"type":"text","text":"yo"}],"stopReason":"stop"}')
        ].join("")
      )
      // Only the arguments of the call are left out.
      const called = `[{"type":"toolCall","id":"x","name":"bash","arguments":${deep}}]`
      Files.writeFileSync(
        Path.join(sessions, "called.jsonl"),
        [
          '{"type":"session","version":3,"id":"called","timestamp":"2026-03-02T10:00:00.000Z","cwd":"/srv"}\n',
          entry("a", null, '{"role":"user","content":"hi"}'),
          entry("b", "a", `{"role":"assistant","content":${called},"stopReason":"toolUse"}`)
        ].join("")
      )
      const made = yield* run("extract", "--sessions", "sessions/called.jsonl", "--json", "--out", "out")
      assert.deepInclude(JSON.parse(made.stdout).total, { samples: 1, dropped: { invalid_arguments: 1 } }, made.stderr)
      // The name and description of a declared tool stay.
      const shown = yield* run("show", "sessions/deep.jsonl", "--as", "messages", "--json")
      assert.strictEqual(shown.status, 0, shown.stderr)
      assert.include(shown.stdout, "bash", "the tool is declared")
    })
  )

  for (const width of [60, 80, 120]) {
    it.live(`draws timeline and samples into ${width} columns: masks, redactions, reasons`, () =>
      Effect.gen(function* () {
        const { run } = yield* SessionHome.make
        const { status, stderr, stdout } = yield* run(
          "show",
          "sessions/secrets.jsonl",
          "--as",
          "messages",
          "--width",
          String(width)
        )
        assert.strictEqual(status, 0, stderr)
        const text = SessionHome.withoutSecret(stdout)
        assert.strictEqual(text, golden(`show-as-${width}.txt`, text))
        for (const line of stdout.split("\n")) assert.isAtMost(TerminalText.width(line), width, line)
      })
    )
  }

  const goldens: ReadonlyArray<readonly [name: string, args: ReadonlyArray<string>]> = [
    ["branches", ["project/branches.jsonl", "--as", "axolotl", "--branches", "all", "--depth", "full"]],
    ["compacted", ["project/compacted.jsonl", "--as", "sharegpt"]],
    ["budget", ["gt/deacon-patrol.jsonl", "--as", "openai", "--max-tokens", "250"]],
    ["hydrated", ["hydrated.jsonl", "--as", "messages"]],
    ["tokens", ["project/branches.jsonl", "--as", "tokens", "--tokenizer", MODEL]],
    ["dpo", ["retried.jsonl", "--as", "dpo"]],
    ["lora-forge", ["gt/deacon-patrol.jsonl", "--as", "lora-forge", "--no-redact"]]
  ]
  for (const [name, [file = "", ...args]] of goldens) {
    it.live(`shows ${name}`, () =>
      Effect.gen(function* () {
        const { run } = yield* SessionHome.make
        const { status, stderr, stdout } = yield* run("show", `sessions/${file}`, ...args, "--width", "80")
        assert.strictEqual(status, 0, stderr)
        assert.strictEqual(stdout, golden(`show-as-${name}.txt`, stdout))
      })
    )
  }

  it.live("prints the lines that extract writes for that session, in every format", () =>
    Effect.gen(function* () {
      const { cwd, run } = yield* SessionHome.make
      let lines = 0
      // Parquet has no lines; its own tests check its content.
      for (const format of FormatName.literals.filter((name) => name !== "pi" && name !== "parquet")) {
        for (const name of ["secrets", "project/branches", "project/compacted", "gt/witness-patrol"]) {
          const file = `sessions/${name}.jsonl`
          const out = `${format}-${Path.basename(name)}`
          const model = format === "tokens" ? ["--tokenizer", MODEL] : []
          const asked = ["--max-tokens", "200", "--branches", "all", ...model]
          const extract = yield* run("extract", "--sessions", file, "--format", format, "--out", out, ...asked)
          assert.strictEqual(extract.status, 0, extract.stderr)
          const shown = yield* run("show", file, "--as", format, "--ndjson", ...asked)
          assert.strictEqual(shown.status, 0, shown.stderr)
          const own = shown.stdout.split("\n").slice(0, -1)
          assert.deepStrictEqual([...own].sort(), [...written(Path.join(cwd, out))].sort(), out)
          const document = JSON.parse((yield* run("show", file, "--as", format, "--json", ...asked)).stdout)
          const samples: ReadonlyArray<{ readonly outcome: string; readonly line: string }> = document.samples
          assert.deepStrictEqual(
            samples.flatMap(({ line, outcome }) => (outcome === "kept" ? [line] : [])),
            own
          )
          lines += own.length
        }
      }
      assert.isAbove(lines, 20)
    })
  )

  it.live("prints the fate of every entry as JSON", () =>
    Effect.gen(function* () {
      const { run } = yield* SessionHome.make
      const { stdout } = yield* run("show", "sessions/secrets.jsonl", "--as", "messages", "--json")
      const { entries, outcome, samples, volume } = JSON.parse(stdout)
      assert.deepStrictEqual([outcome, samples.length, volume.targets], ["kept", 1, 2])
      assert.deepStrictEqual(entries, [
        { id: "e1", line: 2, type: "message", role: "user", told: [{ sample: 1, as: "context" }], lost: ["image"] },
        { id: "e2", line: 3, type: "message", role: "assistant", told: [{ sample: 1, as: "target" }] },
        { id: "e3", line: 4, type: "message", role: "toolResult", told: [{ sample: 1, as: "context" }] },
        { id: "e4", line: 5, type: "message", role: "assistant", told: [], reason: "error_turn" },
        { id: "e5", line: 6, type: "message", role: "assistant", told: [{ sample: 1, as: "target" }] },
        { id: "e6", line: 7, type: "message", role: "user", told: [], reason: "trailing_message" }
      ])
      assert.deepStrictEqual(
        samples[0].turns.map(({ as, entries }: { as: string; entries: ReadonlyArray<{ id: string }> }) => [
          as,
          ...entries.map(({ id }) => id)
        ]),
        [
          ["context", "e1"],
          ["target", "e2"],
          ["context", "e3"],
          ["target", "e5"]
        ]
      )
    })
  )

  it.live("exits 2 for flags of samples without a format, and for two forms of output", () =>
    Effect.gen(function* () {
      const { run } = yield* SessionHome.make
      const wrong: ReadonlyArray<readonly [args: ReadonlyArray<string>, message: RegExp]> = [
        [["--branches", "all"], /--branches is about samples; choose their format with --as/],
        [["--no-redact"], /--no-redact is about samples/],
        [["--max-tokens", "9"], /--max-tokens is about samples/],
        [["--as", "messages", "--raw"], /--ndjson prints the samples' lines/],
        [["--as", "messages", "--max-tokens", "0"], /--max-tokens must be 1 or more/],
        [["--as", "tokens"], /--as tokens needs --tokenizer DIR/],
        [["--as", "tokens", "--tokenizer", "nowhere"], /--tokenizer: .*nowhere/],
        [["--as", "poem"], /poem/]
      ]
      for (const [args, message] of wrong) {
        const { status, stderr, stdout } = yield* run("show", "sessions/secrets.jsonl", ...args)
        assert.deepStrictEqual([status, stdout], [2, ""], args.join(" "))
        assert.match(stderr, message)
      }
    })
  )

  it.live.skipIf(PseudoTerminal.missing !== undefined)("colours masks and redactions, unless NO_COLOR is set", () =>
    Effect.gen(function* () {
      const { cwd, state } = yield* SessionHome.make
      const args = ["show", "sessions/secrets.jsonl", "--as", "messages"]
      const screen = (env: Readonly<Record<string, string>>) =>
        Effect.map(
          Effect.promise(() => PseudoTerminal.run(args, { cwd, columns: 100, env: { XDG_STATE_HOME: state, ...env } })),
          (run) => run.screen
        )
      const painted = yield* screen({})
      assert.include(painted, "\u001b[32mT1 \u001b[0m")
      assert.include(painted, "\u001b[36mc1 \u001b[0m")
      assert.include(painted, "\u001b[31m-  \u001b[0m")
      const visible = painted.replaceAll("\u001b", "^")
      assert.match(visible, /\^\[32m {2}~ The token is \^\[0m\^\[35m\[REDACTED:github-pat:\d+\]\^\[0m/)
      // Context has no colour.
      assert.match(visible, /\r\n {2}Push with \^\[35m\[REDACTED/)
      const plain = yield* screen({ NO_COLOR: "1" })
      assert.notInclude(plain, "\u001b[")
      assert.include(plain, "T1 ")
    })
  )
})
