import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as GivenContext from "../src/GivenContext.ts"
import { MessagesFormat } from "../src/MessagesFormat.ts"
import { assistant, call, chain, message, result, sample, text, user } from "./support/sessions.ts"

const given: GivenContext.GivenContext = {
  system: new Map([
    ["deacon", "You are the deacon."],
    ["*", "You are somebody."]
  ]),
  tools: [{ name: "bash", description: "runs", parameters: { type: "object" } }]
}

const work = [user("go"), assistant([call("a")]), result("a", "x"), assistant([text("done")])]

describe("what a person gives", () => {
  it("completes a sample that holds neither system prompt nor tools", () => {
    const bare = sample(chain(...work))
    const whole = GivenContext.complete(bare, given)
    assert.deepStrictEqual([whole.turns[0]?.role, whole.turns[0]?.content], ["system", "You are somebody."])
    assert.deepStrictEqual(whole.turns.slice(1), [...bare.turns])
    assert.strictEqual(whole.turns[whole.first_target], bare.turns[bare.first_target])
    assert.deepStrictEqual([whole.metadata.system_source, whole.metadata.tools_source], ["file", "file"])
    assert.deepStrictEqual(whole.tools, given.tools)
    const projection = MessagesFormat.project(whole)
    assert.strictEqual(projection._tag, "Sample")
    if (projection._tag === "None") return
    assert.isTrue(Result.isSuccess(MessagesFormat.validate(JSON.stringify(projection.sample))))
    const deacon = { ...bare, metadata: { ...bare.metadata, role: "deacon" as const } }
    assert.strictEqual(GivenContext.complete(deacon, given).turns[0]?.content, "You are the deacon.")
    assert.strictEqual(GivenContext.complete(bare, { system: new Map() }), bare)
  })

  it("replaces nothing that the session holds", () => {
    const system = message({
      role: "system",
      content: "You are Pi.",
      toolsAdded: [{ name: "read", description: "reads", parameters: { type: "object" } }],
      timestamp: 1
    })
    const told = sample(chain(system, user("go"), assistant([text("done")])))
    assert.strictEqual(told.metadata.tools_source, "session")
    assert.deepStrictEqual(GivenContext.complete(told, given), told)
  })
})
