/** Both real Pis continue hydrated sessions. */
import { assert, describe, it } from "@effect/vitest"
import { NodeServices } from "@effect/platform-node"
import { Effect, Layer } from "effect"
import * as FileSystem from "node:fs"
import * as Path from "node:path"
import * as Session from "@pi-sessions/core/Session"
import * as Dose from "@pi-sessions/testing/Dose"
import * as HermeticPi from "@pi-sessions/testing/pi/HermeticPi"
import { type PiVersion, versions } from "@pi-sessions/testing/pi/PiVersion"
import * as ScriptedModel from "@pi-sessions/testing/pi/ScriptedModel"
import { Hydrate, type HydrateOptions } from "../src/Hydrate.ts"
import { ThreadSource } from "../src/ThreadSource.ts"

const threads = Path.resolve(import.meta.dirname, "../../../fixtures/threads")
const TestLayer = Hydrate.layer.pipe(Layer.provide(ThreadSource.layerFile), Layer.provideMerge(NodeServices.layer))

const hydrateTo = (thread: string, cwd: string, target: string, options?: HydrateOptions) =>
  Effect.flatMap(Hydrate, (service) =>
    service.hydratePiSessionFromThread(Path.join(threads, thread), cwd, target, options)
  ).pipe(Effect.provide(TestLayer))

/** Every call has its result before the next turn, and every result its call. */
const assertPaired = (messages: ReadonlyArray<ScriptedModel.ChatMessage>): void => {
  let open = new Set<string>()
  for (const message of messages) {
    if (message.role === "tool") {
      assert.isTrue(open.delete(message.tool_call_id ?? ""), `orphan result ${message.tool_call_id}`)
      continue
    }
    assert.deepStrictEqual([...open], [], "a call was not answered")
    open = new Set((message.tool_calls ?? []).map((call) => call.id))
  }
  assert.deepStrictEqual([...open], [])
}

/** Words of each thread. All must reach the model; those before a compaction are in its summary. */
const WORDS: { readonly [thread: string]: ReadonlyArray<string> } = {
  "rename-module.jsonl": [
    "The module config was renamed to settings",
    "Now the tests.",
    "Running them.",
    "2 failed | 40 passed",
    "Two fail because of the snapshot. \u2728",
    "I'll update the snapshot.",
    "42 passed",
    "All 42 pass.",
    "Thanks!"
  ],
  "empty-tool-ids.jsonl": [
    "[GAS TOWN] deacon <- daemon",
    "Heartbeat updated",
    "inbox empty",
    "1. heartbeat",
    "Patrol done."
  ],
  "raw-lines.jsonl": ["Which test framework", "jest was tried", "Use vitest instead.", "vitest is in"]
}

const check = Effect.fnUntraced(function* (version: PiVersion, thread: string, how: "session" | "continue") {
  const pi = yield* HermeticPi.make()
  const dir = Path.join(pi.root, "hydrated")
  const target = Path.join(dir, "2026-05-31T10-12-13-456Z_hydrated.jsonl")
  yield* hydrateTo(thread, pi.cwd, target)
  const before = Session.read(FileSystem.readFileSync(target))

  const args = how === "session" ? ["--session", target] : ["--session-dir", dir, "--continue"]
  const run = yield* pi.run(version, [...args, "-p", "and what now?"])
  assert.strictEqual(run.exitCode, 0, run.stderr)

  const requests = yield* pi.requests
  assert.strictEqual(requests.length, 1)
  const messages = (requests[0]?.messages ?? []).filter(({ role }) => role !== "system" && role !== "developer")
  const said = messages.map(ScriptedModel.textOf).join("\n")
  for (const words of WORDS[thread] ?? []) assert.include(said, words)
  assertPaired(messages)
  assert.include(ScriptedModel.textOf(messages.at(-1)!), "and what now?")

  const bytes = FileSystem.readFileSync(target)
  const after = Session.read(bytes)
  assert.strictEqual(FileSystem.readdirSync(dir).length, 1, "Pi continues in the given file")
  assert.deepStrictEqual(bytes.subarray(0, Session.toBytes(before).length), Buffer.from(Session.toBytes(before)))
  const added = after.tree.getEntries().slice(before.tree.getEntries().length)
  assert.strictEqual(added[0]?.parentId, before.tree.leafId, "the new turn follows the last hydrated entry")
  assert.deepStrictEqual(after.diagnostics, [])
  assert.strictEqual(added.at(-1)?.role, "assistant")
})

describe("the real Pi continues a hydrated session", () => {
  for (const version of versions) {
    // In `pnpm test`, 0.78 has one thread, because its start takes a second.
    const isWhole = version !== "0.78" || Dose.isCampaign()
    for (const thread of isWhole ? Object.keys(WORDS) : ["rename-module.jsonl"]) {
      it.live(`${version} by --session: ${thread}`, () => check(version, thread, "session"))
    }
    if (!isWhole) continue
    it.live(`${version} by --session-dir and --continue`, () => check(version, "rename-module.jsonl", "continue"))

    it.live(
      `${version} with tools written as text`,
      Effect.fnUntraced(function* () {
        const pi = yield* HermeticPi.make()
        const target = Path.join(pi.root, "flat.jsonl")
        yield* hydrateTo("rename-module.jsonl", pi.cwd, target, { tools: "flatten" })
        const run = yield* pi.prompt(version, target, "and what now?")
        assert.strictEqual(run.exitCode, 0, run.stderr)
        const messages = (yield* pi.requests)[0]?.messages ?? []
        assert.isFalse(messages.some(({ role, tool_calls }) => role === "tool" || (tool_calls?.length ?? 0) > 0))
        assert.include(messages.map(ScriptedModel.textOf).join("\n"), "42 passed")
      })
    )
  }
})
