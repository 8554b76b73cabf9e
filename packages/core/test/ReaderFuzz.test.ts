/**
 * Damaged sessions are read without exceptions and printed with the same bytes, and every line that `JSON.parse` reads is
 * an entry.
 */
import { assert, describe, it } from "@effect/vitest"
import * as PiVersion from "@pi-sessions/testing/pi/PiVersion"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import { Effect } from "effect"
import * as EntryPayload from "../src/payload/EntryPayload.ts"
import { isObject, type Json, type JsonObject } from "../src/Json.ts"
import * as ModelContext from "../src/ModelContext.ts"
import * as Session from "../src/Session.ts"
import * as SessionContext from "../src/SessionContext.ts"
import * as SessionFork from "../src/SessionFork.ts"
import { type SessionEntry } from "../src/SessionLine.ts"
import * as SessionMigration from "../src/SessionMigration.ts"
import * as samples from "./support/samples.ts"
import * as settings from "./support/settings.ts"
import { files as walkFiles, same } from "./support/walks.ts"

type Random = SeededRandom.SeededRandom

const NEWLINE = 0x0a
const BYTE_ORDER_MARK = Buffer.from("\ufeff")

const parse = (text: string): Json | undefined => {
  try {
    const value: Json = JSON.parse(text)
    return value
  } catch {
    return undefined
  }
}

/** The lines of a file with their offsets, without newlines and the byte order mark. */
const linesOf = (bytes: Buffer): ReadonlyArray<readonly [byteOffset: number, line: Buffer]> => {
  const lines: Array<readonly [number, Buffer]> = []
  let start = bytes.indexOf(BYTE_ORDER_MARK) === 0 ? 3 : 0
  for (;;) {
    const end = bytes.indexOf(NEWLINE, start)
    lines.push([start, bytes.subarray(start, end < 0 ? undefined : end)])
    if (end < 0) return lines
    start = end + 1
  }
}

/** The entries that are alone on their line, by offset. */
const wholeEntries = (bytes: Buffer): ReadonlyArray<readonly [byteOffset: number, entry: JsonObject]> =>
  linesOf(bytes).flatMap(([byteOffset, line]) => {
    const value = parse(line.toString("utf8"))
    const isEntry = isObject(value) && value["type"] !== "session"
    return isEntry ? [[byteOffset, value]] : []
  })

const placed = (
  entries: ReadonlyArray<SessionEntry>
): ReadonlyArray<readonly [byteOffset: number, entry: JsonObject]> =>
  entries.map((entry) => [entry.byteOffset, entry.decode()])

/** Checks the properties that hold for any bytes. */
const check = (bytes: Buffer, random: Random, name: string): Session.Session => {
  const session = Session.read(bytes)
  assert.isTrue(bytes.equals(Session.toBytes(session)), `${name}: prints what it read`)
  const entries = session.tree.getEntries()
  same(placed(entries.filter(({ recovered }) => !recovered)), wholeEntries(bytes), `${name}: whole lines`)
  for (const { byteOffset, text, type } of entries) {
    const value = parse(text)
    const said = isObject(value) && typeof value["type"] === "string" ? value["type"] : ""
    assert.isTrue(isObject(value) && said === type, `${name}: the entry at byte ${byteOffset}`)
  }
  for (const line of session.lines) {
    const there = bytes.subarray(line.byteOffset, line.byteOffset + line.bytes.length)
    assert.isTrue(there.equals(line.bytes), `${name}: the line at byte ${line.byteOffset}`)
  }
  let last = 0
  for (const { byteOffset, line, code } of session.diagnostics) {
    assert.isTrue(byteOffset >= last && byteOffset <= bytes.length, `${name}: ${code} at byte ${byteOffset}`)
    const before = bytes.subarray(0, byteOffset).filter((byte) => byte === NEWLINE).length
    assert.strictEqual(line, before + 1, `${name}: the line of ${code} at byte ${byteOffset}`)
    last = byteOffset
  }
  const cut = random.int(bytes.length + 1)
  const inTwo = Session.read([bytes.subarray(0, cut), bytes.subarray(cut)])
  same(inTwo.diagnostics, session.diagnostics, `${name}: diagnostics when cut at ${cut}`)
  same(inTwo.lines.length, session.lines.length, `${name}: lines when cut at ${cut}`)
  return session
}

const headerFor = (id: string): SessionFork.ForkHeader => ({ id, timestamp: samples.timestamp, cwd: "/" })

/** Calls every function on a session; none may throw. */
const use = (session: Session.Session): void => {
  for (const one of [session, Session.asPiReads(session), SessionMigration.toCurrent(session)]) {
    const { tree } = one
    tree.toNodes()
    tree.labels()
    tree.name()
    for (const entry of tree.getEntries()) EntryPayload.decode(entry)
    for (const profile of PiVersion.versions) {
      const messages = ModelContext.convertToLlm(SessionContext.build(tree, profile).messages, profile)
      const model = { provider: "other", api: "other", id: "other", images: false }
      ModelContext.transformMessages(messages, model, profile)
      ModelContext.systemPrompt(messages)
      ModelContext.tools(messages)
    }
    Session.toBytes(SessionFork.whole(one, headerFor("whole")))
    const fork = SessionFork.branch(one, undefined, headerFor("branch"))
    if (fork !== undefined) Session.toBytes(fork)
  }
}

const tokens = ['"', "\\", "{", "}", "[", "]", ",", ":", "\n", "\r\n", "\u0000", "\ufeff", "\u2028", "null", '{"', "}{"]

const mutate = (random: Random, bytes: Buffer): Buffer => {
  const lines = bytes.toString("latin1").split("\n")
  const anyLine = (): number => random.int(lines.length)
  const at = random.int(bytes.length + 1)
  const to = Math.min(bytes.length, at + 1 + random.int(random.chance(0.5) ? 3 : 300))
  const token = Buffer.from(tokens[random.int(tokens.length)] ?? "")
  const odd = Buffer.from(Array.from({ length: 1 + random.int(4) }, () => random.int(256)))
  const replaceLines = (from: number, count: number, ...by: ReadonlyArray<string>): Buffer =>
    Buffer.from([...lines.slice(0, from), ...by, ...lines.slice(from + count)].join("\n"), "latin1")
  const line = anyLine()
  const [first = "", second = ""] = [lines[line], lines[line + 1]]
  return random.weighted<() => Buffer>(
    [3, () => Buffer.concat([bytes.subarray(0, at), odd, bytes.subarray(at)])],
    [3, () => Buffer.concat([bytes.subarray(0, at), odd, bytes.subarray(to)])],
    [3, () => Buffer.concat([bytes.subarray(0, at), token, bytes.subarray(at)])],
    [3, () => Buffer.concat([bytes.subarray(0, at), bytes.subarray(to)])],
    [2, () => bytes.subarray(0, at)],
    [1, () => bytes.subarray(at)],
    [3, () => replaceLines(line, 2, first + second)],
    [3, () => replaceLines(line, 2, first.slice(0, random.int(first.length + 1)) + second)],
    [2, () => replaceLines(line, 1, first, first)],
    [2, () => replaceLines(line, 1)],
    [2, () => replaceLines(line, 2, second, first)],
    [1, () => Buffer.from(lines.join("\r\n"), "latin1")],
    [1, () => Buffer.concat([BYTE_ORDER_MARK, bytes])]
  )()
}

describe.each(PiVersion.versions)("damaged sessions of Pi %s", (version) => {
  it.effect(
    "keep every whole line, print the same bytes, and throw nothing",
    Effect.fnUntraced(function* () {
      const count = settings.fuzz(80)
      const walks = yield* walkFiles(version, 12)
      let damaged = 0
      for (const seed of settings.seeds(count)) {
        const random = SeededRandom.make(seed)
        const walk = walks[seed % walks.length]
        if (walk === undefined) continue
        let bytes = walk.bytes
        for (let times = 1 + random.int(4); times > 0; times--) bytes = mutate(random, bytes)
        const session = check(bytes, random, `seed ${seed}`)
        if (seed % 8 === 0) use(session)
        if (session.diagnostics.length > 0) damaged++
      }
      if (settings.isMany(count)) assert.isAtLeast(damaged * 2, count, "most of them are damaged")
      settings.note(`ReaderFuzz: ${count} damaged sessions of Pi ${version}, ${damaged} with diagnostics`)
    })
  )

  it.effect(
    "give the entry that was glued to a torn one, and nothing else",
    Effect.fnUntraced(function* () {
      const [walk] = yield* walkFiles(version, 1, 120)
      assert.isDefined(walk)
      const lines = (walk?.bytes.toString("utf8") ?? "").split("\n").filter((line) => line !== "")
      const header = lines[0] ?? ""
      let cuts = 0
      for (let at = 1; at + 1 < lines.length; at++) {
        const first = Buffer.from(lines[at] ?? "")
        const second = lines[at + 1] ?? ""
        // Every byte of a short line, some of a long one.
        const step = Math.max(1, Math.floor(first.length / (settings.isCampaign() ? 150 : 40)))
        for (let cut = 1; cut <= first.length; cut += step) {
          const bytes = Buffer.concat([Buffer.from(`${header}\n`), first.subarray(0, cut), Buffer.from(`${second}\n`)])
          const session = Session.read(bytes)
          const found = session.tree.getEntries().map(({ recovered, text }) => [recovered, text])
          const expected = [...(cut === first.length ? [first.toString("utf8")] : []), second]
          same(
            found,
            expected.map((text) => [true, text]),
            `line ${at + 1} cut after ${cut} bytes`
          )
          assert.isTrue(bytes.equals(Session.toBytes(session)))
          cuts++
        }
      }
      assert.isAbove(cuts, 1000)
    })
  )

  it.effect(
    "end with the last whole line, at any length",
    Effect.fnUntraced(function* () {
      const [walk] = yield* walkFiles(version, 1, 25)
      const bytes = walk?.bytes ?? Buffer.alloc(0)
      for (let end = 0; end <= bytes.length; end += end < (settings.isCampaign() ? 5000 : 1500) ? 1 : 97) {
        const torn = bytes.subarray(0, end)
        const session = Session.read(torn)
        same(placed(session.tree.getEntries()), wholeEntries(torn), `broken off after ${end} bytes`)
        const codes = session.diagnostics.map(({ code }) => code)
        const ending = torn.at(-1) === NEWLINE || end === 0 ? [] : ["torn-line", "missing-final-newline"]
        // A break inside a character leaves bytes that are no UTF-8.
        const beside = new Set(["missing-header", "unknown-parent", "invalid-utf8"])
        const reported = codes.filter((code) => !beside.has(code))
        assert.isTrue(
          ending.length === 0 ? reported.length === 0 : reported.length === 1 && ending.includes(reported[0] ?? ""),
          `broken off after ${end} bytes: ${codes.join()}`
        )
      }
      assert.isAbove(bytes.length, 0)
    })
  )
})
