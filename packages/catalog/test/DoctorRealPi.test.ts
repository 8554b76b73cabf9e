/**
 * Compares the doctor with the real Pis: each does with a damaged fixture what the findings say, and continues in the
 * repaired copy with the expected history.
 *
 * All fixtures run in this process. `PI_SESSIONS_PI_PROCESSES` is the number of fixtures for which Pi is started as a
 * process too; campaigns start it for all of them. Fixtures on which Pi hangs are left to processes.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Dose from "@pi-sessions/testing/Dose"
import * as HermeticPi from "@pi-sessions/testing/pi/HermeticPi"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as PiModule from "@pi-sessions/testing/pi/PiModule"
import * as PiResume from "@pi-sessions/testing/pi/PiResume"
import * as PiVersion from "@pi-sessions/testing/pi/PiVersion"
import * as ScriptedModel from "@pi-sessions/testing/pi/ScriptedModel"
import { Effect } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as Session from "@pi-sessions/core/Session"
import * as SessionDoctor from "../src/SessionDoctor.ts"
import { type Does } from "../src/SessionFinding.ts"
import * as SessionRepair from "../src/SessionRepair.ts"
import { type DamagedFixture, bytesOf, damagedFixtures } from "./support/damagedFixtures.ts"

/** If a session has several findings, the first of these is what shows. */
const STRONGEST: ReadonlyArray<Does> = [
  "overwrites",
  "refuses",
  "crashes",
  "hangs",
  "flattens",
  "missends",
  "loses",
  "glues",
  "migrates",
  "reads"
]

const PROMPT = "and now?"

interface Run {
  /** Undefined if Pi was stopped by the timeout. */
  readonly exitCode: number | undefined
  readonly error: string
  readonly after: Buffer
  readonly sent: ReadonlyArray<string>
  /** Whether a provider would reject the request: a result without its call, an image without data. */
  readonly isMissent: boolean
}

/** Resumes a session of the given working directory with one prompt. */
type Resume = (bytesIn: (cwd: string) => Uint8Array, mayHang: boolean) => Effect.Effect<Run, unknown>

const runOf = (
  exitCode: number | undefined,
  error: string,
  after: Buffer,
  request: ScriptedModel.ChatRequest | undefined
): Run => {
  const messages = (request?.messages ?? []).filter(({ role }) => role !== "system" && role !== "developer")
  const calls = new Set<string>()
  let isMissent = false
  for (const { content, role, tool_calls, tool_call_id } of messages) {
    for (const { id } of tool_calls ?? []) calls.add(id)
    if (calls.has("")) isMissent = true
    if (role === "tool" && !calls.has(tool_call_id ?? "")) isMissent = true
    if (JSON.stringify(content ?? null).includes("base64,undefined")) isMissent = true
  }
  return { exitCode, error, after, sent: messages.map(ScriptedModel.textOf), isMissent }
}

const inThisProcess =
  (pi: PiResume.PiResume): Resume =>
  (bytesIn) =>
    Effect.map(pi.resume(bytesIn(pi.cwd), PROMPT), ({ after, error, request }) =>
      runOf(error === undefined ? 0 : 1, error ?? "", after, request)
    )

const inProcess =
  (version: PiVersion.PiVersion): Resume =>
  (bytesIn, mayHang) =>
    Effect.gen(function* () {
      const pi = yield* HermeticPi.make()
      const file = Path.join(pi.sessionDir, "s.jsonl")
      Fs.writeFileSync(file, bytesIn(pi.cwd))
      // A Pi that hangs uses all memory.
      const limits = mayHang
        ? ({ timeout: "8 seconds", env: { NODE_OPTIONS: "--max-old-space-size=600" } } as const)
        : {}
      // With model null, Pi uses the model of the session, else its default.
      const run = yield* Effect.result(pi.prompt(version, file, PROMPT, { ...limits, model: null }))
      const requests = yield* pi.requests
      const exit = run._tag === "Success" ? run.success : undefined
      return runOf(exit?.exitCode, exit?.stderr ?? "", Fs.readFileSync(file), requests.at(-1))
    }).pipe(Effect.scoped)

const isExpected = (sent: ReadonlyArray<string>, expected: ReadonlyArray<string>): boolean =>
  sent.length === expected.length + 1 &&
  sent.at(-1) === PROMPT &&
  expected.every((text, at) => sent[at] === text || (text.length > 40 && sent[at]?.startsWith(text) === true))

const observed = (before: Buffer, run: Run, expected: ReadonlyArray<string>): Does => {
  const isKept = run.after.subarray(0, before.length).equals(before)
  if (run.exitCode === undefined) return "hangs"
  if (run.exitCode !== 0) {
    if (/TypeError|Cannot read properties|is not a function|is not iterable|Cannot convert object/.test(run.error))
      return "crashes"
    // The scripted model rejects what its schema does not allow, as a provider does.
    if (/^400\b/m.test(run.error)) return "missends"
    return /array length|heap out of memory/.test(run.error) ? "hangs" : "refuses"
  }
  if (run.isMissent) return "missends"
  if (!isKept) {
    if (run.sent.length === 1) return "overwrites"
    return isExpected(run.sent, expected) ? "migrates" : "flattens"
  }
  if (!isExpected(run.sent, expected)) return "loses"
  const isGlued = before.at(-1) !== 0x0a && run.after.length > before.length && run.after[before.length] !== 0x0a
  return isGlued ? "glues" : "reads"
}

/** The number of entries in the tree that Pi makes of a session. */
const reachable = Effect.fnUntraced(function* (version: PiVersion.PiVersion, bytes: Uint8Array) {
  const folder = yield* temporaryFolder
  const file = Path.join(folder, "s.jsonl")
  Fs.writeFileSync(file, bytes)
  const pi = yield* Effect.promise(() => PiModule.load(version))
  const nodes = [...pi.SessionManager.open(file, folder).getTree()]
  for (const node of nodes) nodes.push(...node.children)
  // An entry that replaced another one appears twice.
  return new Set(nodes.map(({ entry }) => entry)).size
}, Effect.scoped)

/** A fixture as `doctor --fix` repairs it, for an existing directory. */
const mended = (file: string) => (cwd: string) => {
  const { changes, session } = SessionRepair.repair(Session.read(bytesOf(file, cwd)))
  return Session.toBytes(changes.length === 0 ? session : SessionRepair.asCopy(session, "/s.jsonl", "t.jsonl").session)
}

/** What the findings say that a Pi does. */
const expectedOf = (file: string, version: PiVersion.PiVersion): Does => {
  const findings = SessionDoctor.examine(Session.read(bytesOf(file)))
  const does = new Set(findings.map(({ pi }) => pi[version].does))
  return STRONGEST.find((one) => does.has(one)) ?? "reads"
}

const checkDamaged = Effect.fnUntraced(function* (
  resume: Resume,
  version: PiVersion.PiVersion,
  { file, sent }: DamagedFixture
) {
  const expected = expectedOf(file, version)
  let before: Buffer = Buffer.alloc(0)
  const damaged = yield* resume((cwd) => (before = bytesOf(file, cwd)), expected === "hangs")
  let does = observed(before, damaged, sent)
  // Entries on other branches are not sent, but can be lost.
  if (does === "reads" && (yield* reachable(version, before)) < (yield* reachable(version, mended(file)("/"))))
    does = "loses"
  assert.strictEqual(does, expected, `${file}: ${damaged.error}\n${damaged.sent.join("\n")}`)
})

const checkCopy = Effect.fnUntraced(function* (resume: Resume, { file, sent }: DamagedFixture) {
  if (sent.length === 0) return
  let copy: Uint8Array = Buffer.alloc(0)
  const whole = yield* resume((cwd) => (copy = mended(file)(cwd)), false)
  assert.strictEqual(whole.exitCode, 0, `${file}: ${whole.error}`)
  assert.isTrue(isExpected(whole.sent, sent), `${file}: ${whole.sent.join("\n")}`)
  assert.isFalse(whole.isMissent, file)
  const after = Session.read(whole.after)
  const left = SessionDoctor.examine(after).filter(({ severity }) => severity === "error")
  assert.deepStrictEqual(left, [], `${file}: the session is sound after another turn`)
  if (SessionDoctor.examine(Session.read(bytesOf(file))).some(({ code }) => code === "old-version")) return
  assert.isTrue(whole.after.subarray(0, copy.length).equals(Buffer.from(copy)), `${file}: Pi only appends to the copy`)
  const { tree } = Session.read(copy)
  const added = after.tree.getEntries()[tree.getEntries().length]
  assert.strictEqual(added?.parentId, tree.leafId, `${file}: the new turn follows the leaf`)
})

const processes = Math.min(
  Dose.of("PI_SESSIONS_PI_PROCESSES", { test: 1, campaign: damagedFixtures.length }),
  damagedFixtures.length
)
/** Prime to the number of fixtures, so that the seeds choose all of them. */
const STEP = 31
const started = Array.from(
  { length: processes },
  (_, at) => damagedFixtures[((Dose.firstSeed() + at) * STEP) % damagedFixtures.length]!
)

describe.each(PiVersion.versions)("Pi %s", (version) => {
  it.live("in this process does what the doctor says, and continues in the repaired copy", () =>
    Effect.gen(function* () {
      const resume = inThisProcess(yield* PiResume.make(version))
      for (const fixture of damagedFixtures) {
        if (expectedOf(fixture.file, version) !== "hangs") yield* checkDamaged(resume, version, fixture)
        yield* checkCopy(resume, fixture)
      }
    }).pipe(Effect.scoped)
  )

  it.live.each(started)(
    "as a process does what the doctor says, and continues in the repaired copy: $file",
    (fixture) =>
      Effect.gen(function* () {
        yield* checkDamaged(inProcess(version), version, fixture)
        yield* checkCopy(inProcess(version), fixture)
      })
  )

  it.live("opens the copy by its own id, and the original by the original's id", () =>
    Effect.gen(function* () {
      const pi = yield* HermeticPi.make()
      const file = "damaged/unknown-parent.jsonl"
      const [original, copy] = [bytesOf(file, pi.cwd), mended(file)(pi.cwd)]
      Fs.writeFileSync(Path.join(pi.sessionDir, "s.jsonl"), original)
      Fs.writeFileSync(Path.join(pi.sessionDir, "t.jsonl"), copy)
      for (const [bytes, sent] of [
        [original, ["hello", "hi"]],
        [copy, ["lost to Pi", "lost too", "hello", "hi"]]
      ] as const) {
        const id = String(Session.read(bytes).header?.decode()["id"])
        const run = yield* pi.run(version, ["--session-dir", pi.sessionDir, "--session", id, "-p", PROMPT])
        assert.strictEqual(run.exitCode, 0, run.stderr)
        const requests = yield* pi.requests
        const messages = (requests.at(-1)?.messages ?? []).filter(({ role }) => role === "user" || role === "assistant")
        assert.deepStrictEqual(messages.map(ScriptedModel.textOf), [...sent, PROMPT])
      }
    }).pipe(Effect.scoped)
  )

  it.live("refuses a session whose directory is gone, as the doctor says", () =>
    Effect.gen(function* () {
      const bytes = bytesOf("damaged/crlf.jsonl", "/home/nobody/gone")
      const findings = SessionDoctor.examine(Session.read(bytes), { cwdExists: false })
      assert.deepStrictEqual(findings.find(({ code }) => code === "cwd-gone")?.pi[version].does, "refuses")
      const run = yield* inProcess(version)(() => bytes, false)
      assert.strictEqual(observed(bytes, run, []), "refuses")
      assert.include(run.error, "/home/nobody/gone")
      assert.isTrue(run.after.equals(bytes))
    })
  )

  it.live("finds a session with a long header by --continue if the doctor says so", () =>
    Effect.gen(function* () {
      const long = (cwd: string) => bytesOf("unsound/long-header.jsonl", cwd)
      assert.strictEqual(yield* isContinued(version, long), version === "1.5")
      const [finding] = SessionDoctor.examine(Session.read(longer("/x")))
      assert.deepInclude(finding, { code: "long-header", severity: "warning" })
      assert.match(finding?.pi[version].says ?? "", /--continue does not find it/)
      assert.isFalse(yield* isContinued(version, longer))
      const opened = yield* inThisProcess(yield* PiResume.make(version))(longer, false)
      assert.deepStrictEqual(opened.sent, ["hello", "hi", PROMPT])
    }).pipe(Effect.scoped)
  )
})

/** A header of more than 1 MiB. */
const longer = (cwd: string): Buffer =>
  Buffer.from(
    bytesOf("unsound/long-header.jsonl", cwd)
      .toString("latin1")
      .replace(/"version":3/, () => `"version":3,"note":"${"x".repeat(1 << 20)}"`),
    "latin1"
  )

/** Whether Pi opens the session as the most recent one of its directory, as `--continue` does. */
const isContinued = Effect.fnUntraced(function* (version: PiVersion.PiVersion, bytesIn: (cwd: string) => Uint8Array) {
  const folder = yield* temporaryFolder
  Fs.writeFileSync(Path.join(folder, "s.jsonl"), bytesIn(folder))
  const pi = yield* Effect.promise(() => PiModule.load(version))
  const continueRecent: unknown = Reflect.get(pi.SessionManager, "continueRecent")
  assert.isFunction(continueRecent)
  const session: unknown = Reflect.apply(Object(continueRecent), pi.SessionManager, [folder, folder])
  const file: unknown = Reflect.apply(Object(Reflect.get(Object(session), "getSessionFile")), session, [])
  return file === Path.join(folder, "s.jsonl")
}, Effect.scoped)
