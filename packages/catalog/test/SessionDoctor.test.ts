/**
 * Findings of damaged and sound fixtures, of the corpus, of real Pi sessions, and of sessions that each test writes.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Dose from "@pi-sessions/testing/Dose"
import * as SessionWalk from "@pi-sessions/testing/sessions/SessionWalk"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as PiVersion from "@pi-sessions/testing/pi/PiVersion"
import { Effect } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as process from "node:process"
import * as Session from "@pi-sessions/core/Session"
import { rules } from "../src/FindingRule.ts"
import * as SessionDoctor from "../src/SessionDoctor.ts"
import { Code, type Finding, format } from "../src/SessionFinding.ts"
import { bytesOf, damagedFixtures, files, fixturesFolder } from "./support/damagedFixtures.ts"

const examine = (bytes: Uint8Array) => SessionDoctor.examine(Session.read(bytes))

/** Findings that sound sessions may have. */
const HARMLESS: ReadonlySet<string> = new Set([
  "old-version",
  "unanswered-call",
  "missing-cwd",
  "missing-final-newline"
])

const damages = (findings: ReadonlyArray<Finding>) => findings.filter(({ code }) => !HARMLESS.has(code)).map(format)

const text = (...lines: ReadonlyArray<object | string>): Buffer =>
  Buffer.from(lines.map((line) => `${typeof line === "string" ? line : JSON.stringify(line)}\n`).join(""))

const header = { type: "session", version: 3, id: "s", timestamp: "2026-01-01T00:00:00.000Z", cwd: "/x" }
const timestamp = "2026-01-01T00:00:00.000Z"
const user = (id: string, parentId: string | null) => ({
  type: "message",
  id,
  parentId,
  timestamp,
  message: { role: "user", content: id }
})
const assistant = (id: string, parentId: string | null, more: object = {}) => ({
  type: "message",
  id,
  parentId,
  timestamp,
  message: { role: "assistant", content: [], usage: {}, stopReason: "stop", ...more }
})
const result = (id: string, parentId: string | null, toolCallId: string) => ({
  type: "message",
  id,
  parentId,
  timestamp,
  message: { role: "toolResult", toolCallId, content: [], isError: false }
})
const calls = (...ids: ReadonlyArray<string>) => ({
  content: ids.map((id) => ({ type: "toolCall", id, name: "t", arguments: {} }))
})

describe("examine", () => {
  it.each(damagedFixtures)("finds all damage in $file, and nothing else", ({ file, codes }) => {
    const bytes = bytesOf(file)
    const findings = examine(bytes)
    assert.deepStrictEqual(
      findings.map(({ code }) => code),
      codes
    )
    for (const { line, byteOffset } of findings) {
      assert.strictEqual(line, bytes.subarray(0, byteOffset).filter((byte) => byte === 0x0a).length + 1)
    }
  })

  it("has a fixture for every code except those of huge lines and missing directories", () => {
    assert.sameMembers(
      [...files()],
      damagedFixtures.map(({ file }) => file)
    )
    const found = new Set(damagedFixtures.flatMap(({ codes }) => codes))
    assert.deepStrictEqual(
      Code.literals.filter((code) => !found.has(code)),
      ["line-too-long", "cwd-gone"]
    )
  })

  it("finds nothing in the sound fixtures", () => {
    const folder = Path.join(fixturesFolder, "sessions")
    const names = Fs.readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
      name.endsWith(".jsonl")
    )
    assert.isAtLeast(names.length, 9)
    for (const name of names) {
      const codes = examine(Fs.readFileSync(Path.join(folder, name))).map(({ code }) => code)
      const known = name.endsWith("version-1.jsonl")
        ? ["old-version"]
        : name.endsWith("mayor-pi-rust.jsonl")
          ? ["missing-call-id", "missing-call-id", "missing-call-id"]
          : []
      assert.deepStrictEqual(codes, known, name)
    }
  })

  it("finds no unknown damage in the corpus", () => {
    const corpus = process.env["PI_SESSIONS_CORPUS"]
    if (corpus === undefined || corpus === "") return
    for (const name of Fs.readdirSync(corpus, { recursive: true, encoding: "utf8" })) {
      if (!name.endsWith(".jsonl")) continue
      const findings = examine(Fs.readFileSync(Path.join(corpus, name)))
      process.stdout.write(`SessionDoctor: ${name}: ${findings.map(format).join("; ") || "nothing"}\n`)
      // Some version 1 files of the corpus contain a glued line.
      const odd = damages(findings).filter((line) => !line.includes(": glued-line: "))
      assert.deepStrictEqual(odd, [], name)
    }
  })

  it.effect.each(PiVersion.versions)(
    "finds no damage in sessions that Pi %s wrote",
    Effect.fnUntraced(function* (version) {
      const root = yield* temporaryFolder
      for (let seed = 1; seed <= Dose.of("PI_SESSIONS_WALKS", { test: 20, campaign: 400 }); seed++) {
        const dir = Path.join(root, String(seed))
        const walk = yield* Effect.promise(() =>
          SessionWalk.walk(version, { seed, steps: 40, dir, cwd: "/srv/project" })
        )
        for (const file of walk.files) {
          const bytes = Fs.readFileSync(file)
          // The walk also replaces answers by images, which are invalid in answers.
          const edits = new Set(
            Session.read(bytes)
              .tree.getEntries()
              .flatMap(({ id, type }) => (type === "context_edit" ? [id] : []))
          )
          const codes = examine(bytes).filter(
            ({ code, entryId }) => UNSOUND.has(code) && !(code === "unknown-block" && edits.has(entryId ?? ""))
          )
          assert.deepStrictEqual(codes, [], `seed ${seed}`)
        }
      }
    }, Effect.scoped)
  )

  it("reports faults outside of the context as harmless at present", () => {
    const findings = examine(
      text(
        header,
        user("u1", null),
        result("r1", "u1", "gone"),
        assistant("x1", "u1", { content: "text" }),
        assistant("a1", "u1")
      )
    )
    const [orphan, shape] = findings
    assert.deepInclude(orphan, { code: "orphan-result", severity: "note", mend: null })
    assert.deepInclude(shape, { code: "text-content", severity: "warning" })
    for (const finding of findings) assert.strictEqual(finding.pi["0.78"].does, "reads")
  })

  it("reports a fault in counting tokens only if Pi counts them", () => {
    const odd = { content: [{ type: "odd" }] }
    const counted = { usage: { totalTokens: 15 }, timestamp: 2 }
    const does = (...entries: ReadonlyArray<object>) =>
      examine(text(header, user("u1", null), ...entries)).map(({ pi, severity }) => [severity, pi["1.5"].does])
    assert.deepStrictEqual(does(assistant("a1", "u1", odd)), [["error", "crashes"]])
    const later = assistant("a2", "a1", counted)
    assert.deepStrictEqual(does(assistant("a1", "u1", odd), later), [["error", "crashes"]], "without timestamps")
    const timed = { ...user("u2", "u1"), message: { role: "user", content: "x", timestamp: 1 } }
    const session = (more: object) =>
      examine(
        text(
          header,
          timed,
          assistant("a1", "u2", { ...odd, timestamp: 1 }),
          assistant("a2", "a1", { ...counted, ...more })
        )
      ).filter(({ code }) => code === "unknown-block")
    assert.deepStrictEqual(
      [session({}), session({ stopReason: "error" }), session({ timestamp: 0 })].map(
        ([finding]) => finding?.pi["1.5"].does
      ),
      ["reads", "crashes", "crashes"]
    )
    assert.strictEqual(session({})[0]?.severity, "warning")
  })

  it("reports nothing that Pi accepts", () => {
    const blocks = [
      { type: "text", text: "" },
      { type: "thinking", thinking: "", redacted: true },
      { type: "toolCall", id: "c", name: "t", arguments: null }
    ]
    const entries = [
      user("u1", null),
      { ...assistant("a1", "u1", { content: blocks, usage: 42 }) },
      { ...result("r1", "a1", ""), message: { role: "toolResult", toolCallId: "c", content: [] } },
      { type: "custom_message", id: "m1", parentId: "r1", timestamp, content: "x" },
      { type: "context_edit", id: "e1", parentId: "m1", timestamp, targetId: "u1", replacement: { content: [] } },
      { type: "context_edit", id: "e2", parentId: "e1", timestamp, targetId: "u1", replacement: null }
    ]
    assert.deepStrictEqual(examine(text(header, ...entries)).map(format), [])
  })

  it("matches results with calls along the branches, also if ids repeat", () => {
    const sound = text(
      header,
      user("u1", null),
      assistant("c1", "u1", calls("x", "y")),
      result("r1", "c1", "y"),
      result("r2", "r1", "x"),
      assistant("c2", "r2", calls("x")),
      result("r3", "c2", "x"),
      assistant("c3", "u1", calls("z")),
      result("r4", "c3", "z")
    )
    assert.deepStrictEqual(examine(sound), [])
    const other = text(
      header,
      user("u1", null),
      assistant("c1", "u1", calls("x")),
      assistant("c2", "u1"),
      result("r1", "c2", "x")
    )
    assert.deepStrictEqual(
      examine(other).map(({ code, entryId }) => [code, entryId]),
      [
        ["unanswered-call", "c1"],
        ["orphan-result", "r1"]
      ]
    )
  })

  it("accepts a compaction that names itself or no first kept entry", () => {
    const compaction = { type: "compaction", id: "k1", parentId: "u1", timestamp, summary: "s", tokensBefore: 1 }
    for (const kept of [{ firstKeptEntryId: "k1" }, { firstKeptEntryId: "u1" }, {}]) {
      assert.deepStrictEqual(examine(text(header, user("u1", null), { ...compaction, ...kept })), [])
    }
  })

  it("has no findings in an empty file", () => {
    assert.deepStrictEqual(examine(Buffer.alloc(0)), [])
  })

  it("has a rule for every code, and formats a finding with line and byte", () => {
    assert.sameMembers(Object.keys(rules), [...Code.literals])
    const [finding] = examine(bytesOf("damaged/null-line.jsonl"))
    assert.match(finding === undefined ? "" : format(finding), /^line 4, byte 545: error: null-line: /)
  })

  it("reports a missing directory only if the caller checked", () => {
    const session = Session.read(text(header, user("u1", null)))
    const codes = (cwdExists?: boolean) => SessionDoctor.examine(session, { cwdExists }).map(({ code }) => code)
    assert.deepStrictEqual([codes(), codes(true), codes(false)], [[], [], ["cwd-gone"]])
  })
})

/** Codes that no session written by Pi may have. */
const UNSOUND: ReadonlySet<string> = new Set([
  "malformed-line",
  "glued-line",
  "torn-line",
  "missing-final-newline",
  "not-an-object",
  "null-line",
  "missing-type",
  "missing-id",
  "empty-id",
  "no-leaf",
  "bom",
  "missing-header",
  "header-not-first",
  "header-glued",
  "duplicate-header",
  "unversioned-tree",
  "newer-version",
  "duplicate-id",
  "cycle",
  "parent-later",
  "missing-timestamp",
  "missing-message",
  "missing-role",
  "odd-content",
  "null-block",
  "unknown-block",
  "empty-block",
  "broken-call",
  "missing-command",
  "missing-summary",
  "broken-edit"
])
