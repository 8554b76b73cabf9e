/** Matches of literals and expressions, case rules, and the texts that an expression requires. */
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as SearchPattern from "../src/SearchPattern.ts"
import { requiredLiterals } from "../src/internal/search/requiredLiterals.ts"

const make = (pattern: string, options: SearchPattern.PatternOptions = {}): SearchPattern.SearchPattern =>
  Result.getOrThrow(SearchPattern.make(pattern, options))

const found = (pattern: string, text: string, options: SearchPattern.PatternOptions = {}): ReadonlyArray<string> =>
  make(pattern, options)
    .find(text)
    .map(({ start, end }) => text.slice(start, end))

describe("SearchPattern", () => {
  it("ignores case unless the pattern has an upper-case letter", () => {
    assert.deepStrictEqual(found("node", "Node NODE node"), ["Node", "NODE", "node"])
    assert.deepStrictEqual(found("Node", "Node NODE node"), ["Node"])
    assert.deepStrictEqual(found("Node", "Node NODE node", { case: "ignore" }), ["Node", "NODE", "node"])
    assert.deepStrictEqual(found("node", "Node NODE node", { case: "sensitive" }), ["node"])
    assert.deepStrictEqual(found("über", "ÜBER Über"), ["ÜBER", "Über"])
    assert.deepStrictEqual(found("Über", "ÜBER Über"), ["Über"])
  })

  it("does not count classes and escapes of an expression as upper-case letters", () => {
    for (const source of [
      String.raw`\Snode`,
      String.raw`\p{Lu}?node`,
      String.raw`\u{4E}?node`,
      String.raw`\u004E?node`
    ]) {
      assert.isTrue(make(source, { regex: true }).ignoreCase, source)
    }
    assert.isFalse(make(String.raw`\bNode`, { regex: true }).ignoreCase)
  })

  it("uses Unicode's simple case folding", () => {
    assert.deepStrictEqual(found("k", "\u212a"), ["\u212a"])
    assert.deepStrictEqual(found("s", "\u017f"), ["\u017f"])
    assert.deepStrictEqual(found("ß", "\u1e9e"), ["\u1e9e"])
    assert.deepStrictEqual(found("ss", "ß"), [])
    assert.deepStrictEqual(found("i", "İı"), [])
  })

  it("matches special characters of a literal literally", () => {
    const all = String.raw`^$\.*+?()[]{}|/-`
    assert.deepStrictEqual(found(all, `a${all}b`, { case: "ignore" }), [all])
    assert.deepStrictEqual(found("a.c", "abc a.c", { word: true }), ["a.c"])
  })

  it("finds whole words in any script", () => {
    assert.deepStrictEqual(found("cat", "cat concat cat_ cat-1 scat", { word: true }), ["cat", "cat"])
    assert.deepStrictEqual(found("größe", "größe größen", { word: true }), ["größe"])
  })

  it("matches an expression line by line", () => {
    assert.deepStrictEqual(found("^b.*$", "a\nbc\nb", { regex: true }), ["bc", "b"])
    assert.deepStrictEqual(found("a|b", "cab", { regex: true, word: true }), [])
  })

  it("reports what is wrong with a pattern", () => {
    const reason = (pattern: string, options = {}): string =>
      Result.match(SearchPattern.make(pattern, options), { onSuccess: () => "", onFailure: (error) => error.message })
    assert.include(reason(""), "it is empty")
    assert.include(reason("(", { regex: true }), "Invalid regular expression")
    assert.include(reason("a)|(b", { regex: true, word: true }), "Unmatched ')'")
    assert.include(reason("\\u{", { regex: true }), "Invalid")
  })
})

describe("requiredLiterals", () => {
  it("finds the texts that every match contains, and no others", () => {
    const cases: ReadonlyArray<readonly [string, ReadonlyArray<string>]> = [
      ["abc", ["abc"]],
      ["ab?c", ["a", "c"]],
      ["ab*?c", ["a", "c"]],
      ["ab+?c", ["ab", "c"]],
      ["ab{2,3}c", ["a", "c"]],
      ["a|b", []],
      ["a(b|c)d", ["a", "d"]],
      ["a(b)?d", ["a", "d"]],
      [String.raw`a\.b\/c`, ["a.b/c"]],
      [String.raw`a\db\u0041c\u{41}d\x41e\cAf\p{L}g\n`, ["a", "b", "c", "d", "e", "f", "g"]],
      ["^a[|)\\]b]c$", ["a", "c"]],
      ["(?<=x(y[)]))a(?!b)c", ["a", "c"]],
      [String.raw`(?<n>x)a\k<n>b\1c`, ["a", "b", "c"]],
      ["😀?a😀", ["a😀"]],
      [".", []]
    ]
    for (const [source, expected] of cases) {
      assert.isTrue(Result.isSuccess(SearchPattern.make(source, { regex: true })), source)
      assert.deepStrictEqual(requiredLiterals(source), expected, source)
    }
  })
})

describe("needle", () => {
  it("handles every character that folds to an ASCII letter", () => {
    const longer = new Map<string, string>()
    for (let code = 0x80; code < 0x110000; code++) {
      if (code === 0xd800) code = 0xe000
      const character = String.fromCodePoint(code)
      const ascii = /[\0-\x7f]/iu.exec(character)
      if (ascii !== null)
        longer.set(
          character,
          "abcdefghijklmnopqrstuvwxyz"
            .split("")
            .filter((letter) => new RegExp(letter, "iu").test(character))
            .join("")
        )
    }
    assert.deepStrictEqual(
      [...longer],
      [
        ["\u017f", "s"],
        ["\u212a", "k"]
      ]
    )
  })
})
