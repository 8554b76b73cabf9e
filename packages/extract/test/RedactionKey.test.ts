/** The file of the redaction key: created once, readable by its owner alone, never overwritten. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as RedactionKey from "../src/publish/RedactionKey.ts"

const live = <A, E>(effect: Effect.Effect<A, E, NodeServices.NodeServices>) =>
  Effect.provide(effect, NodeServices.layer)

describe("a redaction key", () => {
  it.live("is created once", () =>
    Effect.gen(function* () {
      const file = Path.join(yield* temporaryFolder, "state", "redaction.key")
      const keys = yield* live(
        Effect.all(
          Array.from({ length: 4 }, () => RedactionKey.open(file)),
          { concurrency: 4 }
        )
      )
      assert.strictEqual(new Set(keys).size, 1)
      assert.match(keys[0] ?? "", /^[\da-f]{64}$/u)
      assert.strictEqual(yield* live(RedactionKey.open(file)), keys[0])
      assert.strictEqual(Fs.statSync(file).mode & 0o777, 0o600)
      assert.deepStrictEqual(Fs.readdirSync(Path.dirname(file)), ["redaction.key"])
    })
  )

  it.live("is not read from another file; the error does not show its content", () =>
    Effect.gen(function* () {
      const file = Path.join(yield* temporaryFolder, "notes.txt")
      Fs.writeFileSync(file, "private notes")
      const error = yield* live(Effect.flip(RedactionKey.open(file)))
      assert.strictEqual(error._tag, "NotARedactionKey")
      assert.notInclude(error.message, "private notes")
      assert.strictEqual(Fs.readFileSync(file, "utf8"), "private notes")
    })
  )
})
