/**
 * `extract` as a process with little memory, over sessions that are hard to read: every run ends well, and every session is
 * counted. PI_SESSIONS_HOSTILE: number of sessions; from 1000 on they have the sizes of real ones.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as ChildProcess from "node:child_process"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { performance } from "node:perf_hooks"
import * as process from "node:process"
import { pathToFileURL } from "node:url"
import { type ExtractReport } from "@pi-sessions/extract/ExtractReport"
import * as Dose from "@pi-sessions/testing/Dose"
import * as HostileSession from "@pi-sessions/testing/sessions/HostileSession"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { MAIN } from "./support/program.ts"

const HANG = pathToFileURL(Path.join(import.meta.dirname, "support", "hangingParse.ts"))

const SESSIONS = Dose.of("PI_SESSIONS_HOSTILE", { test: 20, campaign: 1000 })
const SEED = Dose.firstSeed()
/** Bytes of a session: 1.3 MB on average, as real sessions; a twentieth of that in a short run. */
const SIZES = SESSIONS >= 1000 ? { least: 60_000, most: 6_000_000 } : { least: 3_000, most: 300_000 }
const MEMORY = "--max-old-space-size=1024"

interface Ended {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

const workbench = Effect.gen(function* () {
  const root = yield* temporaryFolder
  const folder = Path.join(root, "sessions")
  Fs.mkdirSync(folder)
  const call = (options: string, ...args: ReadonlyArray<string>) =>
    Effect.promise(
      () =>
        new Promise<Ended>((resolve) => {
          const child = ChildProcess.spawn(process.execPath, [MAIN, ...args], {
            env: { ...process.env, XDG_STATE_HOME: Path.join(root, "state"), NODE_OPTIONS: options },
            stdio: ["ignore", "pipe", "pipe"]
          })
          const [stdout, stderr]: [Array<string>, Array<string>] = [[], []]
          child.stdout.setEncoding("utf8").on("data", (text: string) => stdout.push(text))
          child.stderr.setEncoding("utf8").on("data", (text: string) => stderr.push(text))
          child.on("close", (status) => resolve({ status, stdout: stdout.join(""), stderr: stderr.join("") }))
        })
    )
  return { root, folder, call }
})

const reportOf = (out: string): ExtractReport => JSON.parse(Fs.readFileSync(Path.join(out, "report.json"), "utf8"))

/** Compares the files of two folders. */
const same = (left: string, right: string): void => {
  const names = Fs.readdirSync(left).sort()
  assert.deepStrictEqual(Fs.readdirSync(right).sort(), names)
  for (const name of names) {
    // Without redaction, the report has absolute paths.
    const read = (folder: string): Buffer => {
      const bytes = Fs.readFileSync(Path.join(folder, name))
      return name === "report.json" ? Buffer.from(bytes.toString().replaceAll(folder, "")) : bytes
    }
    const [a, b] = [left, right].map(read)
    assert.isTrue(a !== undefined && b !== undefined && a.equals(b), `${name} in ${right} is as in ${left}`)
  }
}

describe("extract of sessions that are hard to read", () => {
  it.live(`keeps all ${SESSIONS}, redacted or not, with any number of workers; in a campaign also from shards`, () =>
    Effect.gen(function* () {
      const { call, folder, root } = yield* workbench
      const made = yield* Effect.promise(() =>
        HostileSession.writeFolder(folder, { sessions: SESSIONS, seed: SEED, bytes: SIZES })
      )
      const out = (name: string) => Path.join(root, name)
      const extract = Effect.fnUntraced(function* (name: string, ...flags: ReadonlyArray<string>) {
        const begun = performance.now()
        const args = ["extract", "--sessions", folder, "--out", out(name), "--session-timeout", "600", ...flags]
        const { status, stderr } = yield* call(MEMORY, ...args)
        assert.strictEqual(status, 0, `seed ${SEED}: ${stderr}`)
        const seconds = ((performance.now() - begun) / 1000).toFixed(1)
        if (SESSIONS >= 1000) process.stdout.write(`${name}: ${(made.bytes / 1e6).toFixed(0)} MB in ${seconds} s\n`)
      })
      for (const [name, flags] of Object.entries({ redacted: [], plain: ["--no-redact"] })) {
        yield* extract(`${name}-1`, "--workers", "1", ...flags)
        const { rows, sessions } = reportOf(out(`${name}-1`))
        assert.strictEqual(rows.length, SESSIONS)
        assert.strictEqual(sessions.found, SESSIONS)
        const outcomes = new Map(rows.map(({ outcome, path }) => [Path.basename(path), outcome]))
        for (const file of made.hostile) assert.strictEqual(outcomes.get(file), "kept", `seed ${SEED}: ${file}`)
      }
      yield* extract("redacted-2", "--workers", "2")
      same(out("redacted-1"), out("redacted-2"))
      if (!Dose.isCampaign()) return
      yield* extract("plain-2", "--workers", "2", "--no-redact")
      same(out("plain-1"), out("plain-2"))
      const plan = out("plan.json")
      yield* extract("joined", "--plan", plan)
      const shards = [1, 2].map((at) => `shard-${at}`)
      for (const [at, name] of shards.entries()) yield* extract(name, "--plan", plan, "--shard", `${at + 1}/2`)
      const merged = yield* call(
        MEMORY,
        "merge",
        "--sessions",
        folder,
        "--plan",
        plan,
        "--out",
        out("joined"),
        ...shards.map(out)
      )
      assert.strictEqual(merged.status, 0, merged.stderr)
      same(out("redacted-1"), out("joined"))
    })
  )
})

describe("a session that never ends", () => {
  it.live("is stopped and named; the rest is published with exit status 1, and the next run tries it again", () =>
    Effect.gen(function* () {
      const { call, folder, root } = yield* workbench
      yield* Effect.promise(() =>
        HostileSession.writeFolder(folder, { sessions: 6, seed: 3, hostile: 0, bytes: { least: 5000, most: 20_000 } })
      )
      const stuck = Path.join(folder, "00002.jsonl")
      const lines = Fs.readFileSync(stuck, "utf8").trimEnd().split("\n")
      const last = JSON.parse(lines.at(-1) ?? "")
      const answer = { ...last.message, content: [{ type: "text", text: "this never ends" }], stopReason: "stop" }
      lines.push(JSON.stringify({ ...last, id: "added001", parentId: last.id, message: answer }))
      Fs.writeFileSync(stuck, `${lines.join("\n")}\n`)
      const args = ["extract", "--sessions", folder, "--out", Path.join(root, "out"), "--workers", "1"]
      const first = yield* call(`--import ${HANG}`, ...args, "--session-timeout", "2")
      assert.strictEqual(first.status, 1, first.stderr)
      assert.include(first.stderr, `warning: ${stuck}: timed out: it took more than 2 s`)
      assert.include(first.stderr, "1 session was stopped and left out")
      assert.include(first.stdout, "sessions: 6 found, 5 kept")
      assert.strictEqual(reportOf(Path.join(root, "out")).sessions.dropped["timed_out"], 1)
      const second = yield* call("", ...args)
      assert.strictEqual(second.status, 0, second.stderr)
      assert.include(second.stdout, "sessions: 6 found, 6 kept")
    })
  )
})
