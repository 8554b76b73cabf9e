/** The folder of a dataset has no folders of ended runs, and no paths of this machine. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { createHash } from "node:crypto"
import * as Files from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import * as process from "node:process"
import { FormatName } from "@pi-sessions/formats/FormatName"
import * as LargeSession from "@pi-sessions/testing/sessions/LargeSession"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { STATE, call } from "./support/callCli.ts"
import { fixtures } from "./support/storeFolder.ts"
import { MAIN } from "./support/program.ts"

const model = Path.join(fixtures, "models", "chatml-marked")

/** Sessions of fixtures in a folder of their own. */
const sessionsIn = (cwd: string): string => {
  const sessions = Path.join(cwd, "home", "sessions")
  Files.mkdirSync(sessions, { recursive: true })
  for (const name of ["branches.jsonl", "compacted.jsonl"]) {
    Files.copyFileSync(Path.join(fixtures, "sessions/project", name), Path.join(sessions, name))
  }
  return sessions
}

const runFolders = (out: string) => Files.readdirSync(out).filter((name) => name.startsWith(".run-"))

/** Every file under a folder, hidden ones too. */
const allFiles = (folder: string): ReadonlyArray<string> =>
  Files.readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => Path.join(entry.parentPath, entry.name))

/** Starts a fresh run, kills it with SIGKILL once it has a folder of its own, and waits for its end. */
const killedRun = (cwd: string, args: ReadonlyArray<string>, out: string) =>
  Effect.callback<void>((resume) => {
    const child = spawn(process.execPath, [MAIN, ...args, "--fresh"], {
      cwd,
      stdio: "ignore",
      env: { ...process.env, XDG_STATE_HOME: STATE, PI_SESSIONS_CWD: cwd }
    })
    const watch = setInterval(() => runFolders(out).length > 0 && child.kill("SIGKILL"), 1)
    child.on("close", () => {
      clearInterval(watch)
      resume(Effect.void)
    })
  })

const HOLD = `
  const { DatabaseSync } = require("node:sqlite")
  const database = new DatabaseSync(process.argv[1])
  database.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE")
  console.log("locked")
  process.stdin.resume()
`

/** A process that holds the lock of a run until the effect that it gives has killed it. */
const lockHolder = (lock: string) =>
  Effect.promise(async () => {
    const child = spawn(process.execPath, ["-e", HOLD, lock], { stdio: ["pipe", "pipe", "inherit"] })
    await new Promise((resolve) => child.stdout.once("data", resolve))
    return Effect.promise(() => {
      const closed = new Promise((resolve) => child.once("close", resolve))
      child.kill("SIGKILL")
      return closed
    })
  })

describe("the folder of a dataset", () => {
  it.live(
    "loses what a killed run left at the next run, whether that changes nothing, makes another dataset or a shard",
    Effect.fnUntraced(function* () {
      const cwd = yield* temporaryFolder
      yield* Effect.promise(() =>
        LargeSession.write(Path.join(sessionsIn(cwd), "large.jsonl"), { entries: 4000, seed: 1 })
      )
      const args = ["extract", "--sessions", "home/sessions", "--out", "data", "--workers", "1"]
      const out = Path.join(cwd, "data")
      assert.strictEqual((yield* call(args, cwd)).status, 0)
      for (const more of [[], ["--min-turns", "2"], ["--fresh"]]) {
        yield* killedRun(cwd, args, out)
        assert.strictEqual(runFolders(out).length, 1, "the run was killed in time")
        const next = yield* call([...args, ...more], cwd)
        assert.strictEqual(next.status, 0, next.stderr)
        if (more.length === 0) assert.include(next.stderr, "nothing changed")
        assert.deepStrictEqual(runFolders(out), [])
      }
      const shard = [...args.slice(0, 3), "--out", "shard", "--workers", "1"]
      assert.strictEqual((yield* call([...shard, "--plan", "plan.json"], cwd)).status, 0)
      const part = [...shard, "--plan", "plan.json", "--shard", "1/1"]
      assert.strictEqual((yield* call(part, cwd)).status, 0)
      yield* killedRun(cwd, part, Path.join(cwd, "shard"))
      assert.strictEqual(runFolders(Path.join(cwd, "shard")).length, 1, "the shard's run was killed in time")
      assert.strictEqual((yield* call(part, cwd)).status, 0)
      assert.deepStrictEqual(runFolders(Path.join(cwd, "shard")), [])
    }),
    600_000
  )

  it.live(
    "keeps the folders of live runs only, for any process id and machine",
    Effect.fnUntraced(function* () {
      const cwd = yield* temporaryFolder
      sessionsIn(cwd)
      const args = ["extract", "--sessions", "home/sessions", "--out", "data", "--workers", "1"]
      const out = Path.join(cwd, "data")
      assert.strictEqual((yield* call(args, cwd)).status, 0)
      const folder = (pid: number, machine: string, lock: boolean) => {
        const name = `.run-${pid}-${machine}-${globalThis.crypto.randomUUID()}`
        Files.mkdirSync(Path.join(out, name))
        if (lock) Files.writeFileSync(Path.join(out, name, "lock"), "")
        Files.writeFileSync(Path.join(out, name, "parts.jsonl"), "{}\n")
        return name
      }
      const here = createHash("sha256").update(Os.hostname()).digest("hex").slice(0, 12)
      const alive = process.ppid
      const ended = [folder(alive, here, true), folder(alive, "0123456789ab", true), folder(2 ** 22 + 1, here, false)]
      const old = folder(alive, "0123456789ab", false)
      Files.utimesSync(Path.join(out, old), new Date(0), new Date(0))
      const kept = [folder(alive, here, false), folder(alive, "0123456789ab", false)]
      const locked = folder(alive, "0123456789ab", true)
      const holder = yield* lockHolder(Path.join(out, locked, "lock"))
      for (const more of [[], ["--fresh"]]) {
        assert.strictEqual((yield* call([...args, ...more], cwd)).status, 0)
        assert.deepStrictEqual(runFolders(out).sort(), [...kept, locked].sort(), `left over: ${[...ended, old].join()}`)
      }
      yield* holder
      assert.strictEqual((yield* call(args, cwd)).status, 0)
      assert.deepStrictEqual(runFolders(out).sort(), kept.sort())
    }),
    600_000
  )

  for (const format of FormatName.literals) {
    it.live(
      `contains no path of this machine in format ${format}`,
      Effect.fnUntraced(function* () {
        const cwd = yield* temporaryFolder
        sessionsIn(cwd)
        const same = ["--sessions", "home/sessions", "--format", format]
        const own = format === "tokens" ? ["--tokenizer", model] : []
        const run = (...args: ReadonlyArray<string>) =>
          call([...args, ...same, ...own], cwd, false, { HOME: Path.join(cwd, "home") })
        const whole = yield* run("extract", "--out", "data", "--workers", "1")
        assert.strictEqual(whole.status, 0, whole.stderr)
        assert.strictEqual((yield* run("extract", "--out", "data", "--plan", "plan.json")).status, 0)
        const shard = yield* run("extract", "--out", "shard", "--plan", "plan.json", "--shard", "1/1")
        assert.strictEqual(shard.status, 0, shard.stderr)
        const merged = yield* run("merge", "--out", "merged", "--plan", "plan.json", "shard")
        assert.strictEqual(merged.status, 0, merged.stderr)
        for (const folder of ["data", "merged"]) {
          const files = allFiles(Path.join(cwd, folder))
          assert.isAbove(files.length, 3)
          for (const file of files) {
            const text = Files.readFileSync(file, "latin1")
            for (const place of [cwd, Os.homedir() + Path.sep, ".run-"]) assert.notInclude(text, place, file)
          }
        }
        // The shard is not shared; it names sessions, and no folder of a run.
        for (const file of allFiles(Path.join(cwd, "shard")))
          assert.notInclude(Files.readFileSync(file, "latin1"), ".run-", file)
      }),
      600_000
    )
  }
})
