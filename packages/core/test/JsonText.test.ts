/** Invalid bytes in JSON text, beside `JSON.parse`. */
import { assert, describe, it } from "vitest"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import * as JsonText from "../src/JsonText.ts"

const parses = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const faultIn = (text: string): number | undefined => JsonText.faultIn(Buffer.from(text, "latin1"))

describe("JsonText.faultIn", () => {
  it("finds the first byte that is not JSON", () => {
    const cases: ReadonlyArray<readonly [string, number | undefined]> = [
      ["", 0],
      [" \r\n", 3],
      [' {"a": [1, true, null]}\r\n', undefined],
      ["broken", 0],
      ["{broken", 1],
      ['{"a" 1}', 5],
      ["[1 2]", 3],
      ["[1, 2", 5],
      ['{"a": "b', 8],
      ['{"a": 1} x', 9],
      ["1 2", 2],
      ["[1,]", 3]
    ]
    for (const [text, fault] of cases) assert.strictEqual(faultIn(text), fault, JSON.stringify(text))
  })

  it("agrees with JSON.parse", () => {
    const random = SeededRandom.make(Number(process.env["PI_SESSIONS_SEED"] ?? 1))
    const pieces = [
      '{"a":',
      "[",
      "]",
      "}",
      ",",
      '"',
      "\\",
      "1",
      "-",
      "e",
      "null",
      "tru",
      " ",
      "\n",
      "\t",
      ":",
      "\u0000",
      "x"
    ] as const
    for (let round = 0; round < 20_000; round++) {
      const text = Array.from({ length: random.int(8) }, () => random.pick(pieces)).join("")
      const fault = faultIn(text)
      assert.strictEqual(fault === undefined, parses(text), JSON.stringify(text))
      if (fault !== undefined) assert.isAtMost(fault, text.length)
    }
  })
})
