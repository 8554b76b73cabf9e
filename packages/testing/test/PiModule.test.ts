import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as PiModule from "../src/pi/PiModule.ts"
import * as PiVersion from "../src/pi/PiVersion.ts"

const load = (version: PiVersion.PiVersion) => Effect.promise(() => PiModule.load(version))

it.live(
  "loads both Pis side by side, of which only the newer edits contexts",
  () =>
    Effect.gen(function* () {
      const older = (yield* load("0.78")).SessionManager.inMemory("/")
      const newer = (yield* load("1.5")).SessionManager.inMemory("/")
      const message = { role: "user", content: "hello", timestamp: 0 }
      for (const session of [older, newer]) {
        const id = session.appendMessage(message)
        session.appendContextEdit?.(id, null)
      }
      assert.deepStrictEqual(older.buildSessionContext().messages, [message])
      assert.deepStrictEqual(newer.buildSessionContext().messages, [])
    }),
  60_000
)

it.live(
  "loads what compares branches and what the model is told",
  () =>
    Effect.gen(function* () {
      for (const version of PiVersion.versions) {
        const pi = yield* load(version)
        const session = pi.SessionManager.inMemory("/")
        const root = session.appendMessage({ role: "user", content: "a", timestamp: 0 })
        const left = session.appendCustomMessageEntry("note", "b", true)
        session.branch(root)
        const right = session.appendMessage({ role: "user", content: "c", timestamp: 0 })
        const { entries, commonAncestorId } = pi.collectEntriesForBranchSummary(session, left, right)
        assert.deepStrictEqual(
          entries.map(({ id }) => id),
          [left]
        )
        assert.strictEqual(commonAncestorId, root)
        const { messages } = pi.buildSessionContext(session.getEntries(), left)
        assert.deepStrictEqual(
          messages.map(({ role }) => role),
          ["user", "custom"]
        )
        assert.deepStrictEqual(
          pi.convertToLlm(messages).map(({ role }) => role),
          ["user", "user"]
        )
      }
    }),
  60_000
)
