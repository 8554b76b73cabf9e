/** The data structures of long lists: heights of rows, and ranges of entries. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Heights } from "../page/src/list/Heights.ts"
import { Ranges } from "../page/src/session/Ranges.ts"
import * as EntryRanges from "../src/EntryRanges.ts"

const Size = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 300 }))
const Height = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 500 }))

describe("heights of rows", () => {
  it.effect.prop(
    "agree with a plain sum",
    [Size, Height, Schema.Array(Schema.Tuple([Size, Height]))],
    ([count, guess, changes]) =>
      Effect.sync(() => {
        const heights = new Heights(count, guess)
        const plain = Array.from({ length: count }, () => guess)
        for (const [row, height] of changes) {
          const grown = heights.set(row, height)
          assert.strictEqual(grown, row < count ? height - (plain[row] ?? 0) : 0)
          if (row < count) plain[row] = height
        }
        let sum = 0
        for (const [row, height] of plain.entries()) {
          assert.strictEqual(heights.before(row), sum)
          assert.strictEqual(heights.at(sum), row)
          assert.strictEqual(heights.at(sum + height - 1), row)
          sum += height
        }
        assert.strictEqual(heights.total, sum)
        if (count > 0) assert.strictEqual(heights.at(sum + 1000), count - 1)
      })
  )
})

const Index = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 60 }))

describe("ranges", () => {
  it.effect.prop("give back the indexes, as numbers, as text and by place", [Schema.Array(Index)], ([given]) =>
    Effect.sync(() => {
      const indexes = [...new Set(given)].sort((a, b) => a - b)
      const numbers = EntryRanges.of(indexes)
      assert.deepStrictEqual([...EntryRanges.indexes(numbers)], indexes)
      assert.deepStrictEqual(EntryRanges.fromText(EntryRanges.toText(numbers)), numbers)
      if (indexes.length > 0) assert.match(EntryRanges.toText(numbers), /^\d+-\d+(?:,\d+-\d+)*$/u)
      const ranges = new Ranges(numbers)
      assert.strictEqual(ranges.count, indexes.length)
      for (const [place, index] of indexes.entries()) assert.strictEqual(ranges.at(place), index)
      assert.isUndefined(ranges.at(indexes.length))
      assert.isUndefined(ranges.at(-1))
      for (let entry = 0; entry < 62; entry++) {
        assert.strictEqual(
          ranges.placeOf(entry),
          indexes.findLastIndex((index) => index <= entry),
          `of ${entry}`
        )
      }
    })
  )
})
