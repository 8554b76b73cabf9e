/** Outlines restore to the session's bytes. */
import { assert, describe, it } from "@effect/vitest"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import { type Json, type JsonObject } from "../src/Json.ts"
import * as Session from "../src/Session.ts"
import { SessionEntry } from "../src/SessionLine.ts"
import * as SessionOutline from "../src/SessionOutline.ts"
import * as settings from "./support/settings.ts"

type Random = SeededRandom.SeededRandom

const HEADER = '{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}'

const pieces = [
  "line after line of what a tool printed ",
  "\n",
  '"quoted"',
  "back\\slash",
  "\u001b[0m",
  "\u0000",
  "é",
  "日本語",
  "😀",
  "\ufdd0",
  "\u007f",
  "\u2028"
] as const

const text = (random: Random): string => {
  const length = random.pick([0, 1, 3, 20, 60, 400])
  const blank = random.chance(0.2) ? random.pick([" ", "\n\t", "\u00a0", "\u3000", " ".repeat(300)]) : ""
  const body = Array.from({ length }, () => random.pick(pieces)).join("")
  const broken = random.chance(0.05) ? "\ud83d" : ""
  return blank + body + broken
}

const keys = ["text", "id", "name", "arguments", "content", "toolCallId", "thinking", "__proto__", "a"] as const

const value = (random: Random, depth: number): Json => {
  switch (random.int(depth > 4 ? 3 : 6)) {
    case 0:
      return random.int(1000) / 8
    case 1:
    case 2:
      return text(random)
    case 3:
      return Array.from({ length: random.int(4) }, () => value(random, depth + 1))
    default:
      return object(random, depth + 1)
  }
}

const object = (random: Random, depth: number): JsonObject =>
  Object.fromEntries(Array.from({ length: random.int(5) }, () => [random.pick(keys), value(random, depth)]))

/** The line of an entry, sometimes with escapes that `JSON.stringify` does not write. */
const line = (random: Random, at: number): string => {
  const type = random.pick(["message", "custom_message", "compaction", "branch_summary", "custom"] as const)
  const id = `e${at}`
  const payload = { type, id, parentId: at === 0 ? null : `e${at - 1}`, timestamp: "t", message: value(random, 0) }
  const json = JSON.stringify(payload)
  return random.chance(0.2) ? json.replaceAll(random.pick(["a", "o", "\\n"]), random.pick(["\\u0061", "\\/"])) : json
}

const entriesOf = (session: Session.Session): ReadonlyArray<SessionEntry> =>
  session.lines.filter((one) => one instanceof SessionEntry)

describe("SessionOutline", () => {
  it("gives the session's bytes when its texts are restored", () => {
    const count = settings.fuzz(1500)
    let shorter = 0
    for (const seed of settings.seeds(count)) {
      const random = SeededRandom.make(seed)
      const lines = Array.from({ length: 1 + random.int(4) }, (_, at) => line(random, at))
      const session = Session.readText(`${[HEADER, ...lines].join("\n")}\n`)
      const { session: outline, texts } = SessionOutline.of(session)
      const [whole, short] = [entriesOf(session), entriesOf(outline)]
      assert.strictEqual(short.length, whole.length)
      for (const [at, entry] of short.entries()) {
        const original = whole[at]?.decode() ?? {}
        const { id, line, parentId, role, timestamp, type } = entry
        const {
          id: id0,
          line: line0,
          parentId: parent0,
          role: role0,
          timestamp: time0,
          type: type0
        } = whole[at] ?? entry
        assert.deepStrictEqual([id, line, parentId, role, timestamp, type], [id0, line0, parent0, role0, time0, type0])
        const restored = entry.decode()
        assert.deepStrictEqual(texts.restoreJson(restored), original, `seed ${seed}`)
        const printed = Buffer.from(texts.toBytes(JSON.stringify(restored))).toString()
        assert.strictEqual(printed, JSON.stringify(original), `seed ${seed}`)
        if (entry !== whole[at]) shorter++
      }
      assert.deepStrictEqual(
        outline.tree.getBranch().map((entry) => entry.id),
        session.tree.getBranch().map((entry) => entry.id)
      )
    }
    if (settings.isMany(count)) assert.isAbove(shorter, count / 4)
  })

  const long = "a long text, ".repeat(40)
  const outlineOf = (payload: JsonObject) => {
    const session = Session.readText(
      `${HEADER}\n${JSON.stringify({ type: "message", id: "a", parentId: null, ...payload })}\n`
    )
    const outline = SessionOutline.of(session)
    return { ...outline, payload: outline.session.tree.getLeafEntry()?.decode() ?? {} }
  }

  it("gives equal texts equal marks, and other texts others", () => {
    const { payload, texts } = outlineOf({ a: long, b: long, c: `${long}.`, d: `Ran ${long}` })
    assert.strictEqual(payload["a"], payload["b"])
    assert.notStrictEqual(payload["a"], payload["c"])
    assert.isBelow(String(payload["d"]).length, 40)
    assert.strictEqual(texts.restore(`<${String(payload["d"])}>`), `<Ran ${long}>`)
    assert.deepStrictEqual(texts.hashOf(String(payload["a"])), texts.hashOf(String(payload["b"])))
    assert.isUndefined(texts.hashOf(`${String(payload["a"])} `))
    assert.isUndefined(texts.hashOf(String(payload["a"]) + String(payload["c"])))
  })

  it("keeps names, and texts that begin with white space", () => {
    const blank = " ".repeat(400)
    const { payload } = outlineOf({ toolCallId: long, name: long, blank, indented: `${blank}x`, text: `\n\n${long}` })
    assert.strictEqual(payload["toolCallId"], long)
    assert.strictEqual(payload["name"], long)
    assert.strictEqual(payload["blank"], blank)
    assert.strictEqual(payload["indented"], `${blank}x`)
    assert.notStrictEqual(payload["text"], `\n\n${long}`)
  })

  it("decodes only the requested beginning of a text", () => {
    const odd = `${"\u001b".repeat(300)} and so on. ${long.repeat(20)}`
    const { payload, texts } = outlineOf({ long: long.repeat(50), odd: `x${odd}` })
    const start = texts.restoreStart(String(payload["long"]), 200)
    assert.isAtLeast(start.length, 200)
    assert.isBelow(start.length, 2000)
    assert.isTrue(long.repeat(50).startsWith(start))
    assert.isTrue(`x${odd}`.startsWith(texts.restoreStart(String(payload["odd"]), 200)))
    assert.isAtLeast(texts.restoreStart(String(payload["odd"]), 200).length, 200)
    assert.strictEqual(texts.restoreStart("short", 200), "short")
  })

  it("adds given texts", () => {
    const { payload, texts } = outlineOf({ text: long })
    const mark = texts.put(`"${long}"\n`)
    const bytes = texts.toBytes(JSON.stringify({ mark, text: payload["text"] }))
    assert.deepStrictEqual(JSON.parse(Buffer.from(bytes).toString()), { mark: `"${long}"\n`, text: long })
  })

  it("edits a text as its string is edited", () => {
    for (const seed of settings.seeds(settings.fuzz(500))) {
      const random = SeededRandom.make(seed)
      const whole = `x${text(random)}${long}${text(random)}`.toWellFormed()
      const { payload, texts } = outlineOf({ text: whole })
      // Edits begin and end at characters.
      const places = Array.from({ length: 2 * random.int(5) }, () => random.int(whole.length + 1))
        .map((at) => (/^[\udc00-\udfff]/.test(whole.slice(at)) ? at - 1 : at))
        .sort((a, b) => a - b)
      const edits = places.flatMap((start, at) => {
        const end = places[at + 1]
        return at % 2 === 1 || end === undefined ? [] : [{ start, end, by: random.pick(['<"x">', "", "é\n"]) }]
      })
      const expected = edits.reduceRight((now, { by, end, start }) => now.slice(0, start) + by + now.slice(end), whole)
      const mark = texts.edit(String(payload["text"]), edits) ?? ""
      assert.strictEqual(texts.restore(mark), expected, `seed ${seed}`)
      assert.strictEqual(Buffer.from(texts.toBytes(JSON.stringify(mark))).toString(), JSON.stringify(expected))
    }
    const { texts } = outlineOf({ text: long })
    assert.isUndefined(texts.edit("no mark", []))
  })

  it("replaces no texts in lines that are not UTF-8", () => {
    const bytes = Buffer.from(
      `${HEADER}\n${JSON.stringify({ type: "message", id: "a", parentId: null, text: `${long}é` })}\n`
    )
    bytes[bytes.lastIndexOf(0xc3)] = 0xff
    const session = Session.read(bytes)
    const { session: outline } = SessionOutline.of(session)
    assert.deepStrictEqual(entriesOf(outline), entriesOf(session))
  })
})
