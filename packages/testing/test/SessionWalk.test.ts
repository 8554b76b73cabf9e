import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fs from "node:fs"
import { temporaryFolder } from "../src/TemporaryFolder.ts"
import * as PiModule from "../src/pi/PiModule.ts"
import * as PiVersion from "../src/pi/PiVersion.ts"
import * as SessionWalk from "../src/sessions/SessionWalk.ts"
import type { WalkOperation } from "../src/sessions/WalkOperation.ts"

const walks = 100
const timeout = 60_000

/** What JSON keeps of a value. */
const stored = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

const kindOf = (operation: WalkOperation): string =>
  operation.op === "message" ? operation.message.role : operation.op

const kinds = [
  "assistant",
  "bashExecution",
  "branch",
  "branchWithSummary",
  "compaction",
  "custom",
  "customMessage",
  "fork",
  "label",
  "model",
  "resetLeaf",
  "sessionInfo",
  "thinkingLevel",
  "toolResult",
  "user"
]

describe.each(PiVersion.versions)("a walk through Pi %s", (version) => {
  it.live(
    "is on disk as it is in memory",
    () =>
      Effect.gen(function* () {
        const dir = yield* temporaryFolder
        const { SessionManager } = yield* Effect.promise(() => PiModule.load(version))
        const seen = new Set<string>()
        for (let seed = 0; seed < walks; seed++) {
          const walk = yield* Effect.promise(() => SessionWalk.walk(version, { seed, dir, cwd: dir }))
          const bytes = Fs.readFileSync(walk.file)
          const reopened = SessionManager.open(walk.file)
          assert.deepStrictEqual(stored(reopened.getEntries()), stored(walk.manager.getEntries()), `seed ${seed}`)
          assert.strictEqual(reopened.getLeafId(), walk.manager.getLeafId(), `seed ${seed}`)
          assert.deepStrictEqual(
            stored(reopened.buildSessionContext()),
            stored(walk.manager.buildSessionContext()),
            `seed ${seed}`
          )
          assert.deepStrictEqual(Fs.readFileSync(walk.file), bytes, `seed ${seed}: opening changes nothing`)
          assert.strictEqual(walk.files.at(-1), walk.file, `seed ${seed}`)
          walk.operations.forEach((operation) => seen.add(kindOf(operation)))
        }
        const newer = version === "0.78" ? [] : ["contextEdit", "system", "usage"]
        assert.deepStrictEqual([...seen].sort(), [...kinds, ...newer].sort())
      }),
    timeout
  )

  it.live(
    "does the same for the same seed, and else something else",
    () =>
      Effect.gen(function* () {
        const dir = yield* temporaryFolder
        const walk = (seed: number) =>
          Effect.promise(() => SessionWalk.walk(version, { seed, steps: 200, dir, cwd: dir }))
        const [first, second, other] = [yield* walk(7), yield* walk(7), yield* walk(8)]
        assert.deepStrictEqual(first.operations, second.operations)
        assert.notDeepEqual(first.operations, other.operations)
        assert.strictEqual(first.files.length, second.files.length)
        assert.notStrictEqual(first.file, second.file)
      }),
    timeout
  )
})
