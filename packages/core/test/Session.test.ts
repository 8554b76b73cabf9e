/** Sessions are printed with the bytes that were read. */
import { assert, describe, it } from "@effect/vitest"
import * as Fs from "node:fs"
import { type JsonObject } from "../src/Json.ts"
import * as Session from "../src/Session.ts"
import { SessionEntry } from "../src/SessionLine.ts"
import * as files from "./support/files.ts"
import * as samples from "./support/samples.ts"
import * as settings from "./support/settings.ts"

const { assistant, header, ids, places, text, user } = samples

const one = JSON.stringify(user("a", null))
const two = JSON.stringify(assistant("b", "a"))
const three = JSON.stringify(user("c", "b"))

const printed = (session: Session.Session): string => Buffer.from(Session.toBytes(session)).toString()

/** Bytes cut into chunks of `size`. */
const chunks = (bytes: Uint8Array, size: number): ReadonlyArray<Uint8Array> =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) => bytes.subarray(at * size, (at + 1) * size))

/** The files that are not printed with the same bytes. */
const unfaithful = (paths: ReadonlyArray<string>): ReadonlyArray<string> =>
  paths.filter((path) => {
    const bytes = Fs.readFileSync(path)
    const sessions = [bytes, chunks(bytes, 65_536), chunks(bytes, 997)].map(Session.read)
    return !sessions.every((session) => bytes.equals(Session.toBytes(session)))
  })

describe("Session.read", () => {
  it("finds header, entries and leaf, and keeps every line in order", () => {
    const session = Session.readText(text(header, one, "", "damaged", two))
    assert.deepStrictEqual(session.header?.decode(), header)
    assert.deepStrictEqual(ids(session.tree.getEntries()), ["a", "b"])
    assert.strictEqual(session.tree.leafId, "b")
    assert.deepStrictEqual(
      session.lines.map((line) => line.text),
      [JSON.stringify(header), one, "", "damaged", two]
    )
  })

  it("lists the diagnostics of reader and tree in file order", () => {
    const session = Session.readText(text("x", one, JSON.stringify(user("z", "nowhere")), "y", header))
    assert.deepStrictEqual(
      places(session.diagnostics).map(([code, line]) => [code, line]),
      [
        ["malformed-line", 1],
        ["unknown-parent", 3],
        ["malformed-line", 4],
        ["header-not-first", 5]
      ]
    )
  })

  it("keeps unknown types and unknown fields", () => {
    const odd: JsonObject = { type: "leaf", id: "x", parentId: null, targetId: "a", deep: { 1: [null, "ä"] } }
    const session = Session.readText(text(header, odd))
    assert.deepStrictEqual(session.tree.getEntry("x")?.decode(), odd)
    assert.strictEqual(session.tree.leafId, "x")
  })
})

describe("Session.print", () => {
  it("prints every fixture byte for byte", () => {
    const paths = files.fixtures()
    assert.deepStrictEqual(unfaithful(paths), [])
    settings.note(`Session.print: ${paths.length} fixtures`)
  })

  it("prints every session of the corpus byte for byte", () => {
    const paths = files.corpus()
    assert.deepStrictEqual(unfaithful(paths), [])
    if (paths.length > 0) settings.note(`Session.print: ${paths.length} sessions of the corpus`)
  })

  it("prints lines that are adjacent in memory as one piece", () => {
    const file = text(header, one, "damaged", "", two + three)
    assert.deepStrictEqual([...Session.print(Session.readText(file).lines)], [Buffer.from(file)])
  })

  it("prints lines in any order, each with its newline", () => {
    const [first, second, third] = Session.readText(text(one, two, three)).lines
    assert.isTrue(first !== undefined && second !== undefined && third !== undefined)
    if (first === undefined || second === undefined || third === undefined) return
    const print = (...lines: Session.Session["lines"]) => Buffer.concat([...Session.print(lines)]).toString()
    assert.strictEqual(print(third, second, first), text(three, two, one))
    assert.strictEqual(print(first, third), text(one, three))
    assert.strictEqual(print(), "")
  })

  it("ends a last line without a newline before the next line", () => {
    const session = Session.readText(text(header, one) + two)
    const lines = [...session.lines, SessionEntry.make(user("c", "b"))]
    assert.strictEqual(printed(Session.fromLines(lines)), text(header, one, two, three))
  })

  it("ends a fragment before a generated line", () => {
    const session = Session.readText(text(header, `{"torn${two}`))
    const lines = session.lines.map((line) => (line instanceof SessionEntry ? line.rewrite(line.decode()) : line))
    assert.strictEqual(printed(Session.fromLines(lines)), text(header, '{"torn', two))
  })
})

describe("Session.asPiReads", () => {
  it("has no entries that Pi does not read", () => {
    const session = Session.readText(text(header, one + two, three, two.slice(0, 30) + JSON.stringify(user("d", "c"))))
    assert.deepStrictEqual(ids(session.tree.getEntries()), ["a", "b", "c", "d"])
    const asPi = Session.asPiReads(session)
    assert.deepStrictEqual(ids(asPi.tree.getEntries()), ["c"])
    assert.strictEqual(printed(asPi), text(header, three))
  })

  it("has no header where Pi reads none", () => {
    const session = Session.readText(text(JSON.stringify(header) + one, two))
    assert.isDefined(session.header)
    assert.isUndefined(Session.asPiReads(session).header)
  })

  it("keeps a line after a byte order mark, as Pi 0.78 does", () => {
    assert.isDefined(Session.asPiReads(Session.readText(`\ufeff${text(header, one)}`)).header)
    assert.isEmpty(Session.asPiReads(Session.readText(text(header, `\ufeff${one}`))).tree.getEntries())
  })

  it("reports nothing twice", () => {
    const session = Session.readText(text(header, one, three, "damaged"))
    assert.deepStrictEqual(Session.asPiReads(session).diagnostics, session.diagnostics)
    assert.deepStrictEqual(
      places(session.diagnostics).map(([code]) => code),
      ["unknown-parent", "malformed-line"]
    )
  })

  it("prints the same bytes when nothing is damaged", () => {
    const file = text(header, one, "", two)
    assert.strictEqual(printed(Session.asPiReads(Session.readText(file))), file)
  })
})
