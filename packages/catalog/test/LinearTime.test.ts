/**
 * Every reader of text in this package takes steps in proportion to the text. Regular expressions of the user are not
 * covered: they may be slow (see SearchPattern).
 */
import { assert, describe, it } from "@effect/vitest"
import { readText } from "@pi-sessions/core/Session"
import { StepCounter } from "@pi-sessions/testing/steps/StepCounter"
import { type TextReader, hostileTexts, steepTexts } from "@pi-sessions/testing/steps/StepGrowth"
import * as Result from "effect/Result"
import { type PatternOptions } from "../src/SearchPattern.ts"

const counter = new StepCounter()
const SearchPattern = await import("../src/SearchPattern.ts")
const SessionRole = await import("../src/SessionRole.ts")
const { ScanMemory } = await import("../src/internal/search/byteScan.ts")
const { EntryFinder } = await import("../src/internal/search/EntryFinder.ts")
const { hitLines } = await import("../src/internal/search/hitLines.ts")
const { needleOf } = await import("../src/internal/search/needle.ts")
const { requiredLiterals } = await import("../src/internal/search/requiredLiterals.ts")

const find = (pattern: string, text: string, options: PatternOptions): unknown =>
  Result.map(SearchPattern.make(pattern, options), (made) => made.find(text))

/** Escaped for an expression with the flag `u`. */
const escaped = (text: string): string => text.replaceAll(/[\^$\\.*+?()[\]{}|/]/gu, String.raw`\$&`)

const memory = new ScanMemory(1 << 20)

/** Calls the scanner until it has passed every position, as a search with false candidates does. */
const everyFind = (literal: string, text: string): number => {
  const pair = needleOf([literal], literal === "ea")?.pair
  assert.isDefined(pair)
  const end = memory.bytes.write(text)
  let found = 0
  for (let at = memory.find(pair, 0, end); at < end; at = memory.find(pair, at + 1, end)) found++
  return found
}

/** Searches the text in one piece for entries with two needles. */
const candidates = (text: string): number => {
  let found = 0
  const needles = ["a=a", "user"].flatMap((literal) => needleOf([literal], false) ?? [])
  const finder = new EntryFinder(needles, () => found++)
  finder.push({ memory, end: memory.bytes.write(text), fileOffset: 0 })
  return found
}

const AROUND = { before: 5, after: 5 }

const lineEach = (text: string): string => Array.from(text).join("\n")

/** Every character that is a letter. */
const matchesIn = (text: string) => {
  const ranges: Array<{ readonly start: number; readonly end: number }> = []
  for (let start = 0; start < text.length; start++) if (text[start] !== " ") ranges.push({ start, end: start + 1 })
  return ranges
}

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
  { name: "byteScan", read: (text) => everyFind("a=a", text) },
  { name: "byteScan: any case", read: (text) => everyFind("ea", text) },
  { name: "EntryFinder", read: (text) => candidates(text) },
  { name: "hitLines", read: (text) => hitLines(text, matchesIn(text), { before: 1, after: 1 }) },
  { name: "hitLines: every line", read: (text) => hitLines(lineEach(text), matchesIn(lineEach(text)), AROUND) },
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
