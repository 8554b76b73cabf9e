/** The samples of one session, and the fates of its entries. */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as Dose from "@pi-sessions/testing/Dose"
import * as SessionRole from "@pi-sessions/catalog/SessionRole"
import * as ClaudeCodeSession from "@pi-sessions/core/ClaudeCodeSession"
import { stringAt } from "@pi-sessions/core/Json"
import * as Session from "@pi-sessions/core/Session"
import * as SessionMigration from "@pi-sessions/core/SessionMigration"
import { SessionSource } from "@pi-sessions/session-file/SessionSource"
import * as SessionWalk from "@pi-sessions/testing/sessions/SessionWalk"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { DropReason } from "@pi-sessions/samples/DropCounts"
import { type EntryFate } from "@pi-sessions/samples/EntryFates"
import { Extract } from "../src/Extract.ts"
import { type SampleOptions } from "../src/ExtractOptions.ts"
import { type ReportRow } from "../src/ExtractReport.ts"
import { LINE_FORMATS } from "@pi-sessions/formats/test/formats"
import { type LocalModel } from "@pi-sessions/formats/model/LocalModel"
import * as SessionSamples from "../src/SessionSamples.ts"
import { isConversation } from "@pi-sessions/samples/SessionFacts"
import * as Models from "@pi-sessions/formats/test/models"
import {
  assistant,
  call,
  chain,
  file,
  header,
  image,
  linked,
  message,
  result,
  text,
  user
} from "@pi-sessions/samples/test/sessions"

const FIXTURES = Path.resolve(import.meta.dirname, "../../../fixtures")
const KEY = "0".repeat(64)

/** Of all pairs of a session and a format, every n-th one is compared with `extract`. */
const CASES_STEP = Dose.isCampaign() ? 1 : 7
const WALKS = Dose.of("PI_SESSIONS_WALKS", { test: 4, campaign: 100 })

const below = (folder: string): ReadonlyArray<string> =>
  Fs.readdirSync(Path.join(FIXTURES, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".jsonl"))
    .map((name) => Path.join(FIXTURES, folder, name))
    .sort()

const samplesOf = (path: string, options: SampleOptions, model?: LocalModel): SessionSamples.SessionSamples => {
  const session = Session.read(Fs.readFileSync(path))
  const role = SessionRole.detect(SessionRole.openingOf(session.lines), { path })
  const origin = { ref: { path, sizeBytes: 0, modifiedMs: 0 }, role }
  return SessionSamples.of(session, model === undefined ? origin : { ...origin, model }, options)
}

/** The row and the files that `extract` gives for one session. */
const extracted = Effect.fnUntraced(function* (path: string, options: SampleOptions & { readonly tokenizer?: string }) {
  const out = Path.join(yield* temporaryFolder, "out")
  const report = yield* Effect.flatMap(Extract, (extract) =>
    extract.run({ ...options, rigs: [], roles: [], out, split: { _tag: "Share", validation: 0 } })
  ).pipe(Effect.provide(Extract.layer.pipe(Layer.provide(SessionSource.layerPaths([path])))))
  // Parquet files are made of the same lines as other formats.
  const texts = report.outputs.files.filter(({ path }) => path.endsWith(".jsonl"))
  const files = texts.map(({ file, path }) => ({
    file,
    lines: Fs.readFileSync(path, "utf8").split("\n").slice(0, -1)
  }))
  return { row: report.rows[0], files }
})

/** Properties of the fates of any session. */
const checkFates = (path: string, options: SampleOptions, { fates, row, samples }: SessionSamples.SessionSamples) => {
  const name = `${path} ${JSON.stringify(options)}`
  const { tree } = SessionMigration.toCurrent(Session.read(Fs.readFileSync(path)))
  const fated = new Set(fates.map(({ entry }) => entry.byteOffset))
  for (const entry of tree.getEntries()) {
    if (isConversation(entry)) assert.isTrue(fated.has(entry.byteOffset), `${name}: ${entry.id} has no fate`)
  }
  assert.strictEqual(fated.size, fates.length, name)
  for (const { reason, told } of fates) assert.strictEqual(reason === undefined, told.length > 0, name)
  const kept = samples.flatMap((sample) => (sample._tag === "Kept" ? [sample] : []))
  const targets = fates.flatMap(({ told }) => told.filter(({ as }) => as === "target"))
  assert.lengthOf(targets, row.volume?.targets ?? 0, `${name}: targets`)
  assert.deepStrictEqual(
    kept.map(({ number }) => number),
    kept.map((_, at) => at + 1)
  )
  for (const { turns } of kept) {
    for (const { entries, turn } of turns) {
      // A turn has the id of its entry.
      assert.strictEqual(turn.uuid, entries[0]?.id ?? "", name)
      if (turn.role === "assistant") assert.lengthOf(entries, 1, name)
      // A prompt is what several system messages come to.
      if (turn.role === "user") assert.isAtMost(entries.length, Math.max(1, turn.tool_results.length), name)
    }
  }
}

const options = (more: Partial<SampleOptions> = {}): SampleOptions => ({
  format: "messages",
  redaction: { key: KEY },
  includeHydrated: true,
  ...more
})

const SETTINGS: ReadonlyArray<Partial<SampleOptions>> = [
  {},
  { branches: "all" },
  { branches: "all", maxTokens: 60 },
  { maxTokens: 60, overflow: "elide-results", reasoning: "none" },
  { maxTokens: 60, overflow: "drop", redaction: "off" },
  { includeHydrated: false, minTurns: 4, models: ["fake-1"] }
]

describe("SessionSamples.of", () => {
  it.effect("gives the lines that extract writes, in every format", () =>
    Effect.gen(function* () {
      let lines = 0
      const tokens = yield* Models.load("chatml-marked")
      const secret = Path.join(yield* temporaryFolder, "secret.jsonl")
      // Made here, so that no scanner of secrets finds it in the repository.
      const key = `ghp_${"A1b2C3d4E5".repeat(4).slice(4)}`
      Fs.writeFileSync(secret, chain(user(`Take ${key}.`), assistant([text("I took it to /home/ann.")])))
      const cases = [...below("sessions"), secret].flatMap((path) =>
        (/branches|compacted|version-1|secret/.test(path) ? SETTINGS : SETTINGS.slice(0, 1)).flatMap((settings) =>
          LINE_FORMATS.map((format) => ({ path, settings, format }))
        )
      )
      // The step has no common factor with the number of formats, so every format meets every setting.
      for (let at = 0; at < cases.length; at += CASES_STEP) {
        const { format, path, settings } = cases[at] ?? assert.fail()
        const given = options({ format, ...settings })
        const model = format === "tokens" ? tokens : undefined
        const tokenizer = model === undefined ? {} : { tokenizer: Models.directoryOf("chatml-marked") }
        const { row, files } = yield* extracted(path, { ...given, ...tokenizer })
        const own = samplesOf(path, given, model)
        // Split and hash are only in the dataset.
        const common = (one: ReportRow | undefined) => ({ ...one, split: "", sha256: "" })
        assert.deepStrictEqual(common(own.row), common(row), `${path} ${JSON.stringify(given)}`)
        for (const { file, lines: written } of files) {
          const shown = own.samples.flatMap((one) => (one._tag === "Kept" && one.file === file ? [one.line] : []))
          assert.deepStrictEqual(shown, written, `${path} ${JSON.stringify(given)}`)
          lines += written.length
        }
        checkFates(path, given, own)
      }
      assert.isAbove(lines, 20)
      assert.deepInclude(samplesOf(secret, options()).row.volume?.redacted, { "github-pat": 1 })
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("gives a fate for every entry, in sessions of both real Pis and in damaged ones", () =>
    Effect.gen(function* () {
      const root = yield* temporaryFolder
      const paths = [...below("damaged"), ...below("unsound")]
      for (const version of ["0.78", "1.5"] as const) {
        for (let seed = 1; seed <= WALKS; seed++) {
          const dir = Path.join(root, version, String(seed))
          const walk = yield* Effect.promise(() => SessionWalk.walk(version, { seed, steps: 60, dir, cwd: "/srv/app" }))
          paths.push(...walk.files)
        }
      }
      const reasons = new Set<string>()
      for (const path of paths) {
        for (const settings of SETTINGS) {
          // With names left in, ids stay what they are.
          const given = options({ ...settings, redaction: "off" })
          const samples = samplesOf(path, given)
          checkFates(path, given, samples)
          for (const { lost, reason } of samples.fates) for (const one of [reason ?? "", ...lost]) reasons.add(one)
        }
      }
      for (const reason of ["error_turn", "aborted_turn", "other_branch_message", "trailing_message", "image"]) {
        assert.isTrue(reasons.has(reason), `${reason}: ${[...reasons].join(", ")}`)
      }
    }).pipe(Effect.provide(NodeServices.layer))
  )

  /** `e1: c1`, `e2: T1`, `e3: - error_turn`. */
  const shown = ({ entry, lost, reason, told }: EntryFate): string => {
    const places = told.map(({ as, sample }) => `${as === "target" ? "T" : as === "context" ? "c" : "r"}${sample}`)
    return [`${entry.id}:`, ...(reason === undefined ? places : ["-", reason]), ...lost.map((one) => `(${one})`)].join(
      " "
    )
  }

  const fatesOf = Effect.fnUntraced(function* (content: string, more: Partial<SampleOptions> = {}) {
    const path = Path.join(yield* temporaryFolder, "s.jsonl")
    Fs.writeFileSync(path, content)
    const given = options({ ...more, redaction: "off" })
    const samples = samplesOf(path, given)
    checkFates(path, given, samples)
    return samples.fates.map(shown)
  })

  const calls = chain(
    user([text("look"), image]),
    assistant([text("I look."), call("a"), call("b")], { stopReason: "toolUse" }),
    result("a", "one"),
    result("b", "two"),
    result("b", "again"),
    result("zz", "nobody asked"),
    user(""),
    assistant([], { stopReason: "error", errorMessage: "overloaded" }),
    assistant([text("Done.")]),
    { type: "label", targetId: "e9", label: "done" },
    user("thanks")
  )

  it.effect("gives the reason for each dropped entry, and the parts that are lost", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* fatesOf(calls), [
        "e1: c1 (image)",
        "e2: T1",
        "e3: c1",
        "e4: c1",
        "e5: - duplicate_tool_result",
        "e6: - orphan_tool_result",
        "e7: - empty_user_turn",
        "e8: - error_turn",
        "e9: T1",
        "e11: - trailing_message"
      ])
      const edited = chain(
        user("not this"),
        { type: "context_edit", targetId: "e1", replacement: null },
        { ...message({ role: "poet" }), id: "p" },
        user("but this"),
        assistant([text("Yes.")])
      )
      assert.deepStrictEqual(yield* fatesOf(edited), [
        "e1: - edited_out_message",
        "p: - trailing_message",
        "e4: c1",
        "e5: T1"
      ])
      assert.deepStrictEqual((yield* fatesOf(calls, { models: ["other"] })).slice(0, 2), [
        "e1: - other_model",
        "e2: - other_model"
      ])
    })
  )

  it.effect("gives fates in branches, pairs, budgets and hydrated sessions", () =>
    Effect.gen(function* () {
      const forked = file(
        header(),
        ...linked([
          user("Which?"),
          assistant([text("This one.")]),
          { ...user("Which?"), parentId: null },
          assistant([text("That one.")]),
          user("Good."),
          assistant([text("Yes.")])
        ])
      )
      assert.deepStrictEqual(yield* fatesOf(forked), [
        "e1: - other_branch_message",
        "e2: - other_branch_message",
        "e3: c1",
        "e4: T1",
        "e5: c1",
        "e6: T1"
      ])
      assert.deepStrictEqual(yield* fatesOf(forked, { branches: "all" }), [
        "e1: c2",
        "e2: T2",
        "e3: c1",
        "e4: T1",
        "e5: c1",
        "e6: T1"
      ])
      assert.deepStrictEqual(yield* fatesOf(forked, { format: "dpo" }), [
        "e1: - no_pair",
        "e2: r1",
        "e3: c1",
        "e4: T1",
        "e5: - no_pair",
        "e6: - no_pair"
      ])
      const long = chain(user("one"), assistant([text("word ".repeat(200))]), user("two"), assistant([text("Short.")]))
      assert.deepStrictEqual(yield* fatesOf(long, { maxTokens: 60 }), [
        "e1: - over_budget",
        "e2: - target_over_budget",
        "e3: c1",
        "e4: T1"
      ])
      assert.deepStrictEqual((yield* fatesOf(long, { maxTokens: 60, overflow: "drop" }))[3], "e4: - over_budget")
      const hydrated = file(
        header({ hydratedFrom: { threadId: "th_1", mode: "semantic" } }),
        ...linked([user("hi"), assistant([text("Hello.")]), user("bye")])
      )
      assert.deepStrictEqual(yield* fatesOf(hydrated, { includeHydrated: false }), [
        "e1: - hydrated",
        "e2: - hydrated",
        "e3: - hydrated"
      ])
    })
  )

  it("gives fates of attachments of Claude Code", () => {
    let attachments = 0
    for (const path of below("claude-code")) {
      const session = ClaudeCodeSession.fromLines(Session.read(Fs.readFileSync(path)).lines)
      if (session === undefined) return assert.fail(path)
      const role = { role: "unknown", roleSource: "none" } as const
      const origin = { ref: { path, sizeBytes: 0, modifiedMs: 0 }, role }
      const { fates, row } = SessionSamples.of(session, origin, options({ branches: "all" }))
      const told = fates.filter(({ reason }) => reason === "attachment")
      assert.lengthOf(told, row.volume?.dropped["attachment"] ?? 0, path)
      attachments += told.length
      for (const { told, reason } of fates) assert.strictEqual(reason === undefined, told.length > 0, path)
    }
    assert.isAbove(attachments, 0)
  })

  it.effect("counts what the report counts", () =>
    Effect.gen(function* () {
      const path = Path.join(yield* temporaryFolder, "s.jsonl")
      Fs.writeFileSync(path, calls)
      const { fates, row } = samplesOf(path, options({ redaction: "off" }))
      const counts = new Map<string, number>()
      for (const { lost, reason } of fates) {
        for (const one of reason === undefined ? lost : [reason]) counts.set(one, (counts.get(one) ?? 0) + 1)
      }
      assert.deepStrictEqual(Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1))), row.volume?.dropped)
      for (const reason of counts.keys()) assert.include(DropReason.literals, reason)
      assert.strictEqual(stringAt(fates[0]?.entry.decode() ?? {}, "id"), "e1")
    })
  )
})
