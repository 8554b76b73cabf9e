/** Compares the byte scanner and its needles with naive searches. `PI_SESSIONS_SCANS`: cases of each. */
import { assert, describe, it } from "@effect/vitest"
import * as Dose from "@pi-sessions/testing/Dose"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import { type BytePair, DISTANCE_MAX, ScanMemory } from "../src/internal/search/byteScan.ts"
import { mayMatch, needleOf } from "../src/internal/search/needle.ts"
import { spell } from "./support/searchModel.ts"

const CASES = Dose.of("PI_SESSIONS_SCANS", { test: 12_000, campaign: 400_000 })

const ALPHABET = Buffer.from('\\u/aAbBzZ "\u0000é')

describe("ScanMemory", () => {
  it("finds the pair and escapes where a loop over all bytes finds them", () => {
    const memory = new ScanMemory(1024)
    const { bytes } = memory
    for (let seed = 1; seed <= CASES; seed++) {
      const random = SeededRandom.make(seed)
      const end = random.int(400)
      const rare = random.chance(0.7)
      // Bytes after the end must not be found.
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

  it("keeps its content when it grows", () => {
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

/** Small alphabets, so that a needle is found often, with characters that have several cases, lengths or escapes. */
const CROWDS = ["sSſkK\u212aaA", "aAbB/", "aé\ufffd日", 'kK/\\"\n', "ßẞsSiIİı", "tesTESſ", "01ue/aA", "Å\u212båaA"]

describe("needle", () => {
  it("finds every line with a match in every spelling of JSON", () => {
    const memory = new ScanMemory(1024)
    let matched = 0
    let left = 0
    for (let seed = 1; seed <= CASES; seed++) {
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
        // Invalid UTF-8 is read as U+FFFD.
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
    assert.isAbove(matched * 8, CASES)
    assert.isAbove(left * 8, CASES)
  })
})
