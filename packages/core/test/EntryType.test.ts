/** The table of entry types agrees with the schemas of entries, and with what each type does to the context. */
import { assert, describe, it } from "@effect/vitest"
import * as EntryPayload from "../src/payload/EntryPayload.ts"
import * as EntryType from "../src/EntryType.ts"
import { type JsonObject } from "../src/Json.ts"
import * as SessionContext from "../src/SessionContext.ts"
import { entry, session, user } from "./support/samples.ts"

/** The members of one entry of each type; its id is `x`, and `a` is the entry before it. */
const SAMPLES: Readonly<Record<EntryType.EntryType, JsonObject>> = {
  message: { message: { role: "user", content: "more" } },
  model_change: { provider: "p", modelId: "m" },
  thinking_level_change: { thinkingLevel: "high" },
  compaction: { summary: "s", firstKeptEntryId: "x", tokensBefore: 1 },
  branch_summary: { summary: "s", fromId: "a" },
  custom: { customType: "c", data: 1 },
  custom_message: { customType: "c", content: "t" },
  label: { targetId: "a", label: "l" },
  session_info: { name: "n" },
  usage: { kind: "k", provider: "p", model: "m", usage: {} },
  context_edit: { targetId: "a", replacement: null }
}

describe("EntryType", () => {
  it("has the types for which there is a schema", () => {
    assert.sameMembers(Object.keys(EntryPayload.EntryPayload.cases), [...EntryType.all])
  })

  it.each(EntryType.all)("gives %s the members of its schema", (type) => {
    const members = Object.keys(EntryPayload.EntryPayload.cases[type].fields)
    const { hasSummary, hasUsage, reference } = EntryType.of(type)
    assert.strictEqual(members.includes("summary"), hasSummary)
    assert.strictEqual(members.includes("usage"), hasUsage)
    const references = ["targetId", "firstKeptEntryId", "fromId"].filter((name) => members.includes(name))
    assert.deepStrictEqual(references, reference === undefined ? [] : [reference])
  })

  it.each(EntryType.all)("gives %s its effect on the context of Pi 1.5", (type) => {
    const branch = session(user("a", null), entry(type, "x", "a", SAMPLES[type])).tree.getBranch()
    const sources = SessionContext.project(branch, "1.5").map((item) => item.entry.id)
    const expected = { message: ["a", "x"], rewrite: type === "compaction" ? ["x"] : [], none: ["a"] }
    assert.deepStrictEqual(sources, expected[EntryType.of(type).context])
  })

  it("gives an unknown type no effect", () => {
    assert.isFalse(EntryType.isKnown("constructor"))
    assert.strictEqual(EntryType.of("constructor").context, "none")
  })
})
