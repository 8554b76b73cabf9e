import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as EntryReference from "../src/EntryReference.ts"
import * as samples from "./support/samples.ts"

const { tree } = samples.session(
  samples.user("ab", null),
  samples.user("abc1", "ab"),
  samples.assistant("abc2", "abc1"),
  samples.user("d\u001b[2J", "abc2"),
  samples.user("x1", "abc2", "first"),
  samples.user("x1", "abc2", "second")
)

const resolve = (reference: string) => EntryReference.resolve(tree, reference)

describe("a reference to an entry", () => {
  it("is an id, or the beginning of one", () => {
    const id = (reference: string) => Result.getOrThrow(resolve(reference)).id
    assert.strictEqual(id("ab"), "ab")
    assert.strictEqual(id("abc2"), "abc2")
    assert.strictEqual(id("d"), "d\u001b[2J")
  })

  it("means the entry in the tree if two entries share the id", () => {
    assert.strictEqual(Result.getOrThrow(resolve("x")), tree.getEntry("x1"))
  })

  it("that fits several entries fails with a list of them", () => {
    const error = Result.getOrThrow(Result.flip(resolve("abc")))
    assert.strictEqual(error._tag, "AmbiguousEntry")
    assert.deepStrictEqual(error._tag === "AmbiguousEntry" ? error.candidates : [], [
      { id: "abc1", type: "message", role: "user", timestamp: samples.timestamp, line: 3 },
      { id: "abc2", type: "message", role: "assistant", timestamp: samples.timestamp, line: 4 }
    ])
    assert.deepStrictEqual(error.message.split("\n"), [
      "abc is the beginning of 2 entry ids; give more of it:",
      "  abc1  user  2026-01-05T10:00:00.000Z  line 3",
      "  abc2  assistant  2026-01-05T10:00:00.000Z  line 4"
    ])
  })

  it("that fits no entry fails", () => {
    for (const reference of ["zz", "", "abc22"]) {
      const error = Result.getOrThrow(Result.flip(resolve(reference)))
      assert.deepInclude(error, { _tag: "EntryNotFound", reference, entries: 6 })
    }
  })

  it("that fails gives a short message that is safe for terminals", () => {
    const many = samples.session(...Array.from({ length: 30 }, (_, at) => samples.user(`q\u001b${at}`, null)))
    const { message } = Result.getOrThrow(Result.flip(EntryReference.resolve(many.tree, "q")))
    assert.notInclude(message, "\u001b")
    assert.strictEqual(message.split("\n").at(-1), "  and 20 more")
  })
})
