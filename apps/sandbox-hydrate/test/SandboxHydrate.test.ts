/** The built program: settings, exit codes, and the command that it becomes. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn, spawnSync } from "node:child_process"
import * as FileSystem from "node:fs"
import * as Http from "node:http"
import * as Path from "node:path"
import * as HermeticPi from "@pi-sessions/testing/pi/HermeticPi"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { cliPath, versions } from "@pi-sessions/testing/pi/PiVersion"
import * as ScriptedModel from "@pi-sessions/testing/pi/ScriptedModel"
import { FLAGS, parse } from "../src/Arguments.ts"

const bundle = Path.resolve(import.meta.dirname, "../dist/sandbox-hydrate.js")
const thread = Path.resolve(import.meta.dirname, "../../../fixtures/threads/rename-module.jsonl")
/** Arguments for a Node without execve. */
const WITHOUT_EXECVE = ["--import", "data:text/javascript,process.execve=undefined"]

const run = (
  args: ReadonlyArray<string>,
  cwd: string,
  { env = {}, node = [] }: { readonly env?: Record<string, string>; readonly node?: ReadonlyArray<string> } = {}
) =>
  spawnSync(process.execPath, [...node, bundle, ...args], {
    cwd,
    encoding: "utf8",
    env: { PATH: process.env["PATH"] ?? "", HOME: cwd, ...env }
  })

const script = (dir: string, name: string, text: string): void =>
  FileSystem.writeFileSync(Path.join(dir, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 })

describe("sandbox-hydrate", () => {
  it("maps flags to variables, and takes everything after -- as the command", () => {
    assert.deepStrictEqual(parse(["--thread", "t", "--mode=semantic", "--", "pi", "--session", "x"]), {
      settings: { ARBE_THREAD_ID: "t", SANDBOX_MODE: "semantic" },
      command: ["pi", "--session", "x"],
      help: false,
      problem: undefined
    })
    for (const [flag, [variable]] of Object.entries(FLAGS)) {
      assert.deepStrictEqual(parse([flag, "v"]).settings, { [variable]: "v" })
      assert.include(parse([flag]).problem, flag)
    }
    assert.include(parse(["--"]).problem, "--")
    assert.include(parse(["stray"]).problem, "stray")
  })

  it.effect("prints a path below arbe-sessions/THREAD, and changes nothing the second time", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const first = run(["--file", thread], cwd, { env: { ARBE_THREAD_ID: "th/1" } })
      assert.strictEqual(first.status, 0, first.stderr)
      const path = first.stdout.trimEnd()
      assert.strictEqual(Path.dirname(Path.dirname(path)), Path.join(cwd, "arbe-sessions"))
      assert.include(first.stderr, "created, 18 entries, by meaning")
      const again = run(["--file", thread], cwd, { env: { ARBE_THREAD_ID: "th/1" } })
      assert.strictEqual(again.stdout.trimEnd(), path)
      assert.include(again.stderr, "unchanged")
    })
  )

  it.effect("exits with 2 after wrong usage, with 1 after failures", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      for (const args of [[], ["--nonsense"], ["--file", thread, "--mode", "x"], ["--thread", "t"]]) {
        const { status, stdout, stderr } = run(args, cwd)
        assert.deepStrictEqual([status, stdout], [2, ""], stderr)
        assert.match(stderr, /^error: .+\n$/)
      }
      const missing = run(["--file", "none.jsonl"], cwd)
      assert.deepStrictEqual([missing.status, missing.stdout], [1, ""])
      assert.strictEqual(run(["--help"], cwd).status, 0)
    })
  )

  it.live("exits with 1 when the server refuses the token, without printing the token", () =>
    Effect.gen(function* () {
      const cwd = yield* temporaryFolder
      const server = yield* Effect.acquireRelease(
        Effect.callback<Http.Server>((resume) => {
          const server = Http.createServer((request, response) =>
            response.writeHead(401).end(JSON.stringify({ message: `unknown: ${request.headers.authorization}` }))
          ).listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
        }),
        (server) => Effect.sync(() => server.close())
      )
      const address = server.address()
      const port = typeof address === "object" ? address?.port : undefined
      const args = [bundle, "--thread", "t", "--url", `http://127.0.0.1:${port}`]
      const child = spawn(process.execPath, args, { cwd, env: { HOME: cwd, ARBE_TOKEN: "s3cret" } })
      let output = ""
      for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += String(chunk)))
      const exit = yield* Effect.callback<number | null>((resume) => {
        child.on("close", (code) => resume(Effect.succeed(code)))
      })
      assert.strictEqual(exit, 1)
      assert.include(output, "refused the token (HTTP 401): unknown: Bearer <redacted>")
      assert.notInclude(output, "s3cret")
    })
  )

  for (const node of [[], WITHOUT_EXECVE]) {
    const how = node.length === 0 ? "in its own process" : "as a child process"
    it.effect(`becomes the command ${how}: session flag, arguments, directory, exit code`, () =>
      Effect.gen(function* () {
        const cwd = yield* temporaryFolder
        FileSystem.mkdirSync(Path.join(cwd, "work"))
        script(cwd, "pi", 'echo "$PWD|$*"; exit 7')
        const env = { PATH: `${cwd}:${process.env["PATH"] ?? ""}` }
        const args = ["--file", thread, "--cwd", "work", "--out", "s.jsonl", "--", "pi", "-p", "two words"]
        const { status, stdout, stderr } = run(args, cwd, { env, node })
        assert.strictEqual(status, 7, stderr)
        assert.strictEqual(stdout, `${Path.join(cwd, "work")}|--session ${Path.join(cwd, "s.jsonl")} -p two words\n`)
        const none = run(["--file", thread, "--", "no-such-program"], cwd, { node })
        assert.strictEqual(none.status, 1)
        assert.include(none.stderr, "no-such-program: no such program on PATH")
      })
    )

    it.live(`passes signals to the command ${how}`, () =>
      Effect.gen(function* () {
        const cwd = yield* temporaryFolder
        script(cwd, "pi", "trap 'exit 42' TERM; echo ready; while :; do sleep 0.05; done")
        const child = spawn(process.execPath, [...node, bundle, "--file", thread, "--", "./pi"], { cwd })
        const exit = yield* Effect.callback<number | null>((resume) => {
          child.stdout.on("data", () => child.kill("SIGTERM"))
          child.on("exit", (code) => resume(Effect.succeed(code)))
        })
        assert.strictEqual(exit, 42)
      })
    )
  }

  for (const version of versions) {
    it.live(`starts the real Pi ${version}, which continues the session; a second start continues after that`, () =>
      Effect.gen(function* () {
        const pi = yield* HermeticPi.make()
        script(pi.root, "pi", `exec "${process.execPath}" "${cliPath(version)}" "$@"`)
        const start = (prompt: string) =>
          Effect.callback<{ readonly code: number | null; readonly stderr: string }>((resume) => {
            const flags = ["--offline", "--no-skills", "--no-prompt-templates", "--no-context-files", "--no-extensions"]
            const child = spawn(
              process.execPath,
              [
                bundle,
                "--file",
                thread,
                "--out",
                "s.jsonl",
                "--",
                "pi",
                ...flags,
                "--model",
                "fake/fake-1",
                "-p",
                prompt
              ],
              {
                cwd: pi.cwd,
                stdio: ["ignore", "ignore", "pipe"],
                env: {
                  PATH: `${pi.root}:${process.env["PATH"] ?? ""}`,
                  HOME: pi.home,
                  PI_CODING_AGENT_DIR: pi.agentDir(version),
                  PI_OFFLINE: "1",
                  PI_SKIP_VERSION_CHECK: "1",
                  PI_TELEMETRY: "0"
                }
              }
            )
            let stderr = ""
            child.stderr.on("data", (chunk) => (stderr += String(chunk)))
            child.on("exit", (code) => resume(Effect.succeed({ code, stderr })))
          })
        const first = yield* start("and what now?")
        assert.strictEqual(first.code, 0, first.stderr)
        const second = yield* start("and then?")
        assert.strictEqual(second.code, 0, second.stderr)
        assert.include(second.stderr, "ahead")
        const requests = yield* pi.requests
        const said = (requests[1]?.messages ?? []).map(ScriptedModel.textOf).join("\n")
        for (const words of ["Now the tests.", "All 42 pass.", "and what now?", "and then?"])
          assert.include(said, words)
      })
    )
  }
})
