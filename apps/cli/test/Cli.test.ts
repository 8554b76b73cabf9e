/** `hydrate`, `extract` and `store` as users call them, and the program as a process: exit statuses, signals, pipes. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn, spawnSync } from "node:child_process"
import { createServer } from "node:http"
import * as FileSystem from "node:fs"
import * as Path from "node:path"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as LargeSession from "@pi-sessions/testing/sessions/LargeSession"
import { call } from "./support/callCli.ts"
import { MAIN } from "./support/program.ts"

const fixtures = Path.resolve(import.meta.dirname, "../../../fixtures")
const thread = Path.join(fixtures, "threads/rename-module.jsonl")

interface Options {
  readonly cwd: string
  readonly input?: string
  readonly env?: Record<string, string>
}

/** Runs a call in this process, with a home of its own. */
const cli = (args: ReadonlyArray<string>, { cwd, env }: Omit<Options, "input">) => {
  const home = Path.join(cwd, "home")
  return call(args, cwd, false, { HOME: home, XDG_STATE_HOME: Path.join(home, ".local/state"), ...env })
}

/** Runs the program as a shell would, with a home of its own. */
const program = (args: ReadonlyArray<string>, { cwd, input, env }: Options) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...args], {
    cwd,
    encoding: "utf8",
    ...(input === undefined ? {} : { input }),
    env: { PATH: process.env["PATH"] ?? "", HOME: Path.join(cwd, "home"), NO_COLOR: "1", ...env }
  })
  return { status, stdout, stderr }
}

describe("pi-sessions", () => {
  it.live("prints help on stdout with exit 0, an error for a wrong call on stderr with exit 2", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const help = program(["--help"], { cwd })
      assert.deepStrictEqual([help.status, help.stderr], [0, ""])
      assert.include(help.stdout, "hydrate")
      for (const wrong of [["nonsense"], ["store", "verify", "--what"]]) {
        const { status, stdout, stderr } = program(wrong, { cwd })
        assert.deepStrictEqual([status, stdout], [2, ""], wrong.join(" "))
        assert.match(stderr, /^error: .+\nSee pi-sessions.* --help\n$/)
      }
    })
  )

  it.live("refuses unknown commands, flags and values, and missing arguments", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      for (const wrong of [
        ["nonsense"],
        ["hydrate"],
        ["hydrate", "--thread", "t", "--mode", "x"],
        ["extract", "--what"],
        ["store", "migrate"],
        ["store", "rollback", "a", "b"],
        ["store", "verify", "--what"]
      ]) {
        const { status, stdout, stderr } = yield* cli(wrong, { cwd })
        assert.deepStrictEqual([status, stdout], [2, ""], wrong.join(" "))
        assert.match(stderr, /^error: .+\nSee pi-sessions.* --help\n$/)
      }
    })
  )
})

describe("pi-sessions hydrate", () => {
  it.live("prints the path alone, and writes where Pi keeps the sessions of this folder", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const { status, stdout, stderr } = yield* cli(["hydrate", "--thread", thread], { cwd })
      const folder = `--${cwd.slice(1).replaceAll("/", "-")}--`
      const path = stdout.trimEnd()
      assert.strictEqual(status, 0, stderr)
      assert.strictEqual(Path.dirname(path), Path.join(cwd, "home/.pi/agent/sessions", folder))
      assert.include(stderr, `pi --session ${path}`)
      assert.include(stderr, "warning: tool calls without a result, written as text: 1")
      assert.strictEqual(JSON.parse(FileSystem.readFileSync(path, "utf8").split("\n")[0]!).cwd, cwd)
    })
  )

  it.live("obeys Pi's environment and settings, --session-dir and --out before them", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const agent = Path.join(cwd, "agent")
      const at = (args: ReadonlyArray<string>, env: Record<string, string> = {}) =>
        Effect.map(cli(["hydrate", "--thread", thread, ...args], { cwd, env }), ({ stdout }) =>
          Path.relative(cwd, stdout.trimEnd())
        )
      const name = "2026-05-31T10-00-01-000Z"
      assert.match(yield* at([], { PI_CODING_AGENT_DIR: agent }), new RegExp(`^agent/sessions/--.*--/${name}`))
      FileSystem.writeFileSync(Path.join(agent, "settings.json"), '{"sessionDir":"from-settings"}')
      assert.match(yield* at([], { PI_CODING_AGENT_DIR: agent }), new RegExp(`^from-settings/${name}`))
      const env = { PI_CODING_AGENT_DIR: agent, PI_CODING_AGENT_SESSION_DIR: "flat" }
      assert.match(yield* at([], env), new RegExp(`^flat/${name}`))
      assert.match(yield* at(["--session-dir", "mine"], env), new RegExp(`^mine/${name}`))
      assert.strictEqual(yield* at(["--out", "x/s.jsonl"], env), "x/s.jsonl")
      assert.strictEqual(
        (yield* cli(["hydrate", "--thread", thread, "--out", "a", "--session-dir", "b"], { cwd })).status,
        2
      )
    })
  )

  it.live("reads a thread from standard input, and relative paths from the user's directory", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const user = Path.join(cwd, "user")
      FileSystem.mkdirSync(user)
      FileSystem.copyFileSync(thread, Path.join(user, "t.jsonl"))
      const env = { PI_SESSIONS_CWD: user }
      const named = program(["hydrate", "--thread", "t.jsonl", "--out", "s.jsonl"], { cwd, env })
      assert.strictEqual(named.stdout, `${Path.join(user, "s.jsonl")}\n`, named.stderr)
      const piped = program(["hydrate", "--thread", "-", "--out", "p.jsonl"], {
        cwd,
        env,
        input: FileSystem.readFileSync(thread, "utf8")
      })
      assert.strictEqual(piped.status, 0, piped.stderr)
      assert.deepStrictEqual(
        FileSystem.readFileSync(Path.join(user, "p.jsonl")),
        FileSystem.readFileSync(Path.join(user, "s.jsonl"))
      )
    })
  )

  it.live("prints one document with --json", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const { stdout } = yield* cli(["hydrate", "--thread", thread, "--out", "s.jsonl", "--json"], { cwd })
      const { summary, passedOver, ...rest } = JSON.parse(stdout)
      assert.deepInclude(rest, { outcome: "created", mode: "semantic", threadId: "th_demo", entries: 18, cwd })
      assert.deepInclude(summary, { userTurns: 5, assistantTurns: 6, toolResults: 5, repeatedChats: 1 })
      assert.deepStrictEqual(passedOver, { "pi.chunk": 3, "pi.future_kind": 1 })
    })
  )

  it.live("fails with exit 1 and one error with the file and what to do", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const fails = (args: ReadonlyArray<string>) =>
        Effect.map(cli(["hydrate", ...args], { cwd }), ({ status, stdout, stderr }) => {
          assert.deepStrictEqual([status, stdout], [1, ""], stderr)
          assert.strictEqual(stderr.split("\n").length, 2, stderr)
          return stderr
        })
      assert.include(yield* fails(["--thread", "none.jsonl"]), `${Path.join(cwd, "none.jsonl")}: no such file`)
      assert.include(yield* fails(["--thread", thread, "--cwd", "gone"]), "pass another --cwd")
      assert.include(yield* fails(["--thread", thread, "--mode", "lossless"]), "it holds no raw lines")
      FileSystem.writeFileSync(Path.join(cwd, "notes.txt"), "notes\n")
      assert.include(yield* fails(["--thread", thread, "--out", "notes.txt"]), "line 1, byte 0")
      assert.strictEqual(FileSystem.readFileSync(Path.join(cwd, "notes.txt"), "utf8"), "notes\n")
    })
  )
})

describe("pi-sessions hydrate from ARBE_URL", () => {
  it.live("fetches a thread by its id with the token, page by page, and never shows the token", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const entries = FileSystem.readFileSync(thread, "utf8").trimEnd().split("\n")
      const server = createServer((request, response) => {
        if (request.headers.authorization !== "Bearer s3cret") return void response.writeHead(401).end("{}")
        const url = new URL(request.url ?? "", "http://x")
        if (url.pathname !== "/threads/th_demo/entries") return void response.writeHead(404).end("{}")
        const after = Number(url.searchParams.get("after") ?? 0)
        const next = after + 7 < entries.length ? `"${after + 7}"` : "null"
        response.writeHead(200, { "content-type": "application/json" })
        response.end(`{"entries":[${entries.slice(after, after + 7).join()}],"next":${next}}`)
      })
      yield* Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void)))
      yield* Effect.addFinalizer(() => Effect.sync(() => server.close()))
      const address = server.address()
      const port = typeof address === "object" ? address?.port : 0
      const env = (token: string) => ({ ARBE_URL: `http://127.0.0.1:${port}`, ARBE_TOKEN: token })
      const run = (id: string, token: string) =>
        cli(["hydrate", "--thread", id, "--out", "s.jsonl"], { cwd, env: env(token) })
      const done = yield* run("th_demo", "s3cret")
      assert.strictEqual(done.status, 0, done.stderr)
      assert.strictEqual(done.stdout, `${Path.join(cwd, "s.jsonl")}\n`)
      assert.include(done.stderr, "18 entries, by meaning")
      const refused = yield* run("th_demo", "wr0ng")
      assert.deepStrictEqual([refused.status, refused.stdout], [1, ""])
      assert.match(refused.stderr, /^error: .*ARBE_TOKEN.*\n$/)
      const absent = yield* run("th_other", "s3cret")
      assert.strictEqual(absent.status, 1)
      for (const { stderr } of [done, refused, absent]) assert.notMatch(stderr, /s3cret|wr0ng/)
    })
  )
})

describe("pi-sessions hydrate, unusual input", () => {
  it.live("fails with a one-line error, and reads values nested at any depth", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const deep = `${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}`
      FileSystem.writeFileSync(
        Path.join(cwd, "deep.jsonl"),
        `{"id":"a","type":"pi.assistant","payload":{"content":[{"type":"toolCall","id":"c","name":"x","arguments":${deep}}]}}\n`
      )
      const { status, stdout, stderr } = yield* cli(["hydrate", "--thread", cwd, "--out", "s.jsonl"], { cwd })
      assert.deepStrictEqual([status, stdout], [1, ""])
      assert.match(stderr, /^error: .+\n$/)
      assert.strictEqual((yield* cli(["hydrate", "--thread", "deep.jsonl", "--out", "s.jsonl"], { cwd })).status, 0)
      const broken = yield* cli(["hydrate", "--thread", thread], { cwd, env: { PI_CODING_AGENT_DIR: "file://host/x" } })
      assert.deepStrictEqual([broken.status, broken.stderr.startsWith("error: ")], [1, true])
      assert.strictEqual((yield* cli(["hydrate", "--thread", ""], { cwd })).status, 2)
    })
  )

  it.live("names the folder after the real directory, as Pi does, and quotes the path for a shell", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      FileSystem.mkdirSync(Path.join(cwd, "real"))
      FileSystem.symlinkSync("real", Path.join(cwd, "link"))
      const linked = yield* cli(["hydrate", "--thread", thread, "--cwd", "link"], { cwd })
      assert.include(linked.stdout, "-real--/")
      const quoted = yield* cli(["hydrate", "--thread", thread, "--out", "a $(touch b) 'c'.jsonl"], { cwd })
      assert.include(quoted.stderr, `pi --session '${cwd}/a $(touch b) '\\''c'\\''.jsonl'`)
    })
  )
})

describe("pi-sessions extract", () => {
  it.live("writes samples of the rig and prints what was found, kept and dropped", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const { status, stdout, stderr } = yield* cli(["extract", "--rig", "deacon", "--sessions", fixtures], { cwd })
      assert.strictEqual(status, 0, stderr)
      assert.include(stderr, "deacon is a town-level role, not a rig")
      assert.include(stderr, "secrets and names were taken out by rules")
      assert.match(stdout, /^agent +found +kept/)
      assert.match(stdout, /\ndeacon +1 +1 +1 /)
      assert.match(stdout, /\n +\d+ +of another rig or role/)
      const lines = FileSystem.readFileSync(Path.join(cwd, "dataset-deacon/train.jsonl"), "utf8").trimEnd().split("\n")
      const [sample] = lines.map((line) => JSON.parse(line))
      assert.strictEqual(lines.length, 1)
      assert.deepStrictEqual([sample.metadata.role, sample.messages.at(-1).role], ["deacon", "assistant"])
    })
  )

  it.live("redacts secrets with a key that stays in the state folder, unless --no-redact is given", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      FileSystem.writeFileSync(Path.join(cwd, "list"), "the town\n")
      const run = (...flags: ReadonlyArray<string>) =>
        cli(["extract", "--rig", "deacon", "--sessions", fixtures, "--out", "d", ...flags], { cwd })
      const train = () => FileSystem.readFileSync(Path.join(cwd, "d/train.jsonl"), "utf8")
      const { status, stderr, stdout } = yield* run("--secret", "Heartbeat", "--secrets-from", "list", "--secret", "x")
      assert.strictEqual(status, 0, stderr)
      assert.notMatch(train(), /Heartbeat|the town/u)
      assert.match(stdout, /\n +\d+ +exact-value\n/)
      assert.include(stderr, "not taken as a secret: value 2 (too short")
      const key = Path.join(cwd, "home/.local/state/pi-sessions/redaction-key")
      assert.strictEqual(FileSystem.statSync(key).mode & 0o777, 0o600)
      const first = train()
      yield* run("--secret", "Heartbeat", "--secrets-from", "list")
      assert.strictEqual(train(), first)
      assert.include((yield* run("--no-redact")).stderr, "not redacted")
      assert.include(train(), "Heartbeat")
      const scan = yield* run("--scan", "gitleaks")
      assert.deepStrictEqual([scan.status, scan.stdout], [1, ""])
      assert.include(scan.stderr, "gitleaks is not on the PATH")
    })
  )

  it.live("writes a dataset that validates; validate names a line that was damaged later", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const out = yield* cli(["extract", "--sessions", fixtures, "--format", "axolotl", "--out", "d"], { cwd })
      assert.strictEqual(out.status, 0, out.stderr)
      const sound = yield* cli(["validate", "d"], { cwd })
      assert.strictEqual(sound.status, 0, sound.stderr)
      assert.match(sound.stdout, /\naxolotl +\d+ +0 +.*train\.jsonl/)
      FileSystem.appendFileSync(Path.join(cwd, "d/train.jsonl"), "{}\n")
      const broken = yield* cli(["validate", "d", "--json"], { cwd })
      assert.strictEqual(broken.status, 1)
      assert.match(broken.stderr, /train\.jsonl:\d+ \(byte \d+\): not a sample of axolotl/)
      assert.strictEqual(JSON.parse(broken.stdout)[0].broken.length, 1)
      assert.strictEqual((yield* cli(["validate", "d/train.jsonl"], { cwd })).status, 2)
      assert.strictEqual((yield* cli(["validate", "nowhere"], { cwd })).status, 2)
    })
  )

  it.live("exits 2 and lists rigs and roles when nothing matches", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const { status, stdout, stderr } = yield* cli(["extract", "--rig", "nowhere", "--sessions", fixtures], { cwd })
      assert.deepStrictEqual([status, stdout], [2, ""])
      assert.include(stderr, "rigs found: gastown (4)")
      assert.include(stderr, "deacon (1)")
      assert.isFalse(FileSystem.existsSync(Path.join(cwd, "dataset-nowhere")))
    })
  )

  it.live("fails and changes nothing in a directory with other files", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      FileSystem.mkdirSync(Path.join(cwd, "data"))
      FileSystem.writeFileSync(Path.join(cwd, "data/train.jsonl"), "mine\n")
      const run = yield* cli(["extract", "--sessions", fixtures, "--out", "data"], { cwd })
      assert.strictEqual(run.status, 1)
      assert.strictEqual(FileSystem.readFileSync(Path.join(cwd, "data/train.jsonl"), "utf8"), "mine\n")
    })
  )

  it.live("uses the sessions of Pi's environment, and prints their place", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      FileSystem.cpSync(Path.join(fixtures, "sessions"), Path.join(cwd, "home/.pi/agent/sessions"), { recursive: true })
      const { status, stderr } = yield* cli(["extract", "--role", "witness", "--json"], { cwd })
      assert.strictEqual(status, 0, stderr)
      assert.include(stderr, `sessions: ${Path.join(cwd, "home/.pi/agent/sessions")} (default)`)
      const empty = yield* cli(["extract"], { cwd: yield* temporaryFolder })
      assert.strictEqual(empty.status, 2)
      assert.include(empty.stderr, "no sessions found")
    })
  )

  it.live("names the file that is not a session when there is no session at all", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const run = yield* cli(["extract", "--sessions", Path.join(fixtures, "damaged/no-header.jsonl")], { cwd })
      assert.strictEqual(run.status, 2)
      assert.match(run.stderr, /no sessions found: .*no-header\.jsonl: not a Pi session/)
      const empty = yield* cli(["extract", "--sessions", ""], { cwd })
      assert.deepStrictEqual([empty.status, empty.stderr.startsWith("error: --sessions is empty")], [2, true])
    })
  )

  it.live("keeps a session with a call nested 50,000 levels deep, and counts the lost arguments", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      FileSystem.cpSync(Path.join(fixtures, "sessions/project/branches.jsonl"), Path.join(cwd, "s/good.jsonl"))
      const deep = `${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}`
      FileSystem.writeFileSync(
        Path.join(cwd, "s/deep.jsonl"),
        [
          '{"type":"session","version":3,"id":"deep","cwd":"/x"}',
          '{"type":"message","id":"u","parentId":null,"message":{"role":"user","content":"hi"}}',
          `{"type":"message","id":"a","parentId":"u","message":{"role":"assistant","usage":{},"content":[{"type":"toolCall","id":"c","name":"bash","arguments":${deep}}]}}`,
          '{"type":"message","id":"t","parentId":"a","message":{"role":"toolResult","toolCallId":"c","toolName":"bash","content":[]}}',
          '{"type":"message","id":"b","parentId":"t","message":{"role":"assistant","usage":{},"content":[{"type":"text","text":"done"}]}}',
          '{"type":"message","id":"v","parentId":"b","message":{"role":"user","content":"and now?"}}',
          // Another model: its request is compared with the one before it, the deep call among the rest.
          '{"type":"message","id":"d","parentId":"v","message":{"role":"assistant","model":"other","usage":{},"content":[{"type":"text","text":"all done"}]}}',
          ""
        ].join("\n")
      )
      const run = yield* cli(["extract", "--sessions", "s", "--out", "d"], { cwd })
      assert.strictEqual(run.status, 0, run.stderr)
      assert.match(run.stdout, /1 {2}invalid arguments/)
      assert.strictEqual(
        FileSystem.readFileSync(Path.join(cwd, "d/train.jsonl"), "utf8").trimEnd().split("\n").length,
        2
      )
    })
  )

  it.live("warns of damaged sessions", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const { stderr } = yield* cli(["extract", "--sessions", Path.join(fixtures, "damaged/glued-line.jsonl")], { cwd })
      assert.match(stderr, /warning: .*glued-line\.jsonl: damaged in 1 place\n/)
    })
  )
})

describe("pi-sessions store", () => {
  it.live("takes a session through every subcommand, and restores its bytes", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const file = Path.join(cwd, "s.jsonl")
      FileSystem.copyFileSync(Path.join(fixtures, "sessions/project/branches.jsonl"), file)
      const original = FileSystem.readFileSync(file, "utf8")
      const store = (...args: ReadonlyArray<string>) =>
        Effect.map(cli(["store", ...args], { cwd }), ({ status, stdout, stderr }) => {
          assert.strictEqual(status, 0, stderr)
          return stdout
        })
      assert.match(yield* store("migrate", "."), /\nmigrated /)
      assert.strictEqual(yield* store("verify", "."), "")
      assert.match(yield* store("checkpoint", "."), / CHECKPOINTED /)
      assert.match(yield* store("stat", "."), /\nstate +CHECKPOINTED\n/)
      assert.strictEqual(yield* store("export", "s.jsonl"), original)
      assert.strictEqual(yield* store("rollback", "s.jsonl"), `${file}\n`)
      assert.strictEqual(FileSystem.readFileSync(file, "utf8"), original)
    })
  )

  it.live(
    "ends an interrupted migration with exit 130, keeps the session and migrates it later; export ends well if the reader closes the pipe",
    () =>
      Effect.gen(function* () {
        const cwd = yield* temporaryFolder
        const file = Path.join(cwd, "s.jsonl")
        yield* Effect.promise(() => LargeSession.write(file, { entries: 20_000, seed: 1 }))
        const original = FileSystem.readFileSync(file)
        const status = yield* Effect.callback<number | null>((resume) => {
          const child = spawn(process.execPath, [MAIN, "store", "migrate", "."], { cwd, stdio: "ignore" })
          const watcher = FileSystem.watch(cwd, (_, name) => {
            if (name?.includes(".staging-") === true) child.kill("SIGINT")
          })
          child.on("close", (code) => {
            watcher.close()
            resume(Effect.succeed(code))
          })
        })
        assert.strictEqual(status, 130)
        assert.isTrue(FileSystem.readFileSync(file).equals(original))
        assert.isFalse(FileSystem.readdirSync(cwd).some((name) => name.endsWith(".active.json")))
        const again = program(["store", "migrate", "."], { cwd })
        assert.deepStrictEqual([again.status, again.stderr], [0, "1 migrated\n"])
        assert.strictEqual((yield* cli(["store", "verify", "."], { cwd })).status, 0)
        assert.isFalse(FileSystem.readdirSync(cwd).some((name) => name.includes(".staging-")))

        // A program that has read enough is no failure.
        const piped = yield* Effect.callback<{ readonly code: number | null; readonly err: string }>((resume) => {
          const child = spawn(process.execPath, [MAIN, "store", "export", "s.jsonl"], { cwd })
          let err = ""
          child.stderr.on("data", (chunk) => (err += String(chunk)))
          child.stdout.once("data", () => child.stdout.destroy())
          child.on("close", (code) => resume(Effect.succeed({ code, err })))
        })
        assert.deepStrictEqual(piped, { code: 0, err: "" })
      })
  )
})
