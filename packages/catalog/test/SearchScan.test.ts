import { assert, describe, it } from "@effect/vitest"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import { type BytePair, DISTANCE_MAX, ScanMemory } from "../src/internal/search/byteScan.ts"
import { mayMatch, needleOf } from "../src/internal/search/needle.ts"
import { spell } from "./support/searchModel.ts"

const ALPHABET = Buffer.from('\\u/aAbBzZ "\u0000é')

describe("ScanMemory", () => {
  it("finds the pair and escapes where looking at each byte finds them", () => {
    const memory = new ScanMemory(1024)
    const { bytes } = memory
    for (let seed = 1; seed <= 40_000; seed++) {
      const random = SeededRandom.make(seed)
      const end = random.int(400)
      const rare = random.chance(0.7)
      // What follows the end must not be found.
      for (let at = 0; at < end + 200; at++)
        bytes[at] = rare && random.chance(0.97) ? 0x78 : ALPHABET[random.int(ALPHABET.length)]!
      const mask = random.chance(0.5) ? 0x20 : 0
      const pair: BytePair = {
        first: 0x61,
        firstMask: mask,
        second: random.chance(0.5) ? 0x7a : 0x62,
        secondMask: random.chance(0.5) ? mask : 0,
        distance: random.int(DISTANCE_MAX + 1),
        escape: random.chance(0.5) ? 0x2f : 0x75
      }
      const begins = (at: number): boolean =>
        ((bytes[at]! | pair.firstMask) === pair.first &&
          (bytes[at + pair.distance]! | pair.secondMask) === pair.second) ||
        (bytes[at] === 0x5c && (bytes[at + 1] === 0x75 || bytes[at + 1] === pair.escape))
      const from = random.int(end + 1)
      let expected = from
      while (expected < end && !begins(expected)) expected++
      assert.strictEqual(memory.find(pair, from, end), expected, `seed ${seed}`)
    }
  })

  it("keeps what is in it when it grows", () => {
    const memory = new ScanMemory(1)
    const { length } = memory.bytes
    memory.bytes.write("kept")
    assert.isTrue(memory.grow())
    assert.isAbove(memory.bytes.length, length)
    assert.strictEqual(memory.bytes.toString("latin1", 0, 4), "kept")
    memory.bytes.fill(0x61)
    const pair: BytePair = { first: 0x62, firstMask: 0, second: 0x62, secondMask: 0, distance: 0, escape: 0x75 }
    const { bytes } = memory
    bytes[bytes.length - 1] = 0x62
    assert.strictEqual(memory.find(pair, 0, bytes.length), bytes.length - 1)
  })
})

/** Few characters, so that a needle is found often: those with other cases, longer ones, and those JSON may escape. */
const CROWDS = ["sSſkK\u212aaA", "aAbB/", "aé\ufffd日", 'kK/\\"\n', "ßẞsSiIİı", "tesTESſ", "01ue/aA", "Å\u212båaA"]

describe("needle", () => {
  it("leaves no line out that holds a match, however JSON spells it", () => {
    const memory = new ScanMemory(1024)
    let matched = 0
    let left = 0
    for (let seed = 1; seed <= 60_000; seed++) {
      const random = SeededRandom.make(seed)
      const crowd = Array.from(CROWDS[random.int(CROWDS.length)] ?? "")
      const some = (most: number): string =>
        Array.from({ length: 1 + random.int(most) }, () => crowd[random.int(crowd.length)] ?? "").join("")
      const ignoreCase = random.chance(0.6)
      const literal = some(5)
      const text = some(12)
      const json = spell(random, text, random.pick([1, 0.8, 0.5, 0]))
      const end = memory.bytes.write(`{"a":${json}}`)
      if (random.chance(0.1)) {
        // Bytes that are no UTF-8 are read as U+FFFD.
        const at = memory.bytes.subarray(0, end).indexOf("\ufffd")
        if (at >= 0) memory.bytes.write("\u00ff", at, "latin1")
      }
      const decoded: unknown = JSON.parse(memory.bytes.toString("utf8", 0, end)).a
      const expression = new RegExp(
        literal.replaceAll(/[\^$\\.*+?()[\]{}|/]/gu, String.raw`\$&`),
        ignoreCase ? "iu" : "u"
      )
      const isMatch = expression.test(String(decoded))
      const needle = needleOf([literal], ignoreCase)
      if (needle === undefined) continue
      let isCandidate = false
      for (let at = memory.find(needle.pair, 0, end); at < end; at = memory.find(needle.pair, at + 1, end)) {
        if (mayMatch(needle, memory.bytes, at)) isCandidate = true
      }
      if (isMatch) {
        matched++
        assert.isTrue(isCandidate, `seed ${seed}: ${JSON.stringify(literal)} in ${json}`)
      } else if (!isCandidate) left++
    }
    assert.isAbove(matched, 8000)
    assert.isAbove(left, 8000)
  })
})
