/** Requirements of every rule, texts that begin rules over and over, and the search for literals. */
import { assert, describe, it } from "@effect/vitest"
import * as Dose from "@pi-sessions/testing/Dose"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import { Placeholders } from "../src/Placeholders.ts"
import { Redactor } from "../src/Redactor.ts"
import { REDACTION_RULES } from "../src/RedactionRules.ts"
import { LiteralScan } from "../src/internal/literalScan.ts"
import { characters } from "./support/plantedSecrets.ts"

/** The pattern without classes and escapes, so that each `*` and `+` is a quantifier. */
const bare = (source: string): string => source.replaceAll(/\\[\s\S]/gu, "_").replaceAll(/\[[^\]]*\]/gu, "_")

describe.each(REDACTION_RULES.map((rule) => [`${rule.id} (${rule.keywords[0] ?? ""})`, rule] as const))(
  "the rule %s",
  (_name, { id, keywords, pattern }) => {
    it("has an id, lower-case keywords and a sticky pattern", () => {
      assert.match(id, /^[a-z\d][a-z\d-]*$/u)
      assert.isNotEmpty(keywords)
      for (const keyword of keywords) {
        assert.isAtLeast(keyword.length, 3)
        assert.strictEqual(keyword, keyword.toLowerCase())
      }
      assert.isTrue(pattern.sticky)
      assert.isFalse(pattern.global)
    })

    it("has an upper bound for every quantifier, so that a longer text costs no more", () => {
      const source = bare(pattern.source)
      assert.notMatch(source, /[*+]/u)
      assert.notMatch(source, /\{\d+,\}/u)
      for (const [, most = "0"] of source.matchAll(/\{\d+,(\d+)\}/gu)) assert.isAtMost(Number(most), 12_000)
    })
  }
)

const KEYWORDS = [...new Set(REDACTION_RULES.flatMap(({ keywords }) => keywords))]

/** Pieces at which rules begin to match and never succeed. */
const PIECES = [
  ["a", "A", "0", "-", "_", ".", "@", "/", "\\", "%", '"', " ", "\n", "=", ":", "\u20AC"],
  ["eyJ-", "eyJa.", "xoxe.", "a@a.", "@a.a", "/home/", "C:\\Users\\", "%2Fhome%2F"],
  ['password: "', "password='a ", "pwd=a1-", "token=a1B2", "://a:", "://a:b@", "curl -u ", "cookie: a=b;"],
  ["-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\nA", "machine a login ", "Authorization: Bearer "],
  ["annabel", "annabel@"]
].flat()

const scope = new Redactor({ placeholders: new Placeholders("a key of this test") }).scope(["/home/annabel/x"])
const LENGTH = Dose.of("PI_SESSIONS_TEXT_LENGTH", { test: 50_000, campaign: 1_000_000 })

const redactRepeated = (piece: string, length: number): string =>
  scope.text(piece.repeat(Math.ceil(length / piece.length)))

/** Also checked by steps in LinearTime.test.ts. Rules that read to the end of the text at each keyword would take hours. */
describe("a long text", () => {
  it("that repeats a piece is redacted", () => {
    for (const piece of PIECES) assert.isString(redactRepeated(piece, LENGTH))
  })

  it("that repeats a keyword is redacted", () => {
    for (const keyword of KEYWORDS) assert.isString(redactRepeated(keyword, LENGTH / 10))
  })
})

describe("LiteralScan", () => {
  it("finds what a plain search finds, in short texts and across chunks", () => {
    for (let seed = 1; seed <= 150; seed++) {
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
