/** Schemas of entries, with entries of both real Pis and with damaged ones. */
import { assert, describe, it } from "@effect/vitest"
import * as PiVersion from "@pi-sessions/testing/pi/PiVersion"
import { Effect, Result } from "effect"
import * as EntryPayload from "../src/payload/EntryPayload.ts"
import * as EntryType from "../src/EntryType.ts"
import { type JsonObject } from "../src/Json.ts"
import * as samples from "./support/samples.ts"
import * as settings from "./support/settings.ts"
import { files as walkFiles, same } from "./support/walks.ts"

const { entry, message, session, user } = samples

/** Decodes the only entry of a session. */
const decode = (payload: JsonObject) => {
  const [only] = session(payload).tree.getEntries()
  if (only === undefined) throw new Error("no entry")
  return EntryPayload.decode(only)
}

const failure = (payload: JsonObject): EntryPayload.InvalidEntry => {
  const result = decode(payload)
  if (Result.isSuccess(result)) throw new Error(`${JSON.stringify(payload)} passed`)
  return result.failure
}

describe("EntryPayload.decode", () => {
  it.effect.each(PiVersion.versions)(
    "accepts every entry of every walk of Pi %s",
    Effect.fnUntraced(function* (version) {
      const types = new Set<string>()
      const count = settings.walks(20)
      for (const { name, session } of yield* walkFiles(version, count)) {
        for (const entry of session.tree.getEntries()) {
          const result = EntryPayload.decode(entry)
          if (Result.isFailure(result)) assert.fail(`${name}: ${result.failure.message}`)
          else same(result.success, entry.decode(), name)
          types.add(entry.type)
        }
      }
      const known = EntryType.all.filter((type) => version === "1.5" || EntryType.of(type).since === "0.78")
      if (settings.isMany(count)) assert.sameMembers([...types], known)
      assert.includeMembers(known, [...types])
    })
  )

  it("keeps fields that it does not know, at every depth", () => {
    const odd = {
      ...message("a", null, {
        role: "assistant",
        content: [{ type: "video", url: "x", more: [1] }],
        usage: { tokens: 5, cost: { mood: "high" } },
        somewhere: { else: true }
      }),
      extra: null
    }
    assert.deepStrictEqual(decode(odd), Result.succeed(odd))
  })

  it("accepts entries of unknown types with any members", () => {
    for (const odd of [
      { type: "from the future", data: [] },
      { type: "leaf", id: 7, timestamp: 5, parentId: {} }
    ]) {
      assert.deepStrictEqual(decode(odd), Result.succeed(odd))
    }
  })

  it("accepts entries without ids and parents, as in version 1", () => {
    const old = { type: "message", message: { role: "user", content: "hello" } }
    assert.deepStrictEqual(decode(old), Result.succeed(old))
  })

  it("accepts the fewest members that Pi needs of each message", () => {
    const messages: ReadonlyArray<JsonObject> = [
      { role: "user", content: "" },
      { role: "assistant", content: [] },
      { role: "toolResult", toolCallId: "", content: [] },
      { role: "bashExecution", command: "", output: "" },
      { role: "custom", content: "" },
      { role: "system", content: "" }
    ]
    for (const least of messages)
      assert.isTrue(Result.isSuccess(decode(message("a", null, least))), String(least["role"]))
  })

  const wrong: ReadonlyArray<readonly [field: string, payload: JsonObject]> = [
    ['["message"]', entry("message", "a", null)],
    ['["message"]["content"]', message("a", null, { role: "user", content: 7 })],
    ['["message"]["content"]', message("a", null, { role: "assistant", content: "text" })],
    ['["message"]["content"][1]["type"]', message("a", null, { role: "assistant", content: [{ type: "x" }, {}] })],
    ['["message"]["toolCallId"]', message("a", null, { role: "toolResult", content: [] })],
    ['["message"]["exitCode"]', message("a", null, { role: "bashExecution", command: "", output: "", exitCode: "1" })],
    ['["message"]["toolsAdded"][0]["name"]', message("a", null, { role: "system", content: "", toolsAdded: [{}] })],
    ['["thinkingLevel"]', entry("thinking_level_change", "a", null, { thinkingLevel: 3 })],
    ['["modelId"]', entry("model_change", "a", null, { provider: "p" })],
    ['["summary"]', entry("compaction", "a", null, { firstKeptEntryId: "b" })],
    ['["usage"]["cost"]["total"]', entry("compaction", "a", null, { summary: "", usage: { cost: { total: "1" } } })],
    ['["fromId"]', entry("branch_summary", "a", null, { summary: "s" })],
    ['["customType"]', entry("custom", "a", null)],
    ['["content"]', entry("custom_message", "a", null, { customType: "x" })],
    ['["targetId"]', entry("label", "a", null, { label: "x" })],
    ['["name"]', entry("session_info", "a", null, { name: 7 })],
    ['["usage"]', entry("usage", "a", null, { kind: "k", provider: "p", model: "m" })],
    ['["replacement"]', entry("context_edit", "a", null, { targetId: "b" })],
    ['["replacement"]["content"]', entry("context_edit", "a", null, { targetId: "b", replacement: { content: 1 } })],
    ['["timestamp"]', { ...user("a", null), timestamp: 7 }],
    ['["parentId"]', { ...user("a", null), parentId: 7 }]
  ]
  it.each(wrong)("names the field %s when it is wrong or missing", (field, payload) => {
    const invalid = failure(payload)
    assert.include(invalid.issue, `at ${field}`)
    assert.deepStrictEqual(
      [invalid._tag, invalid.line, invalid.byteOffset, invalid.type, invalid.entryId],
      ["InvalidEntry", 2, JSON.stringify(samples.header).length + 1, payload["type"], "a"]
    )
    assert.isTrue(
      invalid.message.startsWith(`line 2, byte ${invalid.byteOffset}: entry a of type ${String(payload["type"])}: `),
      invalid.message
    )
  })

  it("does not repeat members of the entry", () => {
    const invalid = failure(message("a", null, { role: "user", content: { secret: "hunter2" } }))
    assert.notInclude(invalid.message, "hunter2")
  })

  it("reports an entry without an id", () => {
    assert.include(failure({ ...user("a", null), id: [] }).message, "entry without id of type message: ")
  })
})
