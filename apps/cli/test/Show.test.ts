/** `pi-sessions show` and `tree`: timelines, raw lines, JSON, terminals. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Files from "node:fs"
import * as Path from "node:path"
import * as Session from "@pi-sessions/core/Session"
import * as TerminalText from "@pi-sessions/report/TerminalText"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { call } from "./support/callCli.ts"
import * as PseudoTerminal from "./support/pseudoTerminal.ts"
import { branches, fixtures, oneSession, store } from "./support/storeFolder.ts"

const show = (cwd: string, ...args: ReadonlyArray<string>) => call(["show", ...args], cwd)

/** Lines of a golden text, without the indentation of the test. */
const lines = (text: string): string =>
  text
    .replaceAll(/^ {8}\|/gmu, "")
    .replace(/^\n/, "")
    .trimEnd() + "\n"

describe("pi-sessions show", () => {
  it.live("prints the timeline of the active branch, tools on one line", () =>
    Effect.gen(function* () {
      const run = yield* show(fixtures, "sessions/gt/deacon-patrol.jsonl")
      assert.strictEqual(run.status, 0, run.stderr)
      assert.strictEqual(
        run.stdout,
        lines(`
        |2026-11-21 00:39:24  session 01a1fb8b-2d32-747a-9b08-afb248288af4
        |  cwd      /home/ubuntu/gt/deacon
        |  entries  10 on this branch, 10 in all
        |
        |2026-11-21 00:39:24  6309c53b  model fake/fake-1
        |2026-11-21 00:39:24  f996690a  thinking level off
        |
        |2026-11-21 00:39:24  a0be796b  custom message gastown-prime
        |  # Deacon Context
        |
        |  You are the deacon: patrol the town.
        |
        |2026-11-21 00:39:24  97a72b18  user
        |  [GAS TOWN] deacon <- daemon • 2026-02-25T08:30 • patrol
        |
        |  Run your patrol.
        |
        |2026-11-21 00:39:24  8d444df1  assistant fake/fake-1, 484 tokens
        |  I'll start with the heartbeat.
        |  > bash gt deacon heartbeat
        |
        |2026-11-21 00:39:24  5b54ec7a  tool result bash: ✓ Heartbeat updated
        |
        |2026-11-21 00:39:24  677fb44d  assistant fake/fake-1, 420 tokens
        |  > bash gt witness status --all
        |  > bash gt mail inbox
        |
        |2026-11-21 00:39:24  831c6592  tool result bash: gastown running (+1 line)
        |2026-11-21 00:39:24  a770dbfe  tool result bash: inbox empty
        |
        |2026-11-21 00:39:24  90970559  assistant fake/fake-1, 574 tokens
        |  The witness of beads is down; everything else is well. I have told the mayor.
        `)
      )
      assert.strictEqual(run.stderr, "")
    })
  )

  it.live("prints another branch in full: thinking, arguments, outputs, labels, branch points", () =>
    Effect.gen(function* () {
      const run = yield* show(fixtures, branches, "--branch", "5f", "--depth", "full")
      assert.strictEqual(
        run.stdout.split("\n").slice(11).join("\n"),
        lines(`
        |2026-11-21 00:39:25  f6041296  assistant fake/fake-1, 464 tokens
        |  ~ Both are there.
        |  Either jest or vitest.
        |  + other branches from here: 80d44d90
        |
        |2026-11-21 00:39:25  bb384783  user
        |  Use jest.
        |
        |2026-11-21 00:39:25  3ea1953f  assistant fake/fake-1, 452 tokens
        |  Installing jest.
        |  > bash
        |    command: npm i -D jest
        |
        |2026-11-21 00:39:25  5096bf2a  tool result bash
        |  added 270 packages
        |
        |2026-11-21 00:39:25  76a86388  assistant  [jest way] fake/fake-1, 442 tokens
        |  jest is in.
        |
        |2026-11-21 00:39:25  5f275f0c  label "jest way" on 76a86388
        `)
      )
    })
  )

  it.live("wraps lines to --width, and names damage", () =>
    Effect.gen(function* () {
      const run = yield* show(fixtures, "damaged/unknown-parent.jsonl", "--width", "44", "--depth", "user")
      assert.strictEqual(
        run.stdout,
        lines(`
        |2026-05-31 10:12:13  session damaged-orphan
        |  cwd       /home/dev/work/app
        |  entries   2 on this branch, 4 in all
        |  branches  2
        |  damage    1 finding; see the command
        |            doctor
        |  + other branches from here: u1
        |
        |2026-05-31 10:12:14  u2  user
        |  hello
        |  ! parentId "gone" names no entry; history
        |    before this one is cut off
        `)
      )
    })
  )

  it.live("--raw prints the branch's lines byte for byte, of old sessions and of damaged ones too", () =>
    Effect.gen(function* () {
      const files = ["sessions/project/branches.jsonl", "sessions/project/version-1.jsonl", "damaged/crlf.jsonl"]
      for (const name of [...files, "damaged/invalid-utf8.jsonl", "damaged/missing-final-newline.jsonl"]) {
        const bytes = Files.readFileSync(Path.join(fixtures, name))
        const run = yield* Effect.map(show(fixtures, name, "--raw"), ({ stdout }) => stdout)
        const session = Session.read(bytes)
        const branch = name.includes("version-1") ? session.tree.getEntries() : session.tree.getBranch()
        assert.strictEqual(run, Buffer.concat([...Session.print(branch)]).toString(), name)
        assert.isAbove(run.length, 100)
      }
      const jest = yield* show(fixtures, branches, "--branch", "5f27", "--raw")
      const expected = Files.readFileSync(branches, "utf8").split("\n").slice(1, 10)
      assert.strictEqual(jest.stdout, `${expected.join("\n")}\n`)
    })
  )

  it.live("prints the same items as one JSON document or as lines", () =>
    Effect.gen(function* () {
      const document = JSON.parse((yield* show(fixtures, branches, "--json", "--depth", "full")).stdout)
      const objects = (yield* show(fixtures, branches, "--ndjson", "--depth", "full")).stdout.trimEnd().split("\n")
      assert.deepStrictEqual(
        objects.map((line) => JSON.parse(line)),
        document.items
      )
      assert.deepInclude(document, { path: branches, format: "jsonl", leafId: "5e0c754d", depth: "full" })
      assert.lengthOf(document.items, 9)
      assert.deepInclude(document.items[4], {
        kind: "assistant",
        entryId: "f6041296",
        time: "2026-11-21T00:39:25.259Z",
        branches: ["bb384783"]
      })
      const both = yield* show(fixtures, branches, "--json", "--raw")
      assert.deepStrictEqual([both.status, both.stdout], [2, ""])
    })
  )

  it.live("exits 2 and lists the entries that an ambiguous start of an id matches", () =>
    Effect.gen(function* () {
      const run = yield* show(fixtures, branches, "--branch", "5")
      assert.deepStrictEqual([run.status, run.stdout], [2, ""])
      assert.strictEqual(
        run.stderr,
        [
          "error: 5 is the beginning of 3 entry ids; give more of it:",
          "  5096bf2a  toolResult  2026-11-21T00:39:25.259Z  line 8",
          "  5f275f0c  label  2026-11-21T00:39:25.259Z  line 10",
          "  5e0c754d  custom  2026-11-21T00:39:25.259Z  line 14\n"
        ].join("\n")
      )
      assert.strictEqual((yield* show(fixtures, "damaged/not-a-session.jsonl")).status, 2)
    })
  )

  it.live("shows containers and SQLite files as it shows files", () =>
    Effect.gen(function* () {
      const { container, cwd } = yield* oneSession
      const full = (what: string) => Effect.map(show(cwd, what, "--depth", "full"), ({ stdout }) => stdout)
      const file = yield* full("s.jsonl")
      yield* store(cwd, "migrate", "s.jsonl")
      assert.strictEqual(yield* full(container), file)
      const sqlite = (yield* store(cwd, "rollback", container, "--to", "sqlite_v1")).stdout.trimEnd()
      assert.strictEqual(yield* full(sqlite), file)
      assert.include(file, "vitest is in; one test runs green.")
    })
  )
})

/** Control characters that a hostile session could contain. */
const evil = "\u001b]0;owned\u0007\u001b[2J\u009b31m\u0000\u202egnp.\u2066exe\u2069\u200f\u2028\r\b\u007f"

const hostile = (cwd: string): string => {
  const entry = (type: string, id: string, parentId: string | null, rest: object) =>
    JSON.stringify({
      type,
      id: id + evil,
      parentId: parentId === null ? null : parentId + evil,
      timestamp: evil,
      ...rest
    })
  const say = (role: string, content: unknown, rest: object = {}) => ({ message: { role, content, ...rest } })
  const block = { type: "toolCall", id: evil, name: evil, arguments: { [evil]: evil, command: evil } }
  const text = [
    JSON.stringify({ type: "session", version: 3, id: `h${evil}`, timestamp: evil, cwd: evil, parentSession: evil }),
    entry("message", "a", null, say("user", evil + "long ".repeat(5000))),
    entry(
      "message",
      "b",
      "a",
      say("assistant", [{ type: "thinking", thinking: evil }, { type: "text", text: evil }, block], {
        model: evil,
        errorMessage: evil,
        stopReason: evil
      })
    ),
    entry(
      "message",
      "c",
      "b",
      say("toolResult", [{ type: "text", text: evil }], {
        toolCallId: evil,
        toolName: evil,
        isError: true,
        details: { [evil]: evil }
      })
    ),
    entry("message", "d", "c", { message: { role: "bashExecution", command: evil, output: evil } }),
    entry("message", "e", "d", say(evil, evil)),
    entry("compaction", "f", "e", { summary: evil, firstKeptEntryId: evil }),
    entry("session_info", "g", "f", { name: evil }),
    entry("label", "h", "g", { targetId: `a${evil}`, label: evil }),
    entry("custom_message", "i", "h", { customType: evil, content: evil }),
    entry(evil, "j", "i", { [evil]: evil }),
    entry("message", "k", "gone", say("user", evil))
  ].join("\n")
  const file = Path.join(cwd, "hostile.jsonl")
  Files.writeFileSync(file, `${text}\n${entry("custom", "l", "j", { customType: evil })}\n`)
  return file
}

/** Characters other than newlines that control a terminal. */
const STEERING = /[^\P{Cc}\n]|\p{Bidi_Control}|\p{Zl}|\p{Zp}/u
const withoutColours = (screen: string): string =>
  // eslint-disable-next-line no-control-regex
  screen.replaceAll(/\u001b\[(?:[0-9]{1,2})?m/gu, "").replaceAll("\r\n", "\n")
/** Text without the progress, which clears itself. */
const withoutProgress = (text: string): string => text.replaceAll(/^(?:\d+ of \d+ sessions(?: counted)?\r +\r)+/gmu, "")

describe("text that could steer a terminal", () => {
  const calls = [
    ["show", "hostile.jsonl", "--depth", "full"],
    ["show", "hostile.jsonl"],
    ["show", "hostile.jsonl", "--ndjson", "--depth", "full"],
    ["show", "hostile.jsonl", "--json"],
    ["tree", "hostile.jsonl"],
    ["tree", "hostile.jsonl", "--all"],
    ["tree", "hostile.jsonl", "--json"],
    ["show", "hostile.jsonl", "--branch", "z"],
    ["show", "hostile.jsonl", "--branch", ""],
    ["fork", "hostile.jsonl", "--at", "q"],
    ["show", "hostile.jsonl", "--as", "messages"],
    ["show", "hostile.jsonl", "--as", "sharegpt", "--depth", "full", "--branches", "all"],
    ["show", "hostile.jsonl", "--as", "messages", "--json"],
    ["stats", "--sessions", "hostile.jsonl"],
    ["stats", "--sessions", "hostile.jsonl", "--md"],
    ["stats", "--sessions", "hostile.jsonl", "--json"]
  ]

  it.live("is escaped in a pipe, in every form", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      hostile(cwd)
      for (const args of calls) {
        const { stderr, stdout } = yield* call(args, cwd)
        assert.notMatch(stdout + stderr, STEERING, args.join(" "))
        assert.isAbove((stdout + stderr).length, 20)
      }
    })
  )

  const checkScreen = (args: ReadonlyArray<string>, screen: string): void => {
    const text = withoutProgress(withoutColours(screen))
    assert.notMatch(text, STEERING, args.join(" "))
    const isForPrograms = args.some((arg) => /^--(?:.*json|raw|md)$/.test(arg))
    if (isForPrograms || text.startsWith("error")) return
    for (const line of text.split("\n")) {
      if (!line.startsWith("warning")) assert.isAtMost(TerminalText.width(line), 60, `${args.join(" ")}: ${line}`)
    }
  }

  it.live("is escaped at a terminal, and lines fit, in every form", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      hostile(cwd)
      for (const args of [
        ...calls,
        ["show", "hostile.jsonl", "--raw"],
        ["show", "hostile.jsonl", "--as", "messages", "--ndjson"]
      ]) {
        const width = args[0] === "fork" ? [] : ["--width", "60"]
        const { stderr, stdout } = yield* call([...args, ...width], cwd, "both")
        checkScreen(args, stdout)
        assert.notMatch(withoutProgress(stderr), STEERING, args.join(" "))
      }
    })
  )

  it.live.skipIf(PseudoTerminal.missing !== undefined)("is escaped, and lines fit, at a real terminal", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      hostile(cwd)
      for (const args of [
        ["show", "hostile.jsonl", "--depth", "full"],
        ["tree", "hostile.jsonl", "--all"]
      ]) {
        const { screen } = yield* Effect.promise(() => PseudoTerminal.run(args, { cwd, columns: 60 }))
        checkScreen(args, screen)
      }
    })
  )
})

describe.skipIf(PseudoTerminal.missing !== undefined)("at a terminal", () => {
  it.live("prints colours, unless NO_COLOR is set or the terminal has none", () =>
    Effect.gen(function* () {
      const { cwd } = yield* oneSession
      for (const command of ["show", "tree"]) {
        const at = (env: Readonly<Record<string, string>>) =>
          Effect.promise(() => PseudoTerminal.run([command, "s.jsonl"], { cwd, columns: 100, env }))
        const coloured = (yield* at({})).screen
        const plain = (yield* at({ NO_COLOR: "1" })).screen
        assert.include(coloured, "\u001b[")
        assert.notInclude(plain, "\u001b")
        assert.notInclude((yield* at({ TERM: "dumb" })).screen, "\u001b")
        assert.strictEqual(withoutColours(coloured), plain.replaceAll("\r\n", "\n"))
        // In a pipe lines are not cut; here all lines fit.
        assert.strictEqual(plain.replaceAll("\r\n", "\n"), (yield* call([command, "s.jsonl"], cwd)).stdout)
      }
    })
  )
})
