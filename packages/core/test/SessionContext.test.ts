/** The context of branches with compactions, edits and settings. */
import { assert, describe, it } from "@effect/vitest"
import * as PiVersion from "@pi-sessions/testing/pi/PiVersion"
import { type JsonObject } from "../src/Json.ts"
import { contentText } from "../src/ModelContext.ts"
import { type PiProfile } from "../src/PiProfile.ts"
import * as SessionContext from "../src/SessionContext.ts"
import * as samples from "./support/samples.ts"

const { assistant, entry, ids, message, session, user } = samples

/** Role and text of each message of the context; the summary where that is the text. */
const turns = (entries: ReadonlyArray<JsonObject>, profile?: PiProfile): ReadonlyArray<string> =>
  SessionContext.build(session(...entries).tree, profile).messages.map(
    ({ role, content, summary }) => `${String(role)}: ${String(summary ?? contentText(content))}`
  )

const compaction = (id: string, parentId: string, firstKeptEntryId: string, more: JsonObject = {}): JsonObject =>
  entry("compaction", id, parentId, { summary: `summary ${id}`, firstKeptEntryId, tokensBefore: 9, ...more })

const edit = (id: string, parentId: string, targetId: string, replacement: JsonObject | null): JsonObject =>
  entry("context_edit", id, parentId, { targetId, replacement })

const system = (id: string, parentId: string | null, content = id): JsonObject =>
  message(id, parentId, { role: "system", content })

describe.each(PiVersion.versions)("the context of Pi %s", (profile) => {
  it("is empty before the first entry", () => {
    const { tree } = session(user("a", null))
    assert.deepStrictEqual(SessionContext.build(tree.resetLeaf(), profile), {
      messages: [],
      thinkingLevel: "off",
      model: null
    })
  })

  it("has the messages of the branch, of extensions and of branch summaries", () => {
    const entries = [
      user("a", null),
      entry("custom", "x", "a", { customType: "todo", data: 1 }),
      entry("custom_message", "b", "x", { customType: "note", content: "note", display: false, details: { n: 1 } }),
      user("other branch", "a"),
      entry("branch_summary", "c", "b", { fromId: "a", summary: "left" }),
      entry("branch_summary", "d", "c", { fromId: "a", summary: "" }),
      entry("label", "l", "d", { targetId: "a", label: "x" }),
      entry("from the future", "z", "l", { content: "?" }),
      assistant("e", "z")
    ]
    assert.deepStrictEqual(turns(entries, profile), ["user: a", "custom: note", "branchSummary: left", "assistant: e"])
    const { messages } = SessionContext.build(session(...entries).tree, profile)
    const timestamp = Date.parse(samples.timestamp)
    assert.deepStrictEqual(messages.slice(1, 3), [
      { role: "custom", customType: "note", content: "note", display: false, details: { n: 1 }, timestamp },
      { role: "branchSummary", summary: "left", fromId: "a", timestamp }
    ])
  })

  it("begins with the newest compaction and the entries it keeps", () => {
    const entries = [
      user("a", null),
      assistant("b", "a"),
      user("c", "b"),
      compaction("1", "c", "b"),
      user("d", "1"),
      compaction("2", "d", "c"),
      assistant("e", "2")
    ]
    assert.deepStrictEqual(turns(entries, profile), [
      "compactionSummary: summary 2",
      "user: c",
      "user: d",
      "assistant: e"
    ])
  })

  it("keeps nothing when the boundary is not before the compaction", () => {
    for (const boundary of ["unknown", "c", "d"]) {
      const entries = [user("a", null), assistant("b", "a"), compaction("c", "b", boundary), user("d", "c")]
      assert.deepStrictEqual(turns(entries, profile), ["compactionSummary: summary c", "user: d"], boundary)
    }
  })

  it("ignores a compaction on another branch", () => {
    const entries = [user("a", null), assistant("b", "a"), compaction("c", "b", "b"), user("d", "b")]
    assert.deepStrictEqual(turns(entries, profile), ["user: a", "assistant: b", "user: d"])
  })

  it("has the settings of the whole branch, also of entries before a compaction", () => {
    const { tree } = session(
      entry("model_change", "m", null, { provider: "p", modelId: "m1" }),
      entry("thinking_level_change", "t", "m", { thinkingLevel: "high" }),
      user("a", "t"),
      compaction("c", "a", "c"),
      user("d", "c")
    )
    const { thinkingLevel, model } = SessionContext.build(tree, profile)
    assert.deepStrictEqual([thinkingLevel, model], ["high", { provider: "p", modelId: "m1" }])
  })

  it("has the model of the last model change or answer", () => {
    const spoke = assistant("a", null)
    const chosen = entry("model_change", "b", "a", { provider: "p", modelId: "m1" })
    const models = [[spoke], [spoke, chosen], [spoke, chosen, assistant("c", "b")]].map(
      (entries) => SessionContext.build(session(...entries).tree, profile).model?.modelId
    )
    assert.deepStrictEqual(models, ["fake-1", "m1", "fake-1"])
  })

  it("has the entry of each message", () => {
    const { tree } = session(user("a", null), assistant("b", "a"), compaction("c", "b", "b"), user("d", "c"))
    const items = SessionContext.project(tree.getBranch(), profile)
    assert.deepStrictEqual(ids(items.map(({ entry }) => entry)), ["c", "b", "d"])
    assert.deepStrictEqual(ids(SessionContext.select(tree.getBranch(), profile)), ["c", "b", "d"])
  })
})

describe("the context of Pi 1.5", () => {
  const edited = (...edits: ReadonlyArray<JsonObject>) => turns([user("a", null), assistant("b", "a"), ...edits], "1.5")

  it("is the default", () => {
    const entries = [system("s", null), user("a", "s")]
    assert.deepStrictEqual(turns(entries), turns(entries, "1.5"))
  })

  it("omits or replaces what was edited; the last edit counts", () => {
    assert.deepStrictEqual(edited(edit("e", "b", "a", null)), ["assistant: b"])
    assert.deepStrictEqual(edited(edit("e", "b", "a", { content: "new" })), ["user: new", "assistant: b"])
    assert.deepStrictEqual(edited(edit("e", "b", "a", null), edit("f", "e", "a", { content: "new" })), [
      "user: new",
      "assistant: b"
    ])
    assert.deepStrictEqual(edited(edit("e", "b", "a", { content: "new" }), edit("f", "e", "a", null)), ["assistant: b"])
  })

  it("makes a block of text that replaces an assistant's content", () => {
    const { tree } = session(assistant("a", null), edit("e", "a", "a", { content: "new" }))
    assert.deepStrictEqual(SessionContext.build(tree, "1.5").messages[0]?.["content"], [{ type: "text", text: "new" }])
  })

  it("ignores edits on other branches and before a compaction", () => {
    assert.deepStrictEqual(edited(edit("e", "b", "a", null), user("c", "b")), ["user: a", "assistant: b", "user: c"])
    const early = [edit("e", "x", "b", null), user("b", "e"), compaction("c", "b", "b")]
    assert.deepStrictEqual(turns([user("x", null), ...early], "1.5"), ["compactionSummary: summary c", "user: b"])
    const compacted = [user("a", null), edit("e", "a", "a", null), user("b", "e"), compaction("c", "b", "b")]
    assert.deepStrictEqual(turns(compacted, "1.5"), ["compactionSummary: summary c", "user: b"])
  })

  it("does not keep system messages across a compaction, which has their sum", () => {
    const entries = [
      system("s", null),
      user("a", "s"),
      system("t", "a"),
      compaction("c", "t", "a", { systemMessage: { role: "system", content: "sum" } }),
      system("u", "c")
    ]
    assert.deepStrictEqual(turns(entries, "1.5"), [
      "system: sum",
      "compactionSummary: summary c",
      "user: a",
      "system: u"
    ])
    assert.deepStrictEqual(turns(entries, "0.78"), [
      "compactionSummary: summary c",
      "user: a",
      "system: t",
      "system: u"
    ])
  })

  it("gives messages without content an empty one", () => {
    const { tree } = session(
      message("a", null, { role: "user", content: null }),
      message("b", "a", { role: "assistant" }),
      message("c", "b", { role: "system", content: null }),
      entry("custom_message", "d", "c", { customType: "x", content: null })
    )
    const contents = (profile: PiProfile) => SessionContext.build(tree, profile).messages.map(({ content }) => content)
    assert.deepStrictEqual(contents("1.5"), [[], [], "", []])
    assert.deepStrictEqual(contents("0.78"), [null, undefined, null, null])
  })
})

describe("the context of Pi 0.78", () => {
  it("ignores edits and sums of system messages", () => {
    const entries = [
      user("a", null),
      edit("e", "a", "a", null),
      compaction("c", "e", "a", { systemMessage: { role: "system", content: "sum" } })
    ]
    assert.deepStrictEqual(turns(entries, "0.78"), ["compactionSummary: summary c", "user: a"])
  })
})
