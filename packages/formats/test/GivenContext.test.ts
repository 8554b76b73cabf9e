import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as Session from "@pi-sessions/core/Session"
import * as GivenContext from "@pi-sessions/samples/GivenContext"
import { MessagesFormat } from "../src/MessagesFormat.ts"
import * as SampleCut from "@pi-sessions/samples/SampleCut"
import { assistant, call, chain, message, result, text, user } from "@pi-sessions/samples/test/sessions"

const given: GivenContext.GivenContext = {
  system: new Map([
    ["deacon", "You are the deacon."],
    ["*", "You are somebody."]
  ]),
  tools: [{ name: "bash", description: "runs", parameters: { type: "object" } }]
}

const work = [user("go"), assistant([call("a")]), result("a", "x"), assistant([text("done")])]

describe("a given system prompt and tools", () => {
  const cutWith = (session: string, tools?: GivenContext.GivenContext["tools"]) =>
    SampleCut.cut(Session.readText(session), {
      sourcePath: "/s.jsonl",
      role: { role: "unknown", roleSource: "none" },
      ...(tools === undefined ? {} : { tools })
    }).samples[0]

  it("complete a sample that has neither", () => {
    const bare = cutWith(chain(...work), given.tools)
    assert.isDefined(bare)
    if (bare === undefined) return
    assert.deepStrictEqual(bare.tools, given.tools)
    assert.deepStrictEqual([bare.metadata.tools_source, bare.metadata.context], ["given", "exact"])
    const whole = GivenContext.withSystem(bare, given)
    assert.deepStrictEqual([whole.turns[0]?.role, whole.turns[0]?.content], ["system", "You are somebody."])
    assert.deepStrictEqual(whole.turns.slice(1), [...bare.turns])
    assert.strictEqual(whole.turns[whole.first_target], bare.turns[bare.first_target])
    assert.strictEqual(whole.metadata.system_source, "file")
    const projection = MessagesFormat.project(whole)
    assert.strictEqual(projection._tag, "Sample")
    if (projection._tag === "None") return
    assert.isTrue(Result.isSuccess(MessagesFormat.validate(JSON.stringify(projection.sample))))
    const deacon = { ...bare, metadata: { ...bare.metadata, role: "deacon" as const } }
    assert.strictEqual(GivenContext.withSystem(deacon, given).turns[0]?.content, "You are the deacon.")
    assert.strictEqual(GivenContext.withSystem(bare, { system: new Map() }), bare)
  })

  it("leave the context reduced if only used tools are known", () => {
    for (const session of [chain(...work), chain(user("go"), assistant([text("no tools")]))]) {
      assert.deepInclude(cutWith(session)?.metadata, { tools_source: "used", context: "reduced" })
      assert.deepInclude(cutWith(session, [])?.metadata, { tools_source: "given", context: "exact" })
    }
  })

  it("replace nothing that the session contains", () => {
    const system = (declared: object) => message({ role: "system", content: "You are Pi.", ...declared, timestamp: 1 })
    const tools = [{ name: "read", description: "reads", parameters: { type: "object" } }]
    for (const toolsAdded of [tools, []]) {
      const own = cutWith(chain(system({ toolsAdded }), ...work), given.tools)
      // Tools that were called and not declared were not on offer.
      assert.deepStrictEqual(own?.tools, toolsAdded)
      assert.deepInclude(own?.metadata, { tools_source: "declared", context: "exact" })
      if (own !== undefined) assert.deepStrictEqual(GivenContext.withSystem(own, given), own)
    }
  })
})
