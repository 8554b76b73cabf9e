import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { type JsonObject } from "@pi-sessions/core/Json"
import { MessagesFormat, type MessagesSample } from "../src/MessagesFormat.ts"
import { type TrainingSample } from "@pi-sessions/samples/TrainingSample"
import {
  assistant,
  call,
  chain,
  message,
  result,
  sample,
  samples,
  text,
  user
} from "@pi-sessions/samples/test/sessions"

const lineOf = (cut: TrainingSample) => {
  const projection = MessagesFormat.project(cut)
  if (projection._tag === "None") throw new Error(projection.reason)
  return projection.sample
}

const sampleOf = (text: string): MessagesSample => {
  const line = lineOf(sample(text))
  if (!("messages" in line)) throw new Error("a line with a prompt")
  return line
}

const whole = chain(
  message({ role: "system", content: "You are Pi.", timestamp: 1 }),
  user("go"),
  assistant([
    { type: "thinking", thinking: "Hm." },
    text("I look."),
    call("a", "bash", { command: "ls" }),
    call("b", "ls", {})
  ]),
  result("a", "x"),
  result("b", "y", "ls", { isError: true }),
  user("and?"),
  user("well?"),
  assistant([text("done")])
)

/** Why a changed sample is refused; undefined when it is not. */
const refusal = (change: (sample: { messages: Array<JsonObject>; tools: Array<JsonObject> }) => void) => {
  const sample = JSON.parse(JSON.stringify(sampleOf(whole)))
  change(sample)
  return Result.match(MessagesFormat.validate(JSON.stringify(sample)), {
    onFailure: (error) => error.message,
    onSuccess: () => undefined
  })
}

describe("MessagesFormat", () => {
  it("writes TRL's shape, arguments as objects", () => {
    const { messages, tools } = sampleOf(whole)
    assert.deepStrictEqual(messages, [
      { role: "system", content: "You are Pi." },
      { role: "user", content: "go" },
      {
        role: "assistant",
        content: "I look.",
        reasoning_content: "Hm.",
        tool_calls: [
          { id: "a", type: "function", function: { name: "bash", arguments: { command: "ls" } } },
          { id: "b", type: "function", function: { name: "ls", arguments: {} } }
        ]
      },
      { role: "tool", tool_call_id: "a", name: "bash", content: "x" },
      { role: "tool", tool_call_id: "b", name: "ls", content: "y" },
      { role: "user", content: "and?" },
      { role: "user", content: "well?" },
      { role: "assistant", content: "done" }
    ])
    assert.deepStrictEqual(
      tools.map((tool) => [tool.type, tool.function.name]),
      [
        ["function", "bash"],
        ["function", "ls"]
      ]
    )
  })

  it("gives every sample the same metadata keys", () => {
    const { metadata } = sampleOf(whole)
    assert.deepStrictEqual(metadata, {
      session_id: "s1",
      source_path: "/sessions/s1.jsonl",
      cwd: "/srv/project",
      timestamp: "2026-01-05T10:00:00.000Z",
      session_name: null,
      parent_session: null,
      leaf_id: "e8",
      role: "unknown",
      name: null,
      rig: null,
      town: null,
      role_source: "none",
      provider: "fake",
      model: "fake-1",
      thinking_level: "off",
      hydrated: false,
      sample: 0,
      start: "session",
      context: "reduced",
      targets: 2,
      context_answers: 0,
      harness: "pi",
      pi: "1.5",
      system_source: "session",
      tools_source: "used",
      tool_errors: 1,
      quality: [],
      dropped: []
    })
  })

  it("ends with the last answer, whose calls have no results", () => {
    const { messages } = sampleOf(
      chain(user("go"), assistant([call("a"), call("b")]), result("a", "x"), user("one"), user("two"))
    )
    assert.deepStrictEqual(
      messages.map(({ role }) => role),
      ["user", "assistant"]
    )
  })

  it("writes a sample with answers in its context as prompt and completion", () => {
    const compacted = samples(
      chain(
        user("a"),
        assistant([text("1")]),
        user("b"),
        assistant([call("c")]),
        result("c", "x"),
        { type: "compaction", summary: "s", firstKeptEntryId: "e4", tokensBefore: 10 },
        assistant([text("2")]),
        user("d"),
        assistant([text("3")])
      )
    ).map(lineOf)
    assert.deepStrictEqual(
      compacted.map((line) => Object.keys(line)),
      [
        ["messages", "tools", "metadata"],
        ["prompt", "completion", "tools", "metadata"]
      ]
    )
    const [, line] = compacted
    if (line === undefined || !("prompt" in line)) throw new Error("no prompt")
    assert.deepStrictEqual(
      [line.prompt.map(({ role }) => role), line.completion.map(({ content }) => content)],
      [
        ["user", "assistant", "tool"],
        ["2", "d", "3"]
      ]
    )
    const { context_answers, start, targets } = line.metadata
    assert.deepStrictEqual({ start, targets, context_answers }, { start: "compaction", targets: 2, context_answers: 1 })
    assert.deepStrictEqual(MessagesFormat.validate(JSON.stringify(line)), Result.succeed(line))
    const turned = JSON.stringify({ ...line, completion: line.completion.toReversed().slice(1) })
    assert.include(String(MessagesFormat.validate(turned)), "completion[0]")
  })

  it("accepts its own output, and rejects each violated rule", () => {
    assert.isUndefined(refusal(() => undefined))
    const refused: ReadonlyArray<
      readonly [(sample: { messages: Array<JsonObject>; tools: Array<JsonObject> }) => void, string]
    > = [
      [({ messages }) => void messages.pop(), "the last message is not the assistant's"],
      [({ messages }) => void messages.splice(0, 3), "messages[0]: a tool message without an open call"],
      [
        ({ messages }) => void messages.splice(4, 1),
        "messages[4]: the assistant message before it has a call without a result"
      ],
      [({ messages }) => void messages.push(messages[0]!, messages[7]!), "messages[8]: a system message"],
      [
        ({ messages }) => void (messages[3] = { ...messages[3], name: "read" }),
        "messages[3]: a tool message whose name"
      ],
      [
        ({ messages }) => void (messages[3] = { ...messages[3], tool_call_id: "b" }),
        "messages[3]: a tool message whose name"
      ],
      [
        ({ messages }) => void (messages[3] = { ...messages[3], tool_call_id: "z" }),
        "messages[3]: a tool message without an open call"
      ],
      [({ messages }) => void (messages[7] = { role: "assistant", content: "" }), "messages[7]: an assistant message"],
      [({ messages }) => void (messages[1] = { role: "user", content: null }), "messages[1].content: wrong shape"],
      [({ messages }) => void (messages[1] = { role: "user", content: "\ud83d" }), "a lone surrogate"],
      [({ messages }) => void (messages[1] = { role: "human", content: "" }), "wrong shape"],
      [({ tools }) => void tools.push(tools[0]!), "tools: two tools with one name"],
      [({ messages }) => void (messages.length = 0), "messages"]
    ]
    for (const [change, message] of refused) assert.include(refusal(change) ?? "accepted", message)
  })

  it("refuses arguments that are text, without quoting them", () => {
    const refused = refusal(({ messages }) => {
      const call = { id: "a", type: "function", function: { name: "bash", arguments: "sk-secret" } }
      messages[2] = { role: "assistant", content: "", tool_calls: [call] }
    })
    assert.include(refused ?? "", "messages[2].tool_calls[0].function.arguments")
    assert.notInclude(refused ?? "", "sk-secret")
    assert.isTrue(Result.isFailure(MessagesFormat.validate("{")))
  })

  it("accepts text that contains an escaped surrogate", () => {
    const line = JSON.stringify(sampleOf(chain(user("\\ud83d"), assistant([text("ok")]))))
    assert.isTrue(Result.isSuccess(MessagesFormat.validate(line)))
  })
})
