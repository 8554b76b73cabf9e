/** Ids are derived from their parts and unique. */
import { assert, describe, it } from "@effect/vitest"
import * as EntryId from "../src/EntryId.ts"
import { ID_PATTERN } from "../src/SessionHeader.ts"

describe("EntryId.derive", () => {
  it("gives eight hexadecimal digits, the same for the same parts", () => {
    const id = EntryId.derive(new Set(), "a", "b")
    assert.match(id, /^[0-9a-f]{8}$/u)
    assert.strictEqual(EntryId.derive(new Set(), "a", "b"), id)
    assert.strictEqual(EntryId.derive(new Set(), "a", Buffer.from("b")), id)
  })

  it("gives different ids for different parts with the same text", () => {
    const ids = [["ab"], ["a", "b"], ["", "ab"], ["ab", ""]].map((parts) => EntryId.derive(new Set(), ...parts))
    assert.strictEqual(new Set(ids).size, ids.length)
  })

  it("never gives an id that is taken", () => {
    const taken = new Set<string>()
    for (let at = 0; at < 40; at++) {
      const id = EntryId.derive(taken, "same")
      assert.isFalse(taken.has(id))
      taken.add(id)
    }
  })
})

describe("EntryId.deriveSessionId", () => {
  it("gives a UUID of version 8, the same for the same parts, which Pi accepts as an id", () => {
    const ids = ["a", "b", "c", "d", "e"].map((part) => EntryId.deriveSessionId(part))
    for (const id of ids) {
      assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/u)
      assert.match(id, ID_PATTERN)
    }
    assert.strictEqual(new Set(ids).size, ids.length)
    assert.strictEqual(EntryId.deriveSessionId("a"), ids[0])
  })
})
