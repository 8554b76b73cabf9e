/** External scanners, replaced by scripts on the PATH. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as process from "node:process"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { type ExternalScanner, scanExternally } from "../src/publish/ExternalScan.ts"

const SECRET = "what-the-scanner-found"

/** Runs with a PATH that holds one program, which is a script for Node. */
const withScanner = Effect.fnUntraced(
  function* (name: ExternalScanner, script: string | undefined) {
    const root = yield* temporaryFolder
    const bin = Path.join(root, "bin")
    const dataset = Path.join(root, "dataset")
    Fs.mkdirSync(bin)
    Fs.mkdirSync(dataset)
    Fs.writeFileSync(Path.join(dataset, "train.jsonl"), `{"text":"${SECRET}"}\n`)
    if (script !== undefined) {
      const body = `const args = process.argv.slice(2)\nconst fs = require("node:fs")\n${script}`
      Fs.writeFileSync(Path.join(bin, name), `#!${process.execPath}\n${body}\n`, { mode: 0o755 })
    }
    const before = process.env["PATH"]
    yield* Effect.acquireRelease(
      Effect.sync(() => {
        process.env["PATH"] = bin
      }),
      () =>
        Effect.sync(() => {
          process.env["PATH"] = before
        })
    )
    const result = yield* Effect.result(scanExternally(name, dataset))
    return { dataset, result }
  },
  Effect.scoped,
  Effect.provide(NodeServices.layer)
)

const TRUFFLEHOG_FINDING = `console.log(JSON.stringify({
  DetectorName: "Github", Raw: "${SECRET}", Redacted: "",
  SourceMetadata: { Data: { Filesystem: { file: args[1] + "/train.jsonl", line: 1 } } }
}))`
const gitleaks = (report: string, status: number): string =>
  `fs.writeFileSync(args[args.indexOf("--report-path") + 1], ${JSON.stringify(report)}); process.exitCode = ${status}`
const GITLEAKS_REPORT = JSON.stringify([
  { RuleID: "github-pat", File: "train.jsonl", StartLine: 1, Secret: SECRET },
  { RuleID: "github-pat", File: "train.jsonl", StartLine: 2, Secret: SECRET }
])

describe("a dataset", () => {
  const clean: ReadonlyArray<readonly [ExternalScanner, string]> = [
    ["trufflehog", `console.error(JSON.stringify({ level: "info-0", msg: "finished scanning" }))`],
    ["gitleaks", gitleaks("[]", 0)]
  ]
  it.live.each(clean)("passes when %s finds nothing", ([name, script]) =>
    Effect.gen(function* () {
      const { result } = yield* withScanner(name, script)
      assert.isTrue(Result.isSuccess(result), String(Result.isFailure(result) ? result.failure : ""))
    })
  )

  const found: ReadonlyArray<readonly [ExternalScanner, string, { readonly [rule: string]: number }]> = [
    ["trufflehog", `${TRUFFLEHOG_FINDING}\nprocess.exitCode = 183`, { Github: 1 }],
    // An old one that does not know --fail.
    ["trufflehog", TRUFFLEHOG_FINDING, { Github: 1 }],
    ["gitleaks", gitleaks(GITLEAKS_REPORT, 99), { "github-pat": 2 }]
  ]
  it.live.each(found)("fails when %s finds something; the error does not show the secret", ([name, script, counts]) =>
    Effect.gen(function* () {
      const { dataset, result } = yield* withScanner(name, script)
      const failure = Result.isFailure(result) ? result.failure : undefined
      assert.strictEqual(failure?._tag, "SecretsLeft")
      if (failure?._tag !== "SecretsLeft") return
      assert.deepStrictEqual(failure.counts, counts)
      assert.include(failure.places[0], { file: "train.jsonl", line: 1 })
      assert.strictEqual(failure.directory, dataset)
      assert.notInclude(`${failure.message}${JSON.stringify(failure)}`, SECRET)
    })
  )

  const failed: ReadonlyArray<readonly [what: string, ExternalScanner, string]> = [
    ["crashes", "trufflehog", `console.error("${SECRET}"); process.exitCode = 1`],
    ["could not read a file", "trufflehog", `console.error(JSON.stringify({ level: "error", msg: "${SECRET}" }))`],
    ["prints what nobody understands", "trufflehog", `console.log("${SECRET}")`],
    ["finds something and says nothing", "trufflehog", "process.exitCode = 183"],
    ["is killed", "trufflehog", `process.kill(process.pid, "SIGKILL")`],
    ["crashes", "gitleaks", `console.error("${SECRET}"); process.exitCode = 1`],
    ["writes no report", "gitleaks", ""],
    ["writes another report", "gitleaks", gitleaks(`{"a":"${SECRET}"}`, 0)],
    ["writes half a report", "gitleaks", gitleaks(GITLEAKS_REPORT.slice(0, -9), 99)],
    ["finds something and says nothing", "gitleaks", gitleaks("[]", 99)]
  ]
  it.live.each(failed)("fails where the scanner %s (%s)", ([_what, name, script]) =>
    Effect.gen(function* () {
      const { result } = yield* withScanner(name, script)
      const failure = Result.isFailure(result) ? result.failure : undefined
      assert.strictEqual(failure?._tag, "ScannerFailed", String(failure))
      assert.notInclude(`${failure?.message}${JSON.stringify(failure)}`, SECRET)
    })
  )

  it.live.each(["trufflehog", "gitleaks"] as const)("fails when %s is not on the PATH", (name) =>
    Effect.gen(function* () {
      const { result } = yield* withScanner(name, undefined)
      assert.strictEqual(Result.isFailure(result) ? result.failure._tag : "", "ScannerMissing")
    })
  )

  const wanted: ReadonlyArray<readonly [ExternalScanner, string, string]> = [
    ["trufflehog", "--no-verification", ""],
    ["gitleaks", "--ignore-gitleaks-allow", gitleaks("[]", 0)]
  ]
  it.live.each(wanted)("is scanned by %s with %s: no network, no exceptions", ([name, flag, script]) =>
    Effect.gen(function* () {
      const { result } = yield* withScanner(name, `if (!args.includes("${flag}")) process.exit(1)\n${script}`)
      assert.isTrue(Result.isSuccess(result))
    })
  )
})
