/** Reading whole and damaged thread files. */
import { assert, describe, it } from "@effect/vitest"
import * as FileSystem from "node:fs"
import * as Path from "node:path"
import { formatDiagnostic } from "../src/Thread.ts"
import * as ThreadReader from "../src/ThreadReader.ts"

const fixtures = Path.resolve(import.meta.dirname, "../../../fixtures/threads")
const bytes = (text: string) => [Buffer.from(text)]

describe("ThreadReader", () => {
  it("reads JSONL and a JSON document alike", () => {
    const file = (name: string) => ThreadReader.read([FileSystem.readFileSync(Path.join(fixtures, name))], name)
    const [lines, document] = [file("rename-module.jsonl"), file("rename-module.json")]
    assert.deepStrictEqual(lines.entries, document.entries)
    assert.deepStrictEqual([lines.id, lines.repeated], ["th_demo", 1])
    assert.deepStrictEqual(
      lines.passedOver,
      new Map([
        ["pi.chunk", 3],
        ["pi.future_kind", 1]
      ])
    )
    assert.deepStrictEqual(lines.diagnostics, [])
  })

  it("keeps the first of two entries with one id", () => {
    const chat = (text: string) => JSON.stringify({ id: "a", type: "chat", payload: { role: "user", text } })
    const thread = ThreadReader.read(bytes(`${chat("first")}\n${chat("second")}\n`), "x")
    assert.strictEqual(thread.repeated, 1)
    assert.deepStrictEqual(
      thread.entries.map(({ payload }) => payload),
      [{ role: "user", text: "first" }]
    )
  })

  it("reports line, byte and entry of unusable entries, and reads the rest", () => {
    const good = JSON.stringify({ id: "ok", type: "chat", payload: { role: "user", text: "hi" } })
    const wrong = JSON.stringify({ id: "bad", type: "chat", payload: { role: 7 } })
    const thread = ThreadReader.read(bytes(`${good}\nnot json\n${wrong}\n{"type":"chat","payload":{}}\n`), "x")
    assert.strictEqual(thread.entries.length, 1)
    const messages = thread.diagnostics.map((diagnostic) => formatDiagnostic("t.jsonl", diagnostic))
    assert.include(messages[0], `t.jsonl:2 (byte ${good.length + 1}): malformed-line`)
    assert.include(messages[1], `t.jsonl:3 (byte ${good.length + 10}, entry bad): `)
    assert.include(messages[1], '["payload"]["role"]')
    assert.include(messages[2], "without an id")
  })

  it("reads files that are not threads without throwing", () => {
    for (const text of [
      "",
      "\n",
      "hello",
      "[1,2]",
      "{",
      '{"entries":7}',
      "\u0000",
      '{"entries":[1,null,{"id":"x"}]}'
    ]) {
      assert.strictEqual(ThreadReader.read(bytes(text), "x").entries.length, 0, JSON.stringify(text))
    }
  })

  const chunk = (n: number, messageId: string, idx: number, text: string, type = "text") =>
    JSON.stringify({ id: `k${n}`, type: "pi.chunk", payload: { messageId, idx, delta: { type, text } } })
  const chat = (id: string) => JSON.stringify({ id, type: "chat", payload: { role: "user", text: id } })
  const answer = (id: string) => JSON.stringify({ id, type: "pi.assistant", payload: { content: id } })
  const shapes = (...lines: ReadonlyArray<string>) =>
    ThreadReader.read(bytes(`${lines.join("\n")}\n`), "x").entries.map((entry) =>
      entry.type === "interrupted" ? entry.payload.parts.map(({ type, text }) => `${type}:${text}`).join("|") : entry.id
    )

  it("keeps the text of an interrupted answer at its last chunk", () => {
    assert.deepStrictEqual(
      shapes(chat("u1"), chunk(1, "m1", 0, "a"), answer("a1"), chunk(2, "m2", 0, "half "), chunk(3, "m2", 1, "way")),
      ["u1", "a1", "text:half way"]
    )
    assert.deepStrictEqual(
      shapes(chat("u1"), chunk(1, "m1", 0, "lost"), chat("u2"), chunk(2, "m2", 0, "a2"), answer("a2")),
      ["u1", "text:lost", "u2", "a2"],
      "the next answer shows that the one before was cut off"
    )
  })

  it("does not call an answer interrupted when a user wrote meanwhile, or chunks come in another order", () => {
    assert.deepStrictEqual(shapes(chunk(1, "m1", 0, "a"), chat("u1"), chunk(2, "m1", 1, "b"), answer("a1")), [
      "u1",
      "a1"
    ])
    assert.deepStrictEqual(
      shapes(
        chunk(1, "m1", 2, "}", "toolCall"),
        chunk(2, "m1", 0, "think", "thinking"),
        chunk(3, "m1", 1, "{", "toolCall")
      ),
      ["thinking:think|toolCall:{}"]
    )
  })

  it("calls chunks without a message id interrupted when a user writes or another answer comes", () => {
    const bare = (n: number, text: string) =>
      JSON.stringify({ id: `k${n}`, type: "pi.chunk", payload: { idx: n, delta: { type: "text", text } } })
    assert.deepStrictEqual(shapes(bare(0, "half"), chat("u1"), answer("a1")), ["text:half", "u1", "a1"])
    assert.deepStrictEqual(shapes(chunk(1, "m1", 0, "half"), answer("a1")), ["text:half", "a1"])
  })

  it("keeps an entry with wrong optional fields, and reports them", () => {
    const wrong = [
      { id: "u", createdAt: 1780000000000, type: "chat", payload: { role: "user", text: "hi", author: null } },
      {
        id: "a",
        type: "pi.assistant",
        payload: { content: "yes", errorMessage: null, model: 7, usage: { input: "x" } }
      }
    ]
    const thread = ThreadReader.read(bytes(wrong.map((entry) => `${JSON.stringify(entry)}\n`).join("")), "x")
    assert.deepStrictEqual(
      thread.entries.map(({ id, createdAt, payload }) => ({ id, createdAt, payload })),
      [
        { id: "u", createdAt: "2026-05-28T20:26:40.000Z", payload: { role: "user", text: "hi" } },
        { id: "a", createdAt: undefined, payload: { content: "yes" } }
      ]
    )
    assert.match(thread.diagnostics.map(({ message }) => message).join(), /payload\.model, payload\.usage/)
  })
})
