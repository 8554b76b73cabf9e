import { assert, describe, it } from "@effect/vitest"
import * as ChildProcess from "node:child_process"
import * as process from "node:process"
import * as Dose from "@pi-sessions/testing/Dose"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import * as TerminalText from "../src/TerminalText.ts"

/** Random text: mostly ASCII, with controls, emoji and wide characters. */
const randomText = (random: SeededRandom.SeededRandom): string => {
  const characters = Array.from({ length: random.int(80) }, () =>
    random.weighted(
      [6, () => String.fromCharCode(0x20 + random.int(0x5f))],
      [2, () => " "],
      [1, () => String.fromCharCode(random.int(0xa0))],
      [1, () => String.fromCharCode(random.int(0x10000))],
      [1, () => String.fromCodePoint(random.int(0x110000))],
      [1, () => random.pick(["\u001b[2J", "\u001b]0;title\u0007", "\u202e", "\r\n", "\u0301", "漢", "👩‍👩‍👧", "\u2066"])]
    )()
  )
  return characters.join("")
}

const samples = (count: number): ReadonlyArray<string> => {
  const random = SeededRandom.make(11)
  return Array.from({ length: count }, () => randomText(random))
}

/** The oracle: properties of Unicode. */
const HARMFUL = /[^\P{Cc}\n\t]|\p{Bidi_Control}|\p{Cs}|\p{Zl}|\p{Zp}/u

describe("harmless text", () => {
  it("has no controls and no bidirectional characters", () => {
    for (const text of samples(1000)) assert.notMatch(TerminalText.harmless(text), HARMFUL)
  })

  it("names the characters that it replaces, and keeps the others", () => {
    assert.strictEqual(TerminalText.harmless("a\u001b[31mred\u0000\u007f\u009b"), "a␛[31mred␀␡<U+009B>")
    assert.strictEqual(TerminalText.harmless("\u202egnp.exe\u2069 \ud800"), "<U+202E>gnp.exe<U+2069> <U+D800>")
    assert.strictEqual(TerminalText.harmless("one\r\ntwo\tthree\r"), "one\ntwo\tthree␍")
    assert.strictEqual(TerminalText.harmless("Größe, 漢字, नमस्ते, 👩‍👩‍👧"), "Größe, 漢字, नमस्ते, 👩‍👩‍👧")
  })

  it("parses to the same value as JSON", () => {
    for (const text of samples(500)) {
      const json = TerminalText.json(JSON.stringify({ [text]: [text] }))
      assert.notMatch(json, HARMFUL)
      assert.deepStrictEqual(JSON.parse(json), { [text]: [text] })
    }
  })
})

/** Code points to compare with Node; the test has the planes with scripts and emoji. */
const CODES = Dose.isCampaign() ? 0x110000 : 0x20000

describe("a line of text", () => {
  it("is one line that fits", () => {
    for (const text of samples(500)) {
      for (const columns of [1, 7, 40]) {
        const line = TerminalText.line(text, columns)
        assert.isAtMost(TerminalText.width(line), columns, JSON.stringify(text))
        assert.notMatch(line, /[\n\t]/)
      }
    }
    assert.strictEqual(TerminalText.line("  two\n\n words  "), "two words")
    assert.strictEqual(TerminalText.line("a longer line", 8), "a longe…")
    assert.strictEqual(TerminalText.line("漢字漢字", 5), "漢字…")
  })

  it("counts a composed emoji as one, and never splits it", () => {
    const family = "👩‍👩‍👧‍👦"
    assert.deepStrictEqual([family, "🇩🇪", "👍🏽", "日本", "e\u0301", "ｱ"].map(TerminalText.width), [2, 2, 2, 4, 1, 1])
    const random = SeededRandom.make(7)
    const parts = [family, "🇩🇪", "👍🏽", "日", "e\u0301", "a", " ", "❤️"] as const
    for (let round = 0; round < 500; round++) {
      const all = Array.from({ length: 30 }, () => random.pick(parts))
      const text = all.join("")
      const wide = all.reduce((sum, part) => sum + TerminalText.width(part), 0)
      assert.strictEqual(TerminalText.width(text), wide, text)
      const room = random.int(wide)
      const front = TerminalText.cut(text, room)
      const end = TerminalText.cutFront(text, room)
      for (const cut of [front, end]) assert.isAtMost(TerminalText.width(cut), room, cut)
      if (room > 2) {
        const kept = front.slice(0, -1)
        assert.isTrue(
          all.some((_, at) => all.slice(0, at).join("") === kept),
          front
        )
        assert.isTrue(
          all.some((_, at) => all.slice(at + 1).join("") === end.slice(1)),
          end
        )
        assert.isAtLeast(TerminalText.width(end), room - 1)
      }
      for (const line of TerminalText.wrap(text, 7)) {
        for (const joiner of [/^(\u200d|\ufe0f|\u0301)/, /\u200d$/]) assert.notMatch(line, joiner)
      }
    }
  })

  it("takes time in proportion to its columns, not to the text", () => {
    const endless = "\u0301".repeat(1 << 22)
    assert.isBelow(TerminalText.line(`a${endless}`, 20).length, 400)
    assert.isBelow(TerminalText.line("x".repeat(1 << 26), 20).length, 21)
  })

  it("is at least as wide as Node's own measure, for every character", () => {
    const script = `
      const { getStringWidth } = require("internal/util/inspect")
      const widths = Array.from({ length: ${CODES} }, (_, code) => getStringWidth("a" + String.fromCodePoint(code)) - 1)
      process.stdout.write(JSON.stringify(widths))`
    const { stdout, stderr } = ChildProcess.spawnSync(
      process.execPath,
      ["--expose-internals", "--no-warnings", "-e", script],
      { encoding: "utf8", maxBuffer: 1 << 24 }
    )
    assert.strictEqual(stderr, "")
    const widths: ReadonlyArray<number> = JSON.parse(stdout)
    const narrower = widths.flatMap((width, code) => {
      const character = String.fromCodePoint(code)
      // Node counts © and ® as emoji, and measures the NFC form of a character.
      const isOther = "©®\t\n".includes(character) || character.normalize() !== character
      return isOther || TerminalText.harmless(character) !== character || TerminalText.width(character) >= width
        ? []
        : [code.toString(16)]
    })
    assert.deepStrictEqual(narrower, [])
  })
})

describe("wrapped text", () => {
  it("fits, and loses only white space at the breaks", () => {
    const bare = (text: string): string => text.replaceAll(/\s/gu, "")
    for (const text of samples(500).map(TerminalText.harmless)) {
      for (const columns of [2, 9, 30]) {
        const lines = [...TerminalText.wrap(text, columns)]
        for (const line of lines) assert.isAtMost(TerminalText.width(line), columns, JSON.stringify(text))
        assert.strictEqual(bare(lines.join("")), bare(text))
      }
    }
  })

  it("breaks between words, keeps indentation and empty lines", () => {
    assert.deepStrictEqual(
      [...TerminalText.wrap("one two three\n\n    indented code\nextraordinarily", 10)],
      ["one two", "three", "", "    indented".slice(0, 10), "ed code", "extraordin", "arily"]
    )
  })
})
