/** `extract` as processes: threads, shards that know nothing of each other, runs that are killed. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as ChildProcess from "node:child_process"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as process from "node:process"
import * as LargeSession from "@pi-sessions/testing/LargeSession"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"

const MAIN = Path.join(import.meta.dirname, "..", "src", "main.ts")
const SESSIONS = 24

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
    const told = isFork ? { ...header, parentSession: parent } : header
    Fs.writeFileSync(file, [JSON.stringify(told), ...lines, ""].join("\n"))
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
  it.live("gives the same bytes with any number of workers, and from shards of other processes", () =>
    Effect.gen(function* () {
      const { call, root } = yield* workbench
      const out = (name: string) => Path.join(root, name)
      for (const workers of ["1", "2", "3"]) {
        const { status, stderr } = yield* call("extract", "--workers", workers, "--out", out(`w${workers}`))
        assert.strictEqual(status, 0, stderr)
      }
      same(out("w1"), out("w2"))
      same(out("w1"), out("w3"))

      const plan = out("plan.json")
      assert.strictEqual((yield* call("extract", "--plan", plan)).status, 0)
      const shards = [1, 2, 3]
      // At once, as machines would; one of them in threads.
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

  it.live("ends at once when it is interrupted, in whatever it is, and with threads too", () =>
    Effect.gen(function* () {
      const { root, start } = yield* workbench
      const statuses: Array<number | null> = []
      for (const [at, wait] of [300, 500, 700, 900].entries()) {
        const child = start(["extract", "--workers", "2", "--out", Path.join(root, `out-${at}`)])
        const closed = new Promise<number | null>((resolve) => child.on("close", resolve))
        yield* Effect.sleep(wait)
        child.kill("SIGINT")
        const status = yield* Effect.promise(() => closed).pipe(Effect.timeout("60 seconds"))
        statuses.push(status)
      }
      // Before the program has begun the signal ends it; a run that was through by then is done.
      for (const status of statuses) assert.include([130, 0, null], status)
    })
  )

  it.live("goes on after a kill, and takes nothing from a run that is alive", () =>
    Effect.gen(function* () {
      const { call, root, start } = yield* workbench
      const out = (name: string) => Path.join(root, name)
      assert.strictEqual((yield* call("extract", "--out", out("whole"))).status, 0)
      let killed = 0
      for (let round = 0; round < 6; round++) {
        const child = start(["extract", "--workers", round % 2 === 0 ? "1" : "2", "--out", out("torn")])
        const closed = new Promise((resolve) => child.on("close", resolve))
        yield* Effect.sleep(400 + round * 60)
        if (child.exitCode === null) killed++
        child.kill("SIGKILL")
        yield* Effect.promise(() => closed)
      }
      process.stdout.write(`extract: ${killed} runs killed before their end\n`)
      const [one, two] = yield* Effect.all(
        [call("extract", "--out", out("torn")), call("extract", "--out", out("torn"))],
        {
          concurrency: 2
        }
      )
      assert.strictEqual(one.status, 0, one.stderr)
      assert.strictEqual(two.status, 0, two.stderr)
      same(out("whole"), out("torn"))
    })
  )
})
