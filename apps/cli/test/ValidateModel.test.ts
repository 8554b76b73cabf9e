/** `validate --model` and `extract --tokenizer`, with the models of the fixtures. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { call } from "./support/callCli.ts"
import { missing, run } from "./support/pseudoTerminal.ts"

const fixtures = Path.resolve(import.meta.dirname, "../../../fixtures")
const session = Path.join(fixtures, "sessions/project/compacted.jsonl")
const model = (name: string) => Path.join(fixtures, "models", name)

const extract = (cwd: string, ...more: ReadonlyArray<string>) =>
  call(["extract", "--sessions", session, "--out", Path.join(cwd, "out"), "--no-redact", ...more], cwd)

const validate = (cwd: string, ...more: ReadonlyArray<string>) =>
  Effect.map(call(["validate", "out", ...more], cwd), ({ stderr, stdout, ...rest }) => {
    const harmless = (text: string) => text.replaceAll(cwd, "CWD")
    return { ...rest, stdout: harmless(stdout), stderr: harmless(stderr) }
  })

const OF_CONTEXT = `The conversation history before this point was compacted into the following summary:

<summary>
The changelog lists one release, 1.0.
</summary><|im_end|>
<|im_start|>user
And the licence?<|im_end|>
<|im_start|>assistant
MIT.<|im_end|>
<|im_start|>user
Who wrote it?<|im_end|>
<|im_start|>assistant
`

describe("pi-sessions validate --model", () => {
  it.live("prints found answers, exact lengths, and a sample with its mask in brackets", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      yield* extract(cwd, "--branches", "all")
      const { status, stderr, stdout } = yield* validate(cwd, "--model", model("drops-thinking"), "--show", "1")
      assert.deepStrictEqual([status, stderr], [0, ""])
      assert.strictEqual(
        stdout,
        `format    lines  broken  file
messages      1       0  CWD/out/train-continued.jsonl
messages      1       0  CWD/out/train.jsonl

model           samples  answers  found again
drops-thinking        2        4            4

tokens  learnt  min  median  p90  max  over 40960
   688      72  135     135  553  553           0

sample 1: CWD/out/train-continued.jsonl:1, 135 tokens, 24 learnt
<|im_start|>user
${OF_CONTEXT}⟦<think>
No author line.
</think>

The file does not say.<|im_end|>⟧

`
      )
    })
  )

  it.live("fails if an answer cannot be learnt, and says what to do", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      yield* call(["extract", "--sessions", Path.join(fixtures, "sessions"), "--out", Path.join(cwd, "out")], cwd)
      const { status, stderr, stdout } = yield* validate(cwd, "--model", model("drops-thinking"), "--max-tokens", "500")
      assert.strictEqual(status, 1)
      assert.match(stdout, /found again {2}lost reasoning\ndrops-thinking +11 +21 +19 +2\n/u)
      assert.match(stdout, /p90 {2}max {2}over 500\n.* [1-9]\d*\n$/u)
      assert.match(
        stderr,
        /^CWD\/out\/train\.jsonl:\d: the template leaves out thinking of an earlier answer \(extract with --reasoning last-query\)$/mu
      )
      assert.match(stderr, /\nerror: 2 answers that this model cannot learn so\n/u)
      const json = yield* validate(cwd, "--model", model("drops-thinking"), "--json")
      const { model: report, reports } = JSON.parse(json.stdout)
      assert.deepStrictEqual([reports.length, report.found, report.missing], [1, 19, { lost_reasoning: 2 }])
    })
  )

  it.live("refuses invalid calls", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      yield* extract(cwd, "--format", "sharegpt")
      for (const [args, issue] of [
        [["--show", "1"], "--show needs --model DIR"],
        [["--max-tokens", "1"], "--max-tokens needs --model DIR"],
        [["--model", "nowhere"], "--model: CWD/nowhere: tokenizer.json cannot be read: no such file or directory"],
        [["--model", model("one-call"), "--show", "0"], "--show must be 1 or more"],
        [["--model", model("one-call")], "--model: lines of sharegpt have no chat messages for a template"]
      ] as const) {
        const { status, stderr, stdout } = yield* validate(cwd, ...args)
        assert.deepStrictEqual([status, stdout], [2, ""], issue)
        assert.include(stderr, `error: ${issue}\n`)
      }
    })
  )

  it.live.skipIf(missing !== undefined)("colours learnt text at a terminal, and escapes control characters", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const lines = [
        { role: "user", content: "\u001b[2Jgo" },
        { role: "assistant", content: "one\n\u009btwo" }
      ]
      Fs.writeFileSync(Path.join(cwd, "a.jsonl"), `${JSON.stringify({ messages: lines, weight: 1 })}\n`)
      const messages = lines.map((line) => (line.role === "assistant" ? { ...line, weight: 1 } : line))
      Fs.writeFileSync(Path.join(cwd, "a.jsonl"), `${JSON.stringify({ messages })}\n`)
      const args = ["validate", "a.jsonl", "--format", "openai", "--model", model("chatml-marked"), "--show", "1"]
      const { screen } = yield* Effect.promise(() => run(args, { cwd }))
      assert.include(screen, "\u001b[2m␛[2Jgo<|im_end|>\u001b[0m")
      assert.include(screen, "\u001b[32mone\u001b[0m\r\n\u001b[32m<U+009B>two<|im_end|>\u001b[0m")
      const plain = yield* Effect.promise(() => run(args, { cwd, env: { NO_COLOR: "1" } }))
      assert.notInclude(plain.screen, "\u001b")
      assert.include(plain.screen, "⟦one\r\n<U+009B>two<|im_end|>⟧")
    })
  )
})

describe("pi-sessions extract --tokenizer", () => {
  it.live("writes tokens of this model", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const without = yield* extract(cwd, "--format", "tokens")
      assert.deepStrictEqual([without.status, without.stdout], [2, ""])
      assert.include(without.stderr, "--format tokens needs --tokenizer DIR")
      const made = yield* extract(cwd, "--format", "tokens", "--tokenizer", model("one-call"))
      assert.strictEqual(made.status, 0, made.stderr)
      const mine = yield* validate(cwd, "--model", model("one-call"), "--show", "2")
      assert.strictEqual(mine.status, 0, mine.stderr)
      assert.include(mine.stdout, "⟦The file does not say.<|turn|>⟧")
      const others = yield* validate(cwd, "--model", model("drops-thinking"))
      assert.strictEqual(others.status, 1)
      assert.include(others.stderr, "the tokens are of another tokenizer")
      // The dataset names no directory of this machine.
      for (const name of Fs.readdirSync(Path.join(cwd, "out"))) {
        assert.notInclude(Fs.readFileSync(Path.join(cwd, "out", name), "utf8"), fixtures + "/models", name)
      }
    })
  )

  it.live("limits samples by tokens of this model", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const budget = ["--max-tokens", "400", "--overflow", "window"]
      yield* extract(cwd, ...budget)
      const guessed = yield* validate(cwd, "--model", model("one-call"), "--max-tokens", "400", "--json")
      yield* extract(cwd, ...budget, "--tokenizer", model("one-call"))
      const exact = yield* validate(cwd, "--model", model("one-call"), "--max-tokens", "400", "--json")
      assert.isAbove(JSON.parse(guessed.stdout).model.over_budget, 0)
      assert.strictEqual(JSON.parse(exact.stdout).model.over_budget, 0)
    })
  )
})
