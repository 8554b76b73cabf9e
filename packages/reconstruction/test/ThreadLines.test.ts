/** The fast ways to read thread lines, compared with the schema and JSON.parse. */
import { assert, describe, it } from "@effect/vitest"
import * as Dose from "@pi-sessions/testing/Dose"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import { type Json, type JsonObject, isObject } from "@pi-sessions/core/Json"
import * as Schema from "effect/Schema"
import { isChunk } from "../src/thread/ChunkRuns.ts"
import { isFlawless, lenient } from "../src/thread/LenientEntry.ts"
import { MirrorChunks } from "../src/mirror/MirrorChunks.ts"
import { Chunk } from "../src/Thread.ts"
import * as ThreadReader from "../src/ThreadReader.ts"
import { ByteSet } from "../src/internal/byteSet.ts"
import { ChunkLine } from "../src/internal/chunkLine.ts"
import { parseJson } from "../src/internal/parseJson.ts"

const seed = Dose.firstSeed()
const TEXTS = [
  "",
  "a",
  "half ",
  'say "so"',
  "a\\b\n\t",
  "für 日本語 😀",
  "\ud83d",
  "\u0000\u001f",
  "}}}",
  "\u2028"
] as const

/** The lines of an answer as the mirror writes them. */
const mirrored = (random: SeededRandom.SeededRandom, messageId: string): ReadonlyArray<string> => {
  const chunks = new MirrorChunks()
  return TEXTS.flatMap((text, contentIndex) => {
    chunks.push(messageId, {
      type: random.pick(["text", "thinking", "toolCall"]),
      text: text + random.pick(TEXTS),
      contentIndex
    })
    return chunks.take("th_1", "2026-05-31T10:00:00.000Z").map((entry) => JSON.stringify(entry))
  })
}

const line = (text: string): readonly [Uint8Array, number, number] => {
  const bytes = Buffer.from(`#${text}\n#`)
  return [bytes, 1, bytes.length - 2]
}

describe("ChunkLine", () => {
  it("recognizes every chunk that the mirror writes, and decodes it", () => {
    const random = SeededRandom.make(seed)
    const known = new ChunkLine()
    for (const text of [...mirrored(random, "m1"), ...mirrored(random, "é 2")]) {
      // ChunkLine leaves \u escapes to the JSON parser, because they are rare.
      assert.strictEqual(known.match(...line(text)), !text.includes("\\u"), text)
      if (text.includes("\\u")) continue
      const { id, payload } = JSON.parse(text)
      const { messageId, idx, delta } = payload
      assert.deepStrictEqual(known.decode(), { messageId, idx, delta: { type: delta.type, text: delta.text } })
      assert.strictEqual(Buffer.from(line(text)[0].subarray(known.idStart, known.idEnd)).toString(), id)
      assert.isTrue(known.isOf(Buffer.from(JSON.stringify(messageId))))
      assert.isFalse(known.isOf(Buffer.from('"m"')))
    }
  })

  it(`recognizes nothing that JSON.parse rejects or reads differently (seed ${seed})`, () => {
    const random = SeededRandom.make(seed)
    const known = new ChunkLine()
    const lines = mirrored(random, "m1")
    const bytes = ['"', "\\", "{", "}", ",", ":", "0", "7", "u", "\t", " ", "x", "\u007f"] as const
    let matched = 0
    for (let round = 0; round < 20_000; round++) {
      const text = random.pick([lines[0] ?? "", ...lines])
      const at = random.int(text.length)
      const changed = text.slice(0, at) + random.pick(["", ...bytes]) + text.slice(at + random.int(3))
      if (!known.match(...line(changed))) continue
      matched++
      const value = parseJson(Buffer.from(changed).toString())
      if (!isObject(value)) return assert.fail(`taken for a chunk: ${changed}`)
      assert.strictEqual(value["type"], "pi.chunk", changed)
      assert.strictEqual(typeof value["id"], "string", changed)
      const payload = value["payload"]
      if (!isObject(payload) || !isChunk(payload)) return assert.fail(changed)
      const { messageId, idx, delta } = payload
      const said: unknown = { messageId, idx, delta: { type: delta.type, text: delta.text } }
      assert.deepStrictEqual<unknown>(known.decode(), said, changed)
    }
    assert.isAbove(matched, 100)
  })
})

describe("ThreadReader", () => {
  it("reads chunks alike in every spelling and with every split of the bytes", () => {
    const random = SeededRandom.make(seed)
    const said = (id: string) => JSON.stringify({ id, type: "chat", payload: { role: "user", text: id } })
    const lines = [said("u1"), ...mirrored(random, "m1"), said("u2"), ...mirrored(random, "m2"), said("u1")]
    const repeated = [...lines, ...lines.slice(3, 6)]
    /** The same with another order of keys. */
    const reordered = repeated.map((text) =>
      JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(text)).reverse()))
    )
    const read = (texts: ReadonlyArray<string>, size: number) => {
      const bytes = Buffer.from(`${texts.join("\n")}\n`)
      const chunks: Array<Uint8Array> = []
      for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size))
      return ThreadReader.read(chunks, "x")
    }
    const whole = read(repeated, 1 << 20)
    assert.strictEqual(whole.entries.filter(({ type }) => type === "interrupted").length, 2)
    assert.strictEqual(whole.repeated, 4)
    for (const texts of [repeated, reordered]) {
      for (const size of [1, 7, 100, 1 << 20]) assert.deepStrictEqual(read(texts, size), whole)
    }
    const document = JSON.stringify({ entries: repeated.map((text): unknown => JSON.parse(text)) }, null, 1)
    for (const size of [1000, 1 << 20]) assert.deepStrictEqual(read([document], size), whole)
  })

  it("keeps the order of usual and unusual lines, and reports where damage is", () => {
    const usual = (id: string) =>
      JSON.stringify({ id, threadId: "t", type: "chat", payload: { role: "user", text: id } })
    const unusual = (id: string) => `  ${JSON.stringify({ payload: { role: "user", text: id }, type: "chat", id })} \r`
    const text = [usual("a"), unusual("b"), usual("c"), "torn", unusual("d"), usual("e")].join("\n")
    const thread = ThreadReader.read([Buffer.from(text)], "x")
    assert.deepStrictEqual(
      thread.entries.map(({ id }) => id),
      ["a", "b", "c", "d", "e"]
    )
    assert.deepStrictEqual(
      thread.diagnostics.map(({ line, message }) => `${line} ${message.split(":")[0]}`),
      ["2 crlf", "4 malformed-line", "6 missing-final-newline"]
    )
  })

  it("distinguishes ids that differ only in lone surrogates", () => {
    const chat = (id: string) => `{"id":"${id}","type":"chat","payload":{"role":"user","text":"hi"}}\n`
    const thread = ThreadReader.read(
      [Buffer.from(chat("\\ud800") + chat("\\ud801") + chat("\ufffd") + chat("\\ud801"))],
      "x"
    )
    assert.deepStrictEqual([thread.entries.length, thread.repeated], [3, 1])
  })
})

describe("ByteSet", () => {
  it("behaves as a set of strings", () => {
    const random = SeededRandom.make(seed)
    const [bytes, strings] = [new ByteSet(), new Set<string>()]
    for (let n = 0; n < 20_000; n++) {
      const text = `${random.pick(TEXTS).toWellFormed()}:${random.int(12_000)}`
      const encoded = Buffer.from(`##${text}##`)
      const isNew = !strings.has(text)
      strings.add(text)
      assert.strictEqual(bytes.add(encoded, 2, encoded.length - 2), isNew)
    }
    assert.strictEqual(bytes.size, strings.size)
    assert.isTrue(bytes.add(new Uint8Array(0), 0, 0))
    assert.isFalse(bytes.add(new Uint8Array(0), 0, 0))
  })
})

describe("the checks in plain code", () => {
  const usage = { input: 1, output: 2, cost: { input: 0.1, total: 1 } }
  const content = [
    { type: "text", text: "hi" },
    { type: "toolCall", id: "c", name: "ls", arguments: {} }
  ]
  const raw = { sessionId: "s", generation: 0, seq: 1, entryId: null, line: "{}", lineBase64: "e30=", sha256: "0" }
  const payloads: ReadonlyArray<readonly [string, JsonObject]> = [
    ["chat", { role: "user", text: "hi", author: { id: "u", name: "Ann", kind: "human" } }],
    [
      "pi.assistant",
      { role: "x", content, api: "a", provider: "p", model: "m", usage, stopReason: "stop", timestamp: 1 }
    ],
    ["pi.assistant", { content: "hi", errorMessage: "no" }],
    [
      "pi.tool_result",
      { role: 7, toolCallId: "c", toolName: "ls", content, isError: false, details: {}, timestamp: 1 }
    ],
    ["pi.compaction", { summary: "s", tokensBefore: 1, keptFrom: "x" }],
    ["pi.session_entry", raw]
  ]
  const entries = payloads.map(([type, payload]): JsonObject => ({
    id: "e",
    threadId: "t",
    createdAt: "2026-05-31T10:00:00.000Z",
    type,
    payload
  }))
  const values: ReadonlyArray<Json> = ["user", 0, 1.5, true, [], {}, [{}], [{ type: "x" }], ["x"]]

  /** A copy in which one member at any depth is removed, null or of another type. */
  const changed = (random: SeededRandom.SeededRandom, value: Json): Json => {
    if (Array.isArray(value) && value.length > 0 && random.chance(0.7)) {
      const at = random.int(value.length)
      return value.map((one: Json, index) => (index === at ? changed(random, one) : one))
    }
    if (isObject(value) && random.chance(0.9)) {
      const key = Object.keys(value)[random.int(Object.keys(value).length)]
      const member = key === undefined ? undefined : value[key]
      if (key === undefined || member === undefined) return value
      if (random.chance(0.8)) return { ...value, [key]: changed(random, member) }
      const { [key]: _, ...rest } = value
      return rest
    }
    return random.chance(0.2) ? null : (values[random.int(values.length)] ?? null)
  }

  it("accepts what the mirror writes", () => {
    for (const entry of entries) assert.isTrue(isFlawless(entry), JSON.stringify(entry))
  })

  it(`calls flawless only what the schema accepts (seed ${seed})`, () => {
    const random = SeededRandom.make(seed)
    let flawless = 0
    for (let round = 0; round < 20_000; round++) {
      const entry = changed(random, entries[random.int(entries.length)] ?? {})
      if (!isObject(entry) || !isFlawless(entry)) continue
      flawless++
      assert.isTrue(ThreadReader.isThreadEntry(entry), JSON.stringify(entry))
      assert.deepStrictEqual(lenient(entry), { entry, wrong: [] })
    }
    assert.isAbove(flawless, 1000)
  })

  it("keeps keys such as __proto__ and toString anywhere in an entry", () => {
    const keys = Object.getOwnPropertyNames(Object.prototype)
    for (const entry of entries) {
      for (const type of [entry["type"], ...keys]) {
        const members = keys.map((key) => `${JSON.stringify(key)}:{"x":1}`).join(",")
        const own = (value: JsonObject): string => JSON.stringify(value).slice(1, -1)
        const { payload, ...others } = entry
        const rest = { ...others, type: type ?? null }
        const inside = isObject(payload) ? own(payload) : ""
        const given: JsonObject = JSON.parse(
          `{${own(rest)},"payload":{${inside}${inside === "" ? "" : ","}${members}},${members}}`
        )
        const { entry: kept } = lenient(given)
        assert.strictEqual(JSON.stringify(kept), JSON.stringify(given))
      }
    }
  })

  it(`accepts the same chunks as the schema (seed ${seed})`, () => {
    const random = SeededRandom.make(seed)
    const accepts = Schema.is(Chunk)
    assert.isTrue(accepts({ delta: { type: "text" } }))
    for (let round = 0; round < 5000; round++) {
      const payload = changed(random, { messageId: "m", idx: 0, delta: { type: "text", text: "hi", contentIndex: 0 } })
      if (isObject(payload)) assert.strictEqual(isChunk(payload), accepts(payload), JSON.stringify(payload))
    }
  })
})
