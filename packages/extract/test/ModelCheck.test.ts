/** Reports about datasets of each kind as a local model reads them. */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Result } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { SessionSource } from "@pi-sessions/session-file/SessionSource"
import { memoryFolder } from "@pi-sessions/testing/TemporaryFolder"
import * as DatasetValidation from "../src/publish/DatasetValidation.ts"
import { Extract, type ExtractOptions } from "../src/Extract.ts"
import { FORMATS } from "@pi-sessions/formats/Formats"
import { type FormatName } from "@pi-sessions/formats/FormatName"
import { ModelCheck, type ModelReport } from "@pi-sessions/formats/model/ModelCheck"
import * as PreferencePairs from "@pi-sessions/samples/PreferencePairs"
import { TokensFormat } from "@pi-sessions/formats/TokensFormat"
import { fixtureSamples, linesOf } from "@pi-sessions/formats/test/formats"
import { type ModelName, bracketed, directoryOf, load, loadFrom } from "@pi-sessions/formats/test/models"
import { assistant, call, chain, result, samples, text, user } from "@pi-sessions/samples/test/sessions"

const SESSIONS = Path.resolve(import.meta.dirname, "../../../fixtures/sessions")

/** A dataset of the fixtures, and the model's report of it. */
const checked = (format: FormatName, name: ModelName, options: Partial<ExtractOptions> = {}) =>
  Effect.gen(function* () {
    const out = yield* memoryFolder
    const made = {
      rigs: [],
      roles: [],
      format,
      out,
      redaction: "off",
      tokenizer: directoryOf("drops-thinking")
    } as const
    const report = yield* Effect.flatMap(Extract, (extract) => extract.run({ ...made, ...options })).pipe(
      Effect.provide(Extract.layer.pipe(Layer.provide(SessionSource.layerPaths([SESSIONS]))))
    )
    const check = new ModelCheck(yield* load(name))
    yield* DatasetValidation.validateDirectory(out, (line) => check.push(line))
    return { targets: report.total.targets, samples: report.samples.kept, of: check.report }
  }).pipe(Effect.provide(NodeServices.layer))

const CHATS: ReadonlyArray<FormatName> = ["messages", "axolotl", "openai", "mistral", "parquet"]

const sampleText = chain(
  user("one"),
  assistant([{ type: "thinking", thinking: "Hm." }, text("I look."), call("a")]),
  result("a", "x"),
  assistant([text("found")]),
  user("two"),
  assistant([text("yes")])
)

/** What a check says of the lines that a format makes of a session. */
const reportOf = (format: FormatName, name: ModelName, session = sampleText): Effect.Effect<ModelReport> =>
  Effect.map(load(name), (model) => {
    const check = new ModelCheck(model)
    for (const line of linesOf(FORMATS[format], samples(session), { model })) {
      if (!("refused" in line)) check.push({ format, path: "train.jsonl", line: 1, text: line.text })
    }
    return check.report
  }).pipe(Effect.orDie)

describe("a model's report of a dataset", () => {
  it.live.each(CHATS)("finds every target of the fixtures: %s", (format) =>
    Effect.gen(function* () {
      const { of, samples, targets } = yield* checked(format, "chatml-marked")
      assert.deepStrictEqual([of.conversations, of.answers, of.found], [samples, targets, targets])
      assert.deepStrictEqual(of.missing, {})
      // The same text, so the same tokens, whatever the form of the arguments.
      const { of: same } = yield* checked("messages", "chatml-marked", { reasoning: "none" })
      const { of: bare } = yield* checked(format, "chatml-marked", { reasoning: "none" })
      assert.deepStrictEqual(bare.tokens, same.tokens)
    })
  )

  it.live("counts the tokens of format tokens", () =>
    Effect.gen(function* () {
      const model = yield* load("chatml-marked")
      const lines = linesOf(TokensFormat, fixtureSamples("gt/deacon-patrol"), { model })
      const lengths = lines.map((line) => ("refused" in line ? 0 : line.projection.sample.input_ids.length))
      const check = new ModelCheck(model, { maxTokens: 100, show: 1 })
      for (const line of linesOf(FORMATS.messages, fixtureSamples("gt/deacon-patrol"))) {
        if (!("refused" in line)) check.push({ format: "messages", path: "a.jsonl", line: 7, text: line.text })
      }
      const [length = 0] = lengths
      const { over_budget, tokens } = check.report
      assert.deepStrictEqual([tokens?.min, tokens?.median, tokens?.p90, tokens?.max], [length, length, length, length])
      assert.strictEqual(over_budget, 1)
      const { shown } = check
      const [first] = lines
      if (first === undefined || "refused" in first || shown === undefined) throw new Error("no line")
      const { learnt, line, missing, path, text } = shown
      assert.deepStrictEqual([path, line, missing], ["a.jsonl", 7, []])
      const parts = learnt.map(({ end, start }) => text.slice(start, end))
      const brackets = bracketed(first.projection.sample, model).match(/⟦[^⟧]*⟧/gu)
      assert.deepStrictEqual(
        parts.map((part) => `⟦${part}⟧`),
        [...(brackets ?? [])]
      )
    })
  )

  it.live("has quantiles that are lengths of lines", () =>
    Effect.gen(function* () {
      const model = yield* load("chatml-marked")
      const check = new ModelCheck(model, { maxTokens: 10 })
      for (let words = 1; words <= 20; words++) {
        const messages = [
          { role: "user", content: "go" },
          { role: "assistant", content: " 7".repeat(words) }
        ]
        check.push({ format: "messages", path: "", line: words, text: JSON.stringify({ messages, tools: [] }) })
      }
      const { over_budget, tokens } = check.report
      const least = tokens?.min ?? 0
      const each = ((tokens?.max ?? 0) - least) / 19
      assert.deepStrictEqual([tokens?.median, tokens?.p90], [least + 9 * each, least + 17 * each])
      assert.strictEqual(tokens?.total, 20 * least + each * 190)
      assert.strictEqual(over_budget, 20)
    })
  )

  it.live("reports answers that the template would change, and suggests less thinking", () =>
    Effect.gen(function* () {
      const lost = yield* reportOf("messages", "drops-thinking")
      assert.deepStrictEqual(
        [lost.answers, lost.found, lost.missing],
        [3, 1, { changed_context: 1, lost_reasoning: 1 }]
      )
      assert.deepStrictEqual(lost.first_missing, [{ path: "train.jsonl", line: 1, reason: "lost_reasoning" }])
      const { of } = yield* checked("messages", "drops-thinking", { reasoning: "last-query" })
      assert.deepStrictEqual([of.found, of.missing], [of.answers, {}])
    })
  )

  it.live("reports the template's error, and thinking that it leaves out", () =>
    Effect.gen(function* () {
      const parallel = chain(user("go"), assistant([call("a"), call("b")]))
      const { first_missing, missing, tokens } = yield* reportOf("messages", "one-call", parallel)
      assert.deepStrictEqual(missing, { template_refused: 1 })
      assert.deepStrictEqual(first_missing[0]?.detail, "one call at a time")
      assert.isUndefined(tokens)
      assert.strictEqual((yield* reportOf("messages", "one-call")).without_reasoning, 1)
    })
  )

  it.live("of tokens detects another tokenizer", () =>
    Effect.gen(function* () {
      const mine = yield* checked("tokens", "drops-thinking")
      assert.deepStrictEqual([mine.of.found, mine.of.answers, mine.of.missing], [mine.targets, mine.targets, {}])
      const { of } = yield* checked("tokens", "one-call")
      assert.strictEqual(of.missing["other_tokenizer"], of.conversations)
    })
  )

  it.live("of pairs counts both answers", () =>
    Effect.gen(function* () {
      const check = new ModelCheck(yield* load("chatml-marked"), { show: 2 })
      const session = chain(
        user("which?"),
        { ...assistant([text("the first")]), id: "a" },
        { ...assistant([text("the second")]), id: "b", parentId: "e1" }
      )
      for (const line of linesOf(FORMATS.dpo, PreferencePairs.of(samples(session)))) {
        if (!("refused" in line)) check.push({ format: "dpo", path: "", line: 1, text: line.text })
      }
      assert.deepStrictEqual([check.report.conversations, check.report.found], [2, 2])
      const { learnt, text: rejected } = check.shown ?? { learnt: [], text: "" }
      assert.deepStrictEqual(
        learnt.map(({ end, start }) => rejected.slice(start, end)),
        ["the first<|im_end|>"]
      )
    })
  )
})

describe("a model's directory", () => {
  it.live("may have its template in either file; errors name the broken file", () =>
    Effect.gen(function* () {
      const root = yield* memoryFolder
      const copy = (name: string, change: (directory: string) => void) => {
        const directory = Path.join(root, name)
        Fs.cpSync(directoryOf("drops-thinking"), directory, { recursive: true })
        change(directory)
        return Effect.map(Effect.result(loadFrom(directory)), (made) =>
          made._tag === "Failure" ? made.failure.message.replace(root, "") : "loaded"
        )
      }
      const write = (file: string, text: string) => (directory: string) =>
        Fs.writeFileSync(Path.join(directory, file), text)
      const config = JSON.stringify({
        chat_template: [
          { name: "default", template: "x" },
          { name: "tool_use", template: "y" }
        ]
      })
      assert.strictEqual(yield* copy("whole", () => undefined), "loaded")
      assert.include(yield* copy("template", write("chat_template.jinja", "{% if %}")), "the chat template: ")
      assert.include(yield* copy("json", write("tokenizer.json", "{")), "tokenizer.json: line 1, byte 1: it breaks off")
      assert.include(
        yield* copy("shape", write("tokenizer.json", "{}")),
        "tokenizer.json is not a valid tokenizer file"
      )
      assert.include(
        yield* copy("config", write("tokenizer_config.json", "[]")),
        "tokenizer_config.json is not a valid tokenizer configuration"
      )
      const without = (directory: string) => Fs.rmSync(Path.join(directory, "chat_template.jinja"))
      assert.include(yield* copy("none", without), "no chat template")
      const named = (directory: string) => {
        without(directory)
        write("tokenizer_config.json", config)(directory)
      }
      assert.strictEqual(yield* copy("named", named), "loaded")
      const { template } = yield* loadFrom(Path.join(root, "named"))
      const given = { messages: [], date: new Date(0) }
      const tool = { type: "function", function: { name: "a", description: "", parameters: {} } } as const
      const rendered = [[], [tool]].map((tools) => Result.getOrThrow(template.render({ ...given, tools })).text)
      assert.deepStrictEqual(rendered, ["x", "y"])
    })
  )
})
