/** A session file that the real Pi migrates, and so rewrites. */
import { assert, describe, it } from "@effect/vitest"
import { NodeServices } from "@effect/platform-node"
import { Effect, Layer } from "effect"
import * as FileSystem from "node:fs"
import * as Path from "node:path"
import { Mirror } from "@pi-sessions/reconstruction/Mirror"
import { ThreadSink } from "@pi-sessions/reconstruction/ThreadSink"
import { ThreadSource } from "@pi-sessions/reconstruction/ThreadSource"
import { type Place, hydrate, linesOf, make, tested } from "./support/place.ts"

const sessionId = "0195aaaa-0000-7000-8000-000000000001"

/** A session of format version 1: no version, no ids. */
const version1 = (cwd: string): string => {
  const at = (second: number) => `2025-11-20T10:00:0${second}.000Z`
  const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2 }
  return [
    {
      type: "session",
      id: sessionId,
      timestamp: at(0),
      cwd,
      provider: "fake",
      modelId: "fake-1",
      thinkingLevel: "off"
    },
    {
      type: "message",
      timestamp: at(1),
      message: { role: "user", content: "an old question", timestamp: 1763632801000 }
    },
    {
      type: "message",
      timestamp: at(2),
      message: {
        role: "assistant",
        content: [{ type: "text", text: "an old answer" }],
        api: "openai-completions",
        provider: "fake",
        model: "fake-1",
        usage,
        stopReason: "stop",
        timestamp: 1763632802000
      }
    }
  ]
    .map((line) => `${JSON.stringify(line)}\n`)
    .join("")
}

/** Mirrors a file as it is, and leaves the state for the extension. */
const mirrorNow = (place: Place, file: string) =>
  Effect.gen(function* () {
    const mirror = yield* Mirror
    const { threadId } = place
    yield* mirror.open({ file, sessionId, threadId, fallbackThreadId: threadId, fresh: false })
    assert.isTrue(yield* mirror.flush("1 minute"))
  }).pipe(
    Effect.provide(
      Mirror.layer({
        sinkName: `directory ${place.threads}`,
        stateDirectory: Path.join(place.pi.root, "state")
      }).pipe(
        Layer.provide([ThreadSink.layerDirectory(place.threads), ThreadSource.layerDirectory(place.threads)]),
        Layer.provide(NodeServices.layer)
      )
    )
  )

describe.each(tested("1.5"))("Pi %s", (version) => {
  it.live(
    "starts a new generation when Pi rewrites a file on opening it, and keeps that number in another place",
    Effect.fnUntraced(function* () {
      const place = yield* make()
      const { pi } = place
      const file = Path.join(pi.sessionDir, "old.jsonl")
      const old = version1(pi.cwd)
      FileSystem.writeFileSync(file, old)
      yield* mirrorNow(place, file)
      yield* hydrate(place, sessionId, Path.join(pi.root, "as-it-was.jsonl"))
      assert.strictEqual(FileSystem.readFileSync(Path.join(pi.root, "as-it-was.jsonl"), "utf8"), old)

      const first = yield* place.start(version, { args: ["--session", file] })
      yield* first.prompt("a new question")
      assert.strictEqual(yield* first.stop, 0)
      assert.notInclude(FileSystem.readFileSync(file, "utf8"), old)
      const second = Path.join(pi.root, "second.jsonl")
      yield* hydrate(place, sessionId, second)
      assert.deepStrictEqual(FileSystem.readFileSync(second), FileSystem.readFileSync(file))

      // Without state: the mirror reads from the thread that this is the second generation.
      const there = yield* place.start(version, { args: ["--session", second], state: "other-state" })
      yield* there.prompt("and elsewhere")
      assert.strictEqual(yield* there.stop, 0)
      const third = Path.join(pi.root, "third.jsonl")
      yield* hydrate(place, sessionId, third)
      assert.deepStrictEqual(FileSystem.readFileSync(third), FileSystem.readFileSync(second))

      const entries = linesOf(Path.join(place.threads, `${place.threadId}.jsonl`))
      const generations = entries.flatMap(({ payload, type }) =>
        type === "pi.session_header" ? [(payload as { generation: number }).generation] : []
      )
      assert.deepStrictEqual(generations, [0, 1])
      const answers = entries.filter(({ type }) => type === "pi.assistant")
      assert.strictEqual(answers.length, 3, "the old answer is projected once, though its entry has another id now")
    }),
    600_000
  )
})
