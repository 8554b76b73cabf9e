/**
 * Every command on sessions of extreme shapes: each call ends with a clear result, and decodes each line a fixed number of
 * times, however many lines, children, calls or levels there are. PI_SESSIONS_EXTREME: how often a shape repeats what it is
 * made of (default 300).
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { SessionEntry, SessionLine } from "@pi-sessions/core/SessionLine"
import * as ExtremeSession from "@pi-sessions/testing/ExtremeSession"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { call } from "./support/callCli.ts"

const n = Number(process.env["PI_SESSIONS_EXTREME"] ?? 300)
process.stdout.write(`ExtremeSessions: each shape repeats ${n} times; PI_SESSIONS_EXTREME changes it\n`)

const COMMANDS: ReadonlyArray<ReadonlyArray<string>> = [
  ["doctor", "s.jsonl"],
  ["doctor", "s.jsonl", "--fix", "--json"],
  ["show", "s.jsonl"],
  ["show", "s.jsonl", "--depth", "full", "--json"],
  ["tree", "s.jsonl", "--all"],
  ["tree", "s.jsonl", "--json"],
  ["list", "--sessions", "s.jsonl"],
  ["search", "o", "--sessions", "s.jsonl", "--scope", "all", "--limit", "5"],
  ["search", "go", "--sessions", "s.jsonl", "--model", "m", "-l"],
  ["fork", "s.jsonl", "--out", "fork.jsonl"],
  ["stats", "--sessions", "s.jsonl", "--no-redact"],
  ["store", "migrate", "s.jsonl"]
]

/** How often a command may decode the whole file. */
const PASSES = 12

/** Counts the bytes of lines that are decoded. */
const counting = <A, E, R>(work: Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      const { decode } = SessionEntry.prototype
      const text = Object.getOwnPropertyDescriptor(SessionLine.prototype, "text")!
      const counted = { bytes: 0 }
      SessionEntry.prototype.decode = function (this: SessionEntry) {
        counted.bytes += this.end - this.start
        return decode.call(this)
      }
      Object.defineProperty(SessionLine.prototype, "text", {
        ...text,
        get(this: SessionLine): unknown {
          counted.bytes += this.end - this.start
          return text.get?.call(this)
        }
      })
      return { counted, decode, text }
    }),
    ({ counted }) => Effect.map(work, (result) => ({ result, bytes: counted.bytes })),
    ({ decode, text }) =>
      Effect.sync(() => {
        SessionEntry.prototype.decode = decode
        Object.defineProperty(SessionLine.prototype, "text", text)
      })
  )

describe("extreme sessions", () => {
  for (const shape of ExtremeSession.shapes) {
    it.live(shape.name, () =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        for (const command of COMMANDS) {
          const directory = Fs.mkdtempSync(Path.join(folder, "call-"))
          const bytes = ExtremeSession.write(Path.join(directory, "s.jsonl"), shape, n)
          const { bytes: decoded, result } = yield* counting(call(command, directory))
          const what = `${command.join(" ")}: ${result.stderr.slice(0, 300)}`
          assert.notInclude(result.stderr, "should not have happened", what)
          assert.notInclude(result.stderr, "too large for this command", what)
          assert.include([0, 1, 2], result.status, what)
          // `text` is counted once more in `decode`.
          assert.isAtMost(decoded, 2 * PASSES * bytes + 10_000, what)
        }
      }).pipe(Effect.scoped)
    )
  }
})

const HEADER = '{"type":"session","version":3,"id":"big","timestamp":"2026-01-05T10:00:00.000Z","cwd":"/"}\n'
const user = (id: string, parentId: string | null, text: string): string =>
  `${JSON.stringify({ type: "message", id, parentId, timestamp: "2026-01-05T10:00:00.000Z", message: { role: "user", content: text, timestamp: 1 } })}\n`

/** A session with a line of zero bytes that ends at `to`; the file has a hole there, and takes no room on the disk. */
const withHole = (path: string, to: number): number => {
  const before = HEADER + user("a", null, "a needle before")
  const file = Fs.openSync(path, "w")
  Fs.writeSync(file, before)
  Fs.writeSync(file, `\n${user("b", "a", "a needle after")}`, to)
  Fs.closeSync(file)
  return before.length
}

describe("a line longer than any string", () => {
  it.live("is one line of a report, and the rest of the run goes on", () =>
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

  const isHuge = process.env["PI_SESSIONS_HUGE"] !== undefined
  if (!isHuge) process.stdout.write("PI_SESSIONS_HUGE is not set: no line of 2.2 GB is searched\n")
  it.live.skipIf(!isHuge)("of more than 2 GB is passed over by a search", () =>
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
