/**
 * The real Pis as oracles of the doctor: each does with a damaged fixture what the findings say that it does, and goes on
 * in the repaired copy with the history a person would expect.
 */
import { assert, describe, it } from "@effect/vitest"
import * as HermeticPi from "@pi-sessions/testing/HermeticPi"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as PiModule from "@pi-sessions/testing/PiModule"
import * as PiVersion from "@pi-sessions/testing/PiVersion"
import * as ScriptedModel from "@pi-sessions/testing/ScriptedModel"
import { Effect } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as Session from "@pi-sessions/core/Session"
import * as SessionDoctor from "../src/SessionDoctor.ts"
import { type Does } from "../src/SessionFinding.ts"
import * as SessionRepair from "../src/SessionRepair.ts"
import { bytesOf, damagedFixtures } from "./support/damagedFixtures.ts"

/** What shows when several damages meet: the first of these. */
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
  readonly exitCode: number | undefined
  readonly stderr: string
  readonly after: Buffer
  readonly sent: ReadonlyArray<string>
  /** A provider would not take it: a result without its call, an image without data. */
  readonly isMissent: boolean
}

/** Resumes `bytes` with one prompt, in a file of their own. */
const resume = Effect.fnUntraced(function* (
  version: PiVersion.PiVersion,
  bytesIn: (cwd: string) => Uint8Array,
  mayHang: boolean
) {
  const pi = yield* HermeticPi.make()
  const file = Path.join(pi.sessionDir, "s.jsonl")
  Fs.writeFileSync(file, bytesIn(pi.cwd))
  // A Pi that goes round and round takes all memory there is.
  const limits = mayHang ? ({ timeout: "8 seconds", env: { NODE_OPTIONS: "--max-old-space-size=600" } } as const) : {}
  // The model is that of the session, or the default one where there is none such.
  const run = yield* Effect.result(pi.prompt(version, file, PROMPT, { ...limits, model: null }))
  const requests = yield* pi.requests
  const messages = (requests.at(-1)?.messages ?? []).filter(({ role }) => role !== "system" && role !== "developer")
  const calls = new Set<string>()
  let isMissent = false
  for (const { content, role, tool_calls, tool_call_id } of messages) {
    for (const { id } of tool_calls ?? []) calls.add(id)
    if (calls.has("")) isMissent = true
    if (role === "tool" && !calls.has(tool_call_id ?? "")) isMissent = true
    if (JSON.stringify(content ?? null).includes("base64,undefined")) isMissent = true
  }
  return {
    exitCode: run._tag === "Success" ? run.success.exitCode : undefined,
    stderr: run._tag === "Success" ? run.success.stderr : "",
    after: Fs.readFileSync(file),
    sent: messages.map(ScriptedModel.textOf),
    isMissent
  } satisfies Run
}, Effect.scoped)

const isExpected = (sent: ReadonlyArray<string>, expected: ReadonlyArray<string>): boolean =>
  sent.length === expected.length + 1 &&
  sent.at(-1) === PROMPT &&
  expected.every((text, at) => sent[at] === text || (text.length > 40 && sent[at]?.startsWith(text) === true))

const observed = (before: Buffer, run: Run, expected: ReadonlyArray<string>): Does => {
  const isKept = run.after.subarray(0, before.length).equals(before)
  if (run.exitCode === undefined) return "hangs"
  if (run.exitCode !== 0) {
    if (/TypeError|Cannot read properties|is not a function|is not iterable|Cannot convert object/.test(run.stderr))
      return "crashes"
    // The model of the tests takes only what its schema knows, as a provider does.
    if (/^400\b/m.test(run.stderr)) return "missends"
    return /array length|heap out of memory/.test(run.stderr) ? "hangs" : "refuses"
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

/** How many entries can be reached in the tree that Pi makes of a session. */
const reachable = Effect.fnUntraced(function* (version: PiVersion.PiVersion, bytes: Uint8Array) {
  const folder = yield* temporaryFolder
  const file = Path.join(folder, "s.jsonl")
  Fs.writeFileSync(file, bytes)
  const pi = yield* Effect.promise(() => PiModule.load(version))
  const nodes = [...pi.SessionManager.open(file, folder).getTree()]
  for (const node of nodes) nodes.push(...node.children)
  // An entry that replaced another one stands in its place too.
  return new Set(nodes.map(({ entry }) => entry)).size
}, Effect.scoped)

/** The bytes of a fixture's session, mended as `doctor --fix` writes it, for a directory that is there. */
const mended = (file: string) => (cwd: string) => {
  const { changes, session } = SessionRepair.repair(Session.read(bytesOf(file, cwd)))
  return Session.toBytes(changes.length === 0 ? session : SessionRepair.asCopy(session, "/s.jsonl", "t.jsonl").session)
}

describe.each(PiVersion.versions)("Pi %s", (version) => {
  it.live.each(damagedFixtures)(
    "does what the doctor says, and goes on in the repaired copy: $file",
    ({ file, sent }) =>
      Effect.gen(function* () {
        const findings = SessionDoctor.examine(Session.read(bytesOf(file)))
        const said = new Set(findings.map(({ pi }) => pi[version].does))
        const strongest = STRONGEST.find((does) => said.has(does)) ?? "reads"
        let before: Buffer = Buffer.alloc(0)
        const damaged = yield* resume(version, (cwd) => (before = bytesOf(file, cwd)), strongest === "hangs")
        let does = observed(before, damaged, sent)
        // What stands on other branches is not sent, but can be lost.
        if (does === "reads" && (yield* reachable(version, before)) < (yield* reachable(version, mended(file)("/"))))
          does = "loses"
        assert.strictEqual(does, strongest, `${damaged.stderr}\n${damaged.sent.join("\n")}`)
        if (sent.length === 0) return

        let copy: Uint8Array = before
        const whole = yield* resume(version, (cwd) => (copy = mended(file)(cwd)), false)
        assert.strictEqual(whole.exitCode, 0, whole.stderr)
        assert.isTrue(isExpected(whole.sent, sent), whole.sent.join("\n"))
        assert.isFalse(whole.isMissent)
        const after = Session.read(whole.after)
        const left = SessionDoctor.examine(after).filter(({ severity }) => severity === "error")
        assert.deepStrictEqual(left, [], "the session is sound after another turn")
        if (findings.some(({ code }) => code === "old-version")) return
        assert.isTrue(whole.after.subarray(0, copy.length).equals(Buffer.from(copy)), "Pi only appends to the copy")
        const leafId = Session.read(copy).tree.leafId
        const added = after.tree.getEntries()[Session.read(copy).tree.getEntries().length]
        assert.strictEqual(added?.parentId, leafId, "the new turn follows the leaf")
      })
  )

  it.live("goes on in the copy by the copy's id, and in the original by its own", () =>
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
    })
  )

  it.live("refuses to go on where the directory is gone, as the doctor says", () =>
    Effect.gen(function* () {
      const bytes = bytesOf("damaged/crlf.jsonl", "/home/nobody/gone")
      const findings = SessionDoctor.examine(Session.read(bytes), { cwdExists: false })
      assert.deepStrictEqual(findings.find(({ code }) => code === "cwd-gone")?.pi[version].does, "refuses")
      const run = yield* resume(version, () => bytes, false)
      assert.strictEqual(observed(bytes, run, []), "refuses")
      assert.include(run.stderr, "/home/nobody/gone")
      assert.isTrue(run.after.equals(bytes))
    })
  )

  it.live("finds the session of a long header by --continue where the doctor says that it does", () =>
    Effect.gen(function* () {
      const long = (cwd: string) => bytesOf("unsound/long-header.jsonl", cwd)
      assert.strictEqual(yield* isContinued(version, long), version === "1.5")
      const [finding] = SessionDoctor.examine(Session.read(longer("/x")))
      assert.deepInclude(finding, { code: "long-header", severity: "warning" })
      assert.match(finding?.pi[version].says ?? "", /--continue does not find it/)
      assert.isFalse(yield* isContinued(version, longer))
      const opened = yield* resume(version, longer, false)
      assert.deepStrictEqual(opened.sent, ["hello", "hi", PROMPT])
    })
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

/** Whether Pi goes on in the session when it is told to go on in the last one of its directory. */
const isContinued = Effect.fnUntraced(function* (version: PiVersion.PiVersion, bytesIn: (cwd: string) => Uint8Array) {
  const pi = yield* HermeticPi.make()
  Fs.writeFileSync(Path.join(pi.sessionDir, "s.jsonl"), bytesIn(pi.cwd))
  yield* pi.run(version, ["--session-dir", pi.sessionDir, "--continue", "-p", PROMPT])
  const [request] = yield* pi.requests
  return (request?.messages ?? []).some((message) => ScriptedModel.textOf(message) === "hello")
}, Effect.scoped)
