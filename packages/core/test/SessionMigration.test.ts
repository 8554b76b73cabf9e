/** Sessions of versions 1 and 2, beside the migration of both real Pis. */
import { assert, describe, it } from "@effect/vitest"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as PiModule from "@pi-sessions/testing/pi/PiModule"
import * as PiVersion from "@pi-sessions/testing/pi/PiVersion"
import { Effect } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { type JsonObject } from "../src/Json.ts"
import * as Session from "../src/Session.ts"
import * as SessionContext from "../src/SessionContext.ts"
import * as SessionHeader from "../src/SessionHeader.ts"
import * as SessionMigration from "../src/SessionMigration.ts"
import * as samples from "./support/samples.ts"
import { plain } from "./support/walks.ts"

const { timestamp } = samples

const spoken = (role: string, content: string): JsonObject => ({
  type: "message",
  timestamp,
  message: {
    role,
    content: role === "assistant" ? [{ type: "text", text: content }] : content,
    usage: {},
    timestamp: 1
  }
})

const compaction = (firstKeptEntryIndex: number): JsonObject => ({
  type: "compaction",
  timestamp,
  summary: "so far",
  firstKeptEntryIndex,
  tokensBefore: 10
})

const header1 = {
  type: "session",
  id: "old",
  timestamp,
  cwd: "/work",
  provider: "p",
  modelId: "m",
  thinkingLevel: "off"
}
const header2 = { type: "session", version: 2, id: "old", timestamp, cwd: "/work", extra: [1] }

/** Old files by name. */
const files: Readonly<Record<string, string>> = {
  "a list without ids": samples.text(header1, spoken("user", "a"), spoken("assistant", "b"), spoken("user", "c")),
  "a list that says version 1": samples.text({ ...header1, version: 1 }, spoken("user", "a"), spoken("user", "b")),
  "a compaction": samples.text(
    header1,
    spoken("user", "a"),
    spoken("assistant", "b"),
    spoken("user", "c"),
    compaction(2),
    spoken("assistant", "d")
  ),
  "a compaction from the header, itself, a later entry and nowhere": samples.text(
    header1,
    spoken("user", "a"),
    compaction(0),
    compaction(3),
    compaction(5),
    compaction(77),
    spoken("user", "b")
  ),
  "a compaction behind lines that Pi does not count, and one that it does": samples.text(
    header1,
    "",
    "damaged",
    spoken("user", "a"),
    '{"type":"session","id":"second"}',
    spoken("user", "b"),
    JSON.stringify(spoken("user", "glued")) + JSON.stringify(spoken("user", "too")),
    spoken("user", "c"),
    compaction(3),
    spoken("user", "d")
  ),
  "a tree that says no version": samples.text(
    { ...header1, version: undefined },
    samples.user("x", null),
    samples.user("y", "x"),
    samples.user("z", "x"),
    samples.entry("label", "l", "z", { targetId: "x", label: "dangles" })
  ),
  "messages of hooks in a list": samples.text(header1, spoken("user", "a"), spoken("hookMessage", "b")),
  "messages of hooks in a tree": samples.text(
    header2,
    samples.user("a", null),
    samples.message("b", "a", { role: "hookMessage", customType: "h", content: "b", display: true, timestamp: 1 }),
    samples.user("c", "a"),
    samples.entry("compaction", "d", "c", { summary: "s", firstKeptEntryId: "c", tokensBefore: 1 }),
    samples.entry("custom", "e", "d", { customType: "x", data: { role: "hookMessage" } })
  ),
  "a tree that says its version in text": samples.text(
    { ...header1, version: "3" },
    samples.user("x", null),
    samples.message("y", "x", { role: "hookMessage", content: "as it is" }),
    samples.user("z", "x")
  ),
  "a tree that says something else for its version": samples.text(
    { ...header1, version: "latest" },
    samples.user("x", null),
    samples.message("y", "x", { role: "hookMessage", content: "as it is" })
  ),
  "an empty list": samples.text(header1),
  "an empty tree": samples.text(header2)
}

const migrate = (text: string): Session.Session => SessionMigration.toCurrent(Session.readText(text))

const textOf = (session: Session.Session): string => Buffer.from(Session.toBytes(session)).toString()

describe.each(PiVersion.versions)("SessionMigration, beside Pi %s", (version) => {
  it.effect.each(Object.keys(files))(
    "turns %s into what Pi turns it into",
    Effect.fnUntraced(function* (name) {
      const pi = yield* Effect.promise(() => PiModule.load(version))
      const path = Path.join(yield* temporaryFolder, "old.jsonl")
      const text = files[name] ?? ""
      Fs.writeFileSync(path, text)
      const manager = pi.SessionManager.open(path)
      const ours = SessionMigration.toCurrent(Session.asPiReads(Session.readText(text)))

      const entries = ours.tree.getEntries()
      const rename = new Map(manager.getEntries().map(({ id }, at) => [id, entries[at]?.id ?? ""]))
      const decoded = entries.map((entry) => entry.decode())
      assert.deepStrictEqual(decoded, plain(manager.getEntries(), rename))
      assert.deepStrictEqual(ours.header?.decode(), plain(manager.getHeader()))
      const context = SessionContext.build(ours.tree, version)
      assert.deepStrictEqual(plain(context), plain(manager.buildSessionContext(), rename))

      // Pi rewrites the file without damaged lines, and updates a second header.
      const rewritten = Session.readText(Fs.readFileSync(path, "utf8"))
      const written = rewritten.tree.getEntries().map((entry) => plain(entry.decode(), rename))
      assert.deepStrictEqual(written, plain(decoded))
    })
  )
})

describe("SessionMigration", () => {
  it("reads the version of a session; default 1", () => {
    const versions = [header1, header2, samples.header, { ...header1, version: 4 }, { ...header1, version: "2" }].map(
      (header) => SessionHeader.versionOf(Session.readText(samples.text(header)).header?.decode() ?? {})
    )
    assert.deepStrictEqual(versions, [1, 2, 3, 4, 2])
  })

  it("gives the same bytes each time, and ids of Pi's form that are each used once", () => {
    for (const text of Object.values(files)) {
      const session = migrate(text)
      assert.strictEqual(textOf(migrate(text)), textOf(session))
      const ids = samples.ids(session.tree.getEntries())
      assert.strictEqual(new Set(ids).size, ids.length)
      if (SessionHeader.versionOf(Session.readText(text).header?.decode() ?? {}) === 1) {
        for (const id of ids) assert.match(id ?? "", /^[0-9a-f]{8}$/u)
      }
    }
  })

  it("gives equal entries different ids", () => {
    const session = migrate(samples.text(header1, spoken("user", "same"), spoken("user", "same")))
    assert.deepStrictEqual(new Set(samples.ids(session.tree.getEntries())).size, 2)
  })

  it("does not change a current session, a newer one, or a file without a header", () => {
    for (const header of [samples.header, { ...samples.header, version: 4 }, samples.user("x", null)]) {
      const session = Session.readText(samples.text(header, samples.user("a", null)))
      assert.strictEqual(SessionMigration.toCurrent(session), session)
    }
  })

  it("is unchanged by a second migration", () => {
    for (const text of Object.values(files)) {
      const session = migrate(text)
      assert.strictEqual(SessionHeader.versionOf(session.header?.decode() ?? {}), 3)
      assert.strictEqual(SessionMigration.toCurrent(session), session)
      const again = Session.readText(textOf(session))
      assert.strictEqual(SessionMigration.toCurrent(again), again)
    }
  })

  it("keeps the bytes of lines that do not change, damaged ones included", () => {
    const odd = '{ "type":"custom", "id":"x", "parentId":null, "customType":"\\u0061" }'
    const session = migrate(samples.text(header2, odd, "damaged", "", samples.user("b", "x")))
    const { version: _, ...rest } = header2
    assert.deepStrictEqual(Session.readText(textOf(session)).header?.decode(), { ...rest, version: 3 })
    assert.deepStrictEqual(textOf(session).split("\n").slice(1), [
      odd,
      "damaged",
      "",
      JSON.stringify(samples.user("b", "x")),
      ""
    ])
  })

  it("keeps the reader's diagnostics with their positions", () => {
    const session = migrate(samples.text(header1, spoken("user", "a"), "damaged", spoken("user", "b")))
    assert.deepStrictEqual(
      session.diagnostics.map(({ code, line }) => [code, line]),
      [["malformed-line", 3]]
    )
    assert.deepStrictEqual(
      session.tree.getEntries().map(({ line }) => line),
      [2, 4]
    )
  })

  it("migrates recovered entries, each to its own line", () => {
    const [a, b, c] = ["a", "b", "c"].map((text) => JSON.stringify(spoken("user", text)))
    const session = migrate(samples.text(header1, `${a}${b}`, `{"torn${c}`))
    assert.lengthOf(session.tree.getBranch(), 3)
    const again = Session.readText(textOf(session))
    assert.deepStrictEqual(
      again.tree.getEntries().map(({ recovered }) => recovered),
      [false, false, false]
    )
  })

  it("finds a compaction's boundary by Pi's index, which skips recovered entries", () => {
    const [a, b, c] = ["a", "b", "c"].map((text) => JSON.stringify(spoken("user", text)))
    const { tree } = migrate(samples.text(header1, `${a}${b}`, c ?? "", spoken("user", "d"), compaction(2)))
    const texts = SessionContext.build(tree).messages.map(({ content, summary }) => content ?? summary)
    assert.deepStrictEqual(texts, ["so far", "d"])
  })

  it("does not change its input", () => {
    for (const text of Object.values(files)) {
      const session = Session.readText(text)
      SessionMigration.toCurrent(session)
      assert.strictEqual(textOf(session), text)
    }
  })
})
