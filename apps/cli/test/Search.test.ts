/** `pi-sessions search`: hits, filters, forms of output, interruption. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import * as Files from "node:fs"
import * as Path from "node:path"
import * as process from "node:process"
import * as LargeSession from "@pi-sessions/testing/sessions/LargeSession"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { call } from "./support/callCli.ts"
import * as PseudoTerminal from "./support/pseudoTerminal.ts"
import { branches, fixtures, idOf, oneSession } from "./support/storeFolder.ts"
import { MAIN } from "./support/program.ts"

const search = (cwd: string, ...args: ReadonlyArray<string>) => call(["search", ...args], cwd)

const sessions = Path.join(fixtures, "sessions")
const TIME = "[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}"

const user = (id: string, text: string, more: object = {}): string =>
  `${JSON.stringify({ type: "message", id, parentId: null, timestamp: "2026-02-01T10:00:00.000Z", message: { role: "user", content: text }, ...more })}\n`
const header = (id: string): string =>
  `${JSON.stringify({ type: "session", version: 3, id, timestamp: "2026-02-01T10:00:00.000Z", cwd: "/w" })}\n`

const put = (folder: string, name: string, text: string, seconds = 1): string => {
  const path = Path.join(folder, name)
  Files.writeFileSync(path, text)
  Files.utimesSync(path, seconds, seconds)
  return path
}

describe("pi-sessions search", () => {
  it.live("prints hits below their session, and names branches that are not active", () =>
    Effect.gen(function* () {
      const run = yield* search(sessions, "jest", "--sessions", ".", "--scope", "conversations")
      assert.deepStrictEqual([run.status, run.stderr], [0, ""])
      const lines = run.stdout.split("\n")
      assert.match(lines[0] ?? "", new RegExp(`^${idOf(branches)}  ${TIME}  /home/dev/work/app$`))
      assert.strictEqual(lines[1], branches)
      assert.match(lines[2] ?? "", new RegExp(`^  80d44d90  ${TIME}  branch_summary$`))
      assert.strictEqual(lines[3], "    1: jest was tried; it added 270 packages.")
      assert.match(lines[8] ?? "", new RegExp(`^  3ea1953f  ${TIME}  tool_call bash  on another branch, to 5f275f0c$`))
      assert.strictEqual(lines[9], "    1: npm i -D jest")
      const prompts = yield* search(sessions, "JEST", "--sessions", ".", "--ignore-case")
      assert.include(prompts.stdout, "    1: Use jest.\n")
      assert.strictEqual((yield* search(sessions, "JEST", "--sessions", ".")).status, 2, "smart case")
      assert.strictEqual(
        (yield* search(sessions, "jest", "--sessions", ".", "--word", "--case-sensitive")).stdout,
        prompts.stdout
      )
    })
  )

  it.live("prints context lines, and cuts long lines around the match", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      put(
        cwd,
        "s.jsonl",
        header("s") + user("a", `one\ntwo\nfox\n${"x".repeat(3000)}fox${"y".repeat(3000)}\nfive\nsix\nseven\nfox`)
      )
      const around = (yield* search(cwd, "fox", "--sessions", ".", "-C", "1")).stdout.split("\n").slice(3, -1)
      assert.deepStrictEqual(
        around.map((line) => line.replace(/x{2,}/, "XX").replace(/y{2,}/, "YY")),
        ["    2- two", "    3: fox", "    4: …XXfoxYY…", "    5- five", "    --", "    7- seven", "    8: fox"]
      )
      assert.isBelow(Math.max(...around.map(({ length }) => length)), 1050)
      const after = (yield* search(cwd, "one", "--sessions", ".", "-A", "1", "-B", "3")).stdout.split("\n").slice(3, -1)
      assert.deepStrictEqual(after, ["    1: one", "    2- two"])
    })
  )

  it.live("prints paths unchanged in a pipe", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const folder = Path.join(cwd, "two  blanks\t\u00a0and\u200b more ")
      Files.mkdirSync(folder)
      const path = put(folder, " s\u001b[1m.jsonl", header("s") + user("a", "fox"))
      assert.strictEqual((yield* search(cwd, "fox", "--sessions", ".", "-l")).stdout, `${path}\n`)
      assert.strictEqual((yield* search(cwd, "fox", "--sessions", ".", "--count")).stdout, `1\t${path}\n`)
      assert.include((yield* search(cwd, "fox", "--sessions", ".")).stdout, `\n${path}\n`)
    })
  )

  it.live("counts all matches of a session; the limit then counts sessions", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const one = put(cwd, "one.jsonl", header("one") + ["a", "b", "c"].map((id) => user(id, "fox")).join(""), 2)
      put(cwd, "two.jsonl", header("two") + user("d", "fox"), 1)
      const limited = (...args: ReadonlyArray<string>) => search(cwd, "fox", "--sessions", ".", "--limit", "1", ...args)
      assert.strictEqual((yield* limited("--count")).stdout, `3\t${one}\n`)
      assert.strictEqual((yield* limited("-l")).stdout, `${one}\n`)
      assert.strictEqual((yield* limited("--ndjson")).stdout.trimEnd().split("\n").length, 1)
      const { sessions: counted } = JSON.parse((yield* limited("--count", "--json")).stdout)
      assert.deepStrictEqual(
        counted.map(({ count, path }: { count: number; path: string }) => [count, path]),
        [[3, one]]
      )
    })
  )

  it.live("refuses empty flags", () =>
    Effect.gen(function* () {
      for (const flag of ["--cwd", "--rig", "--model", "--tool"]) {
        const { status, stderr } = yield* search(sessions, "jest", "--sessions", ".", flag, "")
        assert.deepStrictEqual([status, stderr], [2, `error: ${flag} is empty; leave it out, or give one\n`])
      }
    })
  )

  it.live("shows progress at a terminal that can clear it, and nowhere else", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      for (let n = 1; n <= 60; n++) put(cwd, `${n}.jsonl`, header(`${n}`) + user("a", n === 30 ? "fox" : "hen"), n)
      const at = (terminal: boolean, variables: { readonly [name: string]: string }) =>
        Effect.map(call(["search", "fox", "--sessions", "."], cwd, terminal, variables), ({ stderr }) => stderr)
      const blank = `\r${" ".repeat("25 of 60 sessions".length)}\r`
      assert.strictEqual(yield* at(true, {}), `25 of 60 sessions${blank}50 of 60 sessions${blank}`)
      assert.strictEqual(yield* at(true, { NO_COLOR: "1" }), `25 of 60 sessions${blank}50 of 60 sessions${blank}`)
      assert.strictEqual(yield* at(true, { TERM: "dumb" }), "")
      assert.strictEqual(yield* at(false, {}), "")
    })
  )

  it.live("escapes control characters of sessions", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      put(cwd, "s.jsonl", header("s") + user("a", "fox \u001b[2J\u0007 \u202e fox\tend"))
      const run = yield* search(cwd, "fox", "--sessions", ".")
      assert.include(run.stdout, "    1: fox ␛[2J␇ <U+202E> fox    end\n")
      for (const form of ["--json", "--ndjson"]) {
        const { stdout } = yield* search(cwd, "fox", "--sessions", ".", form)
        // eslint-disable-next-line no-control-regex
        assert.notMatch(stdout, /[\u0000-\u0009\u000b-\u001f\u202e]/)
        assert.include(stdout, "\\u001b[2J")
      }
    })
  )

  it.live("shows a match after characters of any width", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      for (const before of ["\u202e", "\u0007", "日", "😀", "\t", "\ud83d"]) {
        for (const count of [1, 50, 200, 600, 999, 1000, 5000]) {
          put(cwd, "s.jsonl", header("s") + user("a", `${before.repeat(count)}fox${before.repeat(3)}`))
          const { status, stdout } = yield* search(cwd, "fox", "--sessions", ".")
          assert.strictEqual(status, 0)
          if (before !== "\u202e") assert.include(stdout, "fox", JSON.stringify([before, count]))
          assert.isBelow(Math.max(...stdout.split("\n").map(({ length }) => length)), 1100)
        }
      }
    })
  )

  it.live("prints one document with --json, and one hit per line with --ndjson", () =>
    Effect.gen(function* () {
      const run = yield* search(sessions, "npm i", "--sessions", ".", "--tool", "bash", "--json")
      const { hits, searched } = JSON.parse(run.stdout)
      assert.deepInclude(searched, { pattern: "npm i", scope: "conversations" })
      const lines = (yield* search(sessions, "npm i", "--sessions", ".", "--tool", "bash", "--ndjson")).stdout
        .trimEnd()
        .split("\n")
      assert.deepStrictEqual(
        lines.map((line) => JSON.parse(line)),
        hits
      )
      const [hit] = hits
      assert.deepInclude(hit, {
        entryId: "3ea1953f",
        timestamp: "2026-11-21T00:39:25.259Z",
        type: "message",
        role: "assistant",
        kind: "tool_call",
        tool: "bash",
        matches: [{ start: 0, end: 5 }],
        lines: [{ line: 1, offset: 0, text: "npm i -D jest" }],
        position: { active: false, depth: 5, leafId: "5f275f0c" },
        forks: []
      })
      assert.deepStrictEqual(hit.session, {
        id: idOf(branches),
        path: branches,
        format: "jsonl",
        cwd: "/home/dev/work/app",
        timestamp: "2026-11-21T00:39:25.258Z"
      })
      const bytes = Files.readFileSync(branches).subarray(hit.byteOffset).toString()
      assert.strictEqual(JSON.parse(bytes.slice(0, bytes.indexOf("\n"))).id, "3ea1953f")
    })
  )

  it.live("counts, lists paths, and stops at a limit", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const old = put(cwd, "old.jsonl", header("o") + user("a", "fox") + user("b", "fox"), 1)
      const recent = put(cwd, "new.jsonl", header("n") + user("a", "fox"), 2)
      put(cwd, "none.jsonl", header("x") + user("a", "hen"), 3)
      const stdout = (...args: ReadonlyArray<string>) =>
        Effect.map(search(cwd, "fox", "--sessions", ".", ...args), (run) => run.stdout)
      assert.strictEqual(yield* stdout("--count"), `1\t${recent}\n2\t${old}\n`)
      assert.strictEqual(yield* stdout("--files-with-matches"), `${recent}\n${old}\n`)
      assert.strictEqual(yield* stdout("-l", "--limit", "1"), `${recent}\n`)
      assert.strictEqual(yield* stdout("--count", "--limit", "2"), `1\t${recent}\n2\t${old}\n`)
      const counted = JSON.parse(yield* stdout("--count", "--json"))
      assert.deepStrictEqual(
        counted.sessions.map(({ count, id }: { count: number; id: string }) => [id, count]),
        [
          ["n", 1],
          ["o", 2]
        ]
      )
      const lines = (yield* stdout("-l", "--ndjson")).trimEnd().split("\n")
      assert.deepStrictEqual(
        lines.map((line) => JSON.parse(line).path),
        [recent, old]
      )
    })
  )

  it.live("exits 2 if nothing matches, and says what was searched and what to try", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      put(cwd, "s.jsonl", header("s") + user("a", "fox"))
      put(cwd, "other.jsonl", "no session\n")
      const none = yield* search(cwd, "hen", "--sessions", ".")
      assert.deepStrictEqual([none.status, none.stdout], [2, ""])
      assert.strictEqual(
        none.stderr,
        "note: 1 file is no session or could not be read; pi-sessions list --others names them\n" +
          `error: nothing matches "hen" in prompts of 1 session: searched ${cwd}; try --scope conversations, or all\n`
      )
      assert.include((yield* search(cwd, "hen", "--sessions", ".", "--json")).stderr, "nothing matches")
      assert.include((yield* search(cwd, "hen", "--sessions", "gone")).stderr, "no such file or directory")
      assert.strictEqual((yield* search(cwd, "hen", "--sessions", "gone")).status, 2)
    })
  )

  it.live("refuses contradictory and invalid flags", () =>
    Effect.gen(function* () {
      const refused = (...args: ReadonlyArray<string>) =>
        Effect.map(search(sessions, ...args, "--sessions", "."), ({ status, stderr }) => {
          assert.strictEqual(status, 2, args.join(" "))
          return stderr
        })
      assert.include(yield* refused(""), 'the pattern "" cannot be searched for: it is empty')
      assert.include(yield* refused("(", "--regex"), "Invalid regular expression")
      assert.include(yield* refused("a", "--json", "--ndjson"), "--json and --ndjson exclude each other")
      assert.include(yield* refused("a", "--count", "-l"), "--count and --files-with-matches exclude each other")
      assert.include(yield* refused("a", "--ignore-case", "--case-sensitive"), "exclude each other")
      assert.include(yield* refused("a", "--limit", "0"), "1 or more")
      assert.include(yield* refused("a", "-C", "-1"), "0 or more")
      assert.include(yield* refused("a", "--tool", "bash", "--scope", "prompts"), "not prompts")
      assert.include(yield* refused("a", "--since", "yesterday"), "is not a time")
      yield* refused("a", "--scope", "everything")
    })
  )

  it.live("filters by rig, role, directory, model and time", () =>
    Effect.gen(function* () {
      const paths = (...args: ReadonlyArray<string>) =>
        Effect.map(search(sessions, "e", "--sessions", ".", "--scope", "all", "-l", ...args), ({ stdout }) =>
          stdout
            .split("\n")
            .filter(Boolean)
            .map((path) => Path.basename(path, ".jsonl"))
            .sort()
        )
      assert.deepStrictEqual(yield* paths("--rig", "deacon"), ["deacon-patrol"])
      assert.deepStrictEqual(yield* paths("--role", "crew", "--role", "witness"), ["crew-max", "witness-patrol"])
      assert.deepStrictEqual(yield* paths("--cwd", "/home/dev/work/app", "--since", "2026-11-21"), [
        "branches",
        "compacted"
      ])
      assert.deepStrictEqual(yield* paths("--cwd", "/home/dev/work/app", "--until", "2026-11-19"), [])
      assert.deepStrictEqual(yield* paths("--model", "no-such-model"), [])
    })
  )

  it.live("finds the same in a container as in its file", () =>
    Effect.gen(function* () {
      const { container, cwd } = yield* oneSession
      const hits = Effect.map(
        search(cwd, "jest", "--sessions", ".", "--scope", "all", "--json"),
        ({ stdout }) => JSON.parse(stdout).hits
      )
      const before = yield* hits
      assert.strictEqual((yield* call(["store", "migrate", "s.jsonl"], cwd)).status, 0)
      const after = yield* hits
      assert.isAbove(after.length, 5)
      const plain = (hit: { session: object }): object => ({ ...hit, session: null })
      assert.deepStrictEqual(after.map(plain), before.map(plain))
      assert.deepInclude(after[0].session, { format: "native_v2", path: container })
    })
  )

  it.live.skipIf(PseudoTerminal.missing !== undefined)(
    "marks matches at a terminal unless NO_COLOR is set, and fits lines into it",
    () =>
      Effect.gen(function* () {
        const cwd = yield* temporaryFolder
        put(cwd, "s.jsonl", header("s") + user("a", `${"日本 ".repeat(60)}fox${" é".repeat(60)}`))
        const screen = (env: Readonly<Record<string, string>>) =>
          Effect.promise(() => PseudoTerminal.run(["search", "fox", "--sessions", "."], { cwd, columns: 60, env }))
        const coloured = yield* screen({})
        assert.strictEqual(coloured.status, 0)
        assert.include(coloured.screen, "\u001b[31mfox\u001b[0m")
        const plain = (yield* screen({ NO_COLOR: "1" })).screen
        assert.notInclude(plain, "\u001b")
        const lines = plain.split("\r\n")
        const line = lines.find((one) => one.startsWith("    1: ")) ?? ""
        assert.notInclude(line, "\u001b")
        assert.match(line, /^ {4}1: ….*fox.*…$/)
        const columns = Array.from(line).reduce((sum, character) => sum + (/[日本]/.test(character) ? 2 : 1), 0)
        assert.isAtMost(columns, 60)
        assert.isAbove(columns, 40)
      })
  )

  it.live(
    "prints hits as they are found, exits 130 when interrupted, and 0 if the reader closes the pipe",
    () =>
      Effect.gen(function* () {
        const cwd = yield* temporaryFolder
        const large = Path.join(cwd, "large.jsonl")
        yield* Effect.promise(() => LargeSession.write(large, { entries: 15_000, seed: 1 }))
        Files.utimesSync(large, 1, 1)
        put(cwd, "small.jsonl", header("s") + user("a", "fox"), 2)
        const ended = (onFirst: (child: ReturnType<typeof spawn>) => void, ...args: ReadonlyArray<string>) =>
          Effect.callback<{ readonly code: number | null; readonly out: string }>((resume) => {
            const child = spawn(process.execPath, [MAIN, "search", ...args], {
              cwd,
              stdio: ["ignore", "pipe", "inherit"]
            })
            let out = ""
            child.stdout.on("data", (data) => {
              if (out === "") onFirst(child)
              out += String(data)
            })
            child.on("close", (code) => resume(Effect.succeed({ code, out })))
          })
        // Every character of every text is a match, so the search takes minutes.
        const everything = ["--regex", ".", "--sessions", ".", "--scope", "all"]
        const interrupted = yield* ended((child) => child.kill("SIGINT"), ...everything, "--ndjson")
        assert.strictEqual(interrupted.code, 130)
        assert.deepStrictEqual(
          interrupted.out
            .trimEnd()
            .split("\n")
            .map((line) => JSON.parse(line).entryId),
          ["a"]
        )
        const words = ["--regex", "fox|the", "--sessions", ".", "--scope", "all", "--ndjson"]
        const enough = yield* ended((child) => child.stdout?.destroy(), ...words)
        assert.strictEqual(enough.code, 0)
      }),
    600_000
  )
})
