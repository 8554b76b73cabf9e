/** A call that is interrupted while it computes ends with exit status 130. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import * as Files from "node:fs"
import * as Path from "node:path"
import * as process from "node:process"
import * as LargeSession from "@pi-sessions/testing/sessions/LargeSession"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { MAIN } from "./support/program.ts"

/** Whether a process has read a file: it has read as many bytes, and the file is not open. */
const hasRead = (pid: number | undefined, file: string, size: number): boolean => {
  try {
    const bytes = Number(/^rchar: (\d+)$/mu.exec(Files.readFileSync(`/proc/${pid}/io`, "utf8"))?.[1])
    if (bytes < size) return false
    return !Files.readdirSync(`/proc/${pid}/fd`).some((fd) => linkOf(`/proc/${pid}/fd/${fd}`) === file)
  } catch {
    // The process has not begun, or has ended.
    return false
  }
}

const linkOf = (path: string): string => {
  try {
    return Files.readlinkSync(path)
  } catch {
    return ""
  }
}

/** Runs a call that gets SIGINT when it has read the session, so that only computing is left. */
const interrupted = (cwd: string, file: string, ...args: ReadonlyArray<string>) =>
  Effect.callback<{ readonly code: number | null; readonly out: string }>((resume) => {
    const size = Files.statSync(file).size
    const child = spawn(process.execPath, [MAIN, ...args], { cwd, stdio: ["ignore", "pipe", "inherit"] })
    let out = ""
    child.stdout.on("data", (data) => (out += String(data)))
    const watch = setInterval(() => {
      if (!hasRead(child.pid, file, size)) return
      child.kill("SIGINT")
      clearInterval(watch)
    }, 1)
    child.on("close", (code) => {
      clearInterval(watch)
      resume(Effect.succeed({ code, out }))
    })
  })

const reason = process.platform === "linux" ? "" : " (skipped: /proc shows what a process has read)"

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
