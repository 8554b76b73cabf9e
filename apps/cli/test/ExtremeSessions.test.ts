/**
 * Every command on sessions of extreme shapes: each call ends with a clear result, and decodes each line a fixed number of
 * times, for any number of lines, children, calls and levels. PI_SESSIONS_EXTREME: repetitions in a shape.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { SessionEntry, SessionLine } from "@pi-sessions/core/SessionLine"
import * as Dose from "@pi-sessions/testing/Dose"
import * as ExtremeSession from "@pi-sessions/testing/sessions/ExtremeSession"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { call } from "./support/callCli.ts"

const n = Dose.of("PI_SESSIONS_EXTREME", { test: 100, campaign: 3000 })

const COMMANDS: ReadonlyArray<ReadonlyArray<string>> = [
  ["doctor", "s.jsonl", "--fix", "--json"],
  ["show", "s.jsonl", "--depth", "full", "--json"],
  ["tree", "s.jsonl", "--json"],
  ["list", "--sessions", "s.jsonl"],
  ["search", "o", "--sessions", "s.jsonl", "--scope", "all", "--limit", "5"],
  ["fork", "s.jsonl", "--out", "fork.jsonl"],
  ["stats", "--sessions", "s.jsonl", "--no-redact"],
  ["store", "migrate", "s.jsonl"],
  ...(Dose.isCampaign()
    ? [
        ["doctor", "s.jsonl"],
        ["show", "s.jsonl"],
        ["tree", "s.jsonl", "--all"],
        ["search", "go", "--sessions", "s.jsonl", "--model", "m", "-l"]
      ]
    : [])
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
