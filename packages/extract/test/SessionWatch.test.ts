/** Sessions that are stopped because they take too long or too much memory, and what threads hand over. */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { createHash } from "node:crypto"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { SessionSource } from "@pi-sessions/session-file/SessionSource"
import { memoryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { Extract, type ExtractOptions } from "../src/Extract.ts"
import { type ExtractReport } from "../src/ExtractReport.ts"
import * as WorkerThreads from "../src/workers/WorkerThreads.ts"
import { generate, write } from "@pi-sessions/samples/test/manySessions"

const ENTRY = new URL("./support/stuckThread.ts", import.meta.url)
const SECONDS = 2

/** Sessions of which some have kin, and the service over them: in this thread, or in threads. */
const workbench = Effect.gen(function* () {
  const root = yield* memoryFolder
  const folder = Path.join(root, "sessions")
  const made = generate(24, 7)
  write(folder, made)
  const extract = (threads: number, sessionSeconds = SECONDS) =>
    Effect.provide(
      Extract,
      Extract.layerWith.pipe(
        Layer.provide(
          WorkerThreads.layer({
            entry: ENTRY,
            threads,
            sessionSeconds,
            resourceLimits: { maxOldGenerationSizeMb: 100 }
          })
        ),
        Layer.provide(SessionSource.layerPaths([folder])),
        Layer.provide(NodeServices.layer)
      )
    )
  const options = (name: string, more: Partial<ExtractOptions> = {}): ExtractOptions => ({
    rigs: [],
    roles: [],
    format: "messages",
    redaction: { key: "0".repeat(64) },
    split: { _tag: "Share", validation: 0 },
    out: Path.join(root, name),
    ...more
  })
  const run = (name: string, threads: number, more: Partial<ExtractOptions> = {}) =>
    Effect.flatMap(extract(threads), (service) => service.run(options(name, more)))
  const runLocally = (name: string) =>
    Effect.flatMap(Extract, (service) => service.run(options(name))).pipe(
      Effect.provide(
        Extract.layer.pipe(Layer.provide(SessionSource.layerPaths([folder])), Layer.provide(NodeServices.layer))
      )
    )
  const fileOf = (at: number) => Path.join(folder, `${made[at]?.id}.jsonl`)
  const mark = (at: number, kind: "loop" | "wait" | "survey" | "grow") => Fs.writeFileSync(`${fileOf(at)}.${kind}`, "")
  const unmark = () => {
    for (const name of Fs.readdirSync(folder)) if (!name.endsWith(".jsonl")) Fs.rmSync(Path.join(folder, name))
  }
  /** A session with a later fork, which is in its group of kin. */
  const forked = made.findIndex(({ id }) => made.some(({ kind, origin }) => kind === "fork" && origin === id))
  return { root, folder, made, extract, options, run, runLocally, fileOf, mark, unmark, forked }
})

const contents = (directory: string) =>
  Object.fromEntries(
    Fs.readdirSync(directory)
      .sort()
      .map((name) => [name, Fs.readFileSync(Path.join(directory, name), "utf8")])
  )

const outcomes = ({ rows }: ExtractReport) =>
  Object.fromEntries(rows.map(({ outcome, path }) => [Path.basename(path), outcome]))

describe("a session that never ends", () => {
  it.live("is timed out with any number of threads; the next run tries it again", () =>
    Effect.gen(function* () {
      const { fileOf, forked, made, mark, options, root, run, runLocally, unmark } = yield* workbench
      const whole = yield* runLocally("whole")
      mark(forked, "loop")
      const ledger = Path.join(root, "ledger.jsonl")
      const first = yield* run("one", 1, { ledger })
      unmark()
      mark(forked, "wait")
      yield* run("two", 2)
      assert.deepStrictEqual(contents(options("two").out), contents(options("one").out))

      const row = first.rows.find(({ path }) => path === fileOf(forked))
      assert.strictEqual(row?.outcome, "timed_out")
      assert.strictEqual(row?.stage, "read")
      assert.strictEqual(row?.detail, `it took more than ${SECONDS} s (read)`)
      assert.strictEqual(first.sessions.dropped["timed_out"], 1)
      // Every other session has the outcome that it always has.
      const name = Path.basename(fileOf(forked))
      assert.deepStrictEqual({ ...outcomes(first), [name]: "" }, { ...outcomes(whole), [name]: "" })
      const recorded = Fs.readFileSync(ledger, "utf8").trim().split("\n").slice(1)
      assert.isEmpty(recorded.filter((line) => line.includes("timed_out")))
      // Its forks have targets now that are its own when it is there again.
      const parts = recorded.flatMap((line) => JSON.parse(line).part?.row.path ?? [])
      const kin = made.flatMap(({ id, kind, origin }) => (kind === "fork" && origin === made[forked]?.id ? [id] : []))
      assert.isNotEmpty(kin)
      for (const id of kin)
        assert.isFalse(
          parts.some((path: string) => path.endsWith(`${id}.jsonl`)),
          id
        )
      assert.isNotEmpty(parts)

      unmark()
      const second = yield* run("one", 1, { ledger })
      assert.deepStrictEqual(outcomes(second), outcomes(whole))
      assert.deepStrictEqual(contents(options("one").out), contents(options("whole").out))
    })
  )

  it.live("is timed out in the survey too", () =>
    Effect.gen(function* () {
      const { fileOf, made, mark, options, root, run, runLocally, unmark } = yield* workbench
      const whole = yield* runLocally("whole")
      mark(3, "survey")
      const ledger = Path.join(root, "ledger.jsonl")
      const stopped = yield* run("out", 1, { ledger })
      assert.strictEqual(stopped.rows.find(({ path }) => path === fileOf(3))?.outcome, "timed_out")
      assert.strictEqual(stopped.rows.length, made.length)
      unmark()
      const report = yield* run("out", 2, { ledger })
      // What was assigned to a split without it stays there.
      const [found, wanted] = [contents(options("out").out), contents(options("whole").out)]
      assert.strictEqual(found["train.jsonl"], wanted["train.jsonl"])
      assert.deepStrictEqual(outcomes(report), outcomes(whole))
    })
  )

  it.live("is left out of its shard; making the shard again tries it again", () =>
    Effect.gen(function* () {
      const { extract, forked, mark, options, root, runLocally, unmark } = yield* workbench
      yield* runLocally("whole")
      const service = yield* extract(1)
      const plan = Path.join(root, "plan.json")
      yield* service.plan(options("joined"), plan)
      mark(forked, "wait")
      const shards = [1, 2].map((at) => options(`shard-${at}`).out)
      const make = Effect.forEach(shards, (out, at) =>
        service.shard(options("", { out }), plan, { shard: at + 1, of: 2 })
      )
      const rows = (yield* make).flat()
      assert.strictEqual(rows.filter(({ outcome }) => outcome === "timed_out").length, 1)
      const joined = yield* service.merge(options("joined"), plan, shards)
      assert.strictEqual(joined.sessions.dropped["timed_out"], 1)
      unmark()
      assert.isEmpty((yield* make).flat().filter(({ outcome }) => outcome === "timed_out"))
      yield* service.merge(options("joined"), plan, shards)
      assert.deepStrictEqual(contents(options("joined").out), contents(options("whole").out))
    })
  )
})

describe("threads", () => {
  it.live("give the same bytes as the calling thread, for lines that are sent and lines in files", () =>
    Effect.gen(function* () {
      const { folder, options, run, runLocally } = yield* workbench
      const [header = "", ...lines] = Fs.readFileSync(Path.join(folder, Fs.readdirSync(folder)[0] ?? ""), "utf8").split(
        "\n"
      )
      for (const megabytes of [1, 3, 5]) {
        const id = `long-${megabytes}`
        const entries = lines.map((line) =>
          line.replace('"content":"', `"content":"${`${id} `.repeat(megabytes * 160_000)}`)
        )
        const text = [JSON.stringify({ ...JSON.parse(header), id }), ...entries].join("\n")
        Fs.writeFileSync(Path.join(folder, `${id}.jsonl`), text)
      }
      const whole = yield* runLocally("whole")
      assert.isAbove(Fs.statSync(whole.outputs.train).size, 8e6)
      for (const { path, sha256 } of whole.outputs.files) {
        assert.strictEqual(createHash("sha256").update(Fs.readFileSync(path)).digest("hex"), sha256)
      }
      yield* run("out", 2)
      assert.deepStrictEqual(contents(options("out").out), contents(options("whole").out))
    })
  )
})

describe("a session that takes all memory", () => {
  it.live("is reported; the others are extracted", () =>
    Effect.gen(function* () {
      const { extract, fileOf, forked, made, mark, options, run, runLocally, unmark } = yield* workbench
      yield* runLocally("whole")
      mark(forked, "grow")
      const service = yield* extract(1, 600)
      const report = yield* service.run(options("out"))
      const row = report.rows.find(({ path }) => path === fileOf(forked))
      assert.strictEqual(row?.outcome, "out_of_memory")
      assert.strictEqual(row?.detail, "the memory of its thread did not suffice (read)")
      assert.strictEqual(report.rows.length, made.length)
      unmark()
      yield* run("out", 1)
      assert.deepStrictEqual(contents(options("out").out), contents(options("whole").out))
    })
  )
})
