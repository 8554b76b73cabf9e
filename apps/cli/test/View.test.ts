/** `pi-sessions view`: the written file, the server, the browser, marks. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import * as Files from "node:fs"
import * as Path from "node:path"
import * as process from "node:process"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { call } from "./support/callCli.ts"
import { fixtures } from "./support/storeFolder.ts"
import { MAIN } from "./support/program.ts"

const built = Path.join(import.meta.dirname, "../../../packages/viewer/dist/page/view.js")
const isBuilt = Files.existsSync(built)
if (!isBuilt) process.stdout.write(`tests of view are skipped: ${built} is not built\n`)

const token = ["ghp", "q8Zr2mXw7KcVt4LsBy9NpEa3JdHf6UgR1oTi"].join("_")
const TIME = "2026-01-05T10:00:00.000Z"
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

/** A session with a secret, a picture, and a text that could end a script. */
const put = (cwd: string, name = "s.jsonl", id = "11111111-2222-4333-8444-555555555555"): string => {
  const message = (entry: string, parentId: string | null, role: string, text: string) => ({
    type: "message",
    id: entry,
    parentId,
    timestamp: TIME,
    message: {
      role,
      ...(role === "assistant" ? { provider: "p", model: "m", stopReason: "stop" } : {}),
      content: [
        { type: "text", text },
        ...(role === "user" ? [{ type: "image", mimeType: "image/png", data: pixel }] : [])
      ]
    }
  })
  const lines = [
    { type: "session", version: 3, id, timestamp: TIME, cwd: "/home/annabelle/work" },
    message("u1", null, "user", `the token is ${token}, says annabelle`),
    message("a1", "u1", "assistant", "</script><script>alert(1)</script><!-- I see")
  ]
  const path = Path.join(cwd, name)
  Files.writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(""))
  return path
}

const answersOf = (html: string): { readonly [address: string]: unknown } => {
  const [, text = ""] = /<script type="application\/json" id="answers">(.*?)<\/script>/su.exec(html) ?? []
  return JSON.parse(text)
}

describe.skipIf(!isBuilt)("pi-sessions view --out", () => {
  it.live("writes one redacted file with all answers, whose texts cannot end the data", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      put(cwd)
      const run = yield* call(["view", ".", "--out", "out.html"], cwd)
      assert.deepStrictEqual([run.status, run.stdout], [0, `${Path.join(cwd, "out.html")}\n`], run.stderr)
      const html = Files.readFileSync(Path.join(cwd, "out.html"), "utf8")
      for (const word of [token, "annabelle", "<script>alert", "<!-- I see", pixel]) assert.notInclude(html, word)
      assert.strictEqual(html.split("<script").length, 3, "the data and the page's own script")
      assert.match(html, /content="default-src 'none'; script-src 'sha256-[^"]*; connect-src 'none'; /u)
      const answers = answersOf(html)
      const text = JSON.stringify(answers)
      assert.include(text, "</script><script>alert(1)</script><!-- I see")
      assert.include(text, "[REDACTED:github-pat:")
      for (const address of ["home", "sessions", "summaries", "marks"]) assert.property(answers, address)
      assert.notInclude(Object.keys(answers).join(), "picture")
    })
  )

  it.live("includes secrets and pictures only on request", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      put(cwd)
      yield* call(["view", "s.jsonl", "--out", "p.html", "--pictures"], cwd)
      const pictures = Files.readFileSync(Path.join(cwd, "p.html"), "utf8")
      assert.include(pictures, pixel)
      assert.notInclude(pictures, token)
      yield* call(["view", "s.jsonl", "--out", "n.html", "--no-redact"], cwd)
      const raw = Files.readFileSync(Path.join(cwd, "n.html"), "utf8")
      assert.include(raw, pixel)
      assert.include(raw, token)
    })
  )

  it.live("replaces only its own file, and does not change the sessions", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const file = put(cwd)
      const before = Files.readFileSync(file)
      Files.writeFileSync(Path.join(cwd, "mine.html"), "<p>mine</p>")
      const refused = yield* call(["view", ".", "--out", "mine.html"], cwd)
      assert.strictEqual(refused.status, 2)
      assert.include(refused.stderr, "was not written by this command")
      assert.strictEqual(Files.readFileSync(Path.join(cwd, "mine.html"), "utf8"), "<p>mine</p>")
      for (let at = 0; at < 2; at++)
        assert.strictEqual((yield* call(["view", ".", "--out", "out.html"], cwd)).status, 0)
      assert.deepStrictEqual(Files.readFileSync(file), before)
    })
  )

  it.live("writes no file without a session, and exits 1", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      Files.truncateSync(put(cwd), (48 << 20) + 1)
      const { status, stderr } = yield* call(["view", "s.jsonl", "--out", "out.html"], cwd)
      assert.strictEqual(status, 1)
      assert.include(stderr, "too large for one file")
      assert.isFalse(Files.existsSync(Path.join(cwd, "out.html")))
    })
  )

  it.live("shows a dataset with the sessions of --sessions", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const sessions = Path.join(fixtures, "sessions")
      const made = yield* call(["extract", "--sessions", sessions, "--out", "data"], cwd)
      assert.strictEqual(made.status, 0, made.stderr)
      const run = yield* call(["view", "data", "--sessions", sessions, "--out", "out.html"], cwd)
      assert.strictEqual(run.status, 0, run.stderr)
      const answers = answersOf(Files.readFileSync(Path.join(cwd, "out.html"), "utf8"))
      const report = JSON.parse(Files.readFileSync(Path.join(cwd, "data", "report.json"), "utf8"))
      const { funnel } = answers["dataset"] as {
        readonly funnel: ReadonlyArray<{ readonly name: string; readonly count: number }>
      }
      const counts = Object.fromEntries(funnel.map(({ count, name }) => [name, count]))
      assert.deepStrictEqual(counts, {
        files: report.sessions.found + report.files.not_a_session + report.files.unreadable,
        sessions: report.sessions.found,
        "sessions kept": report.sessions.kept,
        samples: report.samples.found,
        "samples kept": report.samples.kept
      })
      assert.strictEqual((answers["sessions"] as ReadonlyArray<unknown>).length, report.sessions.found)
    })
  )
})

describe("pi-sessions view", () => {
  it.live("refuses a wrong call with exit 2", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const wrong: ReadonlyArray<readonly [ReadonlyArray<string>, RegExp]> = [
        [["view", "."], /no session found: searched .*give the path of one/u],
        [["view", "gone.jsonl"], /no such file or directory/u],
        [["view", "--sessions", "gone"], /no such file or directory/u],
        [["view", ""], /is empty/u],
        [["view", ".", "--out", ""], /--out is empty/u],
        [["view", ".", "--port", "70000"], /--port 70000: a port is a number from 0 to 65535/u]
      ]
      for (const [args, message] of wrong) {
        const { status, stderr, stdout } = yield* call(args, cwd)
        assert.strictEqual(status, 2, args.join(" "))
        assert.match(stderr, message)
        assert.strictEqual(stdout, "")
      }
    })
  )

  it.live.skipIf(!isBuilt)("serves an address with a token until it is interrupted", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      put(cwd)
      const server = spawn(process.execPath, [MAIN, "view", "s.jsonl"], {
        cwd,
        env: { ...process.env, PI_SESSIONS_CWD: cwd, XDG_STATE_HOME: Path.join(cwd, "state") },
        stdio: ["ignore", "pipe", "pipe"]
      })
      const ended = new Promise<number | null>((resolve) => server.once("exit", resolve))
      const url = yield* Effect.promise(
        () =>
          new Promise<string>((resolve) =>
            server.stdout.once("data", (chunk: Buffer) => resolve(chunk.toString().trim()))
          )
      )
      assert.match(url, /^http:\/\/127\.0\.0\.1:\d+\/[\w-]{32}\/$/u)
      const home = yield* Effect.promise(() => fetch(`${url}api/home`).then((response) => response.json()))
      assert.strictEqual(Reflect.get(home, "begin").page, "session")
      const page = yield* Effect.promise(() => fetch(url).then((response) => response.text()))
      assert.include(page, '<div id="page">')
      assert.strictEqual((yield* Effect.promise(() => fetch(new URL("/", url)))).status, 403)
      server.kill("SIGINT")
      assert.strictEqual(yield* Effect.promise(() => ended), 130)
    })
  )
})

describe.skipIf(!isBuilt || process.platform !== "linux")("pi-sessions view --open", () => {
  it.live("opens the browser with a file that redirects, so that no program's arguments contain the token", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      put(cwd)
      const opened = Path.join(cwd, "opened")
      const opener = `#!/bin/sh\ncp "$1" ${opened}.html && stat -c %a "$1" > ${opened}.mode && echo "$@" > ${opened}\n`
      Files.writeFileSync(Path.join(cwd, "xdg-open"), opener, { mode: 0o755 })
      const server = spawn(process.execPath, [MAIN, "view", "s.jsonl", "--open"], {
        cwd,
        env: { ...process.env, PATH: `${cwd}:${process.env["PATH"]}`, PI_SESSIONS_CWD: cwd, XDG_STATE_HOME: cwd },
        stdio: ["ignore", "pipe", "ignore"]
      })
      const ended = new Promise((resolve) => server.once("exit", resolve))
      const url = yield* Effect.promise(
        () =>
          new Promise<string>((resolve) =>
            server.stdout.once("data", (chunk: Buffer) => resolve(chunk.toString().trim()))
          )
      )
      while (!Files.existsSync(opened)) yield* Effect.sleep("20 millis")
      server.kill("SIGINT")
      yield* Effect.promise(() => ended)
      assert.include(Files.readFileSync(`${opened}.html`, "utf8"), `url=${url}"`)
      assert.strictEqual(Files.readFileSync(`${opened}.mode`, "utf8"), "600\n")
      const given = Files.readFileSync(opened, "utf8").trim()
      assert.match(given, /^\/.*\/open\.html$/u)
      assert.isFalse(Files.existsSync(given), "it is gone with the server")
    })
  )
})

describe("pi-sessions extract --marks", () => {
  it.live("learns nothing from answers that were rejected in the viewer", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      put(cwd, "one.jsonl", "one")
      put(cwd, "two.jsonl", "two")
      const marks = {
        kind: "pi-sessions/marks/1",
        sessions: { one: { session: "reject" }, two: { entries: { a1: "accept" } } }
      }
      Files.writeFileSync(Path.join(cwd, "marks.json"), JSON.stringify(marks))
      const args = [
        "extract",
        "--sessions",
        "one.jsonl",
        "--sessions",
        "two.jsonl",
        "--include-near-duplicates",
        "--marks",
        "marks.json",
        "--json"
      ]
      const run = yield* call([...args, "--out", "data"], cwd)
      assert.strictEqual(run.status, 0, run.stderr)
      assert.deepStrictEqual(JSON.parse(run.stdout).sessions, { found: 2, kept: 1, dropped: { rejected_mark: 1 } })
      const only = yield* call([...args, "--out", "only", "--marks-only"], cwd)
      assert.strictEqual(JSON.parse(only.stdout).total.targets, 1)
    })
  )

  it.live("is refused if the marks file is missing", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      put(cwd)
      Files.writeFileSync(Path.join(cwd, "other.json"), "{}")
      const refused: ReadonlyArray<readonly [ReadonlyArray<string>, number, string]> = [
        [["--marks-only"], 2, "--marks-only needs --marks FILE"],
        [["--marks", "gone.json"], 2, "no such file; marks are made with: pi-sessions view --marks"],
        [["--marks", "other.json"], 1, "it holds no marks"]
      ]
      for (const [flags, status, message] of refused) {
        const run = yield* call(["extract", "--sessions", "s.jsonl", ...flags], cwd)
        assert.strictEqual(run.status, status, message)
        assert.include(run.stderr, message)
      }
    })
  )
})
