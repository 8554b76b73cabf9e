/** Compares the columns of a header from `peekColumns` with those from SessionReader. */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { peekHeader } from "@pi-sessions/core/SessionReader"
import { columnsOf } from "../src/CatalogSession.ts"
import { NoHeader, peekColumns } from "../src/internal/find/peekColumns.ts"

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

/** Texts with characters that JSON escapes, multi-byte characters and lone surrogates. */
const Text = Schema.String
const Fields = Schema.Record(Schema.String, Schema.Union([Schema.String, Schema.Int, Schema.Null, Schema.Boolean]))

describe("peekColumns", () => {
  it.prop("reads the same columns as the reader", [Text, Text, Fields], ([id, cwd, more]) => {
    for (const header of [
      { type: "session", id, cwd, ...more },
      { ...more, cwd, id, type: "session" },
      { type: "session", version: 2, id, timestamp: cwd, parentSession: id, ...more, type2: more }
    ]) {
      const file = bytes(`${JSON.stringify(header)}\n{"type":"message","id":"a"}\n`)
      const read = peekHeader(file)
      const peeked = peekColumns(file, true)
      if (read === undefined) assert.instanceOf(peeked, NoHeader)
      else assert.deepStrictEqual(peeked, columnsOf(read.decode()))
    }
  })

  it.prop("asks for more bytes until it has the first line", [Text], ([cwd]) => {
    const file = bytes(`${JSON.stringify({ type: "session", version: 3, id: "s", timestamp: "t", cwd })}\nrest`)
    const end = file.indexOf(0x0a)
    for (const length of [0, 1, end >> 1, end]) assert.isUndefined(peekColumns(file.subarray(0, length), false))
    assert.deepStrictEqual(peekColumns(file.subarray(0, end + 1), false), peekColumns(file, true))
  })

  it("keeps no reference to the bytes", () => {
    const file = bytes('{"type":"session","id":"s","cwd":"/x","timestamp":"t"}\n')
    const columns = peekColumns(file, true)
    const before = structuredClone(columns)
    file.fill(0x20)
    assert.deepStrictEqual(columns, before)
  })
})
