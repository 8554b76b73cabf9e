/** Built-in, inferred and declared definitions of tools. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as PiVersion from "@pi-sessions/testing/pi/PiVersion"
import * as Url from "node:url"
import { BUILTIN_TOOLS } from "../src/BuiltinTools.ts"
import { ToolDefinition } from "../src/ToolDefinition.ts"
import { assistant, call, chain, extract, message, result, text, user } from "./support/sessions.ts"

const isDefinition = Schema.is(ToolDefinition)

/** The definition that the real Pi 0.78 creates. */
const piDefinition = (pi: object, name: string): unknown => {
  const make: unknown = Reflect.get(pi, `create${name.slice(0, 1).toUpperCase()}${name.slice(1)}ToolDefinition`)
  return typeof make === "function" ? make("/tmp") : undefined
}

const builtin = (name: string): ToolDefinition => {
  const tool = BUILTIN_TOOLS.get(name)
  if (tool === undefined) throw new Error(`Pi has no tool ${name}`)
  return tool
}

const once = (name: string, args: { readonly [key: string]: string | number | boolean }) => [
  assistant([call("a", name, args)]),
  result("a", "ok", name)
]

describe("ToolSchemas", () => {
  it.effect("has the built-in tools as the real Pi 0.78 declares them", () =>
    Effect.gen(function* () {
      const url = Url.pathToFileURL(PiVersion.indexPath("0.78")).href
      const pi: object = yield* Effect.promise(() => import(url))
      assert.deepStrictEqual([...BUILTIN_TOOLS.keys()].sort(), ["bash", "edit", "find", "grep", "ls", "read", "write"])
      for (const [name, ours] of BUILTIN_TOOLS) {
        const real = piDefinition(pi, name)
        assert.isTrue(isDefinition(real), name)
        if (!isDefinition(real)) continue
        const { description, parameters } = real
        assert.deepStrictEqual(ours, { name, description, parameters: JSON.parse(JSON.stringify(parameters)) })
      }
    })
  )

  it("uses Pi's definition if a call fits it", () => {
    const { metadata, tools } = extract(chain(user("go"), ...once("bash", { command: "ls" }), ...once("ls", {})))
    assert.deepStrictEqual(tools, [builtin("bash"), builtin("ls")])
    assert.strictEqual(metadata.tools_source, "used")
  })

  it("infers other definitions from the arguments of all successful calls", () => {
    const { metadata, tools } = extract(
      chain(
        user("go"),
        assistant([call("a", "mail", { to: "mayor", priority: 1, tags: ["x"], meta: { a: null } })]),
        result("a", "ok", "mail"),
        assistant([call("b", "mail", { to: "deacon", priority: 1.5, tags: [], urgent: true, meta: { a: "b" } })]),
        result("b", "ok", "mail"),
        assistant([call("c", "mail", { nonsense: 1 })]),
        result("c", "bad arguments", "mail", { isError: true })
      )
    )
    assert.deepStrictEqual(tools, [
      {
        name: "mail",
        description: "",
        parameters: {
          type: "object",
          properties: {
            to: { type: "string" },
            priority: { type: "number" },
            tags: { type: "array", items: { type: "string" } },
            meta: {
              type: "object",
              properties: { a: { type: ["null", "string"] } },
              required: ["a"]
            },
            urgent: { type: "boolean" }
          },
          required: ["to", "priority", "tags", "meta"]
        }
      }
    ])
    assert.strictEqual(metadata.tools_source, "used")
  })

  it("does not use Pi's definition for another tool with the same name", () => {
    const { metadata, tools } = extract(chain(user("go"), ...once("edit", { path: "a", oldText: "b", newText: "c" })))
    assert.deepStrictEqual(tools[0]?.parameters["required"], ["path", "oldText", "newText"])
    assert.strictEqual(metadata.tools_source, "used")
  })

  it("uses Pi's definition although a call in an older form succeeded too", () => {
    const { tools } = extract(
      chain(
        user("go"),
        ...once("edit", { path: "a", oldText: "b", newText: "c" }),
        ...once("edit", { path: "a", edits: "[]" })
      )
    )
    assert.deepStrictEqual(tools, [builtin("edit")])
  })

  it("omits a tool that Pi did not find", () => {
    const { metadata, tools } = extract(
      chain(
        user("go"),
        assistant([call("a", "teleport", {})]),
        result("a", "Tool teleport not found", "teleport", { isError: true }),
        assistant([text("pity")])
      )
    )
    assert.deepStrictEqual(tools, [])
    assert.strictEqual(metadata.tools_source, "used")
  })

  it("uses only declared tools, even if others are called", () => {
    const declared = { name: "bash", description: "Mine", parameters: { type: "object", properties: {} } }
    const { metadata, tools } = extract(
      chain(
        message({ role: "system", content: "S", toolsAdded: [declared, { name: "bare" }], timestamp: 1 }),
        user("go"),
        ...once("bash", { command: "ls" }),
        ...once("read", { path: "a" })
      )
    )
    assert.deepStrictEqual(tools, [
      declared,
      { name: "bare", description: "", parameters: { type: "object", properties: {} } }
    ])
    assert.strictEqual(metadata.tools_source, "declared")
  })
})
