/**
 * Runs of targets in sessions of the real Pis. Each target's context is compared with its request by definition, computed
 * separately for each target. RecordedRequests.test.ts compares the definition with Pi's own requests.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as process from "node:process"
import { type JsonObject, isArray, isObject, objectAt, stringAt } from "@pi-sessions/core/Json"
import * as ModelRequest from "@pi-sessions/core/ModelRequest"
import * as Session from "@pi-sessions/core/Session"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import * as PiVersion from "@pi-sessions/testing/pi/PiVersion"
import * as TargetRuns from "../src/TargetRuns.ts"
import * as Sessions from "./support/sessions.ts"
import { walkedSessions } from "./support/walks.ts"

const walks = (version: PiVersion.PiVersion) => walkedSessions(version, 60, { test: 10, campaign: 200 })

const messageOf = (entry: SessionEntry): JsonObject => objectAt(entry.decode(), "message") ?? {}

const assertSame = (
  ours: ReadonlyArray<ModelRequest.SentMessage>,
  theirs: ReadonlyArray<ModelRequest.SentMessage>,
  name: string
): void => {
  assert.strictEqual(ours.length, theirs.length, name)
  for (const [i, { message }] of ours.entries()) {
    assert.isTrue(ModelRequest.isSame(message, theirs[i]?.message ?? {}), `${name}: message ${i}`)
  }
}

/** The request for an entry, by definition. */
const requestFor = (session: Session.Session, entry: SessionEntry, profile: PiVersion.PiVersion) => {
  const branch = session.tree.getBranch(entry.id ?? "").slice(0, -1)
  return ModelRequest.of(branch, ModelRequest.modelOf(messageOf(entry)), profile)
}

const answersOf = (entries: ReadonlyArray<SessionEntry>): ReadonlyArray<SessionEntry> =>
  entries.filter((entry) => {
    const message = entry.role === "assistant" ? messageOf(entry) : {}
    const content = message["content"]
    const says = (isArray(content) ? content : []).some(
      (block) => isObject(block) && (block["type"] === "toolCall" || (stringAt(block, "text") ?? "").trim() !== "")
    )
    return says && !["error", "aborted"].includes(String(message["stopReason"]))
  })

describe.each(PiVersion.versions)("the runs of sessions of Pi %s", (version) => {
  it.effect("have each answer once, after the request that the definition gives", () =>
    Effect.gen(function* () {
      const starts = new Set<string>()
      let targets = 0
      for (const { name, session } of yield* walks(version)) {
        const { tree } = session
        const runs = TargetRuns.runs(tree, { branches: "all", profile: version })
        for (const run of runs) {
          starts.add(run.start)
          let at = run.firstTarget
          for (const target of run.targets) {
            const end = run.messages.findIndex(({ of }, i) => i >= at && of?.entry === target)
            const request = requestFor(session, target, version)
            assertSame(run.messages.slice(0, end), request.messages, `${name}, for ${target.id}`)
            at = end + 1
            targets++
          }
          assert.strictEqual(at, run.messages.length, `${name}: nothing follows the last target`)
          assert.isAbove(run.targets.length, 0)
        }
        const held = runs.flatMap((run) => run.targets)
        const reachable = answersOf(
          tree.getEntries().filter(({ id }) => id !== null && tree.getEntry(id) !== undefined)
        )
        assert.sameMembers(
          held.map(({ id }) => id),
          reachable.map(({ id }) => id),
          name
        )
        const active = TargetRuns.runs(tree, { profile: version }).flatMap((run) => run.targets)
        assert.deepStrictEqual(
          active.map(({ id }) => id),
          answersOf(tree.getBranch()).map(({ id }) => id),
          name
        )
      }
      process.stdout.write(
        `TargetRuns: Pi ${version}: ${targets} targets, runs start by ${[...starts].sort().join(", ")}\n`
      )
      assert.includeMembers([...starts], ["session", "branch", "compaction", "model"])
    })
  )

  it.effect("end only where the next request does not continue the last one", () =>
    Effect.gen(function* () {
      for (const { name, session } of yield* walks(version)) {
        const runs = TargetRuns.runs(session.tree, { profile: version })
        for (const [i, run] of runs.entries()) {
          const before = runs[i - 1]
          const [first] = run.targets
          if (before === undefined || first === undefined) continue
          const next = requestFor(session, first, version).messages
          const continues = before.messages.every(({ message }, at) =>
            ModelRequest.isSame(message, next[at]?.message ?? {})
          )
          assert.isTrue(!continues || run.start === "system", `${name}: ${run.start} at ${first.id}`)
        }
      }
    })
  )
})

describe("a run", () => {
  const ids = (text: string, options?: TargetRuns.RunOptions) =>
    TargetRuns.runs(Session.read(Buffer.from(text)).tree, options).map(({ firstTarget, start, targets }) => ({
      start,
      firstTarget,
      targets: targets.map(({ id }) => id)
    }))

  it("continues over failed answers, names and changes of the thinking level", () => {
    const file = Sessions.chain(
      Sessions.user("a"),
      Sessions.assistant([Sessions.text("1")]),
      { type: "session_info", name: "n" },
      Sessions.user("b"),
      Sessions.assistant([], { stopReason: "error", errorMessage: "overloaded" }),
      { type: "thinking_level_change", thinkingLevel: "high" },
      Sessions.assistant([Sessions.text("2")])
    )
    assert.deepStrictEqual(ids(file), [{ start: "session", firstTarget: 1, targets: ["e2", "e7"] }])
  })

  it("starts again after a compaction, with the kept messages as context", () => {
    const file = Sessions.chain(
      Sessions.user("a"),
      Sessions.assistant([Sessions.text("1")]),
      Sessions.user("b"),
      Sessions.assistant([Sessions.text("2")]),
      { type: "compaction", summary: "s", firstKeptEntryId: "e3", tokensBefore: 10 },
      Sessions.user("c"),
      Sessions.assistant([Sessions.text("3")])
    )
    assert.deepStrictEqual(ids(file), [
      { start: "session", firstTarget: 1, targets: ["e2", "e4"] },
      { start: "compaction", firstTarget: 4, targets: ["e7"] }
    ])
  })

  it("has answers that branches share once, on the active branch", () => {
    const file = Sessions.chain(
      Sessions.user("a"),
      Sessions.assistant([Sessions.text("1")]),
      Sessions.user("b"),
      Sessions.assistant([Sessions.text("2")]),
      { ...Sessions.user("c"), parentId: "e2" },
      Sessions.assistant([Sessions.text("3")])
    )
    const active = { start: "session" as const, firstTarget: 1, targets: ["e2", "e6"] }
    assert.deepStrictEqual(ids(file), [active])
    assert.deepStrictEqual(ids(file, { branches: "all" }), [
      active,
      { start: "branch", firstTarget: 3, targets: ["e4"] }
    ])
  })

  it("has answers that may not be targets as context", () => {
    const file = Sessions.chain(
      Sessions.user("a"),
      Sessions.assistant([Sessions.text("made up")]),
      Sessions.user("b"),
      Sessions.assistant([Sessions.text("2")])
    )
    const isTarget = ({ id }: SessionEntry): boolean => id !== "e2"
    assert.deepStrictEqual(ids(file, { isTarget }), [{ start: "untrained", firstTarget: 3, targets: ["e4"] }])
  })
})
