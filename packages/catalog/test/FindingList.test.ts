/** Limits the findings of sessions with very many faults, and counts how often messages are decoded. */
import { assert, describe, it } from "@effect/vitest"
import * as Session from "@pi-sessions/core/Session"
import { SessionEntry } from "@pi-sessions/core/SessionLine"
import * as ExtremeSession from "@pi-sessions/testing/sessions/ExtremeSession"
import * as SessionDoctor from "../src/SessionDoctor.ts"
import { countOf } from "../src/SessionFinding.ts"
import { KEPT } from "../src/internal/doctor/FindingList.ts"

const textOf = (name: string, n: number): string => [...ExtremeSession.shape(name).lines(n)].join("")

describe("findings of many lines", () => {
  for (const [shape, code] of [
    ["null lines", "null-line"],
    ["damaged lines", "malformed-line"],
    ["objects without a type", "missing-type"],
    ["one id", "duplicate-id"],
    ["unknown parents", "unknown-parent"],
    ["messages without a message", "missing-message"],
    ["calls without results", "unanswered-call"]
  ] as const) {
    it(`lists the first ${KEPT} of ${shape} and counts the others`, () => {
      for (const n of [KEPT - 1, KEPT + 1, 3 * KEPT]) {
        const findings = SessionDoctor.examine(Session.readText(textOf(shape, n))).filter((one) => one.code === code)
        const expected = shape === "one id" ? n - 1 : n
        assert.strictEqual(
          findings.reduce((sum, finding) => sum + countOf(finding), 0),
          expected
        )
        assert.lengthOf(findings, Math.min(expected, KEPT))
        const [first] = findings
        assert.strictEqual(findings.at(-1)!.more === undefined, expected <= KEPT)
        assert.deepStrictEqual(
          findings.map(({ line }) => line),
          findings.map((_, at) => first!.line + at),
          "the first ones, in file order"
        )
        if (expected > KEPT) {
          assert.deepStrictEqual(findings.at(-1)!.more, {
            count: expected - KEPT,
            lastLine: first!.line + expected - 1
          })
        }
      }
    })
  }

  it("decodes each message once", () => {
    for (const name of ["a chain", "calls and results", "calls in one message, then their results"]) {
      const text = textOf(name, 200)
      const session = Session.readText(text)
      const { decode } = SessionEntry.prototype
      let bytes = 0
      try {
        SessionEntry.prototype.decode = function (this: SessionEntry) {
          bytes += this.end - this.start
          return decode.call(this)
        }
        SessionDoctor.examine(session)
      } finally {
        SessionEntry.prototype.decode = decode
      }
      assert.isAtMost(bytes, text.length, name)
    }
  })
})
