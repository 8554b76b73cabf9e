/** The rules by which messages become turns; see SessionTurns.ts. */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Session from "@pi-sessions/core/Session"
import { ExtractedSession } from "../src/ExtractedSession.ts"
import * as SessionTurns from "../src/SessionTurns.ts"
import {
  assistant,
  brief,
  call,
  chain,
  extract,
  file,
  header,
  image,
  linked,
  message,
  result,
  sample,
  text,
  user
} from "./support/sessions.ts"

/** A session of pi-rust with empty call ids. */
const PI_RUST = `{"type":"session","version":3,"id":"dd46c0ee-3ee4-4c5a-962e-2ccbbd69e7e2","timestamp":"2026-02-25T08:30:46.710Z","cwd":"/home/ubuntu/gt/deacon","provider":"Alibaba","modelId":"qwen3-coder-plus","thinkingLevel":"off"}
{"type":"model_change","id":"87517077","timestamp":"2026-02-25T08:30:46.720Z","provider":"Alibaba","modelId":"qwen3-coder-plus"}
{"type":"thinking_level_change","id":"f51247f9","parentId":"87517077","timestamp":"2026-02-25T08:30:46.730Z","thinkingLevel":"off"}
{"type":"message","id":"57f9d64c","parentId":"f51247f9","timestamp":"2026-02-25T08:30:46.757Z","message":{"role":"user","content":"[GAS TOWN] deacon <- daemon ...","timestamp":1772008246757}}
{"type":"message","id":"da68c815","parentId":"57f9d64c","timestamp":"2026-02-25T08:32:33.237Z","message":{"role":"assistant","content":[{"type":"text","text":"I'll start...\\n\\n"},{"type":"toolCall","id":"","name":"bash","arguments":{"command":"gt deacon heartbeat"}}],"api":"openai-completions","provider":"Alibaba","model":"qwen3-coder-plus","usage":{"input":3341,"output":41,"cacheRead":0,"cacheWrite":0,"totalTokens":3382,"cost":{"input":0.0,"output":0.0}},"stopReason":"toolUse","timestamp":1772008247946}}
{"type":"message","id":"b811789f","parentId":"da68c815","timestamp":"2026-02-25T08:32:33.237Z","message":{"role":"toolResult","toolCallId":"","toolName":"bash","content":[{"type":"text","text":"âœ“ Heartbeat updated\\n"}],"isError":false,"timestamp":1772008248841}}
`

describe("extract, ids and settings", () => {
  it("maps every field of a session of pi-rust", () => {
    const session = SessionTurns.extract(Session.readText(PI_RUST), {
      sourcePath: "/s/x.jsonl",
      role: { role: "deacon", roleSource: "cwd", town: "/home/ubuntu/gt", address: "deacon" }
    })
    assert.deepStrictEqual(session, {
      session_id: "dd46c0ee-3ee4-4c5a-962e-2ccbbd69e7e2",
      source_path: "/s/x.jsonl",
      cwd: "/home/ubuntu/gt/deacon",
      turns: [
        {
          role: "user",
          content: "[GAS TOWN] deacon <- daemon ...",
          tool_calls: [],
          tool_results: [],
          timestamp: "2026-02-25T08:30:46.757Z",
          uuid: "57f9d64c",
          metadata: {}
        },
        {
          role: "assistant",
          content: "I'll start...\n\n",
          tool_calls: [{ id: "call_1", name: "bash", arguments: { command: "gt deacon heartbeat" } }],
          tool_results: [],
          timestamp: "2026-02-25T08:32:33.237Z",
          uuid: "da68c815",
          metadata: {
            usage: {
              input: 3341,
              output: 41,
              cache_read: 0,
              cache_write: 0,
              total_tokens: 3382,
              cost: { input: 0, output: 0 }
            },
            provider: "Alibaba",
            model: "qwen3-coder-plus",
            api: "openai-completions",
            thinking_level: "off",
            stop_reason: "toolUse"
          }
        },
        {
          role: "user",
          content: "",
          tool_calls: [],
          tool_results: [
            { tool_call_id: "call_1", tool_name: "bash", content: "âœ“ Heartbeat updated\n", is_error: false }
          ],
          timestamp: "2026-02-25T08:32:33.237Z",
          uuid: "b811789f",
          metadata: { message_role: "toolResult" }
        }
      ],
      tools: session.tools,
      metadata: {
        role: "deacon",
        town: "/home/ubuntu/gt",
        address: "deacon",
        role_source: "cwd",
        provider: "Alibaba",
        model: "qwen3-coder-plus",
        thinking_level: "off",
        timestamp: "2026-02-25T08:30:46.710Z",
        version: 3,
        leaf_id: "b811789f",
        entries: { file: 5, branch: 5, context: 3 },
        hydrated: false,
        tools_source: "used",
        tool_errors: 0,
        dropped: {}
      }
    })
    assert.isTrue(Schema.is(ExtractedSession)(session))
  })

  it("takes provider, model and thinking level from the header if the branch has none", () => {
    const { metadata } = extract(
      file(header({ provider: "Alibaba", modelId: "qwen", thinkingLevel: "high" }), ...linked([user("hi")]))
    )
    assert.deepStrictEqual([metadata.provider, metadata.model, metadata.thinking_level], ["Alibaba", "qwen", "high"])
    const unsaid = extract(chain(user("hi"))).metadata
    assert.deepStrictEqual([unsaid.provider, unsaid.model, unsaid.thinking_level], [null, null, "off"])
  })

  it("matches calls without ids by order and tool name, and never reuses an id of the session", () => {
    const session = extract(
      chain(
        user("go"),
        assistant([call("", "bash"), call("", "read"), call("", "bash"), call("call_2", "ls")]),
        result("", "r", "read"),
        result("", "b1", "bash"),
        result("call_2", "l", "ls"),
        result("", "b2", "bash"),
        assistant([call("", "bash")]),
        result("", "b3", "bash"),
        assistant([text("done")])
      )
    )
    assert.deepStrictEqual(brief(session), [
      { role: "user", content: "go" },
      { role: "assistant", content: "", calls: ["call_1", "call_3", "call_4", "call_2"] },
      {
        role: "user",
        content: "",
        results: [
          ["call_3", "r"],
          ["call_1", "b1"],
          ["call_2", "l"],
          ["call_4", "b2"]
        ]
      },
      { role: "assistant", content: "", calls: ["call_5"] },
      { role: "user", content: "", results: [["call_5", "b3"]] },
      { role: "assistant", content: "done" }
    ])
    assert.deepStrictEqual(session.metadata.dropped, {})
  })

  it("gives the same ids each time", () => {
    const text = chain(user("go"), assistant([call(""), call("")]), result("", "1"), result("", "2"))
    assert.deepStrictEqual(extract(text), extract(text))
  })

  it("distinguishes two calls with the same id by order", () => {
    const session = extract(
      chain(user("go"), assistant([call("x"), call("x")]), result("x", "1"), result("x", "2"), result("x", "3"))
    )
    assert.deepStrictEqual(brief(session).slice(1), [
      { role: "assistant", content: "", calls: ["x", "call_1"] },
      {
        role: "user",
        content: "",
        results: [
          ["x", "1"],
          ["call_1", "2"]
        ]
      }
    ])
    assert.deepStrictEqual(session.metadata.dropped, { duplicate_tool_result: 1 })
  })
})

describe("extract, the context", () => {
  it("adds results to calls without one, as Pi does, if the conversation continues", () => {
    const session = extract(
      chain(user("go"), assistant([call("a"), call("b")]), result("a", "1"), user("next"), assistant([call("c")]))
    )
    assert.deepStrictEqual(brief(session), [
      { role: "user", content: "go" },
      { role: "assistant", content: "", calls: ["a", "b"] },
      {
        role: "user",
        content: "",
        results: [
          ["a", "1"],
          ["b", "No result provided"]
        ]
      },
      { role: "user", content: "next" },
      { role: "assistant", content: "", calls: ["c"] }
    ])
    assert.deepStrictEqual(session.turns[2]?.metadata, { message_role: "toolResult", unanswered: ["b"] })
    assert.strictEqual(session.turns[2]?.tool_results[1]?.is_error, true)
    assert.strictEqual(session.metadata.tool_errors, 1)
  })

  it("drops failed answers with their results, and results without a call", () => {
    const session = extract(
      chain(
        user("go"),
        assistant([text("half"), call("a")], { stopReason: "aborted" }),
        result("a", "1"),
        assistant([call("b")], { stopReason: "error" }),
        result("b", "2"),
        result("nobody", "3"),
        assistant([call("c")]),
        user("never mind"),
        result("c", "late"),
        assistant([text("ok")])
      )
    )
    assert.deepStrictEqual(brief(session), [
      { role: "user", content: "go" },
      { role: "assistant", content: "", calls: ["c"] },
      { role: "user", content: "", results: [["c", "No result provided"]] },
      { role: "user", content: "never mind" },
      { role: "assistant", content: "ok" }
    ])
    assert.deepStrictEqual(session.metadata.dropped, {
      aborted_turn: 1,
      aborted_turn_tool_result: 1,
      error_turn: 1,
      error_turn_tool_result: 1,
      orphan_tool_result: 2
    })
  })

  it("does not count a result for an earlier failed answer", () => {
    const session = extract(
      chain(
        user("go"),
        assistant([call("a")], { stopReason: "aborted" }),
        assistant([text("again")]),
        result("a", "1"),
        assistant([text("ok")])
      )
    )
    assert.deepStrictEqual(session.metadata.dropped, { aborted_turn: 1, orphan_tool_result: 1 })
  })

  it("uses only the active branch", () => {
    const session = extract(
      file(
        header(),
        ...linked([
          user("one"),
          assistant([text("first answer")]),
          { ...user("other way"), parentId: "e1" },
          assistant([text("second answer")])
        ])
      )
    )
    assert.deepStrictEqual(brief(session), [
      { role: "user", content: "one" },
      { role: "user", content: "other way" },
      { role: "assistant", content: "second answer" }
    ])
    assert.deepStrictEqual(session.metadata.dropped, { other_branch_message: 1 })
    assert.deepStrictEqual(session.metadata.entries, { file: 4, branch: 3, context: 3 })
    assert.strictEqual(session.metadata.leaf_id, "e4")
  })

  it("replaces compacted messages by the summary", () => {
    const session = extract(
      chain(
        user("old"),
        assistant([text("old answer")]),
        user("kept"),
        { type: "compaction", summary: "So far: old.", firstKeptEntryId: "e3", tokensBefore: 100 },
        assistant([text("answer")])
      )
    )
    assert.deepStrictEqual(brief(session), [
      {
        role: "user",
        content:
          "The conversation history before this point was compacted into the following summary:\n\n<summary>\nSo far: old.\n</summary>"
      },
      { role: "user", content: "kept" },
      { role: "assistant", content: "answer" }
    ])
    assert.deepStrictEqual(
      session.turns.map((turn) => turn.metadata.message_role),
      ["compactionSummary", undefined, undefined]
    )
    assert.deepStrictEqual(session.metadata.dropped, { compacted_message: 2 })
  })

  it("goes back before compactions at the end that leave no answer", () => {
    const compaction = (firstKeptEntryId: string) => ({
      type: "compaction",
      summary: "S",
      firstKeptEntryId,
      tokensBefore: 1
    })
    const lines = [user("one"), assistant([text("two")]), user("three")]
    const session = extract(
      chain(
        ...lines,
        compaction("e3"),
        compaction("e5"),
        user("unheard"),
        assistant([text("oops")], { stopReason: "error" })
      )
    )
    assert.deepStrictEqual(brief(session), brief(extract(chain(...lines))))
    assert.strictEqual(session.metadata.leaf_id, "e3")
    assert.deepStrictEqual(session.metadata.entries, { file: 7, branch: 3, context: 3 })
    assert.deepStrictEqual(session.metadata.dropped, { trailing_message: 2, unanswered_compaction: 2 })

    // If the compaction keeps an answer, or there is none at all, the context is Pi's.
    assert.strictEqual(extract(chain(...lines, compaction("e2"))).turns[0]?.metadata.message_role, "compactionSummary")
    const unanswered = extract(chain(user("one"), compaction("e1")))
    assert.deepStrictEqual(
      unanswered.turns.map((turn) => turn.metadata.message_role),
      ["compactionSummary", undefined]
    )
    assert.strictEqual(unanswered.metadata.leaf_id, "e2")
  })

  it("drops a result if a compaction dropped its call", () => {
    const session = extract(
      chain(
        user("old"),
        assistant([call("a")]),
        result("a", "1"),
        { type: "compaction", summary: "S", firstKeptEntryId: "e3", tokensBefore: 1 },
        user("go on"),
        assistant([text("ok")])
      )
    )
    assert.deepStrictEqual(session.metadata.dropped, { compacted_message: 2, orphan_tool_result: 1 })
    assert.deepStrictEqual(
      session.turns.map((turn) => turn.role),
      ["user", "user", "assistant"]
    )
  })

  it("writes branch summaries, custom messages and commands as user turns", () => {
    const session = extract(
      chain(
        { type: "custom_message", customType: "gastown-prime", content: "# Deacon Context", display: true },
        { type: "branch_summary", fromId: "root", summary: "Tried a." },
        message({ role: "bashExecution", command: "ls", output: "a.txt", exitCode: 1, timestamp: 1 }),
        message({ role: "bashExecution", command: "env", output: "x", excludeFromContext: true, timestamp: 1 }),
        message({ role: "somebody", content: "?" }),
        { type: "custom", customType: "state", data: { a: 1 } },
        assistant([text("ok")])
      )
    )
    assert.deepStrictEqual(brief(session), [
      { role: "user", content: "# Deacon Context" },
      {
        role: "user",
        content:
          "The following is a summary of a branch that this conversation came back from:\n\n<summary>\nTried a.</summary>"
      },
      { role: "user", content: "Ran `ls`\n```\na.txt\n```\n\nCommand exited with code 1" },
      { role: "assistant", content: "ok" }
    ])
    assert.deepStrictEqual(
      session.turns.map((turn) => turn.metadata.message_role),
      ["custom", "branchSummary", "bashExecution", undefined]
    )
    assert.strictEqual(session.turns[0]?.metadata.custom_type, "gastown-prime")
    assert.deepStrictEqual(session.metadata.dropped, { excluded_bash_execution: 1, unknown_message: 1 })
  })

  it("applies context edits", () => {
    const session = extract(
      chain(
        user("secret"),
        assistant([text("failed attempt")]),
        { type: "context_edit", targetId: "e1", replacement: { content: "public" } },
        { type: "context_edit", targetId: "e2", replacement: null },
        assistant([text("ok")])
      )
    )
    assert.deepStrictEqual(brief(session), [
      { role: "user", content: "public" },
      { role: "assistant", content: "ok" }
    ])
    assert.deepStrictEqual(session.metadata.dropped, { edited_out_message: 1 })
  })

  it("joins all system messages to one system turn, and takes their tools", () => {
    const tool = (name: string) => ({
      name,
      description: `The ${name}`,
      parameters: { type: "object", properties: {} }
    })
    const session = extract(
      chain(
        message({
          role: "system",
          content: "",
          sections: { preamble: "You are Pi.", rules: "Be kind." },
          toolsAdded: [tool("bash"), tool("read")],
          timestamp: 1
        }),
        user("hi"),
        message({ role: "system", content: "", sections: { rules: null }, toolsRemoved: [{ name: "read" }] }),
        assistant([text("hello")])
      )
    )
    assert.deepStrictEqual(brief(session), [
      { role: "system", content: "You are Pi." },
      { role: "user", content: "hi" },
      { role: "assistant", content: "hello" }
    ])
    assert.strictEqual(session.turns[0]?.uuid, "e1")
    assert.deepStrictEqual(session.tools, [tool("bash")])
    assert.strictEqual(session.metadata.tools_source, "declared")
    assert.strictEqual(extract(chain(user("hi"))).turns[0]?.role, "user")
  })

  it("keeps results with their call if a system message is between them", () => {
    const session = extract(
      chain(
        user("go"),
        assistant([call("a"), call("b")]),
        result("a", "1"),
        message({ role: "system", content: "Late.", timestamp: 1 }),
        result("b", "2"),
        assistant([text("ok")])
      )
    )
    assert.deepStrictEqual(
      session.turns.map((turn) => turn.role),
      ["system", "user", "assistant", "user", "assistant"]
    )
    assert.deepStrictEqual(session.metadata.dropped, {})
  })

  it("reads versions 1 and 2", () => {
    const v1 = extract(
      file(
        {
          type: "session",
          id: "old",
          timestamp: "2025-12-24T00:32:27.967Z",
          cwd: "/x",
          provider: "anthropic",
          modelId: "opus"
        },
        user("one"),
        assistant([text("two")]),
        {
          type: "compaction",
          timestamp: "2025-12-24T00:33:00.000Z",
          summary: "S",
          firstKeptEntryIndex: 2,
          tokensBefore: 1
        },
        user("three")
      )
    )
    assert.deepStrictEqual(
      brief(v1).map((turn) => turn.content.slice(-12)),
      ["S\n</summary>".slice(-12), "two", "three"]
    )
    assert.strictEqual(v1.metadata.version, 1)
    assert.deepStrictEqual(v1.metadata.dropped, { compacted_message: 1 })
    const v2 = extract(
      file(
        header({ version: 2 }),
        ...linked([message({ role: "hookMessage", customType: "note", content: "psst" }), assistant([text("ok")])])
      )
    )
    assert.deepStrictEqual(brief(v2), [
      { role: "user", content: "psst" },
      { role: "assistant", content: "ok" }
    ])
    assert.strictEqual(v2.turns[0]?.metadata.custom_type, "note")
  })
})

describe("extract, content", () => {
  it("replaces images by [image], in user texts and in results, and counts them", () => {
    const session = extract(
      chain(
        user([text("look"), image, text("there")]),
        assistant([call("a", "read")]),
        message({ role: "toolResult", toolCallId: "a", toolName: "read", content: [image, image], isError: false }),
        user([image]),
        assistant([text("nice")])
      )
    )
    assert.deepStrictEqual(brief(session), [
      { role: "user", content: "look\n[image]\nthere" },
      { role: "assistant", content: "", calls: ["a"] },
      { role: "user", content: "", results: [["a", "[image]\n[image]"]] },
      { role: "user", content: "[image]" },
      { role: "assistant", content: "nice" }
    ])
    assert.deepStrictEqual(session.metadata.dropped, { image: 4 })
    assert.notInclude(JSON.stringify(session), "aGVsbG8")
  })

  it("moves thinking to the metadata, and drops signatures and encrypted thinking", () => {
    const session = extract(
      chain(
        user("hi"),
        assistant([
          { type: "thinking", thinking: "First.", thinkingSignature: "c2ln" },
          { type: "thinking", thinking: "", thinkingSignature: "b3BhcXVl", redacted: true },
          { type: "text", text: "Hel", textSignature: "c2ln" },
          { type: "thinking", thinking: "Then." },
          { ...call("a"), thoughtSignature: "c2ln" },
          text("lo")
        ])
      )
    )
    assert.strictEqual(session.turns[1]?.content, "Hello")
    assert.strictEqual(session.turns[1]?.metadata.reasoning, "First.\nThen.")
    assert.deepStrictEqual(session.metadata.dropped, { redacted_thinking: 1 })
    assert.notInclude(JSON.stringify(session), "c2ln")
  })

  it("has the thinking level of each answer", () => {
    const session = extract(
      chain(
        { type: "thinking_level_change", thinkingLevel: "high" },
        user("a"),
        assistant([text("b")]),
        { type: "thinking_level_change", thinkingLevel: "low" },
        user("c"),
        assistant([text("d")]),
        assistant([text("e")], { thinkingLevel: "max" })
      )
    )
    assert.deepStrictEqual(
      session.turns.flatMap((turn) => turn.metadata.thinking_level ?? []),
      ["high", "low", "max"]
    )
    assert.strictEqual(session.metadata.thinking_level, "low")
  })

  it("keeps exactly the tokens and costs that Pi recorded", () => {
    const cost = { input: 1, output: 2, cacheRead: 3, cacheWrite: 4, total: 10, totalFromProvider: true }
    const usage = {
      input: 5,
      output: 6,
      cacheRead: 7,
      cacheWrite: 8,
      totalTokens: 26,
      reasoning: 9,
      cacheWrite1h: 1,
      cost
    }
    const session = extract(chain(user("hi"), assistant([text("a")], { usage }), assistant([text("b")], { usage: {} })))
    assert.deepStrictEqual(
      session.turns.map((turn) => turn.metadata.usage),
      [
        undefined,
        {
          input: 5,
          output: 6,
          cache_read: 7,
          cache_write: 8,
          reasoning: 9,
          total_tokens: 26,
          cost: { input: 1, output: 2, cache_read: 3, cache_write: 4, total: 10 }
        },
        {}
      ]
    )
  })

  it("removes lone surrogates from texts and arguments, as Pi does from texts", () => {
    const session = extract(
      chain(
        user("half \ud83d"),
        assistant([text("\udd23 half"), call("a", "bash", { "k\ud83d": ["\ud83d", { deep: "\ud83d\ude00" }] })]),
        result("a", "cut \ud83e")
      )
    )
    assert.deepStrictEqual(
      session.turns.map((turn) => turn.content),
      ["half ", " half", ""]
    )
    assert.deepStrictEqual(session.turns[1]?.tool_calls[0]?.arguments, {
      k: ["", { deep: "\ud83d\ude00" }]
    })
    assert.notMatch(JSON.stringify(session), /\\ud[89ab]/u)
  })

  it("converts invalid arguments to objects", () => {
    const session = extract(
      chain(
        user("go"),
        assistant([
          { type: "toolCall", id: "a", name: "bash", arguments: "{broken" },
          { ...call("b", "bash", {}), argumentsError: "no JSON" },
          { type: "toolCall", id: "c", name: "bash", arguments: JSON.parse('{"__proto__":{"x":1}}') },
          { type: "toolCall", id: "d" },
          { type: "surprise" }
        ])
      )
    )
    const calls = session.turns[1]?.tool_calls ?? []
    assert.deepStrictEqual(
      calls.map((made) => JSON.stringify(made.arguments)),
      ["{}", "{}", '{"__proto__":{"x":1}}']
    )
    assert.deepStrictEqual(session.metadata.dropped, { invalid_arguments: 2, unknown_block: 2 })
  })

  it("keeps arguments of up to 200 levels, and drops deeper ones", () => {
    const nested = (levels: number) => call("a", "bash", JSON.parse(`${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`))
    const takenOf = (levels: number) => {
      const whole = sample(
        // JSON.stringify cannot write it.
        chain(user("go"), assistant([text("@")]), result("a", "ok"), assistant([text("done")])).replace(
          JSON.stringify(text("@")),
          `{"type":"toolCall","id":"a","name":"bash","arguments":${'{"a":'.repeat(levels)}1${"}".repeat(levels)}}`
        )
      )
      return [
        Object.keys(whole.turns[1]?.tool_calls[0]?.arguments ?? {}),
        whole.metadata.dropped,
        whole.metadata.context,
        whole.metadata.targets
      ]
    }
    assert.deepStrictEqual(
      sample(chain(user("go"), assistant([nested(200)]), result("a", "ok"), assistant([text("done")]))).turns[1]
        ?.tool_calls[0]?.arguments,
      nested(200)["arguments"]
    )
    assert.deepStrictEqual(takenOf(200), [["a"], {}, "reduced", 2])
    for (const levels of [201, 1500, 3000, 100_000]) {
      assert.deepStrictEqual(takenOf(levels), [[], { invalid_arguments: 1 }, "reduced", 2], `${levels} levels`)
    }
  })

  it("drops empty turns", () => {
    const session = extract(
      chain(
        user([]),
        user(" \n"),
        assistant([text(" ")]),
        assistant([{ type: "thinking", thinking: "hm" }]),
        user("hi")
      )
    )
    assert.deepStrictEqual(brief(session), [{ role: "user", content: "hi" }])
    assert.deepStrictEqual(session.metadata.dropped, { empty_assistant_turn: 2, empty_user_turn: 2 })
  })

  it("has the hydration, the parent session and the session name", () => {
    const { metadata } = extract(
      file(
        header({ hydratedFrom: { threadId: "th_1", mode: "semantic" }, parentSession: "/old.jsonl" }),
        ...linked([user("hi"), { type: "session_info", name: " my session " }])
      )
    )
    assert.deepStrictEqual(
      [metadata.hydrated, metadata.parent_session, metadata.session_name],
      [true, "/old.jsonl", "my session"]
    )
  })

  it("accepts a session without entries", () => {
    const session = extract(file(header()))
    assert.deepStrictEqual([session.turns, session.tools, session.metadata.leaf_id], [[], [], null])
    assert.strictEqual(session.metadata.tools_source, "used")
  })
})
