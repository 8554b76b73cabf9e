/** Compares the rewriting of JSON text with the rewriting of the parsed value, on random JSON. */
import { assert, describe, it } from "@effect/vitest"
import { type Json, isArray, isObject } from "@pi-sessions/core/Json"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import * as JsonStrings from "../src/JsonStrings.ts"

const TEXTS: readonly [string, ...ReadonlyArray<string>] = [
  "",
  "a",
  "go",
  '"',
  "\\",
  '\\"',
  "ü€😀",
  "{[,:]}",
  "\ud83d",
  "\n"
]
const SPACES: readonly [string, ...ReadonlyArray<string>] = ["", "", " ", "\t\r\n "]
const NUMBERS: readonly [string, ...ReadonlyArray<string>] = ["0", "-1.50", "1e400", "12345678901234567890"]

/** A string as JSON may write it, also with needless escapes. */
const written = (random: SeededRandom.SeededRandom, text: string): string =>
  random.chance(0.7)
    ? JSON.stringify(text)
    : `"${[...Array(text.length).keys()].map((at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, "0")}`).join("")}"`

const randomText = (random: SeededRandom.SeededRandom, depth = 0): string => {
  const space = () => random.pick(SPACES)
  const many = (make: () => string) =>
    Array.from({ length: random.int(5) }, () => `${space()}${make()}${space()}`).join(",")
  switch (random.int(depth > 4 ? 3 : 6)) {
    case 0:
      return random.pick(NUMBERS)
    case 1:
      return random.pick(["true", "false", "null"])
    case 2:
      return written(random, random.pick(TEXTS))
    case 3:
      return `[${many(() => randomText(random, depth + 1)) || space()}]`
    default: {
      const names = new Set<string>()
      const key = () => {
        const name = `${random.pick(TEXTS)}${names.size}`
        names.add(name)
        return written(random, name)
      }
      return `{${many(() => `${key()}${space()}:${space()}${randomText(random, depth + 1)}`) || space()}}`
    }
  }
}

/** Does to a parsed value what `visitor` does to its text. */
const expected = (value: Json): Json => {
  if (typeof value === "string") return value.toUpperCase()
  if (isArray(value)) return value.map(expected)
  if (!isObject(value)) return value
  const strings = Object.values(value).filter((member) => typeof member === "string").length
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, member]): ReadonlyArray<readonly [string, Json]> => {
      if (member === undefined || (typeof member === "string" && key.startsWith("go"))) return []
      const name = key.startsWith("a") ? `_${key}` : key
      return [[name, typeof member === "string" ? `${key}:${strings}` : expected(member)]]
    })
  )
}

const visitor: JsonStrings.StringVisitor = {
  key: (name) => (name.startsWith("a") ? `_${name}` : name),
  value: (value, key, siblings) => {
    if (key === "") return value.toUpperCase()
    return key.startsWith("go") ? undefined : `${key}:${siblings.size}`
  }
}

describe("JsonStrings.rewrite", () => {
  it("gives what rewriting the parsed value gives", () => {
    let changed = 0
    for (let seed = 1; seed <= 1500; seed++) {
      const text = randomText(SeededRandom.make(seed))
      const value: Json = JSON.parse(text)
      const made = JsonStrings.rewrite(text, visitor)
      assert.deepStrictEqual(JSON.parse(made), expected(value), text)
      if (made !== text) changed++
    }
    assert.isAbove(changed, 250)
  })

  it("returns the same text if nothing changes, and keeps everything between the strings", () => {
    for (let seed = 1; seed <= 500; seed++) {
      const text = randomText(SeededRandom.make(seed))
      assert.strictEqual(JsonStrings.rewrite(text, { key: (name) => name, value: (value) => value }), text)
      // With all strings blanked, both texts must be equal.
      const blank = (json: string) => json.replaceAll(/"(?:[^"\\]|\\.)*"/gu, '""')
      const same: JsonStrings.StringVisitor = { key: (name) => `k${name}`, value: (value) => `v${value}` }
      assert.strictEqual(blank(JsonStrings.rewrite(text, same)), blank(text))
    }
  })

  it("accepts JSON that is nested deeper than the stack", () => {
    const deep = 20_000
    const text = `${'{"a":['.repeat(deep)}"x"${"]}".repeat(deep)}`
    assert.include(JsonStrings.rewrite(text, visitor), '"X"')
  })
})
