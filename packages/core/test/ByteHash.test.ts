/** The hash depends on every byte and on nothing else. */
import { assert, describe, it } from "@effect/vitest"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import * as ByteHash from "../src/ByteHash.ts"
import { WINDOW_BYTES } from "../src/internal/byteModule.ts"

const hex = ({ high, low }: ByteHash.ByteHash): string => `${high.toString(16)}.${low.toString(16)}`

describe("ByteHash", () => {
  it("differs for bytes that differ in one byte, one bit, or the length", () => {
    const seen = new Map<string, string>()
    const put = (bytes: Uint8Array): void => {
      const [key, hash] = [Buffer.from(bytes).toString("hex"), hex(ByteHash.of(bytes))]
      const known = seen.get(hash)
      assert.isTrue(known === undefined || known === key, `${key} and ${known}`)
      seen.set(hash, key)
    }
    for (let length = 0; length < 70; length++) {
      put(new Uint8Array(length))
      const bytes = Uint8Array.from({ length }, (_, at) => 97 + (at % 7))
      for (let at = 0; at < length; at++) {
        for (let bit = 0; bit < 8; bit++) {
          put(bytes.with(at, (bytes[at] ?? 0) ^ (1 << bit)))
        }
      }
    }
    for (let n = 0; n < 100_000; n++) put(Buffer.from(String(n)))
    assert.isAbove(seen.size, 100_000)
    // Each half alone has almost no collisions among so many.
    const halves = [...seen.keys()].map((hash) => hash.split("."))
    for (const at of [0, 1]) assert.isAbove(new Set(halves.map((half) => half[at])).size, seen.size - 10)
  })

  it("depends on the bytes alone, at any offset and length", () => {
    for (const length of [0, 15, 16, 17, WINDOW_BYTES - 1, WINDOW_BYTES, WINDOW_BYTES + 1, 3 * WINDOW_BYTES + 5]) {
      const random = SeededRandom.make(length + 1)
      const bytes = Uint8Array.from({ length }, () => random.int(256))
      const hash = hex(ByteHash.of(bytes))
      const around = new Uint8Array(length + 20).fill(length % 251)
      around.set(bytes, 7)
      assert.strictEqual(hex(ByteHash.of(around, 7, 7 + length)), hash)
      if (length === 0) continue
      for (const at of [0, length >> 1, length - 1]) {
        assert.notStrictEqual(hex(ByteHash.of(bytes.with(at, (bytes[at] ?? 0) ^ 1))), hash)
      }
      assert.notStrictEqual(hex(ByteHash.of(bytes, 0, length - 1)), hash)
    }
  })
})
