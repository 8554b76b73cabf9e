/** What every rule must keep to, and that no text makes redaction slow. */
import { assert, describe, it } from "@effect/vitest"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import { Placeholders } from "../src/Placeholders.ts"
import { Redactor } from "../src/Redactor.ts"
import { REDACTION_RULES } from "../src/RedactionRules.ts"
import { LiteralScan } from "../src/internal/literalScan.ts"
import { characters } from "./support/plantedSecrets.ts"

/** The pattern without classes and escapes, so that what is left of `*` and `+` are quantifiers. */
const bare = (source: string): string => source.replaceAll(/\\[\s\S]/gu, "_").replaceAll(/\[[^\]]*\]/gu, "_")

describe.each(REDACTION_RULES.map((rule) => [`${rule.id} (${rule.keywords[0] ?? ""})`, rule] as const))(
  "the rule %s",
  (_name, { id, keywords, pattern }) => {
    it("has a name, keywords in small letters and a sticky pattern", () => {
      assert.match(id, /^[a-z\d][a-z\d-]*$/u)
      assert.isNotEmpty(keywords)
      for (const keyword of keywords) {
        assert.isAtLeast(keyword.length, 3)
        assert.strictEqual(keyword, keyword.toLowerCase())
      }
      assert.isTrue(pattern.sticky)
      assert.isFalse(pattern.global)
    })

    it("bounds every quantifier, so that a try costs no more in a longer text", () => {
      const source = bare(pattern.source)
      assert.notMatch(source, /[*+]/u)
      assert.notMatch(source, /\{\d+,\}/u)
      for (const [, most = "0"] of source.matchAll(/\{\d+,(\d+)\}/gu)) assert.isAtMost(Number(most), 12_000)
    })
  }
)

const KEYWORDS = [...new Set(REDACTION_RULES.flatMap(({ keywords }) => keywords))]

/** Pieces that make rules begin, over and over, and never end. */
const PIECES = [
  ["a", "A", "0", "-", "_", ".", "@", "/", "\\", "%", '"', " ", "\n", "=", ":", "\u20AC"],
  ["eyJ-", "eyJa.", "xoxe.", "a@a.", "@a.a", "/home/", "C:\\Users\\", "%2Fhome%2F"],
  ['password: "', "password='a ", "pwd=a1-", "token=a1B2", "://a:", "://a:b@", "curl -u ", "cookie: a=b;"],
  ["-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\nA", "machine a login ", "Authorization: Bearer "],
  ["annabel", "annabel@"]
].flat()

const redactRepeated = (piece: string, length: number): string => {
  const redactor = new Redactor({ placeholders: new Placeholders("a key of this test") })
  return redactor.scope(["/home/annabel/x"]).text(piece.repeat(Math.ceil(length / piece.length)))
}

/** Were a rule to look on to the end of the text at each of its keywords, these would take hours. */
describe("a text", () => {
  it("of a megabyte of any piece over and over is done with", () => {
    for (const piece of PIECES) assert.isString(redactRepeated(piece, 1e6))
  })

  it("of any keyword over and over is done with", () => {
    for (const keyword of KEYWORDS) assert.isString(redactRepeated(keyword, 1e5))
  })
})

describe("looking for literals", () => {
  it("finds what a plain search finds, in texts of any length", () => {
    for (let seed = 1; seed <= 400; seed++) {
      const random = SeededRandom.make(seed)
      const alphabet = random.pick(["ab", "abAB", "aé€\u{1F600}", "abcdefgh-_/"])
      const literals = Array.from({ length: 1 + random.int(20) }, () => ({
        text: characters(random, alphabet.toLowerCase(), 3 + random.int(5)),
        caseSensitive: random.chance(0.3)
      }))
      const text = characters(random, alphabet, random.chance(0.1) ? 65_500 + random.int(100) : random.int(300))
      const found: Array<string> = []
      new LiteralScan(literals).scan(text, (literal, start) => found.push(`${literal} at ${start}`))
      const expected: Array<string> = []
      for (const [index, { caseSensitive, text: literal }] of literals.entries()) {
        const where = caseSensitive ? text : text.replaceAll(/[A-Z]/gu, (letter) => letter.toLowerCase())
        for (let at = where.indexOf(literal); at >= 0; at = where.indexOf(literal, at + 1)) {
          expected.push(`${index} at ${at}`)
        }
      }
      assert.deepStrictEqual(found.sort(), expected.sort(), `seed ${seed}`)
    }
  })
})
