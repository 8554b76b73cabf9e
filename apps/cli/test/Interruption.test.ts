/** A call that is interrupted while it computes ends with exit status 130. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import * as Files from "node:fs"
import * as Path from "node:path"
import * as process from "node:process"
import * as LargeSession from "@pi-sessions/testing/LargeSession"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { MAIN } from "./support/program.ts"

/** Runs a call that gets SIGINT as soon as it has read the session. */
const interrupted = (cwd: string, file: string, ...args: ReadonlyArray<string>) =>
  Effect.callback<{ readonly code: number | null; readonly out: string }>((resume) => {
    const child = spawn(process.execPath, [MAIN, ...args], { cwd, stdio: ["ignore", "pipe", "inherit"] })
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
      // After the file was closed, the call only computes.
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

const reason = process.platform === "linux" ? "" : " (skipped: /proc shows when a file was read)"

describe.skipIf(process.platform !== "linux")(`an interruption${reason}`, () => {
  it.live("ends every command that computes for long with 130, and prints and writes nothing", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const file = Path.join(cwd, "large.jsonl")
      yield* Effect.promise(() => LargeSession.write(file, { entries: 20_000, seed: 1 }))
      for (const args of [
        ["tree", "large.jsonl"],
        ["tree", "large.jsonl", "--json"],
        ["show", "large.jsonl", "--json"],
        ["show", "large.jsonl", "--depth", "full"],
        ["fork", "large.jsonl", "--out", "fork.jsonl"],
        ["doctor", "large.jsonl"]
      ]) {
        const { code, out } = yield* interrupted(cwd, file, ...args)
        assert.deepStrictEqual([code, out], [130, ""], args.join(" "))
        assert.isFalse(Files.existsSync(Path.join(cwd, "fork.jsonl")))
      }
    })
  )
})
