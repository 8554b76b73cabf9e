/** `show`, `tree` and `doctor` on sessions of 100,000 entries and 130 MB. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as ChildProcess from "node:child_process"
import * as Files from "node:fs"
import * as Path from "node:path"
import * as process from "node:process"
import * as Session from "@pi-sessions/core/Session"
import * as TerminalText from "@pi-sessions/report/TerminalText"
import * as LargeSession from "@pi-sessions/testing/sessions/LargeSession"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { call } from "./support/callCli.ts"
import { MAIN } from "./support/program.ts"

describe("a session of 100,000 entries", () => {
  /** Megabytes of heap: enough for the session's entries, too few for the printed result. */
  const HEAP = 160

  it.live(
    "is shown and drawn in a heap that cannot hold both the session and the result",
    () =>
      Effect.gen(function* () {
        const cwd = yield* temporaryFolder
        const { bytes, leafId } = yield* Effect.promise(() =>
          LargeSession.write(Path.join(cwd, "large.jsonl"), {
            entries: 100_000,
            seed: 3,
            meanBytes: 1300,
            compactEvery: 20_000
          })
        )
        const session = Session.read(Files.readFileSync(Path.join(cwd, "large.jsonl")))
        const run = (...args: ReadonlyArray<string>): ReadonlyArray<string> => {
          const out = Files.openSync(Path.join(cwd, "out"), "w")
          const { status, stderr } = ChildProcess.spawnSync(
            process.execPath,
            [`--max-old-space-size=${HEAP}`, MAIN, ...args],
            { cwd, stdio: ["ignore", out, "pipe"], encoding: "utf8" }
          )
          Files.closeSync(out)
          assert.strictEqual(status, 0, stderr)
          return Files.readFileSync(Path.join(cwd, "out"), "utf8").trimEnd().split("\n")
        }
        const shown = run("show", "large.jsonl", "--ndjson", "--depth", "full")
        assert.strictEqual(shown.length, session.tree.getBranch().length + 1)
        assert.include(shown.at(-1), leafId)
        const size = Files.statSync(Path.join(cwd, "out")).size
        assert.isAbove(size, 100e6)
        assert.lengthOf(JSON.parse(run("tree", "large.jsonl", "--json").join("")).entries, 100_000)
        const drawn = run("tree", "large.jsonl", "--width", "100")
        assert.include(drawn.at(-1), `${leafId} assistant`)
        for (const line of drawn) assert.isAtMost(TerminalText.width(line), 100)
        process.stdout.write(`show: ${size} bytes of ${bytes}, in a heap of ${HEAP} MB\n`)
      }),
    600_000
  )
})

describe("pi-sessions doctor", () => {
  it.live(
    "examines and repairs a session of 130 MB",
    () =>
      Effect.gen(function* () {
        const cwd = yield* temporaryFolder
        const file = Path.join(cwd, "s.jsonl")
        yield* Effect.promise(() =>
          LargeSession.write(file, { entries: 100_000, seed: 7, meanBytes: 1300, compactEvery: 5000 })
        )
        Files.appendFileSync(file, '{"type":"message","id":"torn')
        const size = Files.statSync(file).size
        const started = performance.now()
        const run = yield* call(["doctor", "s.jsonl", "--fix", "--json"], cwd)
        const took = performance.now() - started
        const [session] = JSON.parse(run.stdout).sessions
        assert.strictEqual(run.status, 0, run.stderr)
        assert.deepStrictEqual(
          session.findings.map(({ code }: { code: string }) => code).filter((code: string) => code !== "cwd-gone"),
          ["torn-line"]
        )
        const [header = ""] = Files.readFileSync(session.repaired.path).subarray(0, 4096).toString().split("\n")
        const [original = ""] = Files.readFileSync(file).subarray(0, 4096).toString().split("\n")
        const grown = Buffer.byteLength(header) - Buffer.byteLength(original)
        assert.strictEqual(
          Files.statSync(session.repaired.path).size,
          size - '{"type":"message","id":"torn'.length + grown
        )
        process.stdout.write(`Doctor: ${size} bytes examined and repaired in ${Math.round(took)} ms\n`)
      }),
    600_000
  )
})
