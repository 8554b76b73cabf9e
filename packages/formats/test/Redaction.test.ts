/** Redaction of samples: no planted secret is left in any string, and the sample stays valid in a format. */
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import * as SeededRandom from "@pi-sessions/testing/SeededRandom"
import { MessagesFormat } from "../src/MessagesFormat.ts"
import { Placeholders } from "@pi-sessions/redaction/Placeholders"
import * as Redaction from "@pi-sessions/redaction/Redactor"
import * as SampleRedaction from "@pi-sessions/samples/SampleRedaction"
import { ToolDefinition } from "@pi-sessions/samples/ToolDefinition"
import { TrainingSample } from "@pi-sessions/samples/TrainingSample"
import { ToolCall, ToolResult, Turn, TurnMetadata } from "@pi-sessions/samples/Turn"
import { KINDS, PREFIXED } from "@pi-sessions/redaction/test/plantedSecrets"

const redactor = new Redaction.Redactor({ placeholders: new Placeholders("a key of this test") })

const IMAGE = `images/${"0a".repeat(16)}.png`

/** A sample with every member that samples can have. */
const sample = (): TrainingSample => ({
  session_id: "0197a0de-3c5e-7a63-9f3a-0c6f5b3d2e11",
  source_path: "/srv/sessions/a.jsonl",
  cwd: "/srv/project",
  first_target: 2,
  turns: [
    turn("system", { content: "You help." }),
    turn("user", { content: "Look.", images: [IMAGE], metadata: { message_role: "custom", custom_type: "note" } }),
    turn("assistant", {
      content: "Reading.",
      tool_calls: [
        {
          id: "call_1",
          name: "bash",
          arguments: { command: "ls", options: { list: ["a", { deep: "b", count: 3 }], "a key": null } }
        }
      ],
      metadata: {
        provider: "anthropic",
        model: "a model",
        api: "messages",
        thinking_level: "high",
        stop_reason: "toolUse",
        reasoning: "Let me see.",
        usage: { input: 3, output: 4 }
      }
    }),
    turn("user", {
      content: "",
      tool_results: [{ tool_call_id: "call_1", tool_name: "bash", content: "a.txt", images: [IMAGE], is_error: false }],
      metadata: { message_role: "toolResult", unanswered: ["call_1"] }
    }),
    turn("assistant", { content: "Done." })
  ],
  rejected: turn("assistant", { content: "No." }),
  tools: [
    {
      name: "bash",
      description: "Runs a command.",
      parameters: { type: "object", properties: { command: { type: "string", description: "What to run" } } }
    }
  ],
  metadata: {
    role: "crew",
    name: "max",
    rig: "gastown",
    town: "/srv/gt",
    address: "gastown/crew/max",
    role_source: "cwd",
    role_conflict: { cwd: "crew", beacon: "mayor" },
    provider: "anthropic",
    model: "a model",
    thinking_level: "high",
    timestamp: "2026-01-05T10:00:00.000Z",
    session_name: "a name",
    parent_session: "/srv/sessions/b.jsonl",
    version: 3,
    leaf_id: "a1b2c3d4",
    entries: { file: 5, branch: 5, context: 5 },
    hydrated: false,
    tools_source: "used",
    tool_errors: 0,
    dropped: { image: 1 },
    sample: 0,
    start: "session",
    active: true,
    context: "exact",
    targets: 2,
    context_answers: 0,
    pi: "0.78",
    system_source: "session",
    harness: "pi",
    quality: ["committed"]
  }
})

const turn = (role: Turn["role"], members: Partial<Turn>): Turn => ({
  role,
  content: "",
  tool_calls: [],
  tool_results: [],
  timestamp: "2026-01-05T10:00:00.000Z",
  uuid: "0a1b2c3d",
  metadata: {},
  ...members
})

/** Members with fixed values, which contain no text of sessions. */
const FIXED = new Set([
  "role",
  "role_source",
  "role_conflict",
  "tools_source",
  "start",
  "context",
  "pi",
  "system_source"
])
const isFixed = (path: ReadonlyArray<string>): boolean =>
  path.some((part) => part === "role_conflict" || part === "dropped" || part === "quality") ||
  (FIXED.has(path.at(-1) ?? "") && !path.includes("arguments") && !path.includes("parameters"))

/** The paths of all strings, and of keys of arguments and schemas (these paths end in `key`). */
const places = (value: unknown, path: ReadonlyArray<string> = []): ReadonlyArray<ReadonlyArray<string>> => {
  if (typeof value === "string") return isFixed(path) ? [] : [path]
  if (typeof value !== "object" || value === null) return []
  const isFree = path.includes("arguments") || path.includes("parameters")
  return Object.entries(value).flatMap(([key, member]) => [
    ...(isFree && !Array.isArray(value) ? [[...path, key, "key"]] : []),
    ...places(member, [...path, key])
  ])
}

/** Adds a text to one of the strings or keys of a value. */
const put = (value: unknown, [key, ...rest]: ReadonlyArray<string>, text: string): unknown => {
  if (key === undefined) return `${String(value)} ${text}`
  if (Array.isArray(value)) return value.map((item, index) => (String(index) === key ? put(item, rest, text) : item))
  return Object.fromEntries(
    Object.entries(value ?? {}).map(([name, member]) => {
      if (name !== key) return [name, member]
      return rest.length === 1 && rest[0] === "key" && !isString(member) ? [text, member] : at(name, member, rest, text)
    })
  )
}

const isString = (value: unknown): boolean => typeof value === "string"
const at = (name: string, member: unknown, rest: ReadonlyArray<string>, text: string): readonly [string, unknown] =>
  rest[0] === "key" ? [`${name} ${text}`, member] : [name, put(member, rest, text)]

const decode = Schema.decodeUnknownSync(TrainingSample)

/** Paths of ids and names that must be equal. */
const TWINS: { readonly [path: string]: string } = {
  "turns.2.tool_calls.0.id": "turns.3.tool_results.0.tool_call_id",
  "turns.3.tool_results.0.tool_call_id": "turns.2.tool_calls.0.id",
  "turns.2.tool_calls.0.name": "turns.3.tool_results.0.tool_name",
  "turns.3.tool_results.0.tool_name": "turns.2.tool_calls.0.name"
}

const planted = (path: ReadonlyArray<string>, text: string): TrainingSample => {
  const twin = TWINS[path.join(".")]
  const once = put(sample(), path, text)
  return decode(twin === undefined ? once : put(once, twin.split("."), text))
}

const line = (of: TrainingSample): string => {
  const projection = MessagesFormat.project(of)
  return projection._tag === "Sample" ? JSON.stringify(projection.sample) : ""
}

describe("a sample", () => {
  it("of this test has every member that a sample can have", () => {
    const { metadata, tools, turns } = sample()
    const has = (fields: object, objects: ReadonlyArray<object>) => {
      const keys = new Set(objects.flatMap((object) => Object.keys(object)))
      assert.deepStrictEqual(
        Object.keys(fields).filter((key) => !keys.has(key)),
        []
      )
    }
    has(TrainingSample.fields, [sample()])
    has(TrainingSample.fields.metadata.fields, [metadata])
    has(ToolDefinition.fields, tools)
    has(Turn.fields, turns)
    has(
      TurnMetadata.fields,
      turns.map((turn) => turn.metadata)
    )
    has(
      ToolCall.fields,
      turns.flatMap((turn) => turn.tool_calls)
    )
    has(
      ToolResult.fields,
      turns.flatMap((turn) => turn.tool_results)
    )
  })

  it("without secrets does not change, except for directories", () => {
    const { counts, sample: after } = SampleRedaction.redact(sample(), redactor)
    const { metadata } = sample()
    assert.deepStrictEqual(after, {
      ...sample(),
      source_path: "a.jsonl",
      metadata: { ...metadata, parent_session: "b.jsonl" }
    })
    assert.deepStrictEqual(counts, {})
  })

  it("has no planted secret in any string, and is valid", () => {
    const paths = places(sample())
    assert.isAtLeast(paths.length, 50)
    for (const [index, path] of paths.entries()) {
      let seed = index
      for (const kind of Object.keys(PREFIXED)) {
        const { secret, text } = KINDS.get(kind)?.(SeededRandom.make(++seed)) ?? { secret: "", text: "" }
        const before = planted(path, text)
        assert.include(JSON.stringify(before), secret)
        const { counts, sample: after } = SampleRedaction.redact(before, redactor)
        const name = `${kind} in ${path.join(".")}`
        assert.notInclude(JSON.stringify(after), secret, name)
        assert.notInclude(JSON.stringify(counts), secret, name)
        assert.isAtLeast(Object.values(counts).length, 1, name)
        const checked = MessagesFormat.validate(line(after))
        assert.isTrue(Result.isSuccess(checked), `${name}: ${Result.isFailure(checked) ? checked.failure.message : ""}`)
      }
    }
  })

  it("has no secret of any kind in its texts", () => {
    const texts = [
      "turns.1.content",
      "turns.2.metadata.reasoning",
      "turns.2.tool_calls.0.arguments.command",
      "turns.2.tool_calls.0.arguments.options.list.1.deep",
      "turns.3.tool_results.0.content",
      "tools.0.parameters.properties.command.description",
      "metadata.session_name"
    ]
    for (const [kind, make] of KINDS) {
      const { secret, text } = make(SeededRandom.make(7))
      const json = JSON.stringify(secret).slice(1, -1)
      for (const path of texts) {
        const { sample: after } = SampleRedaction.redact(planted(path.split("."), text), redactor)
        assert.notInclude(JSON.stringify(after), json, `${kind} in ${path}`)
      }
    }
  })

  it("keeps calls paired with results if their ids are redacted", () => {
    const path = "turns.2.tool_calls.0.id".split(".")
    const { text } = KINDS.get("github-pat")?.(SeededRandom.make(1)) ?? { text: "" }
    const { sample: after } = SampleRedaction.redact(planted(path, text), redactor)
    const id = after.turns[2]?.tool_calls[0]?.id
    assert.strictEqual(id, after.turns[3]?.tool_results[0]?.tool_call_id)
    assert.match(id ?? "", /^call_1 \[REDACTED:github-pat:\d+\]$/u)
  })

  it("has no home directory, user name and e-mail address", () => {
    const home = "/home/annabel"
    const before = planted(
      ["turns", "1", "content"],
      "mail annabel@acme.dev, drwx 2 annabel staff, ~annabel, github.com/annabel"
    )
    const { counts, sample: after } = SampleRedaction.redact(
      {
        ...before,
        cwd: `${home}/project`,
        source_path: `${home}/.pi/agent/sessions/--home-annabel-project--/a.jsonl`,
        metadata: { ...before.metadata, parent_session: `${home}/b.jsonl` }
      },
      redactor
    )
    assert.notInclude(JSON.stringify(after), "annabel")
    assert.match(after.cwd, /^\/home\/user-\d{6}\/project$/u)
    assert.strictEqual(after.source_path, "a.jsonl")
    assert.deepStrictEqual(Object.keys(counts), ["email", "home-directory", "user-name"])
  })
})
