/** `pi-sessions doctor`: findings, repaired copies, exit statuses. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Files from "node:fs"
import * as Path from "node:path"
import { objectAt } from "@pi-sessions/core/Json"
import * as Session from "@pi-sessions/core/Session"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { call } from "./support/callCli.ts"
import * as PseudoTerminal from "./support/pseudoTerminal.ts"
import { fixtures } from "./support/storeFolder.ts"

const doctor = (cwd: string, ...args: ReadonlyArray<string>) => call(["doctor", ...args], cwd)

/** Copies a fixture to a folder, which becomes its working directory. */
const put = (cwd: string, fixture: string, as = "s.jsonl"): Buffer => {
  const text = Files.readFileSync(Path.join(fixtures, fixture)).toString("latin1")
  const bytes = Buffer.from(text.replaceAll("/home/dev/work/app", cwd), "latin1")
  Files.writeFileSync(Path.join(cwd, as), bytes)
  return bytes
}

const folder = temporaryFolder

describe("pi-sessions doctor", () => {
  it.live("prints each finding with line, byte and the reaction of both Pis, and exits 1", () =>
    Effect.gen(function* () {
      const cwd = yield* folder
      const bytes = put(cwd, "damaged/unknown-parent.jsonl")
      put(cwd, "damaged/null-line.jsonl", "t.jsonl")
      const run = yield* doctor(cwd, "s.jsonl", "t.jsonl")
      assert.strictEqual(run.status, 1)
      const byte = bytes.indexOf('{"type":"message","id":"u2"')
      const lines = run.stdout.split("\n")
      assert.strictEqual(lines[0], Path.join(cwd, "s.jsonl"))
      assert.match(lines[1] ?? "", new RegExp(`^  line 4, byte ${byte}: error: unknown-parent: parentId "gone" `))
      assert.strictEqual(lines[2], "    Pi takes the entry for the first one: history before it is cut off")
      assert.strictEqual(lines[3], "    --fix: the entry follows the one before it in the file")
      assert.strictEqual(lines[4], Path.join(cwd, "t.jsonl"))
      assert.strictEqual(lines[6], "    Pi 0.78 fails where it asks the null for its type")
      assert.strictEqual(lines[7], "    Pi 1.5 skips it")
      assert.strictEqual(
        run.stderr,
        "2 sessions examined: 2 errors, 0 warnings, 0 notes\n" +
          "error: 2 errors found; --fix writes copies without those that can be repaired\n"
      )
      assert.deepStrictEqual(Files.readdirSync(cwd), ["s.jsonl", "t.jsonl"], "nothing was written")
    })
  )

  it.live("finds nothing in a sound session, and exits 0", () =>
    Effect.gen(function* () {
      const cwd = yield* folder
      put(cwd, "sessions/project/branches.jsonl")
      const text = Files.readFileSync(Path.join(cwd, "s.jsonl"), "utf8")
      Files.writeFileSync(Path.join(cwd, "s.jsonl"), text.replace(/"cwd":"[^"]*"/, `"cwd":"${cwd}"`))
      const run = yield* doctor(cwd, ".")
      assert.deepStrictEqual([run.status, run.stdout, run.stderr], [0, "", "1 session examined, nothing found\n"])
    })
  )

  it.live("warns of a missing directory, which is not an error", () =>
    Effect.gen(function* () {
      const cwd = yield* folder
      Files.copyFileSync(Path.join(fixtures, "damaged/crlf.jsonl"), Path.join(cwd, "s.jsonl"))
      const run = yield* doctor(cwd, "s.jsonl")
      assert.strictEqual(run.status, 0, run.stderr)
      assert.include(run.stdout, "warning: cwd-gone: its directory is not there: /home/dev/work/app")
    })
  )

  it.live("writes repaired copies beside the unchanged files, and exits 0", () =>
    Effect.gen(function* () {
      const cwd = yield* folder
      const bytes = put(cwd, "damaged/glued-line.jsonl")
      const first = yield* doctor(cwd, "s.jsonl", "--fix")
      const copy = Path.join(cwd, "s.repaired.jsonl")
      assert.strictEqual(first.status, 0, first.stderr)
      const { header } = Session.read(Files.readFileSync(copy))
      assert.include(first.stdout, `  repaired copy: ${copy} (2 changes), session ${String(header?.decode()["id"])}\n`)
      assert.isTrue(Files.readFileSync(Path.join(cwd, "s.jsonl")).equals(bytes))
      assert.deepStrictEqual(Session.read(Files.readFileSync(copy)).diagnostics, [])

      // An equal copy exists already; a different copy gets another name.
      assert.include((yield* doctor(cwd, "s.jsonl", "--fix")).stdout, copy)
      assert.deepStrictEqual(Files.readdirSync(cwd).sort(), ["s.jsonl", "s.repaired.jsonl"])
      const written = "somebody went on here\n"
      Files.appendFileSync(copy, written)
      const other = yield* doctor(cwd, "s.jsonl", "--fix", "--json")
      const [session] = JSON.parse(other.stdout).sessions
      assert.strictEqual(session.repaired.path, Path.join(cwd, "s.repaired-2.jsonl"))
      assert.isTrue(Files.readFileSync(copy, "utf8").endsWith(written))
      assert.deepStrictEqual(Files.readdirSync(cwd).sort(), ["s.jsonl", "s.repaired-2.jsonl", "s.repaired.jsonl"])
    })
  )

  it.live("names the entry of a damaged block, and keeps its text in the copy", () =>
    Effect.gen(function* () {
      const cwd = yield* folder
      put(cwd, "unsound/odd-text-of-result.jsonl")
      const run = yield* doctor(cwd, "s.jsonl")
      assert.strictEqual(run.status, 1)
      assert.match(run.stdout, /^ {2}line 4, byte \d+: error: unknown-block: .*\(entry "r1"\)$/m)
      const fixed = yield* doctor(cwd, "s.jsonl", "--fix", "--json")
      assert.strictEqual(fixed.status, 0, fixed.stderr)
      const [session] = JSON.parse(fixed.stdout).sessions
      assert.deepInclude(session.findings[0], { code: "unknown-block", entryId: "r1", line: 4, severity: "error" })
      assert.deepStrictEqual(session.repaired.left, [])
      const copy = Session.read(Files.readFileSync(session.repaired.path))
      const message = objectAt(copy.tree.getEntry("r1")?.decode() ?? {}, "message")
      const texts = ["a", "b", "c", "d", "e"].map((name) => ({ type: "text", text: `${name}.txt` }))
      assert.deepStrictEqual(message?.["content"], texts)
      for (const { entryId } of session.repaired.changes) assert.isDefined(copy.tree.getEntry(entryId))
    })
  )

  it.live("gives the copy its own id, and the original as parent", () =>
    Effect.gen(function* () {
      const cwd = yield* folder
      put(cwd, "damaged/glued-line.jsonl")
      yield* doctor(cwd, "s.jsonl", "--fix")
      Files.appendFileSync(Path.join(cwd, "s.repaired.jsonl"), "somebody went on here\n")
      yield* doctor(cwd, "s.jsonl", "--fix")
      const headers = ["s.jsonl", "s.repaired.jsonl", "s.repaired-2.jsonl"].map((name) =>
        JSON.parse(Files.readFileSync(Path.join(cwd, name), "utf8").split("\n")[0] ?? "")
      )
      const [original, first, second] = headers
      assert.strictEqual(new Set(headers.map(({ id }) => id)).size, 3)
      for (const copy of [first, second]) {
        assert.deepStrictEqual(copy, { ...original, id: copy.id, parentSession: Path.join(cwd, "s.jsonl") })
      }
    })
  )

  it.live("keeps the original's id unique, its texts found once and its answers learnt once", () =>
    Effect.gen(function* () {
      const cwd = yield* folder
      const sessions = Path.join(cwd, "sessions")
      Files.mkdirSync(sessions)
      put(sessions, "damaged/glued-line.jsonl")
      const { id } = JSON.parse(Files.readFileSync(Path.join(sessions, "s.jsonl"), "utf8").split("\n")[0] ?? "")
      const variables = { PI_CODING_AGENT_SESSION_DIR: sessions, PI_CODING_AGENT_DIR: cwd }
      const pi = (...args: ReadonlyArray<string>) => call(args, cwd, false, variables)
      const targets = Effect.fnUntraced(function* (given: string, out: string) {
        const run = yield* pi("extract", "--sessions", given, "--out", Path.join(cwd, out))
        assert.strictEqual(run.status, 0, run.stderr)
        return JSON.parse(Files.readFileSync(Path.join(cwd, out, "report.json"), "utf8")).total.targets
      })
      const before = yield* pi("search", "--scope", "all", "--ndjson", "e")
      const fixed = yield* pi("doctor", id, "--fix", "--json")
      assert.strictEqual(fixed.status, 0, fixed.stderr)
      const copy = JSON.parse(fixed.stdout).sessions[0].repaired
      const shown = yield* pi("show", id, "--json")
      assert.strictEqual(JSON.parse(shown.stdout).path, Path.join(sessions, "s.jsonl"), shown.stderr)
      const other = yield* pi("show", copy.id, "--json")
      assert.strictEqual(JSON.parse(other.stdout).path, copy.path, other.stderr)
      const after = yield* pi("search", "--scope", "all", "--ndjson", "e")
      const entries = (run: { readonly stdout: string }) =>
        run.stdout
          .split("\n")
          .filter((line) => line !== "")
          .map((line) => JSON.parse(line).entryId)
          .sort()
      assert.isNotEmpty(entries(before))
      assert.deepStrictEqual(entries(after), entries(before))
      assert.deepStrictEqual([yield* targets(sessions, "both"), yield* targets(copy.path, "copy")], [2, 2])
    })
  )

  it.live("takes ids, starts of ids and paths, and examines each session once", () =>
    Effect.gen(function* () {
      const cwd = yield* folder
      put(cwd, "damaged/glued-line.jsonl")
      put(cwd, "damaged/unknown-parent.jsonl", "t.jsonl")
      Files.mkdirSync(Path.join(cwd, "sub"))
      Files.symlinkSync(Path.join(cwd, "t.jsonl"), Path.join(cwd, "sub/l.jsonl"))
      const idOf = (name: string): string =>
        JSON.parse(Files.readFileSync(Path.join(cwd, name), "utf8").split("\n")[0] ?? "").id
      const variables = { PI_CODING_AGENT_SESSION_DIR: cwd, PI_CODING_AGENT_DIR: cwd }
      const run = (...args: ReadonlyArray<string>) => call(["doctor", "--json", ...args], cwd, false, variables)
      const paths = (called: { readonly stdout: string }) =>
        JSON.parse(called.stdout).sessions.map(({ path }: { path: string }) => Path.basename(path))
      assert.deepStrictEqual(paths(yield* run(idOf("s.jsonl"), idOf("t.jsonl"), "t.jsonl")), ["s.jsonl", "t.jsonl"])
      assert.deepStrictEqual(paths(yield* run(idOf("s.jsonl").slice(0, -1))), ["s.jsonl"])
      assert.deepStrictEqual(paths(yield* run(".")), ["s.jsonl", "t.jsonl"], "a link is no session of its own")
      const common = idOf("s.jsonl").slice(0, 4)
      assert.strictEqual(idOf("t.jsonl").slice(0, 4), common)
      const both = yield* run(common)
      assert.strictEqual(both.status, 2)
      assert.include(both.stderr, "may be one of 2 sessions")
      assert.strictEqual((yield* run("nobody")).status, 2)
    })
  )

  it.live("escapes control characters of sessions, at a terminal and in a pipe", () =>
    Effect.gen(function* () {
      const cwd = yield* folder
      const header = {
        type: "session",
        version: 3,
        id: "s",
        timestamp: "x",
        cwd: "/gone\u001b[31m\n  line 9, byte 9: error"
      }
      Files.writeFileSync(Path.join(cwd, "s.jsonl"), `${JSON.stringify(header)}\n`)
      const run = yield* doctor(cwd, "s.jsonl")
      assert.strictEqual(run.stdout.split("\n").length, 4, run.stdout)
      assert.notInclude(run.stdout, "\u001b")
      const bidi = { ...header, cwd: "/gone\u202e" }
      Files.writeFileSync(Path.join(cwd, "s.jsonl"), `${JSON.stringify(bidi)}\n`)
      const json = yield* doctor(cwd, "s.jsonl", "--json")
      assert.notInclude(json.stdout, "\u202e")
      assert.include(JSON.parse(json.stdout).sessions[0].findings[0].message, "/gone\u202e")
    })
  )

  it.live("writes no copy of a sound session, and exits 1 for damage it cannot repair", () =>
    Effect.gen(function* () {
      const cwd = yield* folder
      put(cwd, "damaged/newer-version.jsonl")
      put(cwd, "damaged/not-a-session.jsonl", "fox.jsonl")
      const run = yield* doctor(cwd, "s.jsonl", "fox.jsonl", "--fix")
      assert.strictEqual(run.status, 1)
      assert.include(run.stdout, "    --fix: cannot repair it\n")
      assert.include(run.stderr, "error: 3 errors could not be repaired\n")
      assert.deepStrictEqual(Files.readdirSync(cwd).sort(), ["fox.jsonl", "s.jsonl"])
    })
  )

  it.live("prints one document with --json", () =>
    Effect.gen(function* () {
      const cwd = yield* folder
      put(cwd, "unsound/missing-usage-earlier.jsonl")
      const run = yield* doctor(cwd, "s.jsonl", "--json")
      assert.strictEqual(run.status, 1)
      const { sessions, skipped } = JSON.parse(run.stdout)
      assert.deepStrictEqual(skipped, [])
      assert.deepInclude(sessions[0], { path: Path.join(cwd, "s.jsonl"), entries: 4, repaired: null })
      const [finding] = sessions[0].findings
      assert.deepInclude(finding, { code: "missing-usage", severity: "error", line: 3, entryId: "a1" })
      assert.deepStrictEqual([finding.pi["0.78"].does, finding.pi["1.5"].does], ["reads", "crashes"])
    })
  )

  it.live("searches directories, skips files that are not sessions, and finds sessions without a header", () =>
    Effect.gen(function* () {
      const cwd = yield* folder
      Files.mkdirSync(Path.join(cwd, "deep"))
      put(cwd, "damaged/no-header.jsonl", "deep/lost.jsonl")
      put(cwd, "damaged/not-a-session.jsonl", "fox.jsonl")
      const run = yield* doctor(cwd, ".", "--fix")
      assert.strictEqual(run.status, 0, run.stderr)
      assert.notInclude(run.stdout, "fox.jsonl")
      assert.include(run.stdout, `repaired copy: ${Path.join(cwd, "deep/lost.repaired.jsonl")}`)
    })
  )

  it.live("exits 2 if there is nothing to examine, and says what it found", () =>
    Effect.gen(function* () {
      const cwd = yield* folder
      const none = yield* doctor(cwd, ".")
      assert.deepStrictEqual([none.status, none.stderr], [2, `error: no session found in ${cwd}: no .jsonl file\n`])
      put(cwd, "damaged/not-a-session.jsonl", "fox.jsonl")
      assert.include((yield* doctor(cwd, ".")).stderr, "1 .jsonl file, none of them a session")
      const gone = yield* doctor(cwd, "gone.jsonl")
      assert.deepStrictEqual(
        [gone.status, gone.stderr],
        [2, `error: cannot list ${cwd}/gone.jsonl: no such file or directory\n`]
      )
      const unnamed = yield* doctor(cwd)
      assert.strictEqual(unnamed.status, 2)
      assert.include(unnamed.stderr, "which session?")
      assert.strictEqual((yield* doctor(cwd, "")).status, 2)
    })
  )
})

const reason = PseudoTerminal.missing === undefined ? "" : ` (skipped: ${PseudoTerminal.missing})`

describe.skipIf(PseudoTerminal.missing !== undefined)(`pi-sessions doctor at a terminal${reason}`, () => {
  it.live("examines the session that the user chooses if none is named", () =>
    Effect.gen(function* () {
      const cwd = yield* folder
      const sessions = Path.join(cwd, ".pi/agent/sessions/--x--")
      Files.mkdirSync(sessions, { recursive: true })
      put(sessions, "damaged/glued-line.jsonl")
      const stdoutTo = Path.join(cwd, "stdout")
      const typed = [{ after: "Which session?", keys: "\r" }]
      const run = yield* Effect.promise(() => PseudoTerminal.run(["doctor"], { cwd, typed, stdoutTo }))
      assert.strictEqual(run.status, 1, run.screen)
      const stdout = Files.readFileSync(stdoutTo, "utf8")
      assert.strictEqual(stdout.split("\n")[0], Path.join(sessions, "s.jsonl"))
      assert.include(stdout, "error: glued-line:")
    })
  )
})
