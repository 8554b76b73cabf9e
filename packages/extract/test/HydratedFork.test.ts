/** Forks of hydrated sessions: only answers that a model gave are targets. */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as Session from "@pi-sessions/core/Session"
import { SessionSource } from "@pi-sessions/session-file/SessionSource"
import * as HermeticPi from "@pi-sessions/testing/pi/HermeticPi"
import * as PiModule from "@pi-sessions/testing/pi/PiModule"
import * as PiRpc from "@pi-sessions/testing/pi/PiRpc"
import { versions } from "@pi-sessions/testing/pi/PiVersion"
// Tests alone: extract takes what others hydrated, and must not depend on how.
import * as SemanticHydration from "../../reconstruction/src/hydrate/SemanticHydration.ts"
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

/** What is learnt, in the order of the files. */
const answersIn = (files: ReadonlyArray<{ readonly path: string }>): ReadonlyArray<string> =>
  files.flatMap(({ path }) =>
    Fs.readFileSync(path, "utf8")
      .split("\n")
      .slice(0, -1)
      .flatMap((line) => {
        const {
          completion,
          messages = completion
        }: { completion?: ReadonlyArray<Said>; messages?: ReadonlyArray<Said> } = JSON.parse(line)
        return (messages ?? []).flatMap(({ content, role }) => (role === "assistant" ? [content] : []))
      })
  )

interface Said {
  readonly role: string
  readonly content: string
}

const headerOf = (file: string): object => JSON.parse(Fs.readFileSync(file, "utf8").split("\n")[0] ?? "{}")

describe.each(versions)("a fork that Pi %s made of a hydrated session", (version) => {
  it.live(
    "has only answers of the model as targets",
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
      // The fork, and the clone that goes on; what hydration wrote and its copy have nothing that a model answered.
      assert.deepStrictEqual(report.sessions, { found: 4, kept: 2, dropped: { hydrated: 2 } })
      assert.deepStrictEqual(answersIn(report.outputs.files), ["ok", "ok"])
      assert.strictEqual(report.total.targets, 2)

      const all = yield* extractFrom([hydrated, ...forks], Path.join(pi.root, "all"), true)
      const written = made!.session.tree.getEntries().filter(({ role }) => role === "assistant").length
      assert.isAbove(all.total.targets, 2)
      assert.isAtMost(all.total.targets, written + 2)
      assert.deepStrictEqual(all.sessions, { found: 4, kept: 3, dropped: { duplicate_targets: 1 } })
    }),
    600_000
  )
})
