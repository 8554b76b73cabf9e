/** Samples of transcripts of Claude Code: they hold what the model was sent, and no other text. */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as process from "node:process"
import * as Dose from "@pi-sessions/testing/Dose"
import * as ClaudeCodeSession from "@pi-sessions/core/ClaudeCodeSession"
import * as Session from "@pi-sessions/core/Session"
import * as ClaudeCodeSource from "@pi-sessions/session-file/ClaudeCodeSource"
import { SessionSource } from "@pi-sessions/session-file/SessionSource"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { Extract, type ExtractOptions } from "../src/Extract.ts"
import { MessagesFormat } from "@pi-sessions/formats/MessagesFormat"
import * as SampleCut from "@pi-sessions/samples/SampleCut"
import { type TrainingSample } from "@pi-sessions/samples/TrainingSample"
import * as ClaudeCode from "@pi-sessions/samples/test/claudeCode"
import { assistant, call, chain, result, text, user } from "@pi-sessions/samples/test/sessions"

const FIXTURES = Path.resolve(import.meta.dirname, "../../../fixtures/claude-code")
const GOLDEN = new URL("golden/claude-code.jsonl", import.meta.url)
const SEEDS = Dose.of("PI_SESSIONS_WALKS", { test: 40, campaign: 1000 })
const FIRST_SEED = Dose.firstSeed()

const sessionOf = (transcript: string): Session.Session => {
  const session = ClaudeCodeSession.fromLines(Session.readText(transcript).lines)
  if (session === undefined) throw new Error("no transcript")
  return session
}

const cut = (transcript: string): ReadonlyArray<TrainingSample> => {
  const role = { role: "unknown", roleSource: "none" } as const
  return SampleCut.cut(sessionOf(transcript), { sourcePath: "/a.jsonl", role, branches: "all" }).samples
}

const fixtures = Fs.readdirSync(FIXTURES, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".jsonl"))
  .sort()

const read = (name: string): string => Fs.readFileSync(Path.join(FIXTURES, name), "utf8")

describe("a target of any conversation", () => {
  it("is in the dataset once, after the context that the model was sent", () => {
    let targets = 0
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
      const conversation = ClaudeCode.conversation(seed)
      const transcript = ClaudeCode.transcript(conversation)
      const told = new Map(conversation.told.map((one) => [one.uuid, one]))
      for (const { first_target, metadata, turns } of cut(transcript)) {
        assert.strictEqual(metadata.context, "reduced")
        assert.strictEqual(metadata.harness, "claude-code")
        for (const [at, turn] of turns.entries()) {
          if (turn.role !== "assistant" || at < first_target) continue
          const one = told.get(turn.uuid)
          if (one === undefined) return assert.fail(`seed ${seed}: ${turn.uuid} is no answer, or stands twice`)
          told.delete(turn.uuid)
          const name = `seed ${seed}, ${turn.uuid}`
          assert.deepStrictEqual(ClaudeCode.inShort(turns.slice(0, at)), forModel(one), name)
          assert.deepStrictEqual(ClaudeCode.inShort([turn]), [one.answer], name)
          targets++
        }
      }
      assert.deepStrictEqual([...told.keys()], [], `seed ${seed}`)
      const session = sessionOf(transcript)
      assert.deepStrictEqual(session.diagnostics, [], `seed ${seed}`)
      assert.strictEqual(session.tree.getBranch().findLast(({ role }) => role === "assistant")?.id, conversation.last)
    }
    assert.isAbove(targets, SEEDS * 5)
  })

  it("has only text of the transcript", () => {
    const random = Array.from({ length: 20 }, (_, at) => ClaudeCode.transcript(ClaudeCode.conversation(500 + at)))
    for (const transcript of [...fixtures.map(read), ...random]) {
      const own = new Set<string>()
      for (const line of transcript.trim().split("\n")) collect(JSON.parse(line), own)
      const samples = cut(transcript)
      assert.isAbove(samples.length, 0)
      for (const { turns } of samples) {
        for (const { content, metadata, tool_calls, tool_results } of turns) {
          for (const part of [metadata.reasoning ?? "", ...tool_calls.map(({ id }) => id)]) isOwn(part, own)
          for (const call of tool_calls) isOwn(call.name, own)
          for (const result of tool_results) isOwn(result.content, own)
          isOwn(content, own)
        }
      }
    }
  })
})

/** Thinking is not sent to another model than the one that thought it. */
const forModel = ({ model, sent }: ClaudeCode.Told): ReadonlyArray<ClaudeCode.Said> =>
  sent.map((one) => (one[0] === "assistant" && one[4] !== model ? ["assistant", one[1], "", one[3], one[4]] : one))

const collect = (value: unknown, found: Set<string>): void => {
  if (typeof value === "string") found.add(value)
  else if (typeof value === "object" && value !== null) for (const one of Object.values(value)) collect(one, found)
}

/** The whole text, or each line of it where blocks were joined. Images are `[image]`. */
const isOwn = (part: string, own: ReadonlySet<string>): void => {
  if (part === "" || own.has(part)) return
  const lines = new Set([...own].flatMap((text) => text.split("\n")))
  for (const line of part.split("\n")) assert.isTrue(line === "[image]" || lines.has(line), line)
}

/** The value with parts of it gone, doubled, or become something else. */
const damaged = (value: unknown, random: SeededRandom.SeededRandom): unknown => {
  const isHit = () => random.chance(0.02)
  if (isHit()) return [null, 5, "", {}, [], ["x", null], { type: "tool_use" }, { type: "text" }][random.int(8)]
  if (Array.isArray(value)) {
    return value.flatMap((one) => (isHit() ? [] : isHit() ? [one, damaged(one, random)] : [damaged(one, random)]))
  }
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, member]) => (isHit() ? [] : [[key, damaged(member, random)]]))
  )
}

it("a damaged transcript gives valid samples", () => {
  for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS * 2; seed++) {
    const random = SeededRandom.make(seed)
    const { lines } = ClaudeCode.conversation(seed, 6)
    const keys = new Map(lines.map((line) => [line, random.next()]))
    const order = random.chance(0.5) ? lines : lines.toSorted((a, b) => (keys.get(a) ?? 0) - (keys.get(b) ?? 0))
    const text = order.map((line) => `${JSON.stringify(damaged(line, random))}\n`).join("")
    const session = ClaudeCodeSession.fromLines(Session.readText(text).lines)
    if (session === undefined) continue
    const role = { role: "unknown", roleSource: "none" } as const
    for (const sample of SampleCut.cut(session, { sourcePath: "/a.jsonl", role, branches: "all" }).samples) {
      const projection = MessagesFormat.project(sample)
      if (projection._tag !== "Sample") continue
      const checked = MessagesFormat.validate(JSON.stringify(projection.sample))
      assert.isTrue(checked._tag === "Success", `seed ${seed}`)
    }
  }
})

it("fixtures give the golden lines of format messages", () => {
  const lines = fixtures.flatMap((name) =>
    cut(read(name)).map((sample) => {
      const projection = MessagesFormat.project({ ...sample, source_path: name })
      return projection._tag === "Sample" ? JSON.stringify(projection.sample) : projection.reason
    })
  )
  const found = lines.map((line) => `${line}\n`).join("")
  if (process.env["PI_SESSIONS_WRITE_GOLDEN"] === "1") Fs.writeFileSync(GOLDEN, found)
  assert.strictEqual(found, Fs.readFileSync(GOLDEN, "utf8"))
})

const runOver = (sessions: string, options: ExtractOptions) =>
  Effect.flatMap(Extract, (extract) => extract.run(options)).pipe(
    Effect.provide(
      Extract.layer.pipe(Layer.provide(ClaudeCodeSource.layer), Layer.provide(SessionSource.layerPaths([sessions])))
    ),
    Effect.provide(NodeServices.layer)
  )

describe("Extract.run", () => {
  const workbench = Effect.gen(function* () {
    const root = yield* temporaryFolder
    const sessions = Path.join(root, "sessions")
    Fs.cpSync(FIXTURES, sessions, { recursive: true })
    const pi = chain(
      user("mend it"),
      assistant([call("a", "edit", { path: "a" })]),
      result("a", "done", "edit"),
      assistant([call("b", "bash", { command: "npm test" })]),
      result("b", "1 failed", "bash", { isError: true }),
      assistant([text("It does not work.")], { stopReason: "aborted" })
    )
    Fs.writeFileSync(Path.join(sessions, "pi.jsonl"), pi)
    Fs.writeFileSync(Path.join(sessions, "other.jsonl"), '{"type":"user","text":"nobody\'s transcript"}\n')
    const out = Path.join(root, "out")
    const run = (options: Partial<ExtractOptions> = {}) =>
      runOver(sessions, { rigs: [], roles: [], format: "messages", out, redaction: "off", ...options })
    return { out, run }
  })

  it.effect("extracts transcripts beside sessions of Pi: roles by directory, a sub-agent in its caller's family", () =>
    Effect.gen(function* () {
      const { run } = yield* workbench
      // What another program sent is not known, whatever tools are given.
      const report = yield* run({ given: { system: new Map(), tools: [] } })
      assert.deepStrictEqual(report.files, { not_a_session: 1, unreadable: 0 })
      assert.deepStrictEqual([report.sessions.found, report.sessions.kept], [4, 4])
      assert.deepStrictEqual([report.families.found, report.families.largest], [3, 2])
      assert.strictEqual(report.total.exact, 1)
      assert.deepStrictEqual(report.total.tools, { given: report.total.samples })
      assert.deepStrictEqual(report.rows.map(({ address, role }) => address ?? role).sort(), [
        "gastown/crew/max",
        "unknown",
        "unknown",
        "unknown",
        undefined
      ])
    })
  )

  it.effect("reads long texts for predicates of quality", () =>
    Effect.gen(function* () {
      const root = yield* temporaryFolder
      const long = `${"more words ".repeat(2000)}\n`
      const command = `npm test 2>&1 | tail -5 # ${long}git commit -m '${long}'`
      const session = chain(
        user(`mend it ${long}`),
        assistant([call("a", "write", { content: long, path: "a" })]),
        result("a", long, "write"),
        assistant([call("b", "bash", { command })]),
        result("b", `${long}Tests:       4 passed, 4 total\n`, "bash"),
        assistant([text(`${long}Mended.`)]),
        user(`no, wrong: ${long}`),
        assistant([text(`${long}Sorry.`)])
      )
      Fs.writeFileSync(Path.join(root, "long.jsonl"), session)
      for (const redaction of ["off", undefined] as const) {
        const out = Path.join(root, redaction ?? "on")
        const options = { rigs: [], roles: [], format: "messages", out, ...(redaction && { redaction }) } as const
        const report = yield* runOver(root, options)
        const [line = ""] = Fs.readFileSync(report.outputs.train, "utf8").split("\n")
        assert.deepStrictEqual(JSON.parse(line).metadata.quality, ["committed", "corrected", "tests_passed"])
      }
    })
  )

  it.effect("drops samples by quality only with --refuse and --require, and reports the predicate", () =>
    Effect.gen(function* () {
      const { run } = yield* workbench
      const dropped = (options: Partial<ExtractOptions>) => Effect.map(run(options), ({ sessions }) => sessions.dropped)
      assert.deepStrictEqual(yield* dropped({}), {})
      assert.deepStrictEqual(yield* dropped({ refuse: ["corrected"] }), { quality_corrected: 1 })
      assert.deepStrictEqual(yield* dropped({ refuse: ["aborted", "corrected"], require: ["bead_closed"] }), {
        quality_aborted: 1,
        quality_corrected: 1,
        without_bead_closed: 1
      })
      assert.deepStrictEqual(yield* dropped({ require: ["tests_passed"] }), { without_tests_passed: 3 })
      const report = yield* run({ require: ["committed"] })
      assert.deepStrictEqual([report.sessions.kept, report.samples.kept], [1, 2])
      assert.strictEqual(report.samples.found, report.samples.kept + (report.samples.dropped["without_committed"] ?? 0))
      const row = report.rows.find(({ outcome }) => outcome === "kept")
      assert.include(row?.path ?? "", "-srv-shop")
    })
  )
})
