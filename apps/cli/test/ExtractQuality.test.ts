/** `extract` over transcripts of Claude Code, with a choice by quality. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { call } from "./support/callCli.ts"

const transcripts = Path.resolve(import.meta.dirname, "../../../fixtures/claude-code")

const extract = (cwd: string, ...args: ReadonlyArray<string>) =>
  call(["extract", "--sessions", transcripts, "--out", "d", ...args], cwd)

describe("pi-sessions extract, by quality", () => {
  it.live("takes transcripts of Claude Code, and records the quality of each sample", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const { status, stderr, stdout } = yield* extract(cwd)
      assert.strictEqual(status, 0, stderr)
      assert.match(stdout, /\ngastown\/crew\/max +1 +1 +1 +0 /)
      const lines = Fs.readFileSync(Path.join(cwd, "d/train.jsonl"), "utf8").trimEnd().split("\n")
      const samples = lines.map((line) => JSON.parse(line).metadata)
      assert.deepStrictEqual([...new Set(samples.map(({ harness }) => harness))], ["claude-code"])
      assert.deepStrictEqual([...new Set(samples.map(({ context }) => context))], ["reduced"])
      assert.includeDeepMembers(
        samples.map(({ quality }) => quality),
        [["bead_closed"], ["committed", "corrected", "tests_passed"], []]
      )
    })
  )

  it.live("leaves out samples by --refuse and --require, and says why", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const refused = yield* extract(cwd, "--refuse", "corrected", "--require", "bead_closed")
      assert.strictEqual(refused.status, 0, refused.stderr)
      assert.include(refused.stdout, "sessions: 3 found, 1 kept\n")
      assert.match(refused.stdout, /\n +1 +of which corrected holds \(--refuse\)\n/)
      assert.match(refused.stdout, /\n +1 +of which bead_closed does not hold \(--require\)\n/)
    })
  )

  it.live("exits 2 for choices that leave nothing or are invalid", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const both = yield* extract(cwd, "--refuse", "aborted", "--require", "aborted")
      assert.deepStrictEqual([both.status, both.stdout], [2, ""])
      assert.include(both.stderr, "--refuse aborted and --require aborted: nothing is left")
      assert.strictEqual((yield* extract(cwd, "--max-error-rate", "2")).status, 2)
      assert.strictEqual((yield* extract(cwd, "--refuse", "nonsense")).status, 2)
      assert.isFalse(Fs.existsSync(Path.join(cwd, "d")))
    })
  )
})
