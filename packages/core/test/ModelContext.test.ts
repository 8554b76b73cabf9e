/** Messages for the model, beside both real Pis and pi-ai. */
import { assert, describe, it } from "@effect/vitest"
import * as HermeticPi from "@pi-sessions/testing/pi/HermeticPi"
import * as PiVersion from "@pi-sessions/testing/pi/PiVersion"
import * as ScriptedModel from "@pi-sessions/testing/pi/ScriptedModel"
import { Effect } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { type JsonObject } from "../src/Json.ts"
import * as ModelContext from "../src/ModelContext.ts"
import * as Session from "../src/Session.ts"
import * as SessionContext from "../src/SessionContext.ts"
import * as piAi from "./support/piAi.ts"
import * as samples from "./support/samples.ts"
import * as settings from "./support/settings.ts"
import { files as walkFiles, plain, same } from "./support/walks.ts"

const model = { provider: "fake", api: "openai-completions", id: "fake-1", images: true }
const models: ReadonlyArray<ModelContext.TargetModel> = [
  model,
  { ...model, images: false },
  { ...model, id: "fake-thinking" },
  { provider: "anthropic", api: "anthropic-messages", id: "claude-sonnet-4-5", images: true },
  { provider: "other", api: "openai-responses", id: "other-1", images: false }
]

const theirModel = ({ provider, api, id, images }: ModelContext.TargetModel): piAi.Model => ({
  provider,
  api,
  id,
  input: images ? ["text", "image"] : ["text"]
})

/** Without the timestamps of results that Pi adds, which are the clock's. */
const withoutMadeUpTimes = (messages: ReadonlyArray<JsonObject>): ReadonlyArray<JsonObject> =>
  messages.map((message) => {
    const isMadeUp =
      message["isError"] === true && ModelContext.contentText(message["content"]) === "No result provided"
    return isMadeUp ? { ...message, timestamp: 0 } : message
  })

/** The contexts at some leaves of walks, as messages for a model. */
const contexts = Effect.fnUntraced(function* (version: PiVersion.PiVersion, count: number) {
  return (yield* walkFiles(version, count)).flatMap(({ name, session, random }) => {
    const { tree } = session
    const leaves = tree.leaves()
    const trees = [tree, ...Array.from({ length: 3 }, () => tree.branch(leaves[random.int(leaves.length)]?.id ?? ""))]
    return trees.flatMap((at) =>
      at === undefined
        ? []
        : {
            name: `${name}, at ${at.leafId}`,
            messages: ModelContext.convertToLlm(SessionContext.build(at, version).messages, version)
          }
    )
  })
})

describe.each(PiVersion.versions)("transformMessages of Pi %s", (version) => {
  it.effect(
    "equals pi-ai's on random walks, for any model",
    Effect.fnUntraced(function* () {
      const theirs = yield* Effect.promise(() => piAi.transformMessages(version))
      const count = settings.walks(20)
      const roles = new Set<string>()
      let madeUp = 0
      for (const { name, messages } of yield* contexts(version, count)) {
        for (const target of models) {
          const ours = withoutMadeUpTimes(ModelContext.transformMessages(messages, target, version))
          const expected = withoutMadeUpTimes(theirs(messages, theirModel(target)))
          same(plain(ours), plain(expected), `${name}, for ${JSON.stringify(target)}`)
          madeUp += ours.filter(({ timestamp }) => timestamp === 0).length
          for (const { role } of ours) roles.add(String(role))
        }
      }
      const known = ["assistant", "toolResult", "user", ...(version === "1.5" ? ["system"] : [])]
      assert.includeMembers(known, [...roles])
      if (settings.isMany(count)) {
        assert.sameMembers([...roles], known)
        assert.isAbove(madeUp, 0, "added results")
      }
    })
  )

  const assistant = (content: ReadonlyArray<JsonObject>, more: JsonObject = {}): JsonObject => ({
    role: "assistant",
    content,
    provider: "fake",
    api: "openai-completions",
    model: "fake-1",
    stopReason: "stop",
    timestamp: 7,
    ...more
  })
  const call = (id: string, more: JsonObject = {}): JsonObject => ({
    type: "toolCall",
    id,
    name: "read",
    arguments: {},
    ...more
  })
  const result = (id: string, more: JsonObject = {}): JsonObject => ({
    role: "toolResult",
    toolCallId: id,
    content: [{ type: "text", text: id }],
    ...more
  })
  const user: JsonObject = { role: "user", content: "go on" }
  const image: JsonObject = { type: "image", data: "aW1n", mimeType: "image/png" }
  const system: JsonObject = { role: "system", content: "be good" }
  const examples: ReadonlyArray<readonly [name: string, messages: ReadonlyArray<JsonObject>]> = [
    ["no messages", []],
    ["a call without a result at the end", [user, assistant([call("1"), call("2")]), result("2")]],
    ["a call without a result before a user message", [assistant([call("1")]), user, result("1")]],
    ["a call without a result before another turn", [assistant([call("1")]), assistant([call("1")]), result("1")]],
    ["an id that a later call has again", [assistant([call("1")]), result("1"), assistant([call("1")]), user]],
    ["a result without a call", [user, result("1"), user]],
    ["an aborted turn with results", [assistant([call("1")], { stopReason: "aborted" }), result("1"), user]],
    ["an error after an open call", [assistant([call("1")]), assistant([], { stopReason: "error" }), result("1")]],
    ["images in a row", [{ role: "user", content: [image, image, { type: "text", text: "x" }, image] }]],
    ["an image as a result", [assistant([call("1")]), result("1", { content: [image] })]],
    [
      "an image behind text that reads like a placeholder",
      [{ role: "user", content: [{ type: "text", text: "(image omitted: model does not support images)" }, image] }]
    ],
    [
      "thinking of every kind",
      [
        assistant([
          { type: "thinking", thinking: "a" },
          { type: "thinking", thinking: "  " },
          { type: "thinking", thinking: "b", thinkingSignature: "s" },
          { type: "thinking", thinking: "", thinkingSignature: "s" },
          { type: "thinking", thinking: "", thinkingSignature: "s", redacted: true },
          { type: "thinking", thinking: "c", redacted: true }
        ])
      ]
    ],
    [
      "signatures",
      [assistant([{ type: "text", text: "x", textSignature: "t" }, call("1", { thoughtSignature: "t" })])]
    ],
    ["unknown blocks", [assistant([{ type: "video", url: "x" }])]]
  ]
  // 0.78 never gets any: its convertToLlm omits them.
  const newerExamples: typeof examples = [
    ["system messages inside an open call", [assistant([call("1")]), system, result("1"), system, user, system]],
    ["system messages at an end with open calls", [assistant([call("1")]), system]]
  ]
  it.effect.each(version === "1.5" ? [...examples, ...newerExamples] : examples)(
    "treats %s as pi-ai does",
    ([name, messages]) =>
      Effect.gen(function* () {
        const theirs = yield* Effect.promise(() => piAi.transformMessages(version))
        for (const target of models) {
          const ours = withoutMadeUpTimes(ModelContext.transformMessages(messages, target, version))
          const expected = withoutMadeUpTimes(theirs(messages, theirModel(target)))
          assert.deepStrictEqual(ours, expected, `${name}, for ${JSON.stringify(target)}`)
        }
      })
  )

  it("gives an added result the time of its call", () => {
    const [, made] = ModelContext.transformMessages([assistant([call("1")])], model, version)
    assert.deepStrictEqual(made, {
      role: "toolResult",
      toolCallId: "1",
      toolName: "read",
      content: [{ type: "text", text: "No result provided" }],
      isError: true,
      timestamp: 7
    })
  })

  it("does not change its input", () => {
    const messages = examples.flatMap(([, messages]) => messages)
    const before = structuredClone(messages)
    for (const target of models) ModelContext.transformMessages(messages, target, version)
    assert.deepStrictEqual(messages, before)
  })
})

describe("transformMessages of Pi 1.5", () => {
  it.effect(
    "gives messages without content an empty one",
    Effect.fnUntraced(function* () {
      const theirs = yield* Effect.promise(() => piAi.transformMessages("1.5"))
      const messages = ["user", "assistant", "toolResult"].flatMap((role) => [{ role, content: null }, { role }])
      for (const target of models) {
        const ours = ModelContext.transformMessages(messages, target, "1.5")
        assert.deepStrictEqual(ours, theirs(messages, theirModel(target)))
      }
    })
  )
})

describe("systemPrompt and tools", () => {
  it.effect(
    "equal pi-ai's on random walks",
    Effect.fnUntraced(function* () {
      const systemPrompt = yield* Effect.promise(piAi.systemPrompt)
      const tools = yield* Effect.promise(piAi.tools)
      const count = settings.walks(20)
      let prompts = 0
      for (const { name, messages } of yield* contexts("1.5", count)) {
        const prompt = ModelContext.systemPrompt(messages)
        assert.strictEqual(prompt, systemPrompt(messages), name)
        same(plain(ModelContext.tools(messages)), plain(tools(messages)), name)
        if (prompt !== "") prompts++
      }
      if (settings.isMany(count)) assert.isAbove(prompts, 0)
    })
  )

  it("follow added and removed sections and tools", () => {
    const read = { name: "read" }
    const bash = { name: "bash", description: "runs" }
    const edit = { name: "edit" }
    const messages: ReadonlyArray<JsonObject> = [
      { role: "system", content: "", sections: { a: "A", b: "B" }, toolsAdded: [read, bash] },
      { role: "user", content: "x" },
      { role: "system", content: "more", sections: { a: null, c: "C" }, toolsRemoved: [{ name: "read" }] },
      { role: "system", content: [{ type: "text", text: "and more" }], sections: { b: "B2" }, toolsAdded: [edit] }
    ]
    assert.strictEqual(ModelContext.systemPrompt(messages), "more\n\nand more\n\nB2\n\nC")
    assert.deepStrictEqual(ModelContext.tools(messages), [bash, edit])
    assert.strictEqual(ModelContext.systemPrompt([]), "")
    assert.isEmpty(ModelContext.tools([]))
  })
})

describe("convertToLlm", () => {
  const convert = (message: JsonObject, profile?: PiVersion.PiVersion) => ModelContext.convertToLlm([message], profile)
  const textOf = (message: JsonObject): string =>
    convert(message)
      .map(({ content }) => ModelContext.contentText(content))
      .join()

  it("puts summaries between Pi's prefix and suffix", () => {
    assert.strictEqual(
      textOf({ role: "compactionSummary", summary: "S" }),
      "The conversation history before this point was compacted into the following summary:\n\n<summary>\nS\n</summary>"
    )
    assert.strictEqual(
      textOf({ role: "branchSummary", summary: "S" }),
      "The following is a summary of a branch that this conversation came back from:\n\n<summary>\nS</summary>"
    )
  })

  it("writes a command of the user as text", () => {
    const bash = {
      role: "bashExecution",
      command: "ls",
      output: "a\nb",
      exitCode: 0,
      cancelled: false,
      truncated: false
    }
    assert.strictEqual(textOf(bash), "Ran `ls`\n```\na\nb\n```")
    assert.strictEqual(
      textOf({ ...bash, output: "", exitCode: 2 }),
      "Ran `ls`\n(no output)\n\nCommand exited with code 2"
    )
    assert.strictEqual(
      textOf({ ...bash, cancelled: true, exitCode: 2, truncated: true, fullOutputPath: "/tmp/x" }),
      "Ran `ls`\n```\na\nb\n```\n\n(command cancelled)\n\n[Output truncated. Full output: /tmp/x]"
    )
    assert.isEmpty(convert({ ...bash, excludeFromContext: true }))
  })

  it("omits roles that the Pi version does not know", () => {
    assert.isEmpty(convert({ role: "somebody" }))
    assert.isEmpty(convert({ role: "system", content: "x" }, "0.78"))
    assert.lengthOf(convert({ role: "system", content: "x" }, "1.5"), 1)
  })
})

/** Role and text of each message, results by their call. */
type Turn = readonly [role: string, text: string]

describe.each(PiVersion.versions)("a session resumed by real Pi %s", (version) => {
  it.live(
    "is sent to the model as computed",
    Effect.fnUntraced(function* () {
      const { assistant, entry, message, user } = samples
      const pi = yield* HermeticPi.make()
      const call = (id: string): JsonObject => ({ type: "toolCall", id, name: "read", arguments: { path: "x" } })
      const result = (id: string, parentId: string): JsonObject =>
        message(id, parentId, {
          role: "toolResult",
          toolCallId: `call_${id}`,
          toolName: "read",
          content: [{ type: "text", text: `result ${id}` }],
          isError: false,
          timestamp: 5
        })
      const turns = [
        user("a", null, "first"),
        assistant("b", "a", "thought by another", {
          content: [
            { type: "thinking", thinking: "hm" },
            { type: "text", text: "b" }
          ],
          provider: "other",
          model: "other-1"
        }),
        user("c", "b", "second"),
        assistant("d", "c", "", { content: [call("call_e"), call("call_unanswered")], stopReason: "toolUse" }),
        result("e", "d"),
        user("f", "e", "third"),
        assistant("g", "f", "half", { content: [{ type: "text", text: "half" }], stopReason: "aborted" }),
        entry("custom_message", "h", "g", { customType: "note", content: "by an extension", display: true }),
        message("i", "h", { role: "bashExecution", command: "ls", output: "out", exitCode: 1, timestamp: 6 }),
        entry("branch_summary", "j", "i", { fromId: "a", summary: "left" }),
        assistant("k", "j", "last")
      ]
      const file = Path.join(pi.sessionDir, "session.jsonl")
      Fs.writeFileSync(file, samples.text({ ...samples.header, cwd: pi.cwd }, ...turns))

      const { tree } = Session.read(Fs.readFileSync(file))
      const exit = yield* pi.prompt(version, file, "go on")
      assert.deepStrictEqual([exit.exitCode, exit.stderr], [0, ""])
      const [request] = yield* pi.requests
      const theirs = (request?.messages ?? [])
        .filter(({ role }) => role !== "system")
        .map((sent): Turn => [sent.role === "tool" ? "toolResult" : sent.role, ScriptedModel.textOf(sent)])

      const messages = ModelContext.convertToLlm(SessionContext.build(tree, version).messages, version)
      const ours = ModelContext.transformMessages(messages, model, version).map(({ role, content }): Turn => [
        String(role),
        ModelContext.contentText(content, "")
      ])
      assert.deepStrictEqual([...ours, ["user", "go on"]], theirs)
    })
  )
})
