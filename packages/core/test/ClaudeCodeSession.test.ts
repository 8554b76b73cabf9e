/**
 * Transcripts of Claude Code as sessions, rule by rule. packages/extract, ClaudeCodeSamples.test.ts, tests that whole
 * conversations give the messages that the model was sent.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as PiModule from "@pi-sessions/testing/pi/PiModule"
import { temporaryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as ClaudeCodeSession from "../src/ClaudeCodeSession.ts"
import * as HarnessMessage from "../src/claudeCode/HarnessMessage.ts"
import { type JsonObject, objectAt } from "../src/Json.ts"
import * as ModelContext from "../src/ModelContext.ts"
import * as Session from "../src/Session.ts"
import * as SessionContext from "../src/SessionContext.ts"
import { plain, same } from "./support/walks.ts"

const FIXTURES = Path.resolve(import.meta.dirname, "../../../fixtures/claude-code")
const SHOP = Path.join(FIXTURES, "-srv-shop/6f1c2a90-5b1d-4c57-9a35-0d2f8c11aa01")
const MAX = Path.join(FIXTURES, "-home-ubuntu-gt-gastown-crew-max/0b8e77d4-91c4-4f0e-8a6b-3c5d1e2f4a02")

const fromText = (text: string) => ClaudeCodeSession.fromLines(Session.readText(text).lines)
const read = (path: string): Session.Session => sessionOf(Fs.readFileSync(`${path}.jsonl`, "utf8"))
const sessionOf = (text: string): Session.Session => {
  const session = fromText(text)
  if (session === undefined) throw new Error("no transcript")
  return session
}

/** Lines; each one's parent is the line before it unless given. */
const transcript = (...lines: ReadonlyArray<JsonObject>): string => {
  let parentUuid: string | null = null
  return lines
    .map((line, at) => {
      const whole = {
        parentUuid,
        isSidechain: false,
        sessionId: "s1",
        cwd: "/srv/shop",
        uuid: `u${at + 1}`,
        timestamp: `2026-03-02T09:00:${String(at).padStart(2, "0")}.000Z`,
        ...line
      }
      parentUuid = whole.uuid
      return `${JSON.stringify(whole)}\n`
    })
    .join("")
}

const user = (content: JsonObject["content"], more: JsonObject = {}): JsonObject => ({
  type: "user",
  message: { role: "user", content },
  ...more
})

const answer = (id: string, content: ReadonlyArray<JsonObject>, more: JsonObject = {}): JsonObject => ({
  type: "assistant",
  message: { role: "assistant", id, model: "claude-opus-4-5", content, stop_reason: null, usage: {}, ...more }
})

const text = (text: string): JsonObject => ({ type: "text", text })
const use = (id: string, name = "Bash"): JsonObject => ({ type: "tool_use", id, name, input: {} })
const result = (id: string, content: JsonObject["content"] = "ok"): JsonObject =>
  user([{ type: "tool_result", tool_use_id: id, content }])

/** The active context: roles, and texts or names of calls. */
const context = (session: Session.Session) =>
  SessionContext.build(session.tree, "1.5").messages.map((message) => {
    const blocks = Array.isArray(message["content"]) ? message["content"] : []
    const calls = blocks.flatMap((block: JsonObject) => (block["type"] === "toolCall" ? [block["id"]] : []))
    return [message["role"], ModelContext.contentText(message["content"]), ...calls]
  })

const messagesOf = (session: Session.Session) =>
  session.tree.getEntries().map((entry) => objectAt(entry.decode(), "message"))

describe("a transcript", () => {
  it("is recognized by its lines, unlike any session of Pi", () => {
    const isOne = (text: string) => Session.readText(text).lines.some(ClaudeCodeSession.isTranscriptLine)
    assert.isTrue(isOne(transcript(user("hi"))))
    for (const path of [`${SHOP}.jsonl`, `${MAX}.jsonl`]) assert.isTrue(isOne(Fs.readFileSync(path, "utf8")))
    for (const folder of ["sessions/gt", "sessions/project", "damaged", "unsound", "threads"]) {
      const path = Path.join(FIXTURES, "..", folder)
      for (const name of Fs.readdirSync(path)) {
        assert.isFalse(isOne(Fs.readFileSync(Path.join(path, name), "utf8")), name)
      }
    }
    assert.isUndefined(fromText('{"type":"summary","summary":"x","leafUuid":"u1"}\n'))
    assert.isUndefined(fromText(transcript({ type: "system", subtype: "informational" })))
    assert.isUndefined(fromText(""))
  })

  it("has a header with id, directory, time and the program's name", () => {
    assert.deepStrictEqual(read(SHOP).header?.decode(), {
      type: "session",
      version: 3,
      id: "6f1c2a90-5b1d-4c57-9a35-0d2f8c11aa01",
      timestamp: "2026-03-02T09:00:07.259Z",
      cwd: "/srv/shop",
      thinkingLevel: "unknown",
      harness: "claude-code"
    })
    assert.deepStrictEqual(read(SHOP).diagnostics, [])
  })

  it("has the user's title, else the program's, never another session's", () => {
    const title = (type: string, more: JsonObject) => `${JSON.stringify({ type, sessionId: "s1", ...more })}\n`
    const own = title("summary", { summary: "own", leafUuid: "u1" })
    const other = title("summary", { summary: "other", leafUuid: "u9" })
    const byProgram = title("ai-title", { aiTitle: "program" })
    const byPerson = title("custom-title", { customTitle: "person" })
    assert.strictEqual(sessionOf(own + transcript(user("hi"))).tree.name(), "own")
    const name = (more: string) => sessionOf(transcript(user("hi")) + more).tree.name()
    assert.deepStrictEqual([name(other), name(own + other)], [undefined, "own"])
    assert.deepStrictEqual([name(byProgram + own), name(byPerson + byProgram)], ["program", "person"])
    assert.strictEqual(read(MAX).tree.name(), "The parser mended")
  })
})

describe("an answer", () => {
  it("on several lines is one message, with any lines between them", () => {
    const session = sessionOf(
      transcript(
        user("go"),
        answer("m1", [{ type: "thinking", thinking: "hm", signature: "x" }]),
        answer("m1", [text("I look")]),
        answer("m1", [use("a")]),
        { ...result("a", "one"), uuid: "r1" },
        { type: "system", subtype: "local_command", content: "/color" },
        answer("m1", [use("b", "Read")], { stop_reason: "tool_use", usage: { input_tokens: 5, output_tokens: 7 } }),
        result("b", [text("two")]),
        answer("m2", [text("done")], { stop_reason: "end_turn" })
      )
    )
    assert.deepStrictEqual(context(session), [
      ["user", "go"],
      ["assistant", "I look", "a", "b"],
      ["toolResult", "one"],
      ["toolResult", "two"],
      ["assistant", "done"]
    ])
    const [, first, one, two] = messagesOf(session)
    assert.deepStrictEqual(first?.["usage"], { input: 5, output: 7, cacheRead: 0, cacheWrite: 0, totalTokens: 12 })
    assert.strictEqual(first?.["stopReason"], "toolUse")
    assert.deepStrictEqual([one?.["toolName"], two?.["toolName"]], ["Bash", "Read"])
  })

  it("keeps parallel calls and their results together, whose lines form branches", () => {
    const lines = [
      { ...user("go"), uuid: "q" },
      { ...answer("m1", [use("a")]), uuid: "c1" },
      { ...answer("m1", [use("b")]), uuid: "c2", parentUuid: "c1" },
      { ...result("b", "two"), uuid: "r2", parentUuid: "c2" },
      { ...result("a", "one"), uuid: "r1", parentUuid: "c1" },
      { ...answer("m2", [text("done")]), uuid: "f", parentUuid: "r2" }
    ]
    const session = sessionOf(transcript(...lines))
    assert.deepStrictEqual(context(session), [
      ["user", "go"],
      ["assistant", "", "a", "b"],
      ["toolResult", "two"],
      ["toolResult", "one"],
      ["assistant", "done"]
    ])
    assert.strictEqual(session.tree.leaves().length, 1)
  })

  it("has its results after it where their parents are missing", () => {
    const session = sessionOf(
      transcript(
        user("go"),
        answer("m1", [use("a")]),
        { ...result("a"), parentUuid: "lost" },
        answer("m2", [text("yes")])
      )
    )
    assert.deepStrictEqual(session.diagnostics, [])
    assert.strictEqual(context(session).length, 4)
  })

  it("that was interrupted is aborted, and one with a stop reason is not", () => {
    const mark = user([text("[Request interrupted by user]")])
    const stopOf = (...lines: ReadonlyArray<JsonObject>) =>
      messagesOf(sessionOf(transcript(user("go"), ...lines)))[1]?.["stopReason"]
    assert.strictEqual(stopOf(answer("m1", [text("I be")]), mark), "aborted")
    assert.strictEqual(
      stopOf(answer("m1", [text("I be")]), { type: "attachment", attachment: { type: "x" } }, mark),
      "aborted"
    )
    assert.strictEqual(stopOf(answer("m1", [text("I am done")], { stop_reason: "end_turn" }), mark), "stop")
    assert.strictEqual(stopOf(answer("m1", [use("a")]), result("a"), mark), undefined)
    assert.strictEqual(stopOf(answer("m1", [text("I be")]), user("go on")), undefined)
  })

  it("of the program itself is an error or omitted", () => {
    const failed = { ...answer("e", [text("API Error: 529")], { model: "<synthetic>" }), isApiErrorMessage: true }
    const made = answer("n", [text("No response requested.")], { model: "<synthetic>" })
    const session = sessionOf(
      transcript(user("go"), failed, user("again"), made, user("and?"), answer("m1", [text("yes")]))
    )
    assert.deepStrictEqual(
      messagesOf(session).flatMap((message) =>
        message === undefined ? [] : [[message["role"], message["stopReason"] ?? null]]
      ),
      [
        ["user", null],
        ["assistant", "error"],
        ["user", null],
        ["user", null],
        ["assistant", null]
      ]
    )
  })

  it("keeps the type of blocks that Pi does not know", () => {
    const session = sessionOf(
      transcript(
        user([text("see"), { type: "document", source: { type: "base64", data: "JVBERi0=" } }]),
        answer("m1", [
          { type: "redacted_thinking", data: "c2VjcmV0" },
          { type: "server_tool_use", id: "x", name: "advisor", input: {} },
          { type: "tool_use", id: "a", name: "Bash", input: "no object" }
        ])
      )
    )
    const [asked, said] = messagesOf(session)
    assert.deepStrictEqual(asked?.["content"], [text("see"), { type: "document" }])
    assert.deepStrictEqual(said?.["content"], [
      { type: "thinking", thinking: "", redacted: true, thinkingSignature: "c2VjcmV0" },
      { type: "server_tool_use" },
      { type: "toolCall", id: "a", name: "Bash", arguments: {}, argumentsError: "no object" }
    ])
  })
})

describe("a message in the user's place", () => {
  const typeOf = (content: JsonObject["content"], more: JsonObject = {}) =>
    sessionOf(transcript(user(content, more)))
      .tree.getEntries()[0]
      ?.decode()["customType"]

  it("has a custom type, unlike the user's messages", () => {
    assert.strictEqual(typeOf("hello"), undefined)
    assert.strictEqual(typeOf("hello", { isMeta: true }), HarnessMessage.META_TYPE)
    assert.strictEqual(
      typeOf("summary", { isCompactSummary: true, isVisibleInTranscriptOnly: true }),
      HarnessMessage.SUMMARY_TYPE
    )
    assert.strictEqual(typeOf("<command-name>/clear</command-name>"), HarnessMessage.COMMAND_TYPE)
    assert.strictEqual(typeOf("<local-command-stdout>x</local-command-stdout>"), HarnessMessage.COMMAND_TYPE)
    assert.strictEqual(typeOf("[Request interrupted by user for tool use]"), HarnessMessage.INTERRUPTION_TYPE)
    assert.strictEqual(typeOf("done", { origin: { kind: "task-notification" } }), HarnessMessage.NOTIFICATION_TYPE)
    assert.strictEqual(typeOf("done", { origin: { kind: "human" } }), undefined)
    assert.strictEqual(typeOf("why does it say [Request interrupted by user]"), undefined)
  })

  it("is omitted when it is only displayed", () => {
    const session = sessionOf(transcript(user("go"), user("shown", { isVisibleInTranscriptOnly: true }), user("on")))
    assert.deepStrictEqual(context(session), [
      ["user", "go"],
      ["user", "on"]
    ])
  })

  it("may be a marker and the user's text on one line: two messages", () => {
    const both = user([text("[Request interrupted by user]"), text("stop, keep the name")])
    const session = sessionOf(transcript(user("go"), answer("m1", [text("I re")]), both, answer("m2", [text("kept")])))
    assert.deepStrictEqual(context(session), [
      ["user", "go"],
      ["assistant", "I re"],
      ["custom", "[Request interrupted by user]"],
      ["user", "stop, keep the name"],
      ["assistant", "kept"]
    ])
    assert.strictEqual(messagesOf(session)[1]?.["stopReason"], "aborted")
  })

  it("may be an attachment: text that the user typed while the agent worked", () => {
    const queued = (attachment: JsonObject) => ({
      type: "attachment",
      attachment: { type: "queued_command", ...attachment }
    })
    const session = sessionOf(
      transcript(
        user("go"),
        queued({ prompt: "and commit", commandMode: "prompt", origin: { kind: "human" } }),
        queued({ prompt: "<task-notification>done</task-notification>", commandMode: "task-notification" }),
        { type: "attachment", attachment: { type: "todo_reminder" } },
        answer("m1", [text("yes")])
      )
    )
    assert.deepStrictEqual(
      context(session).map(([role, said]) => [role, said]),
      [
        ["user", "go"],
        ["user", "and commit"],
        ["custom", "<task-notification>done</task-notification>"],
        ["assistant", "yes"]
      ]
    )
  })
})

describe("the output of a hook", () => {
  const hook = (attachment: JsonObject) => {
    const [, entry] = sessionOf(transcript(user("go"), { type: "attachment", attachment })).tree.getEntries()
    const { content, customType, type } = entry?.decode() ?? {}
    return [type, customType, ModelContext.contentText(content)]
  }

  it("is a message where its text is in the transcript; `gt prime` has Gas Town's type", () => {
    const context = { type: "hook_additional_context", content: ["one", "two"], hookEvent: "PostToolUse" }
    assert.deepStrictEqual(hook(context), ["custom_message", HarnessMessage.HOOK_TYPE, "one\ntwo"])
    const start = { type: "hook_success", hookEvent: "SessionStart", content: "# Crew", command: "remind" }
    assert.deepStrictEqual(hook(start), ["custom_message", HarnessMessage.HOOK_TYPE, "# Crew"])
    const prime = { ...start, command: "export PATH=x && gt prime --hook" }
    assert.deepStrictEqual(hook(prime), ["custom_message", "gastown-prime", "# Crew"])
    for (const silent of [{ ...start, content: "" }, { ...start, hookEvent: "PreToolUse" }, { type: "hook_success" }]) {
      assert.deepStrictEqual(hook(silent), ["custom", HarnessMessage.ATTACHMENT_TYPE, ""])
    }
  })
})

describe("a compaction", () => {
  const boundary = (more: JsonObject = {}): JsonObject => ({
    type: "system",
    subtype: "compact_boundary",
    parentUuid: null,
    logicalParentUuid: "u2",
    ...more
  })
  const summary = user("So far: hello", { isCompactSummary: true, isVisibleInTranscriptOnly: true })
  const compacted = (more: JsonObject = {}) =>
    sessionOf(transcript(user("hello"), answer("m1", [text("hi")]), boundary(more), summary, user("go on")))

  it("removes the entries before it from the context, and does not change the summary", () => {
    const expected = [
      ["custom", "So far: hello"],
      ["user", "go on"]
    ]
    assert.deepStrictEqual(context(compacted()), expected)
    assert.deepStrictEqual(context(compacted({ logicalParentUuid: "never-written" })), expected)
    assert.deepStrictEqual(context(compacted({ logicalParentUuid: null })), expected)
    assert.strictEqual(compacted().tree.getBranch()[0]?.id, "u1")
  })

  it("keeps in the context what its metadata lists", () => {
    const expected = [
      ["assistant", "hi"],
      ["custom", "So far: hello"],
      ["user", "go on"]
    ]
    const named = compacted({ compactMetadata: { preservedMessages: { uuids: ["u2", "u9"] } } })
    assert.deepStrictEqual(context(named), expected)
    const segment = { headUuid: "u2", anchorUuid: "u4", tailUuid: "u2" }
    assert.deepStrictEqual(context(compacted({ compactMetadata: { preservedSegment: segment } })), expected)
    const unknown = { headUuid: "x", anchorUuid: "u4", tailUuid: "y" }
    assert.strictEqual(context(compacted({ compactMetadata: { preservedSegment: unknown } })).length, 2)
  })

  it("may be the second one, or the first line", () => {
    const twice = sessionOf(
      transcript(user("a"), boundary({ logicalParentUuid: "u1" }), summary, boundary({ logicalParentUuid: "u3" }), {
        ...summary,
        uuid: "z"
      })
    )
    assert.deepStrictEqual(context(twice), [["custom", "So far: hello"]])
    const edits = twice.tree.getEntries().filter(({ type }) => type === "context_edit")
    assert.deepStrictEqual(
      edits.map((entry) => entry.decode()["targetId"]),
      ["u1", "u3"]
    )
    assert.deepStrictEqual(context(sessionOf(transcript(boundary(), summary))), [["custom", "So far: hello"]])
  })
})

describe("branches", () => {
  it("are edited requests, and sub-agents, whose context lacks their caller's", () => {
    const session = sessionOf(
      transcript(
        user("go"),
        answer("m1", [use("t", "Task")]),
        { ...user("look for it"), isSidechain: true, parentUuid: "u2" },
        { ...answer("s1", [text("found")]), isSidechain: true },
        { ...result("t", "found"), parentUuid: "u2" },
        answer("m2", [text("there")]),
        user("thanks"),
        { ...user("and that?"), parentUuid: "u6" },
        { ...answer("s2", [text("late")]), isSidechain: true, parentUuid: "u4" }
      )
    )
    assert.deepStrictEqual(context(session).at(-1), ["user", "and that?"])
    const ends = session.tree.leaves().map(({ id }) => {
      const branch = session.tree.getBranch(id ?? "").filter(({ type }) => type === "message")
      return branch.map(({ id }) => id).join(" ")
    })
    assert.sameMembers(ends, ["u1 u2 u5 u6 u7", "u1 u2 u5 u6 u8", "u3 u4 u9"])
  })

  it("of a sub-agent alone are a session whose parent is the caller's", () => {
    const session = read(Path.join(SHOP, "subagents/agent-ab12cd34"))
    const { id, parentSession } = session.header?.decode() ?? {}
    assert.strictEqual(id, "6f1c2a90-5b1d-4c57-9a35-0d2f8c11aa01.agent-ab12cd34")
    assert.strictEqual(parentSession, "6f1c2a90-5b1d-4c57-9a35-0d2f8c11aa01.jsonl")
    assert.deepStrictEqual(context(session).at(-1), ["assistant", "Only src/order.ts, line 4."])
  })

  it("of a forked session have the other session as parent", () => {
    const forkedFrom = { sessionId: "s0", messageUuid: "x" }
    const session = sessionOf(transcript(user("go", { forkedFrom })))
    assert.strictEqual(session.header?.decode()["parentSession"], "s0.jsonl")
  })
})

describe("damage", () => {
  it("is reported by the reader: damaged lines, unknown parents, cycles", () => {
    const whole = transcript(user("go"), answer("m1", [text("yes")]))
    const codes = (text: string) => sessionOf(text).diagnostics.map(({ code }) => code)
    assert.deepStrictEqual(codes(whole), [])
    assert.deepStrictEqual(codes(`${whole}{"type":"user","uuid":"u3","mess\n`), ["malformed-line"])
    assert.deepStrictEqual(codes(transcript(user("go", { parentUuid: "unknown" }))), ["unknown-parent"])
    assert.deepStrictEqual(codes(transcript(user("go", { parentUuid: "u2" }), user("on"))), ["cycle"])
    const noise = { type: "progress", uuid: "p", parentUuid: "p" }
    assert.deepStrictEqual(codes(transcript(noise, user("go"))), [])
  })

  it("reads nothing of the lines around it", () => {
    const [first = "", second = ""] = transcript(user("go"), answer("m1", [text("yes")])).split("\n")
    const session = sessionOf(`${first}\n{"torn": \n${second}\n`)
    assert.deepStrictEqual(context(session), [
      ["user", "go"],
      ["assistant", "yes"]
    ])
    assert.deepStrictEqual(Session.asPiReads(session).tree.getEntries().length, session.tree.getEntries().length)
  })

  it("keeps the first of two lines of one uuid", () => {
    const session = sessionOf(transcript(user("go"), { ...user("again"), uuid: "u1", parentUuid: null }))
    assert.deepStrictEqual(context(session), [["user", "go"]])
  })
})

it.effect("becomes a session that the real Pi 1.5 opens, with the same context", () =>
  Effect.gen(function* () {
    const dir = yield* temporaryFolder
    const pi = yield* Effect.promise(() => PiModule.load("1.5"))
    for (const path of [SHOP, MAX, Path.join(SHOP, "subagents/agent-ab12cd34")]) {
      const session = read(path)
      const file = Path.join(dir, `${Path.basename(path)}.jsonl`)
      Fs.writeFileSync(file, Session.toBytes(session))
      const manager = pi.SessionManager.open(file, dir)
      same(session.tree.leafId, manager.getLeafId(), path)
      same(plain(SessionContext.build(session.tree, "1.5")), plain(manager.buildSessionContext()), path)
      assert.strictEqual(Buffer.compare(Fs.readFileSync(file), Session.toBytes(session)), 0, path)
    }
  })
)
