/** `pi-sessions list` over a home with sessions in every layout. */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as TerminalText from "@pi-sessions/report/TerminalText"
import * as PiHome from "@pi-sessions/testing/sessions/PiHome"
import { memoryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as PointInTime from "../src/flags/PointInTime.ts"
import { type Layout } from "../src/print/ResultPrinter.ts"
import * as SessionTable from "../src/print/SessionTable.ts"
import * as ShortIds from "../src/print/ShortIds.ts"
import { call } from "./support/callCli.ts"

const bench = Effect.gen(function* () {
  const pi = PiHome.make(yield* memoryFolder)
  const list = (...args: ReadonlyArray<string>) => call(["list", ...args], pi.home, false, pi.usual.variables)
  const json = (...args: ReadonlyArray<string>) =>
    Effect.map(list("--ndjson", ...args), ({ stdout }) =>
      stdout
        .split("\n")
        .filter((line) => line !== "")
        .map((line): { readonly [key: string]: unknown } => JSON.parse(line))
    )
  return { pi, list, json }
})

const paths = (sessions: ReadonlyArray<{ readonly [key: string]: unknown }>) => sessions.map(({ path }) => path)

describe("list", () => {
  it.live("prints every session, newest first, and notes files that are not sessions", () =>
    Effect.gen(function* () {
      const { list, pi } = yield* bench
      const last = pi.usual.sessions.find(({ path }) => path.endsWith("/top.jsonl"))!
      Fs.utimesSync(last.path, new Date(2030, 0, 2, 3, 4), new Date(2030, 0, 2, 3, 4))
      const { status, stderr, stdout } = yield* list()
      assert.strictEqual(status, 0, stderr)
      const lines = stdout.trimEnd().split("\n")
      assert.strictEqual(lines.length, pi.usual.sessions.length + 1)
      assert.match(lines[0] ?? "", /^id +modified +size +cwd$/)
      assert.match(lines[1] ?? "", /^019e5691-[0-9]{4} +2030-01-02 03:04 +[0-9]+ B +\/home\/ann\/work\/app$/)
      assert.strictEqual(
        stderr,
        `note: ${pi.others.length} files are no sessions or could not be read; pi-sessions list --others names them\n`
      )
    }).pipe(Effect.scoped)
  )

  it.live("prints every session with the facts of its header as JSON", () =>
    Effect.gen(function* () {
      const { json, list, pi } = yield* bench
      const listed = yield* json("--columns", "messages,name,version,parent")
      const byPath = new Map(listed.map((session) => [session["path"], session]))
      for (const { cwd, format, id, messages, name, path, timestamp } of pi.usual.sessions) {
        const session = byPath.get(path)
        assert.include(session, { cwd, format, id, timestamp, messageCount: messages }, path)
        assert.strictEqual(session?.["name"], name)
        assert.isNumber(session?.["version"])
      }
      const document: { readonly sessions: ReadonlyArray<unknown> } = JSON.parse((yield* list("--json")).stdout)
      assert.strictEqual(document.sessions.length, pi.usual.sessions.length)
    }).pipe(Effect.scoped)
  )

  it.live("filters by directory, time and name, sorts, reverses and limits", () =>
    Effect.gen(function* () {
      const { json, pi } = yield* bench
      const windows = yield* json("--cwd", "C:\\Users\\ann")
      assert.deepStrictEqual(
        windows.map(({ cwd }) => cwd),
        ["C:\\Users\\ann\\work: new"]
      )
      assert.isEmpty(yield* json("--cwd", "C:\\Users\\an"))
      assert.strictEqual((yield* json("--name", "ОТВЕТЫ")).length, 1)
      assert.strictEqual((yield* json("--name", "\u00e9t\u00e9")).length, 1, "composed, where the name is not")
      const [old, older] = pi.usual.sessions
      Fs.utimesSync(old!.path, new Date(2001, 1, 3, 23, 59), new Date(2001, 1, 3, 23, 59))
      Fs.utimesSync(older!.path, new Date(2000, 1, 3), new Date(2000, 1, 3))
      assert.deepStrictEqual(paths(yield* json("--until", "2001-02-03")), [old!.path, older!.path])
      assert.deepStrictEqual(paths(yield* json("--until", "2001-02-03", "--since", "2001-02-03")), [old!.path])
      assert.deepStrictEqual(paths(yield* json("--reverse", "--limit", "2")), [older!.path, old!.path])
      const sizes = (yield* json("--sort", "size")).map(({ sizeBytes }) => Number(sizeBytes))
      assert.deepStrictEqual(
        sizes,
        sizes.toSorted((a, b) => b - a)
      )
      const counts = (yield* json("--sort", "messages")).map(({ messageCount }) => Number(messageCount))
      assert.deepStrictEqual(
        counts,
        counts.toSorted((a, b) => b - a)
      )
      const ids = (yield* json("--sort", "id")).map(({ id }) => String(id))
      assert.deepStrictEqual(ids, ids.toSorted())
    }).pipe(Effect.scoped)
  )

  it.live("selects by rig and role", () =>
    Effect.gen(function* () {
      const { json, pi } = yield* bench
      const file = Path.join(pi.sessionsRoot, "deacon.jsonl")
      Fs.writeFileSync(
        file,
        `${JSON.stringify({ type: "session", version: 3, id: "d", cwd: "/home/ann/gt/deacon" })}\n`
      )
      assert.deepStrictEqual(
        (yield* json("--rig", "deacon")).map(({ path, role }) => [path, role]),
        [[file, "deacon"]]
      )
      assert.deepStrictEqual(paths(yield* json("--role", "deacon")), [file])
    }).pipe(Effect.scoped)
  )

  it.live("shows facts of the index while they are current", () =>
    Effect.gen(function* () {
      const { list, pi } = yield* bench
      const refreshed = yield* call(["index", "refresh"], pi.home, false, pi.usual.variables)
      assert.strictEqual(refreshed.status, 0, refreshed.stderr)
      const { stdout } = yield* list("--sort", "name")
      assert.match(stdout.split("\n")[0] ?? "", /^id +modified +size +messages +cwd +name$/)
      assert.include(stdout, "  日本語のセッション\n")
      assert.include(stdout, "esc ␛[31mred␛[0m <U+202E>gnirts")
      assert.notInclude(stdout, "\u001b")
    }).pipe(Effect.scoped)
  )

  it.live("prints the same JSON with an index as without, plus the facts of the index", () =>
    Effect.gen(function* () {
      const { json, pi } = yield* bench
      const before = yield* json()
      assert.isTrue(before.some(({ parentSession }) => parentSession !== undefined))
      yield* call(["index", "refresh"], pi.home, false, pi.usual.variables)
      const after = yield* json()
      assert.deepStrictEqual(
        after.map(({ messageCount: _count, name: _name, ...rest }) => rest),
        before
      )
      assert.isTrue(after.some(({ messageCount }) => messageCount === 3))
    }).pipe(Effect.scoped)
  )

  it.live("lists files that are not sessions, and Pi's other files", () =>
    Effect.gen(function* () {
      const { list, pi } = yield* bench
      const others = (yield* list("--others")).stdout.trimEnd().split("\n")
      assert.strictEqual(others.length, pi.others.length)
      for (const path of pi.others)
        assert.isTrue(
          others.some((line) => line.startsWith(`${path}: `)),
          path
        )
      const { documents } = JSON.parse((yield* list("--documents", "--json")).stdout)
      assert.deepStrictEqual(
        Object.fromEntries(documents.map(({ path, store }: { path: string; store: string }) => [store, path])),
        pi.documents
      )
    }).pipe(Effect.scoped)
  )

  it.live("exits 2 and says why if nothing matches or the call is wrong", () =>
    Effect.gen(function* () {
      const { list, pi } = yield* bench
      const wrong: ReadonlyArray<readonly [ReadonlyArray<string>, string]> = [
        [["--name", "nobody"], `${pi.usual.sessions.length} sessions found; try fewer filters`],
        [["--sessions", "gone"], "no such file or directory"],
        [["--sessions", ""], "--sessions is empty"],
        [["--cwd", ""], "--cwd is empty"],
        [["--name", ""], "--name is empty"],
        [["--others", "--sessions", pi.usual.sessions[0]!.path], "every file is a session"],
        [["--others", "--json", "--sessions", pi.usual.sessions[0]!.path], "every file is a session"],
        [["--columns", "id,colour"], 'there is no column "colour"'],
        [["--since", "soon"], '"soon" is not a time'],
        [["--since", "2026-02-31"], '"2026-02-31" is not a time'],
        [["--limit", "0"], "--limit must be 1 or more"],
        [["--json", "--ndjson"], "give one of them"]
      ]
      for (const [args, text] of wrong) {
        const { status, stderr, stdout } = yield* list(...args)
        assert.strictEqual(status, 2, args.join(" "))
        assert.include(stderr, text)
        assert.strictEqual(stdout, "")
      }
      const empty = yield* call(["list"], pi.home, false, { HOME: Path.join(pi.home, "flat") })
      assert.strictEqual(empty.status, 2)
      assert.include(empty.stderr, "there is no directory of sessions")
    }).pipe(Effect.scoped)
  )
})

const PIPE: Layout = { isTerminal: false, columns: undefined, colours: false }

describe("the table of list", () => {
  it("gives paths as they are in a pipe, and what steers a terminal made visible at one", () => {
    const rows = [["two  blanks", "/a  b/\u001b[2J c.jsonl"]]
    assert.deepStrictEqual(SessionTable.render(["name", "path"], rows, PIPE).slice(1), [
      "two blanks  /a  b/\u001b[2J c.jsonl"
    ])
    assert.deepStrictEqual(SessionTable.render(["name", "path"], rows, { ...PIPE, isTerminal: true }).slice(1), [
      "two blanks  /a  b/␛[2J c.jsonl"
    ])
  })

  it("aligns names in any script, and fits them into a terminal", () => {
    const names = ["plain", "日本語のセッション", "한국어", "e\u0301te\u0301", "हिन्दी", "👩‍👩‍👧‍👦 family", "🇩🇪"]
    const rows = names.map((name) => [name, "/home/ann/work/app"])
    const lines = SessionTable.render(["name", "cwd"], rows, PIPE)
    const places = lines.slice(1).map((line) => TerminalText.width(line.slice(0, line.indexOf("/home"))))
    assert.deepStrictEqual([...new Set(places)], [20])
    const narrow = SessionTable.render(["name", "cwd"], rows, { ...PIPE, columns: 30 })
    for (const line of narrow) assert.isAtMost(TerminalText.width(line), 30, line)
    assert.include(narrow[1] ?? "", "…")
    assert.match(narrow[2] ?? "", /work\/app$/, "the end of a path says more")
  })

  it("knows how wide characters are, as terminals draw them", () => {
    for (const [text, columns] of [
      ["abc", 3],
      ["日本", 4],
      ["한", 2],
      ["e\u0301", 1],
      ["👩‍👩‍👧‍👦", 2],
      ["🇩🇪", 2],
      ["é", 1],
      ["ｱ", 1],
      ["Ａ", 2]
    ] as const) {
      assert.strictEqual(TerminalText.width(text), columns, text)
    }
  })

  it("shortens ids as far as they stay apart, and not further", () => {
    const ids = ["019e5691-0001-7000", "019e5691-0002-7000", "ffae836b-1", "x", "019e5691-0002-7001"]
    const short = ShortIds.of(ids)
    for (const id of ids) {
      const beginning = short.get(id) ?? ""
      assert.deepStrictEqual(
        ids.filter((other) => other.startsWith(beginning)),
        [id]
      )
    }
    assert.strictEqual(short.get("ffae836b-1"), "ffae836b")
    const shared = ShortIds.of([...ids, "ffae836b-1"])
    assert.strictEqual(shared.get("ffae836b-1"), "ffae836b-1", "no beginning of it names one session")
  })

  it("writes sizes in three digits", () => {
    assert.deepStrictEqual([0, 999, 1000, 9949, 9950, 999_499, 999_500, 2e9].map(SessionTable.sizeOf), [
      "0 B",
      "999 B",
      "1.0 kB",
      "9.9 kB",
      "10 kB",
      "999 kB",
      "1.0 MB",
      "2.0 GB"
    ])
  })

  it("reads points in time", () => {
    const now = new Date(2026, 1, 25, 12).getTime()
    assert.strictEqual(PointInTime.parse("2h", now), now - 7_200_000)
    assert.strictEqual(PointInTime.parse("2026-02-25", now), new Date(2026, 1, 25).getTime())
    assert.strictEqual(PointInTime.parse("2026-02-25", now, true), new Date(2026, 1, 26).getTime() - 1)
    assert.strictEqual(PointInTime.parse("2026-02-25T08:30", now), new Date(2026, 1, 25, 8, 30).getTime())
    assert.strictEqual(PointInTime.parse("2026-02-25T08:30:00.000Z", now), Date.UTC(2026, 1, 25, 8, 30))
    for (const text of ["", "7", "d", "2026", "2026-13-01", "yesterday"]) {
      assert.isUndefined(PointInTime.parse(text, now), text)
    }
  })
})
