/** Hashes of texts that differ little, and hashes of prefixes. */
import { assert, describe, it } from "@effect/vitest"
import { TextHash } from "../src/TextHash.ts"

const digest = (...texts: ReadonlyArray<string>): string => {
  const hash = new TextHash()
  for (const text of texts) hash.add(text)
  return hash.digest()
}

describe("TextHash", () => {
  it("differs for texts with another character, order or cut", () => {
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
    for (let n = 0; n < 50_000; n++) put(String(n))
    assert.isAbove(seen.size, 50_000)
  })

  it("gives the hash so far and accepts more texts", () => {
    const hash = new TextHash()
    hash.add("a")
    const first = hash.digest()
    assert.strictEqual(hash.digest(), first)
    hash.add("b")
    assert.strictEqual(hash.digest(), digest("a", "b"))
    assert.strictEqual(first, digest("a"))
  })
})
