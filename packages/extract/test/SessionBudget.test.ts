/** Budgets of sessions: equal on each machine, exceeded by single sessions, far above what hostile texts need. */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as Dose from "@pi-sessions/testing/Dose"
import * as Session from "@pi-sessions/core/Session"
import { SessionSource } from "@pi-sessions/session-file/SessionSource"
import * as HostileSession from "@pi-sessions/testing/sessions/HostileSession"
import { families } from "@pi-sessions/testing/steps/HostileText"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import { memoryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { Extract, type ExtractOptions } from "../src/Extract.ts"
import { FormatName } from "@pi-sessions/formats/FormatName"
import * as SessionBudget from "@pi-sessions/core/SessionBudget"
import { OverBudget } from "@pi-sessions/core/SessionBudget"
import * as SessionSamples from "../src/SessionSamples.ts"
import { generate, words, write } from "@pi-sessions/samples/test/manySessions"
import * as Sessions from "@pi-sessions/samples/test/sessions"

const KEY = "0".repeat(64)

const LIMITS = Dose.isCampaign()
  ? [400, 1000, 3000, 10_000, 30_000, 100_000, 150_000, 200_000, 250_000]
  : [400, 3000, 10_000, 100_000, 150_000, 200_000]
const FAMILIES_STEP = Dose.isCampaign() ? 1 : 3
const HOSTILE_BYTES = Dose.of("PI_SESSIONS_HOSTILE_BYTES", { test: 2000, campaign: 8000 })

/** A folder, and the service over it in this thread. */
const workbench = Effect.gen(function* () {
  const root = yield* memoryFolder
  const folder = Path.join(root, "sessions")
  Fs.mkdirSync(folder)
  const layer = Extract.layer.pipe(Layer.provide(SessionSource.layerPaths([folder])), Layer.provide(NodeServices.layer))
  const options = (name: string, more: Partial<ExtractOptions> = {}): ExtractOptions => ({
    rigs: [],
    roles: [],
    format: "messages",
    redaction: { key: KEY },
    split: { _tag: "Share", validation: 0 },
    out: Path.join(root, name),
    ...more
  })
  const service = Effect.provide(Extract, layer)
  const run = (name: string, more: Partial<ExtractOptions> = {}) =>
    Effect.flatMap(service, (extract) => extract.run(options(name, more)))
  const samplesOf = (name: string) => Fs.readFileSync(Path.join(root, name, "train.jsonl"), "utf8")
  return { root, folder, options, run, samplesOf, service }
})

const entry = (id: string, at: number, payload: object) => ({
  ...payload,
  id: `${id}-${at}`,
  parentId: at === 0 ? null : `${id}-${at - 1}`,
  timestamp: "2026-01-05T10:00:00.000Z"
})

const file = (id: string, minute: number, entries: ReadonlyArray<object>, more: object = {}): string =>
  [
    { ...Sessions.header({ id, timestamp: new Date(Date.UTC(2026, 0, 1) + minute * 60_000).toISOString() }), ...more },
    ...entries
  ]
    .map((line) => `${JSON.stringify(line)}\n`)
    .join("")

/** Questions and answers. */
const talk = (id: string, turns: number, length: number, seed: number): ReadonlyArray<object> => {
  const random = SeededRandom.make(seed)
  return Array.from({ length: turns * 2 }, (_, at) =>
    entry(
      id,
      at,
      at % 2 === 0 ? Sessions.user(words(random, length)) : Sessions.assistant([Sessions.text(words(random, length))])
    )
  )
}

describe("a budget", () => {
  it("names the stage and the limit that was exceeded", () => {
    const stages: Array<string> = []
    const budget = SessionBudget.of({ maxSteps: 10, maxBytes: 100 }, 0, (stage) => stages.push(stage))
    budget.charge("read", 4, 100)
    budget.charge("read", 1)
    budget.charge("redaction", 5)
    const exceeded = (work: () => void): unknown => {
      try {
        return work()
      } catch (error) {
        return error
      }
    }
    const steps = exceeded(() => budget.charge("lines", 1))
    assert.instanceOf(steps, OverBudget)
    assert.include(steps, { stage: "lines", unit: "steps", limit: 10 })
    assert.deepStrictEqual(stages, ["read", "redaction", "lines"])
    const bytes = exceeded(() => SessionBudget.of({ maxBytes: 5 }, 0).charge("images", 0, 6))
    assert.instanceOf(bytes, OverBudget)
    assert.strictEqual(bytes.message, "it took more than 5 bytes (images)")
  })
})

describe("a session that exceeds its budget", () => {
  it.live("is reported with the stage; the others are extracted as if it were not there", () =>
    Effect.gen(function* () {
      const { folder, options, run, samplesOf } = yield* workbench
      write(folder, generate(20, 3))
      const large = Path.join(folder, "large.jsonl")
      Fs.writeFileSync(large, file("large", 5000, talk("large", 40, 2000, 1)))
      for (const limits of [{ maxSteps: 1_000_000 }, { maxBytes: 300_000 }, { maxBytes: 1_000_000 }]) {
        const report = yield* run("out", { limits })
        const row = report.rows.find(({ path }) => path === large)
        assert.strictEqual(row?.outcome, "over_budget")
        assert.isDefined(row?.stage)
        assert.strictEqual(row?.session_id, "large")
        assert.strictEqual(report.sessions.dropped["over_budget"], 1)
        assert.strictEqual(report.sessions.found, 21)
        const shown = Fs.readFileSync(Path.join(options("out").out, "report.json"), "utf8")
        assert.include(shown, `"stage": "${row?.stage}"`)
        assert.include(shown, `"detail": "${row?.detail}"`)
        Fs.renameSync(large, `${large}.away`)
        yield* run("without")
        Fs.renameSync(`${large}.away`, large)
        assert.strictEqual(samplesOf("out"), samplesOf("without"))
      }
      assert.isUndefined((yield* run("out")).sessions.dropped["over_budget"])
    })
  )

  it.live("gives its targets to its forks", () =>
    Effect.gen(function* () {
      const { folder, run, samplesOf } = yield* workbench
      const parent = Path.join(folder, "parent.jsonl")
      const shared = talk("p", 3, 50, 1)
      // The long branch comes after the shared targets.
      const long = Array.from({ length: 40 }, (_, at) => ({
        ...entry(
          "q",
          at,
          at % 2 === 0 ? Sessions.user("go on") : Sessions.assistant([Sessions.text("x ".repeat(9000))])
        ),
        parentId: at === 0 ? null : `q-${at - 1}`
      }))
      const last = entry("p", 6, Sessions.user("the end"))
      Fs.writeFileSync(parent, file("p", 1, [...shared, ...long, last]))
      const added = [
        entry("p", 6, Sessions.user("once more")),
        entry("p", 7, Sessions.assistant([Sessions.text("so be it")]))
      ]
      Fs.writeFileSync(Path.join(folder, "fork.jsonl"), file("f", 2, [...shared, ...added], { parentSession: parent }))
      const all = { branches: "all" as const, includeNearDuplicates: true }
      const whole = yield* run("whole", all)
      assert.deepStrictEqual(
        whole.rows.map(({ outcome, volume }) => [outcome, volume?.targets]),
        [
          ["kept", 1],
          ["kept", 23]
        ]
      )
      const report = yield* run("out", { ...all, limits: { maxBytes: 700_000 } })
      assert.deepStrictEqual(
        report.rows.map(({ outcome, stage, volume }) => [outcome, stage, volume?.targets]),
        [
          ["kept", undefined, 4],
          ["over_budget", "lines", undefined]
        ]
      )
      Fs.rmSync(parent)
      yield* run("alone", all)
      assert.strictEqual(samplesOf("out"), samplesOf("alone"))
    })
  )

  it.live("is recorded with its limits: equal limits change nothing, others process it again", () =>
    Effect.gen(function* () {
      const { folder, root, run } = yield* workbench
      write(folder, generate(8, 3))
      const ledger = Path.join(root, "ledger.jsonl")
      let unchanged = 0
      const onUnchanged = Effect.sync(() => void unchanged++)
      const small = { ledger, onUnchanged, limits: { maxSteps: 16_000 } }
      const first = yield* run("out", small)
      assert.isAbove(first.sessions.dropped["over_budget"] ?? 0, 0)
      assert.deepStrictEqual(yield* run("out", small), first)
      assert.strictEqual(unchanged, 1)
      const second = yield* run("out", { ledger, onUnchanged })
      assert.strictEqual(unchanged, 1)
      assert.isUndefined(second.sessions.dropped["over_budget"])
    })
  )

  it.live.each(FormatName.literals.filter((format) => format !== "tokens"))("is left out in format %s", (format) =>
    Effect.gen(function* () {
      const { folder, run } = yield* workbench
      const images = format === "messages" || format === "parquet"
      const picture = Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), Buffer.alloc(60_000, 7)]).toString(
        "base64"
      )
      const block = { type: "image", mimeType: "image/png", data: picture }
      const entries = [
        ...talk("a", 3, 400, 1),
        entry("a", 6, Sessions.user([Sessions.text("see"), block])),
        entry("a", 7, Sessions.assistant([Sessions.text("seen")])),
        // Beside the end of the active branch, so that there are pairs.
        { ...entry("b", 0, Sessions.assistant([Sessions.text("another")])), parentId: "a-6" },
        { ...entry("b", 1, Sessions.user("thanks")), parentId: "a-7" },
        { ...entry("b", 2, Sessions.assistant([Sessions.text("welcome")])), parentId: "b-1" }
      ]
      Fs.writeFileSync(path(folder), file("a", 1, entries))
      const stages = new Set<string | undefined>()
      for (const limit of LIMITS) {
        for (const limits of [{ maxSteps: limit * 10 }, { maxBytes: limit }]) {
          const report = yield* run("out", { format, limits, images, includeNearDuplicates: true })
          const [row] = report.rows
          assert.include(
            ["kept", "over_budget", "no_system_prompt", "low_quality", "no_pair", "context_answers"],
            row?.outcome
          )
          stages.add(row?.stage)
        }
      }
      for (const stage of ["read", "survey"]) assert.isTrue(stages.has(stage), stage)
      assert.isAbove(stages.size, 3)
      if (images) assert.isTrue(stages.has("images"))
    })
  )
})

const path = (folder: string): string => Path.join(folder, "a.jsonl")

/** The model changes at every answer, so each request is another history, and a sample of its own. */
const switching = (answers: number): string =>
  file(
    "w",
    1,
    Array.from({ length: answers * 2 }, (_, at) =>
      entry(
        "w",
        at,
        at % 2 === 0
          ? Sessions.user(`question ${at}`)
          : Sessions.assistant([{ type: "thinking", thinking: `hm ${at}` }, Sessions.text(`answer ${at}`)], {
              model: `m${at % 4}`
            })
      )
    )
  )

describe("a short session with quadratically many turns", () => {
  it("is over budget before it fills the memory", () => {
    const role = { role: "unknown", roleSource: "none" } as const
    const rowOf = (answers: number) => {
      const text = switching(answers)
      const ref = { path: "/s.jsonl", sizeBytes: text.length, modifiedMs: 0 }
      return SessionSamples.of(
        Session.readText(text),
        { ref, role },
        { format: "messages", redaction: "off", limits: { maxBytes: 100e6 } }
      ).row
    }
    assert.strictEqual(rowOf(50).outcome, "kept")
    const row = rowOf(2000)
    assert.strictEqual(row.outcome, "over_budget")
    assert.include(row.detail, "bytes (requests)")
  })
})

describe("hostile sessions", () => {
  it("need less than a hundredth of their budgets", () => {
    const role = { role: "unknown", roleSource: "none" } as const
    const taken = (text: string) => {
      const session = Session.readText(text)
      const ref = { path: "/s.jsonl", sizeBytes: Buffer.byteLength(text), modifiedMs: 0 }
      const { maxBytes, maxSteps } = SessionBudget.of({}, ref.sizeBytes)
      const limits = { maxBytes: maxBytes / 100, maxSteps: maxSteps / 100 }
      return SessionSamples.of(session, { ref, role }, { format: "messages", redaction: { key: KEY }, limits }).row
    }
    for (const family of families.filter((_, at) => at % FAMILIES_STEP === 0)) {
      const row = taken(HostileSession.make({ family, bytes: HOSTILE_BYTES, seed: 1 }))
      assert.strictEqual(row.outcome, "kept", `${family.name}: ${row.detail}`)
    }
  })
})
