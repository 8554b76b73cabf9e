/** Tables escape texts of sessions, and keep columns aligned. */
import { assert, describe, it } from "@effect/vitest"
import * as TerminalText from "@pi-sessions/report/TerminalText"
import * as Table from "../src/print/Table.ts"

describe("a table", () => {
  it("shows what would steer the terminal, in columns that stay in line", () => {
    const names = [
      "gastown",
      "\u001b[2J\u001b]0;owned\u0007",
      "two\nlines\tand\rmore",
      "\u202egnp.exe",
      "\u65e5\u672c\u8a9e"
    ]
    const lines = Table.render(
      ["agent", "found", "note"],
      names.map((name, at) => [name, 10 ** at, `end ${name}`])
    )
    assert.strictEqual(lines.length, names.length + 1)
    for (const line of lines) assert.strictEqual(TerminalText.exact(line), line)
    const ends = lines.slice(1).map((line) => TerminalText.width(line.slice(0, line.indexOf("end "))))
    assert.deepStrictEqual(new Set(ends).size, 1, lines.join("\n"))
    assert.include(lines[2], "\u241b[2J\u241b]0;owned\u2407")
  })

  it("aligns plain words and numbers as they are", () => {
    assert.deepStrictEqual(
      Table.render(
        ["name", "count"],
        [
          ["a", 1200],
          ["long name", ""]
        ]
      ),
      ["name       count", "a          1,200", "long name"]
    )
  })
})
