/** No command opens `auth.json`, or asks for its type or size, unless the user names that path. */
import { spawnSync } from "node:child_process"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { NodeServices } from "@effect/platform-node"
import { Effect, FileSystem, Layer } from "effect"
import * as Dose from "@pi-sessions/testing/Dose"
import * as PiHome from "@pi-sessions/testing/sessions/PiHome"
import * as RecordingFileSystem from "@pi-sessions/testing/disk/RecordingFileSystem"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { call } from "./support/callCli.ts"
import { recorded, works } from "./support/recordedFiles.ts"
import { MAIN } from "./support/program.ts"

const isCredentials = (path: string): boolean => Path.basename(path) === "auth.json"

/** Calls that search Pi's own places, and calls on everything below the home. */
const calls = (pi: PiHome.PiHome): ReadonlyArray<ReadonlyArray<string>> => {
  const first = pi.usual.sessions.find(({ path }) => path.endsWith("_a.jsonl"))
  const { id = "", path = "" } = first ?? {}
  const all = [pi.home, pi.agentDir]
  return [
    ["list"],
    ["list", "--others"],
    ["list", "--documents"],
    ["list", "--sort", "messages", "--columns", "id,role,name", "--sessions", pi.home],
    ["index", "status"],
    ["index", "refresh", "--sessions", pi.agentDir],
    ["search", "question"],
    ["search", "question", "--sessions", pi.home],
    ["show", id],
    ["show", path],
    ["tree", id],
    ["fork", path, "--at", "00000001"],
    ["doctor", ...all],
    ["extract", "--out", Path.join(pi.home, "out")],
    ["extract", "--sessions", pi.home, "--out", Path.join(pi.home, "out 2")],
    ["hydrate", "--thread", Path.join(pi.home, "thread.json")],
    ["store", "stat", ...all],
    ["store", "verify", ...all],
    ["store", "migrate", "--dry-run", pi.agentDir]
  ]
}

const home = Effect.map(temporaryFolder, (folder) => {
  const pi = PiHome.make(folder)
  Fs.writeFileSync(Path.join(pi.home, "thread.json"), JSON.stringify({ entries: [] }))
  return pi
})

/** The paths that a call passes to Effect's FileSystem, and that our code passes to Node's functions. */
const seenBy = Effect.fnUntraced(function* (args: ReadonlyArray<string>, pi: PiHome.PiHome) {
  const { calls, fileSystem } = yield* Effect.provide(RecordingFileSystem.make, NodeServices.layer)
  const services = Layer.merge(NodeServices.layer, Layer.succeed(FileSystem.FileSystem, fileSystem))
  const node = yield* Effect.promise(() =>
    recorded(() => Effect.runPromise(call(args, pi.home, false, pi.usual.variables, services)))
  )
  return { throughEffect: calls.map(({ path }) => path), throughNode: node.map(({ path }) => path) }
})

describe("auth.json", () => {
  it.live("is in no call on files that a command makes", () =>
    Effect.gen(function* () {
      const pi = yield* home
      assert.isTrue(yield* Effect.promise(() => works(pi.home)))
      const total = { throughEffect: 0, throughNode: 0 }
      for (const args of calls(pi)) {
        const { throughEffect, throughNode } = yield* seenBy(args, pi)
        total.throughEffect += throughEffect.length
        total.throughNode += throughNode.length
        assert.deepStrictEqual([...throughEffect, ...throughNode].filter(isCredentials), [], args.join(" "))
      }
      assert.isAbove(total.throughEffect, 1000)
      assert.isAbove(total.throughNode, 1000)
      const [credentials = ""] = pi.credentials
      const listed = yield* seenBy(["list", "--sessions", credentials], pi)
      assert.isNotEmpty(listed.throughNode.filter(isCredentials), "the user named it")
      const examined = yield* seenBy(["doctor", credentials], pi)
      assert.isNotEmpty(examined.throughEffect.filter(isCredentials), "the user named it")
    }).pipe(Effect.scoped)
  )

  const missing = spawnSync("strace", ["-V"]).status === 0 ? undefined : "strace is not installed"
  if (missing !== undefined) process.stdout.write(`${missing}: the system calls of the program are not tested\n`)

  it.live.skipIf(missing !== undefined)("is in no system call of the built program", () =>
    Effect.gen(function* () {
      const pi = yield* home
      const traced = calls(pi).filter((_, at) => Dose.isCampaign() || at % 5 === 0)
      for (const args of traced) {
        const log = Path.join(pi.home, "strace.log")
        spawnSync("strace", ["-f", "-e", "trace=file", "-o", log, process.execPath, MAIN, ...args], {
          cwd: pi.home,
          env: { PATH: process.env["PATH"], ...pi.usual.variables }
        })
        const lines = Fs.readFileSync(log, "utf8").split("\n")
        assert.isTrue(
          lines.some((line) => line.includes(MAIN)),
          "the program was traced"
        )
        assert.deepStrictEqual(
          lines.filter((line) => line.includes("auth.json")),
          [],
          args.join(" ")
        )
      }
    }).pipe(Effect.scoped)
  )
})
