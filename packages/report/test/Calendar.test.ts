import { assert, describe, it } from "@effect/vitest"
import * as ChildProcess from "node:child_process"
import { dayOf, weekOf } from "../src/Calendar.ts"

const days = Array.from({ length: 800 }, (_, day) => new Date(Date.UTC(2024, 11, 1) + day * 86_400_000).toISOString())
const coreutils = (format: string) =>
  ChildProcess.spawnSync("date", ["-u", "-f", "-", format], { input: days.join("\n"), encoding: "utf8" })
const isMissing = coreutils("+%F").status !== 0

describe("dayOf and weekOf", () => {
  it.skipIf(isMissing)("agree with `date` of coreutils (skipped without coreutils)", () => {
    assert.deepStrictEqual(days.map(weekOf), coreutils("+%G-W%V").stdout.trimEnd().split("\n"))
    assert.deepStrictEqual(days.map(dayOf), coreutils("+%F").stdout.trimEnd().split("\n"))
  })

  it("use UTC, and give all days of a week that week", () => {
    assert.strictEqual(dayOf("2026-03-02T00:30:00+01:00"), "2026-03-01")
    assert.strictEqual(dayOf("2026-03-02T23:30:00"), "2026-03-02")
    assert.strictEqual(weekOf("1969-12-29T00:00:00Z"), "1970-W01")
    for (const day of days) assert.strictEqual(weekOf(dayOf(day)), weekOf(day))
  })

  it("give (none) for text that is no date", () => {
    for (const text of ["", "soon", "5", "2026", "Mon Mar 2 2026", "2026-13-01T00:00:00Z", "+999999-01-01T00:00:00Z"]) {
      assert.deepStrictEqual([dayOf(text), weekOf(text)], ["(none)", "(none)"], text)
    }
  })
})
