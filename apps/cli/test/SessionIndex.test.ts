/** `pi-sessions index`: output and exit statuses. */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as PiHome from "@pi-sessions/testing/sessions/PiHome"
import { memoryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { call } from "./support/callCli.ts"

const bench = Effect.gen(function* () {
  const pi = PiHome.make(yield* memoryFolder)
  const index = (...args: ReadonlyArray<string>) => call(["index", ...args], pi.home, false, pi.usual.variables)
  const file = Path.join(pi.sessionsRoot, "session-index.sqlite")
  const below = (root: string) =>
    pi.usual.sessions.filter(({ format, path }) => format === "jsonl" && path.startsWith(root)).length
  return { pi, index, file, sessions: below(pi.sessionsRoot) }
})

describe("index", () => {
  it.live("makes an index for each place of sessions, and prints how many rows are current", () =>
    Effect.gen(function* () {
      const { file, index, pi, sessions } = yield* bench
      const settingsDir = Path.join(pi.home, "from settings")
      assert.strictEqual(
        (yield* index("status")).stdout,
        [
          "sessions  current  stale  missing  gone  other rows  directory",
          `       1        0      0        1     0           0  ${settingsDir}`,
          `      ${sessions}        0      0       ${sessions}     0           0  ${pi.sessionsRoot}`,
          ""
        ].join("\n")
      )
      const refreshed = yield* index("refresh")
      assert.strictEqual(refreshed.status, 0, refreshed.stderr)
      assert.strictEqual(
        refreshed.stdout,
        [
          "sessions  written  removed  directory",
          `       1        1        0  ${settingsDir}`,
          `      ${sessions}       ${sessions}        0  ${pi.sessionsRoot}`,
          ""
        ].join("\n")
      )
      const { indexes } = JSON.parse((yield* index("status", "--json")).stdout)
      assert.deepStrictEqual(indexes[1], {
        root: pi.sessionsRoot,
        file,
        sessions,
        current: sessions,
        stale: 0,
        missing: 0,
        gone: 0,
        others: 0
      })
    }).pipe(Effect.scoped)
  )

  it.live("warns of a damaged index, works without it, and makes a new one", () =>
    Effect.gen(function* () {
      const { file, index, pi, sessions } = yield* bench
      Fs.writeFileSync(file, "no database, but long enough to be looked at as one".repeat(100))
      const status = yield* index("status")
      assert.strictEqual(status.status, 0)
      assert.include(status.stderr, "index refresh makes a new one")
      const listed = yield* call(["list"], pi.home, false, pi.usual.variables)
      assert.strictEqual(listed.status, 0, listed.stderr)
      const refreshed = yield* index("refresh")
      assert.strictEqual(refreshed.status, 0, refreshed.stderr)
      assert.include(refreshed.stderr, `${file} was damaged; it is ${file}.damaged-1 now`)
      assert.include(refreshed.stdout, `      ${sessions}       ${sessions}        0  `)
    }).pipe(Effect.scoped)
  )

  it.live("fails if the index cannot be written, and exits 2 if there is nothing to index", () =>
    Effect.gen(function* () {
      const { file, index, pi } = yield* bench
      Fs.mkdirSync(file)
      const refreshed = yield* index("refresh")
      assert.strictEqual(refreshed.status, 1)
      assert.include(refreshed.stderr, file)
      assert.strictEqual((yield* index("refresh", "--sessions", "gone")).status, 2)
      assert.strictEqual((yield* index("status", "--sessions", "")).status, 2)
      const nowhere = yield* call(["index", "status"], pi.home, false, { HOME: Path.join(pi.home, "flat") })
      assert.strictEqual(nowhere.status, 2)
      assert.include(nowhere.stderr, "there is no directory of sessions")
    }).pipe(Effect.scoped)
  )
})
