/** A call that is interrupted while it computes says so by its exit code. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import * as Files from "node:fs"
import * as Path from "node:path"
import * as process from "node:process"
import * as LargeSession from "@pi-sessions/testing/LargeSession"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"

const main = Path.resolve(import.meta.dirname, "../src/main.ts")

/** Runs a call that gets a signal as soon as it reads the session. */
const interrupted = (cwd: string, file: string, ...args: ReadonlyArray<string>) =>
  Effect.callback<{ readonly code: number | null; readonly out: string }>((resume) => {
    const child = spawn(process.execPath, [main, ...args], { cwd, stdio: ["ignore", "pipe", "inherit"] })
    let out = ""
    child.stdout.on("data", (data) => (out += String(data)))
    let isRead = false
    const watch = setInterval(() => {
      const open = Files.readdirSync(`/proc/${child.pid}/fd`).some((fd) => {
        try {
          return Files.readlinkSync(`/proc/${child.pid}/fd/${fd}`) === file
        } catch {
          return false
        }
      })
      // It is read when it was open and is not any more: from then on there is nothing but computing.
      if (isRead && !open) {
        child.kill("SIGINT")
        clearInterval(watch)
      }
      isRead ||= open
    }, 1)
    child.on("close", (code) => {
      clearInterval(watch)
      resume(Effect.succeed({ code, out }))
    })
  })

const reason = process.platform === "linux" ? "" : " (skipped: /proc tells when a file was read)"

describe.skipIf(process.platform !== "linux")(`an interruption${reason}`, () => {
  for (const args of [
    ["tree", "large.jsonl"],
    ["tree", "large.jsonl", "--json"],
    ["show", "large.jsonl", "--json"],
    ["show", "large.jsonl", "--depth", "full"],
    ["fork", "large.jsonl", "--out", "fork.jsonl"],
    ["doctor", "large.jsonl"]
  ]) {
    it.live(
      `ends ${args.join(" ")} with 130`,
      () =>
        Effect.gen(function* () {
          const cwd = yield* temporaryFolder
          const file = Path.join(cwd, "large.jsonl")
          yield* Effect.promise(() => LargeSession.write(file, { entries: 40_000, seed: 1 }))
          const { code, out } = yield* interrupted(cwd, file, ...args)
          assert.strictEqual(code, 130)
          assert.strictEqual(out, "")
          assert.isFalse(Files.existsSync(Path.join(cwd, "fork.jsonl")))
        }),
      600_000
    )
  }
})
