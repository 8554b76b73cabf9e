/** Repairs the damaged fixtures, and sessions with damaged links that each test writes. */
import { assert, describe, it } from "@effect/vitest"
import { stringAt } from "@pi-sessions/core/Json"
import * as Session from "@pi-sessions/core/Session"
import * as SessionDoctor from "../src/SessionDoctor.ts"
import * as SessionRepair from "../src/SessionRepair.ts"
import { bytesOf, damagedFixtures } from "./support/damagedFixtures.ts"

const timestamp = "2026-01-01T00:00:00.000Z"
const header = { type: "session", version: 3, id: "s", timestamp, cwd: "/x" }

/** A session of custom entries: `id<parent`, and `id<parent:target` for a label. */
const session = (...entries: ReadonlyArray<string>): Session.Session => {
  const lines = entries.map((entry) => {
    const [id = "", parent = "", target] = entry.split(/[<:]/)
    const base = { id, parentId: parent === "" ? null : parent, timestamp }
    return target === undefined
      ? { type: "custom", customType: "t", ...base, data: entries.indexOf(entry) }
      : { type: "label", ...base, targetId: target, label: "l" }
  })
  return Session.readText([header, ...lines].map((line) => `${JSON.stringify(line)}\n`).join(""))
}

const repaired = (of: Session.Session): Session.Session =>
  Session.read(Session.toBytes(SessionRepair.repair(of).session))

/** The index of each entry's parent; -1 for none. */
const shape = ({ tree }: Session.Session): ReadonlyArray<number> => {
  const entries = tree.getEntries()
  return entries.map(({ parentId }) => entries.findIndex(({ id }) => id !== null && id === parentId))
}

describe("repair", () => {
  it.each(damagedFixtures)("leaves no errors in $file, and nothing to repair again", ({ file, sent }) => {
    const original = Session.read(bytesOf(file))
    const once = repaired(original)
    const left = SessionDoctor.examine(once).filter(({ severity }) => severity === "error")
    // A file without a session stays as it is.
    if (sent.length > 0) assert.deepStrictEqual(left, [])
    const again = SessionRepair.repair(once)
    assert.deepStrictEqual(again.changes, [])
    assert.strictEqual(again.session, once)
  })

  it.each(damagedFixtures)("changes the reported lines of $file, and no others", ({ file, codes }) => {
    const original = Session.read(bytesOf(file))
    const findings = SessionDoctor.examine(original)
    const { changes, session } = SessionRepair.repair(original)
    assert.strictEqual(
      changes.length > 0,
      findings.some(({ mend }) => mend !== null),
      codes.join()
    )
    if (changes.length === 0) assert.strictEqual(session, original)
    const changed = new Set(changes.map(({ line }) => line))
    const before = bytesOf(file).toString("latin1").split("\n")
    const after = new Set(Buffer.from(Session.toBytes(session)).toString("latin1").split("\n"))
    for (const [index, line] of before.entries()) {
      if (!changed.has(index + 1)) assert.isTrue(after.has(line), `line ${index + 1}`)
    }
  })

  it("attaches all children of a lost entry to the entry before it", () => {
    assert.deepStrictEqual(
      shape(repaired(session("a<", "b<a", "c<lost", "d<c", "e<lost", "f<other"))),
      [-1, 0, 1, 2, 1, 4]
    )
    assert.deepStrictEqual(shape(repaired(session("a<lost", "b<a"))), [-1, 0])
  })

  it("cuts cycles at their earliest entry, without making new ones", () => {
    assert.deepStrictEqual(shape(repaired(session("a<", "b<d", "c<b", "d<c"))), [-1, 0, 1, 2])
    assert.deepStrictEqual(shape(repaired(session("a<c", "b<a", "c<b"))), [-1, 0, 1])
    assert.deepStrictEqual(shape(repaired(session("a<d", "b<c", "c<b", "d<c", "e<d"))), [3, -1, 1, 2, 3])
    assert.deepStrictEqual(shape(repaired(session("a<", "b<b"))), [-1, 0])
  })

  it("keeps children and labels at the right one of several entries with the same id", () => {
    const mended = repaired(session("a<", "b<a", "c<b", "b<c", "d<b", "l<d:b", "a<l", "e<a"))
    assert.deepStrictEqual(shape(mended), [-1, 0, 1, 2, 3, 4, 5, 6])
    const [, , , second, , label] = mended.tree.getEntries()
    assert.strictEqual(stringAt(label?.decode() ?? {}, "targetId"), second?.id)
  })

  it("keeps sound lines byte for byte, however they are written", () => {
    const odd = '  {"id":"a","type":"custom","parentId":null,"n":1.50,"customType":"t","timestamp":"x"}\t\r'
    const text = `${JSON.stringify(header)}\n\n${odd}\nbroken\n`
    const { session } = SessionRepair.repair(Session.readText(text))
    assert.strictEqual(Buffer.from(Session.toBytes(session)).toString(), text.replace("broken\n", ""))
  })

  it("is deterministic", () => {
    const bytes = () => Session.toBytes(SessionRepair.repair(session("a<", "a<x", "a<a", "b<a")).session)
    assert.deepStrictEqual(bytes(), bytes())
  })

  it("repairs a list of version 1 as a list", () => {
    const one = JSON.stringify({ type: "message", timestamp, message: { role: "user", content: "one" } })
    const two = JSON.stringify({ type: "message", timestamp, message: { role: "user", content: "two" } })
    const three = JSON.stringify({
      type: "compaction",
      timestamp,
      summary: "s",
      firstKeptEntryIndex: 2,
      tokensBefore: 1
    })
    const list = `${JSON.stringify({ ...header, version: 1 })}\n`
    const sound = Session.readText(`${list}${one}\n${two}\n${three}\n`)
    assert.strictEqual(SessionRepair.repair(sound).session, sound)
    const mended = repaired(Session.readText(`${list}${one}\n${two}\nbroken\n${three}${one}`))
    assert.deepStrictEqual(shape(mended), [-1, 0, 1, 2])
    assert.deepStrictEqual(mended.header?.decode()["version"], 3)
  })
})

describe("asCopy", () => {
  const whole = session("a<", "b<a")

  it("gives the copy an id of its own, and names the original", () => {
    const copy = SessionRepair.asCopy(whole, "/sessions/s.jsonl", "s.repaired.jsonl")
    assert.deepStrictEqual(copy.session.header?.decode(), {
      ...header,
      id: copy.id,
      parentSession: "/sessions/s.jsonl"
    })
    const lines = (of: Session.Session) => Buffer.from(Session.toBytes(of)).toString().split("\n").slice(1)
    assert.deepStrictEqual(lines(copy.session), lines(whole))
    assert.deepStrictEqual(SessionRepair.repair(Session.read(Session.toBytes(copy.session))).changes, [])
  })

  it("derives the same id each time, and another one for another copy", () => {
    const idOf = (name: string) => SessionRepair.asCopy(whole, "/s.jsonl", name).id
    assert.strictEqual(idOf("s.repaired.jsonl"), idOf("s.repaired.jsonl"))
    assert.strictEqual(new Set([idOf("s.repaired.jsonl"), idOf("s.repaired-2.jsonl"), "s"]).size, 3)
  })
})
