/** Splitting a page of entries without parsing them. */
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import * as ThreadPage from "../src/thread/ThreadPage.ts"

const bytes = (text: string) => new Uint8Array(Buffer.from(text))
const textOf = (page: ThreadPage.ThreadPage) =>
  page.entries.map(({ start, end }) => Buffer.from(page.bytes.subarray(start, end)).toString("utf8"))

const Value: Schema.Codec<Schema.Json> = Schema.Json

describe("ThreadPage", () => {
  it.prop(
    "returns every entry's text and the rest of the document, for every layout",
    [Schema.Array(Value), Value, Schema.Literals(["", " ", "    ", "\t"])],
    ([entries, other, indent]) => {
      const document = { before: other, entries, next: "c", 'af"t{er': [other] }
      const page = Result.getOrThrow(ThreadPage.take(bytes(JSON.stringify(document, null, indent))))
      assert.deepStrictEqual<unknown>(
        textOf(page).map((text) => JSON.parse(text)),
        JSON.parse(JSON.stringify(entries))
      )
      assert.deepStrictEqual<unknown>(page.frame, JSON.parse(JSON.stringify({ ...document, entries: [] })))
      const texts = textOf(page)
      const lines = Buffer.from(ThreadPage.lines(page)).toString("utf8")
      assert.strictEqual(lines.split("\n").length - 1, entries.length)
      assert.deepStrictEqual(
        lines.split("\n").map((line) => line.trim()),
        [...texts, ""]
      )
    },
    { arbitrary: { runs: 300 } }
  )

  it("keeps an entry's text byte for byte", () => {
    const entries = [
      '{"id":"a",  "n":1.0, "e":1E5, "u":"\\u00e9é\\ud83d\\ude00🦄", "id":"b"}',
      '{"s":"a \\"quoted\\" brace } and ] and \\\\"}',
      '"[{"',
      "-0.0"
    ]
    const page = Result.getOrThrow(ThreadPage.take(bytes(`\ufeff {"entries" : [ ${entries.join(" ,\r\n")} ] }\n`)))
    assert.deepStrictEqual(textOf(page), entries)
    const lines = Buffer.from(ThreadPage.lines(page)).toString("utf8")
    assert.deepStrictEqual(
      lines.split("\n").map((line) => line.trim()),
      [...entries, ""]
    )
  })

  it("makes one line of a multi-line entry, and does not repair a line break in a string", () => {
    const page = Result.getOrThrow(ThreadPage.take(bytes('{"entries":[{\r\n"id":\n"a"},{"id":"b\nc"}]}')))
    assert.deepStrictEqual(textOf(page), ['{  "id": "a"}', '{"id":"b\nc"}'])
  })

  it("distinguishes truncated documents from other ones", () => {
    const whole = '{"x":[1,{"y":"\\""}],"entries":[{"id":"a"},{"id":"b","t":"]}"}],"next":null}'
    for (let length = 0; length < whole.length; length++) {
      const page = ThreadPage.take(bytes(whole.slice(0, length)))
      assert.isTrue(Result.isFailure(page) && page.failure.truncated, whole.slice(0, length))
    }
    for (const other of [
      "<html></html>",
      "[]",
      "null",
      "{}",
      '{"entries":7}',
      '{"entries":{}}',
      '{"entries":[1 2]}',
      '{"entries":[1,]}',
      '{"entries":[,]}',
      '{"entries":[]} x',
      '{"entries":[],}',
      '{"entries":[],"a" 1}',
      '{"entries":[],a:1}',
      '{"entries":[],"entries":1}'
    ]) {
      const page = ThreadPage.take(bytes(other))
      assert.isTrue(Result.isFailure(page) && !page.failure.truncated, other)
    }
  })

  it.prop(
    "never throws, for any bytes",
    [Schema.Array(Schema.Literals(["{", "}", "[", "]", '"', "\\", ",", ":", "entries", " ", "\n", "1", "\u0000"]))],
    ([pieces]) => {
      for (const text of [pieces.join(""), `{"entries":[${pieces.join("")}]}`]) {
        const page = ThreadPage.take(bytes(text))
        if (Result.isSuccess(page)) ThreadPage.lines(page.success)
      }
    },
    { arbitrary: { runs: 500 } }
  )
})
