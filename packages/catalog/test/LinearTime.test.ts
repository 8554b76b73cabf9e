/**
 * Every reader of text of this package needs steps in proportion to the text. A regular expression that a user gives is
 * the user's: a slow one is slow (see SearchPattern).
 */
import { assert, describe, it } from "@effect/vitest"
import { readText } from "@pi-sessions/core/Session"
import { StepCounter } from "@pi-sessions/testing/StepCounter"
import { type TextReader, hostileTexts, steepTexts } from "@pi-sessions/testing/StepGrowth"
import * as Result from "effect/Result"
import { type PatternOptions } from "../src/SearchPattern.ts"

const counter = new StepCounter()
const SearchPattern = await import("../src/SearchPattern.ts")
const SessionRole = await import("../src/SessionRole.ts")
const { needleOf } = await import("../src/internal/search/needle.ts")
const { requiredLiterals } = await import("../src/internal/search/requiredLiterals.ts")

const find = (pattern: string, text: string, options: PatternOptions): unknown =>
  Result.map(SearchPattern.make(pattern, options), (made) => made.find(text))

/** Valid under the flag `u`. */
const escaped = (text: string): string => text.replaceAll(/[\^$\\.*+?()[\]{}|/]/gu, String.raw`\$&`)

const readers: ReadonlyArray<TextReader> = [
  { name: "SearchPattern: a literal", read: (text) => find("a=a", text, {}) },
  { name: "SearchPattern: in any case", read: (text) => find("a=a", text, { case: "ignore" }) },
  { name: "SearchPattern: a word", read: (text) => find("a", text, { word: true }) },
  {
    name: "SearchPattern: a long pattern",
    length: 128,
    read: (text) => find(text, "a=a", { word: true, case: "sensitive" })
  },
  {
    name: "SearchPattern: a long expression",
    read: (text) => find(`(?:a|${escaped(text)})`, "a=a", { regex: true, case: "sensitive" })
  },
  { name: "requiredLiterals", read: (text) => requiredLiterals(`a(${escaped(text)})${escaped(text)}`) },
  { name: "needleOf", read: (text) => needleOf([text], false), length: 128 },
  {
    name: "SessionRole",
    read: (text) => {
      const header = { type: "session", version: 3, id: "s", timestamp: "2026-01-01T00:00:00.000Z", cwd: `/${text}` }
      const said = {
        type: "message",
        id: "a",
        parentId: null,
        message: { role: "user", content: `[GAS TOWN] ${text}` }
      }
      const { lines } = readText([header, said].map((line) => JSON.stringify(line)).join("\n"))
      return SessionRole.detect(SessionRole.openingOf(lines), { path: `/${text}/a.jsonl` })
    }
  }
]

describe("linear time", () => {
  it.each(readers)("$name", async (reader) => {
    assert.deepStrictEqual(await steepTexts(counter, reader, hostileTexts), [])
  })
})
