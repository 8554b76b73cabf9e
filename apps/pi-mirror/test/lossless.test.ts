/** Sessions of a real Pi with everything that Pi writes, mirrored and hydrated byte for byte. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as FileSystem from "node:fs"
import * as Path from "node:path"
import { hydrate, linesOf, make, sessionIdOf, tested } from "./support/place.ts"

const image = {
  type: "image",
  data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  mimeType: "image/png"
}

describe.each(tested("0.78"))("Pi %s", (version) => {
  it.live(
    "gives a mirrored session back byte for byte, also after Pi continued it in another place",
    Effect.fnUntraced(function* () {
      const place = yield* make()
      const { pi } = place
      const crafted = (what: object) => `/craft ${JSON.stringify(what)}`
      const first = yield* place.start(version, {})
      yield* first.prompt("tell me of apples")
      yield* first.prompt(crafted({ label: "here", name: "a name", entry: { deep: [1, null, "é"] } }))
      yield* first.prompt("please write the file")
      yield* first.prompt("look at this", { images: [image] })
      yield* first.prompt("you will fail")
      yield* first.prompt("be flaky")
      yield* first.request({ type: "compact" })
      yield* first.prompt("tell me of pears")
      yield* first.prompt(crafted({ message: "a note" }))
      yield* first.prompt(crafted({ tree: "tell me of pears", summarize: true }))
      yield* first.prompt("tell me of plums")
      yield* first.request({ type: "bash", command: "echo by hand" })
      yield* first.request({ type: "set_thinking_level", level: "high" })
      const forkable = yield* first.request({ type: "get_fork_messages" })
      const entryId = (forkable as { messages: ReadonlyArray<{ entryId: string }> }).messages.at(-1)?.entryId
      const state = yield* first.request({ type: "get_state" })
      const { sessionFile } = state as { sessionFile: string }
      yield* first.request({ type: "fork", entryId })
      yield* first.prompt("in the fork")
      yield* first.request({ type: "switch_session", sessionPath: sessionFile })
      yield* first.prompt("back again")
      yield* first.request({ type: "new_session" })
      yield* first.prompt("in a new session")
      const errors = (yield* first.events).filter(({ type }) => type === "extension_error")
      assert.deepStrictEqual(errors, [])
      assert.strictEqual(yield* first.stop, 0)
      assert.strictEqual(yield* first.stderr, "")

      const files = FileSystem.readdirSync(pi.sessionDir).map((name) => Path.join(pi.sessionDir, name))
      assert.strictEqual(files.length, 3)
      for (const file of files) {
        const target = Path.join(pi.root, "second", Path.basename(file))
        yield* hydrate(place, sessionIdOf(file), target)
        assert.deepStrictEqual(FileSystem.readFileSync(target), FileSystem.readFileSync(file), file)
      }
      const types = new Set(linesOf(sessionFile).map(({ type }) => type))
      for (const type of ["compaction", "branch_summary", "label", "session_info", "custom", "custom_message"]) {
        assert.isTrue(types.has(type), type)
      }

      // Another sandbox: another folder, no mirror state.
      const elsewhere = Path.join(pi.root, "elsewhere")
      FileSystem.mkdirSync(elsewhere)
      const second = Path.join(pi.root, "second", "moved.jsonl")
      const moved = yield* hydrate(place, sessionIdOf(sessionFile), second, { cwd: elsewhere })
      assert.strictEqual(moved.cwd, elsewhere)
      const there = yield* place.start(version, { args: ["--session", second], state: "elsewhere-state" })
      yield* there.prompt("gone on elsewhere")
      assert.strictEqual(yield* there.stop, 0)

      const third = Path.join(pi.root, "third.jsonl")
      yield* hydrate(place, sessionIdOf(sessionFile), third, { cwd: elsewhere })
      assert.deepStrictEqual(FileSystem.readFileSync(third), FileSystem.readFileSync(second))
      const text = FileSystem.readFileSync(third, "utf8")
      for (const words of ["back again", "gone on elsewhere"]) assert.include(text, words)

      const thread = linesOf(Path.join(place.threads, `${place.threadId}.jsonl`))
      const counts: Record<string, number> = {}
      for (const { type } of thread) counts[type ?? ""] = (counts[type ?? ""] ?? 0) + 1
      const generations = new Set(thread.map(({ payload }) => (payload as { generation?: number }).generation))
      assert.deepStrictEqual(generations, new Set([0, undefined]))
      for (const type of ["pi.chunk", "pi.assistant", "pi.tool_result", "pi.compaction", "pi.request_context"]) {
        assert.isAbove(counts[type] ?? 0, 0, type)
      }
    }),
    600_000
  )
})
