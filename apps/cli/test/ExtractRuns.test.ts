/** `extract` as processes: threads, independent shards, interrupted and killed runs. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as ChildProcess from "node:child_process"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as process from "node:process"
import * as Dose from "@pi-sessions/testing/Dose"
import * as LargeSession from "@pi-sessions/testing/sessions/LargeSession"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { MAIN } from "./support/program.ts"

const SESSIONS = 9
const KILLS = Dose.of("PI_SESSIONS_KILLS", { test: 2, campaign: 20 })

/** Sessions of about 150 kB, every third one a fork of the one before it. */
const workbench = Effect.gen(function* () {
  const root = yield* temporaryFolder
  const folder = Path.join(root, "sessions")
  Fs.mkdirSync(folder)
  let parent = ""
  for (let n = 0; n < SESSIONS; n++) {
    const file = Path.join(folder, `${n}.jsonl`)
    yield* Effect.promise(() => LargeSession.write(file, { entries: 30, seed: n + 1, meanBytes: 5000 }))
    const text = Fs.readFileSync(file, "utf8")
    const end = text.indexOf("\n")
    const timestamp = new Date(Date.UTC(2026, 0, 1) + n * 60_000).toISOString()
    const isFork = n % 3 === 2
    const header = { ...JSON.parse(text.slice(0, end)), id: `s-${n}`, timestamp }
    const lines = isFork ? Fs.readFileSync(parent, "utf8").split("\n").slice(1, 20) : text.split("\n").slice(1, -1)
    const withParent = isFork ? { ...header, parentSession: parent } : header
    Fs.writeFileSync(file, [JSON.stringify(withParent), ...lines, ""].join("\n"))
    parent = file
  }
  const start = (args: ReadonlyArray<string>) =>
    ChildProcess.spawn(process.execPath, [MAIN, ...args, "--sessions", folder], {
      env: { ...process.env, XDG_STATE_HOME: Path.join(root, "state") },
      stdio: ["ignore", "ignore", "pipe"]
    })
  const call = (...args: ReadonlyArray<string>) =>
    Effect.promise(
      () =>
        new Promise<{ readonly status: number | null; readonly stderr: string }>((resolve) => {
          const child = start(args)
          let stderr = ""
          child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()))
          child.on("close", (status) => resolve({ status, stderr }))
        })
    )
  return { root, start, call }
})

/** Sends a signal when the run has begun a new folder of its own, and gives the exit status. */
const signalledAtWork = (child: ChildProcess.ChildProcess, out: string, signal: "SIGINT" | "SIGKILL") =>
  Effect.callback<number | null>((resume) => {
    const before = new Set(Fs.readdirSync(out))
    const isAtWork = () => Fs.readdirSync(out).some((name) => name.startsWith(".run-") && !before.has(name))
    const watcher = setInterval(() => isAtWork() && child.kill(signal), 1)
    child.on("close", (status) => {
      clearInterval(watcher)
      resume(Effect.succeed(status))
    })
  })

const contents = (directory: string) =>
  Object.fromEntries(
    Fs.readdirSync(directory)
      .sort()
      .map((name) => [name, Fs.readFileSync(Path.join(directory, name), "utf8")])
  )

const same = (left: string, right: string): void => {
  const [a, b] = [contents(left), contents(right)]
  assert.deepStrictEqual(Object.keys(a), Object.keys(b))
  for (const name of Object.keys(a)) assert.isTrue(a[name] === b[name], `${name} is the same`)
}

describe("extract", () => {
  it.live("writes the same bytes with any number of workers, and from shards of other processes", () =>
    Effect.gen(function* () {
      const { call, root } = yield* workbench
      const out = (name: string) => Path.join(root, name)
      for (const workers of ["1", "2"]) {
        const { status, stderr } = yield* call("extract", "--workers", workers, "--out", out(`w${workers}`))
        assert.strictEqual(status, 0, stderr)
      }
      same(out("w1"), out("w2"))

      const plan = out("plan.json")
      assert.strictEqual((yield* call("extract", "--plan", plan)).status, 0)
      const shards = [1, 2, 3]
      // At the same time, as on several machines; two of them in threads.
      const made = yield* Effect.forEach(
        shards,
        (at) =>
          call(
            "extract",
            "--plan",
            plan,
            "--shard",
            `${at}/3`,
            "--workers",
            String(1 + (at % 2)),
            "--out",
            out(`s-${at}`)
          ),
        { concurrency: 3 }
      )
      for (const { status, stderr } of made) assert.strictEqual(status, 0, stderr)
      const directories = shards.map((at) => out(`s-${at}`))
      const merged = yield* call("merge", "--plan", plan, "--out", out("merged"), ...directories)
      assert.strictEqual(merged.status, 0, merged.stderr)
      same(out("w1"), out("merged"))

      const missing = yield* call("merge", "--plan", plan, "--out", out("less"), out("s-1"))
      assert.strictEqual(missing.status, 2)
      assert.include(missing.stderr, "shards are missing: 2, 3 of 3")
      const other = yield* call("extract", "--plan", plan, "--shard", "4/3", "--out", out("less"))
      assert.strictEqual(other.status, 2)
    })
  )

  it.live("ends with 130 when it is interrupted, with and without threads", () =>
    Effect.gen(function* () {
      const { root, start } = yield* workbench
      for (const workers of ["1", "2"]) {
        const out = Path.join(root, `out-${workers}`)
        Fs.mkdirSync(out)
        const child = start(["extract", "--workers", workers, "--out", out])
        assert.strictEqual(yield* signalledAtWork(child, out, "SIGINT"), 130)
      }
    })
  )

  it.live("continues after a kill, and takes nothing from a run that is alive", () =>
    Effect.gen(function* () {
      const { call, root, start } = yield* workbench
      const out = (name: string) => Path.join(root, name)
      assert.strictEqual((yield* call("extract", "--out", out("whole"))).status, 0)
      Fs.mkdirSync(out("torn"))
      let killed = 0
      for (let round = 0; round < KILLS; round++) {
        const child = start(["extract", "--workers", round % 2 === 0 ? "1" : "2", "--out", out("torn")])
        if ((yield* signalledAtWork(child, out("torn"), "SIGKILL")) === null) killed++
      }
      assert.isAbove(killed, 0)
      const [one, two] = yield* Effect.all(
        [call("extract", "--out", out("torn")), call("extract", "--out", out("torn"))],
        { concurrency: 2 }
      )
      assert.strictEqual(one.status, 0, one.stderr)
      assert.strictEqual(two.status, 0, two.stderr)
      same(out("whole"), out("torn"))
    })
  )
})
