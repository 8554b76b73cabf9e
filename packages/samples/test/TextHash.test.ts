import { assert, describe, it } from "@effect/vitest"
import { TextHash } from "../src/TextHash.ts"

const digest = (...texts: ReadonlyArray<string>): string => {
  const hash = new TextHash()
  for (const text of texts) hash.add(text)
  return hash.digest()
}

describe("TextHash", () => {
  it("tells texts apart that differ in one character, in order, or in where they are cut", () => {
    const seen = new Map<string, string>()
    const put = (...texts: ReadonlyArray<string>): void => {
      const key = JSON.stringify(texts)
      const known = seen.get(digest(...texts))
      assert.isTrue(known === undefined || known === key, `${key} and ${known}`)
      seen.set(digest(...texts), key)
    }
    for (let length = 0; length < 40; length++) {
      const text = "abcdefghij".repeat(4).slice(0, length)
      put(text)
      for (let at = 0; at < length; at++) {
        for (const other of ["a", "b", "\u0000", "é", "漢", "\ud83e"])
          put(text.slice(0, at) + other + text.slice(at + 1))
        put(text.slice(0, at), text.slice(at))
        put(text.slice(at), text.slice(0, at))
      }
    }
    for (let n = 0; n < 200_000; n++) put(String(n))
    assert.isAbove(seen.size, 200_000)
  })

  it("gives what was added so far, and goes on", () => {
    const hash = new TextHash()
    hash.add("a")
    const first = hash.digest()
    assert.strictEqual(hash.digest(), first)
    hash.add("b")
    assert.strictEqual(hash.digest(), digest("a", "b"))
    assert.strictEqual(first, digest("a"))
  })
})
