/** Numbers that are too small are refused before anything is read or written. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { call } from "./support/callCli.ts"

const sessions = Path.resolve(import.meta.dirname, "../../../fixtures/sessions")

const refused: ReadonlyArray<readonly [flag: string, value: string, least: string, command: ReadonlyArray<string>]> = [
  ["--limit", "0", "1", ["extract"]],
  ["--max-file-mb", "0", "1", ["extract"]],
  ["--workers", "0", "1", ["extract"]],
  ["--workers", "-2", "1", ["extract"]],
  ["--min-turns", "-1", "0", ["extract"]],
  ["--max-tokens", "0", "1", ["extract"]],
  ["--limit", "-3", "1", ["merge", "shard", "--plan", "plan.json"]],
  ["--max-tokens", "0", "1", ["stats"]],
  ["--max-tokens", "0", "1", ["show", Path.join(sessions, "project/branches.jsonl"), "--as", "messages"]],
  ["--max-tokens", "0", "1", ["validate", "d", "--model", "m"]]
]

describe("a number that is too small", () => {
  it.live.each(refused)("%s %s is refused: %s or more, in %o", ([flag, value, least, command]) =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const named = ["extract", "merge", "stats"].includes(command[0] ?? "") ? ["--sessions", sessions] : []
      const { status, stderr, stdout } = yield* call([...command, ...named, `${flag}=${value}`], cwd)
      assert.deepStrictEqual([status, stdout], [2, ""], stderr)
      assert.strictEqual(stderr, `error: ${flag} must be ${least} or more\n`)
      assert.deepStrictEqual(Fs.readdirSync(cwd), [])
    })
  )
})
