/** The command line: usage, tokens, the database's mode, start and end. */
import { assert, describe, it } from "@effect/vitest"
import { NodeServices } from "@effect/platform-node"
import { ConfigProvider, Effect } from "effect"
import { TestConsole } from "effect/testing"
import { spawn, spawnSync } from "node:child_process"
import * as FileSystem from "node:fs"
import * as Http from "node:http"
import * as Net from "node:net"
import * as Path from "node:path"
import { run } from "../src/Cli.ts"
import { teardown } from "../src/Exit.ts"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"

const bundle = Path.resolve(import.meta.dirname, "../dist/main.js")
const TOKEN = "tok-5ecret-5ecret"

const environment = (cwd: string, more: Record<string, string> = {}) => ({
  PATH: process.env["PATH"] ?? "",
  HOME: cwd,
  NO_COLOR: "1",
  ...more
})

interface Call {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs the built server as a shell would, to its end. */
const callBundle = (cwd: string, args: ReadonlyArray<string>, env?: Record<string, string>): Call =>
  spawnSync(process.execPath, [bundle, ...args], { cwd, encoding: "utf8", env: environment(cwd, env) })

/** The same in process, for calls that fail before the server listens. */
const call = (cwd: string, args: ReadonlyArray<string>, env: Record<string, string> = {}): Effect.Effect<Call> =>
  Effect.gen(function* () {
    const exit = yield* Effect.exit(run(args))
    let status = 0
    teardown(() => false)(exit, (code) => {
      status = code
    })
    const text = (lines: ReadonlyArray<unknown>) => lines.map((line) => `${String(line)}\n`).join("")
    return { status, stdout: text(yield* TestConsole.logLines), stderr: text(yield* TestConsole.errorLines) }
  }).pipe(
    Effect.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env: { ...env, INIT_CWD: cwd } }))),
    Effect.provide([TestConsole.layer, NodeServices.layer])
  )

describe("pi-sessions-thread-server", () => {
  it.live("prints help with an example to stdout, and wrong usage in one line to stderr with exit 2", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const help = yield* call(cwd, ["--help"])
      assert.deepStrictEqual([help.status, help.stderr], [0, ""])
      for (const word of ["EXAMPLES", "--port", "--host", "--db"]) assert.include(help.stdout, word)
      const calls = [["--port", "x"], ["--port", "70000"], ["--what"], ["--host", "0.0.0.0", "--db", "no/t.sqlite"]]
      for (const result of [
        ...(yield* Effect.forEach(calls, (args) => call(cwd, args))),
        callBundle(cwd, ["--what"])
      ]) {
        assert.deepStrictEqual([result.status, result.stdout], [2, ""], result.stderr)
        assert.match(result.stderr, /^error: .+\n(See pi-sessions-thread-server --help\n)?$/)
      }
      assert.include((yield* call(cwd, ["--host", "0.0.0.0"], { ARBE_TOKEN: " " })).stderr, "Set ARBE_TOKEN")
      assert.deepStrictEqual(FileSystem.readdirSync(cwd), [])
    })
  )

  it.live("rejects short tokens and tokens that no request can carry with exit 2, without printing them", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      for (const wrong of ["x", "fifteen-letters", "two words of a token", "tökens-of-16-and-more"]) {
        const { status, stdout, stderr } = yield* call(cwd, ["--port", "0", "--db", "no/t.sqlite"], {
          ARBE_TOKEN: wrong
        })
        assert.deepStrictEqual([status, stdout], [2, ""], stderr)
        assert.match(stderr, /^error: ARBE_TOKEN .+openssl rand -hex 24\n$/)
        if (wrong !== "x") assert.notInclude(stderr, wrong)
      }
      assert.deepStrictEqual(FileSystem.readdirSync(cwd), [])
    })
  )

  it.live("gives its database mode 0600, whatever the umask and its mode before", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const modes = () =>
        FileSystem.readdirSync(cwd)
          .filter((name) => name.startsWith("t.sqlite"))
          .map((name) => [name, (FileSystem.statSync(Path.join(cwd, name)).mode & 0o777).toString(8)])
      const whole = [
        ["t.sqlite", "600"],
        ["t.sqlite-shm", "600"],
        ["t.sqlite-wal", "600"]
      ]
      for (const umask of ["000", "0277"]) {
        // The second start finds a database that others may read, and the -wal and -shm files of a killed server.
        for (const widen of [false, true]) {
          if (widen) for (const [name = ""] of modes()) FileSystem.chmodSync(Path.join(cwd, name), 0o666)
          const child = spawn(
            "sh",
            ["-c", `umask ${umask}; exec "$@"`, "sh", process.execPath, bundle, "--port", "0", "--db", "t.sqlite"],
            {
              cwd,
              env: environment(cwd, { ARBE_TOKEN: TOKEN }),
              stdio: ["ignore", "pipe", "inherit"]
            }
          )
          yield* Effect.promise(() => new Promise((resolve) => child.stdout.once("data", resolve)))
          assert.deepStrictEqual(modes(), whole, `umask ${umask}, widened: ${widen}`)
          child.kill("SIGKILL")
          yield* Effect.promise(() => new Promise((resolve) => child.once("close", resolve)))
        }
        for (const [name = ""] of modes()) FileSystem.rmSync(Path.join(cwd, name))
      }
    })
  )

  it.live("exits with 1 and the reason when it cannot start", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      FileSystem.writeFileSync(Path.join(cwd, "notes.txt"), "some notes\n".repeat(100))
      FileSystem.chmodSync(Path.join(cwd, "notes.txt"), 0o640)
      const taken = yield* Effect.acquireRelease(
        Effect.callback<Http.Server>((resume) => {
          const server = Http.createServer().listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
        }),
        (server) => Effect.sync(() => server.close())
      )
      const address = taken.address()
      const port = typeof address === "object" && address !== null ? `${address.port}` : ""
      for (const [args, words] of [
        [
          ["--port", port],
          ["EADDRINUSE", "another --port"]
        ],
        [
          ["--port", "0", "--db", "notes.txt"],
          [Path.join(cwd, "notes.txt"), "not a database"]
        ],
        [
          ["--port", "0", "--db", "."],
          [cwd, "cannot open"]
        ],
        [
          ["--port", "0", "--db", "no/such/threads.sqlite"],
          ["no/such/threads.sqlite", "directory"]
        ]
      ] as const) {
        const { status, stdout, stderr } = yield* call(cwd, args, { ARBE_TOKEN: TOKEN })
        assert.deepStrictEqual([status, stdout], [1, ""], stderr)
        assert.match(stderr, /^error: .+\n$/)
        for (const word of words) assert.include(stderr, word)
      }
      // A file that is not a database keeps its mode.
      assert.strictEqual(FileSystem.statSync(Path.join(cwd, "notes.txt")).mode & 0o777, 0o640)
    })
  )

  it.live("prints only the address, never the token, and finishes a request after SIGTERM", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      yield* Effect.promise(async () => {
        const child = spawn(process.execPath, [bundle, "--port", "0", "--db", "t.sqlite", "--log-level", "all"], {
          cwd: Path.dirname(cwd),
          stdio: ["ignore", "pipe", "pipe"],
          env: environment(cwd, { ARBE_TOKEN: TOKEN, INIT_CWD: cwd })
        })
        let [stdout, stderr] = ["", ""]
        child.stderr.on("data", (chunk) => (stderr += chunk))
        const url = await new Promise<string>((resolve) =>
          child.stdout.on("data", (chunk) => {
            stdout += chunk
            if (stdout.includes("\n")) resolve(stdout.trimEnd())
          })
        )
        const ended = new Promise<number | null>((resolve) => child.once("close", resolve))
        const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" }
        const entries = `${url}/threads/th_1/entries`
        for (const authorization of [`Bearer ${TOKEN}`, "Bearer wr0ng", ""]) {
          await (await fetch(entries, { headers: { authorization } })).text()
        }
        await (await fetch(`${url}/threads/${TOKEN.slice(0, 3)}`, { headers })).text()

        // The body's end comes after the signal.
        const answer = await new Promise<string>((resolve, reject) => {
          const request = Http.request(entries, { method: "POST", headers }, (response) => {
            let text = ""
            response.on("data", (chunk) => (text += chunk))
            response.on("end", () => resolve(`${response.statusCode} ${text}`))
          }).on("error", reject)
          request.write('{"entries":[{"id":"a",', () => {
            child.kill("SIGTERM")
            // The server is shutting down once it accepts no connections.
            const knock = () => {
              const socket = Net.connect(Number(new URL(url).port), "127.0.0.1", () => {
                socket.destroy()
                setImmediate(knock)
              })
              socket.on("error", () => request.end('"type":"chat"}]}'))
            }
            knock()
          })
        })
        assert.strictEqual(answer, '200 {"accepted":1,"repeated":0}')
        assert.strictEqual(await ended, 0)
        assert.strictEqual(stdout, `${url}\n`)
        assert.match(url, /^http:\/\/127\.0\.0\.1:\d+$/)
        assert.notInclude(stderr, TOKEN)
        assert.isTrue(FileSystem.existsSync(Path.join(cwd, "t.sqlite")))
      })
    })
  )

  it.live("prints a note when there is no token", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      yield* Effect.promise(async () => {
        const child = spawn(process.execPath, [bundle, "--port", "0"], { cwd, env: environment(cwd) })
        let stderr = ""
        child.stderr.on("data", (chunk) => (stderr += chunk))
        await new Promise((resolve) => child.stdout.once("data", resolve))
        child.kill("SIGINT")
        assert.strictEqual(await new Promise((resolve) => child.once("close", resolve)), 130)
        assert.match(stderr, /^note: open to every program on this machine; set ARBE_TOKEN/)
        assert.isTrue(FileSystem.existsSync(Path.join(cwd, "threads.sqlite")))
      })
    })
  )
})
