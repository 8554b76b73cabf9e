/** Sessions with a line longer than any string: 540 MB, and 2.2 GB, of zero bytes in a hole of the file. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { call } from "./support/callCli.ts"

const HEADER = '{"type":"session","version":3,"id":"big","timestamp":"2026-01-05T10:00:00.000Z","cwd":"/"}\n'
const user = (id: string, parentId: string | null, text: string): string =>
  `${JSON.stringify({ type: "message", id, parentId, timestamp: "2026-01-05T10:00:00.000Z", message: { role: "user", content: text, timestamp: 1 } })}\n`

/** Writes a session with a line of zero bytes that ends at `to`, and gives its first byte. The zeros take no disk space. */
const withHole = (path: string, to: number): number => {
  const before = HEADER + user("a", null, "a needle before")
  const file = Fs.openSync(path, "w")
  Fs.writeSync(file, before)
  Fs.writeSync(file, `\n${user("b", "a", "a needle after")}`, to)
  Fs.closeSync(file)
  return before.length
}

describe("a line longer than any string", () => {
  it.live("is one finding, and all other lines and files are read", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const byte = withHole(Path.join(folder, "a-long.jsonl"), 540_000_000)
      Fs.writeFileSync(Path.join(folder, "b-good.jsonl"), HEADER.replace("big", "good") + user("a", null, "a needle"))

      const doctor = yield* call(["doctor", "."], folder)
      assert.strictEqual(doctor.status, 1)
      assert.include(doctor.stdout, `line 3, byte ${byte}: error: line-too-long: a line of ${540_000_000 - byte} bytes`)
      assert.include(doctor.stderr, "2 sessions examined: 1 error, 0 warnings, 0 notes")

      const fixed = yield* call(["doctor", "a-long.jsonl", "--fix"], folder)
      assert.strictEqual(fixed.status, 0)
      const copy = Fs.readFileSync(Path.join(folder, "a-long.repaired.jsonl"), "utf8").split("\n")
      assert.deepStrictEqual(copy.slice(1), [
        user("a", null, "a needle before").trim(),
        user("b", "a", "a needle after").trim(),
        ""
      ])
      Fs.rmSync(Path.join(folder, "a-long.repaired.jsonl"))

      const search = yield* call(["search", "needle", "--sessions", "."], folder)
      assert.strictEqual(search.status, 0)
      assert.strictEqual(search.stdout.match(/a needle/gu)?.length, 3)
      assert.match(
        search.stderr,
        new RegExp(`^warning: .*a-long.jsonl: the line at byte ${byte} was not searched`, "mu")
      )

      const show = yield* call(["show", "a-long.jsonl"], folder)
      assert.strictEqual(show.status, 0)
      assert.include(show.stdout, "a needle before")
      assert.include(show.stdout, "a needle after")

      const tree = yield* call(["tree", "a-long.jsonl"], folder)
      assert.strictEqual(tree.status, 0)
      assert.include(tree.stderr, "the file is damaged (1 finding)")
    }).pipe(Effect.scoped)
  )

  it.live("of more than 2 GB is skipped by a search", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const byte = withHole(Path.join(folder, "s.jsonl"), 2_200_000_000)
      const search = yield* call(["search", "needle", "--sessions", "."], folder)
      assert.strictEqual(search.status, 0)
      assert.strictEqual(search.stdout.match(/a needle/gu)?.length, 2)
      assert.include(search.stderr, `the line at byte ${byte} was not searched`)
    }).pipe(Effect.scoped)
  )
})
