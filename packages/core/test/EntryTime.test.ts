/** The time of entries with and without timestamps. */
import { assert, describe, it } from "@effect/vitest"
import * as EntryTime from "../src/EntryTime.ts"
import * as Session from "../src/Session.ts"

const timeOf = (fields: object): string | undefined => {
  const header = JSON.stringify({ type: "session", version: 3, id: "s" })
  const entry = JSON.stringify({ type: "message", id: "a", parentId: null, ...fields })
  const [first] = Session.readText(`${header}\n${entry}\n`).tree.getEntries()
  return first === undefined ? assert.fail("no entry") : EntryTime.of(first)
}

describe("EntryTime", () => {
  const message = { role: "user", content: "x", timestamp: Date.UTC(2026, 1, 25) }
  const iso = "2026-02-25T00:00:00.000Z"

  it("is the entry's, else its message's, else the entry's text as it is", () => {
    assert.strictEqual(timeOf({ timestamp: "2026-02-01T10:00:00.000Z", message }), "2026-02-01T10:00:00.000Z")
    assert.strictEqual(timeOf({ message }), iso)
    assert.strictEqual(timeOf({ timestamp: "yesterday", message }), iso)
    assert.strictEqual(timeOf({ timestamp: "yesterday" }), "yesterday")
    assert.strictEqual(timeOf({ timestamp: "yesterday", message: { timestamp: 1e300 } }), "yesterday")
    assert.strictEqual(timeOf({ timestamp: 7, message }), iso)
    assert.isUndefined(timeOf({ message: "none" }))
  })
})
