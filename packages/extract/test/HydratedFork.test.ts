import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as Session from "@pi-sessions/core/Session"
import { SessionSource } from "@pi-sessions/session-file/SessionSource"
import * as HermeticPi from "@pi-sessions/testing/HermeticPi"
import * as PiModule from "@pi-sessions/testing/PiModule"
import * as PiRpc from "@pi-sessions/testing/PiRpc"
import { versions } from "@pi-sessions/testing/PiVersion"
// Tests alone: extract takes what others hydrated, and must not depend on how.
import * as SemanticHydration from "../../reconstruction/src/SemanticHydration.ts"
import * as ThreadReader from "../../reconstruction/src/ThreadReader.ts"
import { Extract } from "../src/Extract.ts"

const thread = Path.resolve(import.meta.dirname, "../../../fixtures/threads/rename-module.jsonl")

const extractFrom = (paths: ReadonlyArray<string>, out: string, includeHydrated: boolean) =>
  Effect.flatMap(Extract, (extract) =>
    extract.run({ redaction: "off", rigs: [], roles: [], format: "messages", out, includeHydrated })
  ).pipe(
    Effect.provide(Extract.layer.pipe(Layer.provide(SessionSource.layerPaths(paths)))),
    Effect.provide(NodeServices.layer)
  )

const headerOf = (file: string): object => JSON.parse(Fs.readFileSync(file, "utf8").split("\n")[0] ?? "{}")

describe.each(versions)("a fork that Pi %s made of a hydrated session", (version) => {
  it.live(
    "is taken for hydrated, as what it was forked from",
    Effect.fnUntraced(function* () {
      const pi = yield* HermeticPi.make()
      const hydrated = Path.join(pi.sessionDir, "hydrated.jsonl")
      const made = SemanticHydration.hydrate(ThreadReader.read([Fs.readFileSync(thread)], "th_1"), {
        cwd: pi.cwd,
        tools: "pairs"
      })
      assert.isDefined(made)
      Fs.writeFileSync(hydrated, Session.toBytes(made!.session))

      const running = yield* PiRpc.start(version, {
        agentDir: pi.agentDir(version),
        cwd: pi.cwd,
        home: pi.home,
        args: ["--session", hydrated]
      })
      const { messages } = (yield* running.request({ type: "get_fork_messages" })) as {
        readonly messages: ReadonlyArray<{ readonly entryId: string }>
      }
      const sessionFile = Effect.map(running.request({ type: "get_state" }), (state) => {
        return (state as { readonly sessionFile: string }).sessionFile
      })
      yield* running.request({ type: "fork", entryId: messages.at(-1)?.entryId })
      yield* running.prompt("in the fork")
      const forked = yield* sessionFile
      yield* running.request({ type: "clone" })
      yield* running.prompt("in a clone of the fork")
      const cloned = yield* sessionFile
      assert.strictEqual(yield* running.stop, 0)

      const { SessionManager } = yield* Effect.promise(() => PiModule.load(version))
      const copied = SessionManager.forkFrom(hydrated, pi.cwd, pi.sessionDir).getSessionFile() ?? ""

      const forks = [forked, cloned, copied]
      assert.strictEqual(new Set([hydrated, ...forks]).size, 4)
      for (const file of forks) {
        assert.notProperty(headerOf(file), "hydratedFrom", "Pi drops it, so that the entry alone tells")
        assert.include(Fs.readFileSync(file, "utf8"), "was renamed to settings")
      }
      const out = Path.join(pi.root, "out")
      const report = yield* extractFrom([hydrated, ...forks], out, false)
      assert.deepStrictEqual(report.sessions, { found: 4, kept: 0, dropped: { hydrated: 4 } })
      assert.strictEqual(Fs.readFileSync(report.outputs.train, "utf8"), "")
      const all = yield* extractFrom(forks, Path.join(pi.root, "all"), true)
      const samples = Fs.readFileSync(all.outputs.train, "utf8").trimEnd().split("\n")
      // No answer is a target twice: the clone goes on where the fork ended, and the copy has nothing of its own.
      assert.deepStrictEqual(
        samples.map((line): boolean => JSON.parse(line).metadata.hydrated),
        [true]
      )
      assert.deepStrictEqual(all.sessions, { found: 3, kept: 2, dropped: { duplicate_targets: 1 } })
    }),
    600_000
  )
})
