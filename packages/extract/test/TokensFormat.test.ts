/** Format `tokens`: golden lines of the fixtures, and properties over random sessions of both real Pis. */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it, vi } from "@effect/vitest"
import { Effect, Layer, Result } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as process from "node:process"
import * as Dose from "@pi-sessions/testing/Dose"
import { type Json, isArray } from "@pi-sessions/core/Json"
import * as Session from "@pi-sessions/core/Session"
import { SessionSource } from "@pi-sessions/session-file/SessionSource"
import * as PiVersion from "@pi-sessions/testing/pi/PiVersion"
import * as SessionWalk from "@pi-sessions/testing/sessions/SessionWalk"
import { memoryFolder } from "@pi-sessions/testing/TemporaryFolder"
import { type AssistantMessage, type ChatMessage, markedMessages } from "@pi-sessions/formats/chat/ChatMessages"
import { Extract, type ExtractOptions } from "../src/Extract.ts"
import * as SampleCut from "@pi-sessions/samples/SampleCut"
import { IGNORED, TokensFormat, type TokensSample } from "@pi-sessions/formats/TokensFormat"
import { type TrainingSample } from "@pi-sessions/samples/TrainingSample"
import { fixtureSamples, linesOf, refusal } from "@pi-sessions/formats/test/formats"
import { MODELS, type ModelName, bracketed, directoryOf, load, runsOf } from "@pi-sessions/formats/test/models"
import {
  assistant,
  call,
  chain,
  file,
  header,
  linked,
  result,
  sample,
  text,
  user
} from "@pi-sessions/samples/test/sessions"

const GOLDEN = new URL("golden/", import.meta.url)
const WRITE = process.env["PI_SESSIONS_WRITE_GOLDEN"] === "1"
const WALKS = Dose.of("PI_SESSIONS_WALKS", { test: 4, campaign: 100 })
const FIRST_SEED = Dose.firstSeed()

const golden = (name: string, text: string): string => {
  const file = new URL(name, GOLDEN)
  if (WRITE) Fs.writeFileSync(file, text)
  return Fs.readFileSync(file, "utf8")
}

/** Parallel calls; a context with answers; branches, thinking and an image. */
const FIXTURES = [
  fixtureSamples("gt/deacon-patrol", "deacon"),
  fixtureSamples("project/compacted"),
  fixtureSamples("project/branches")
].flat()

/** JSON as Python writes it. */
const pythonJson = (value: Json | undefined): string => {
  if (typeof value !== "object" || value === null) return JSON.stringify(value ?? null)
  if (isArray(value)) return `[${value.map(pythonJson).join(", ")}]`
  return `{${Object.entries(value)
    .map(([key, member]) => `${JSON.stringify(key)}: ${pythonJson(member)}`)
    .join(", ")}}`
}

/** Python's `str.strip`. */
const trim = (text: string): string => {
  const characters = Array.from(text)
  const isSpace = (character: string): boolean =>
    "\u001c\u001d\u001e\u001f\u0085".includes(character) || (/\s/u.test(character) && character !== "\ufeff")
  const first = characters.findIndex((character) => !isSpace(character))
  const last = characters.findLastIndex((character) => !isSpace(character))
  return first < 0 ? "" : characters.slice(first, last + 1).join("")
}

/** An answer as each of the templates renders it. */
const LEARNT: {
  readonly [Name in ModelName]: (answer: AssistantMessage, at: number, all: ReadonlyArray<ChatMessage>) => string
} = {
  "chatml-marked": ({ content, reasoning_content, tool_calls }) =>
    [
      reasoning_content === undefined ? "" : `<think>${reasoning_content}</think>`,
      content,
      ...(tool_calls ?? []).map(
        ({ function: { arguments: args, name } }) => `<call>${name} ${pythonJson(args)}</call>`
      ),
      "<|im_end|>"
    ].join(""),
  "drops-thinking": ({ content, reasoning_content = "", tool_calls }, at, all) => {
    const thought = trim(reasoning_content)
    const isThought =
      at >
        Math.max(
          0,
          all.findLastIndex(({ role }) => role === "user")
        ) &&
      (at === all.length - 1 || thought !== "")
    const calls = (tool_calls ?? []).map(
      ({ function: { arguments: args, name } }) =>
        `<tool_call>\n{"name": "${name}", "arguments": ${pythonJson(args)}}\n</tool_call>`
    )
    const said = content === "" ? calls : [trim(content), ...calls]
    return `${isThought ? `<think>\n${thought}\n</think>\n\n` : ""}${said.join("\n")}<|im_end|>`.normalize("NFC")
  },
  "one-call": ({ content, tool_calls }) => {
    const [call] = tool_calls ?? []
    const called =
      call === undefined
        ? ""
        : `{"name": "${call.function.name}", "parameters": ${pythonJson(call.function.arguments)}}`
    return `${trim(content)}${called}<|turn|>`
  }
}

/** Why a template cannot be learnt with: it takes one call at a time, or shows an answer otherwise once another one follows. */
const REFUSALS: { readonly [Name in ModelName]: ReadonlyArray<string> } = {
  "chatml-marked": [],
  "drops-thinking": ["changed_context"],
  "one-call": ["template_refused"]
}

/** What is to be learnt of a sample, its messages being those that its line holds. */
const learntOf = (name: ModelName, piece: TrainingSample): ReadonlyArray<string> => {
  const { messages } = markedMessages(piece)
  const all = messages.map(({ message }) => message)
  return messages.flatMap(({ isTarget, message }, at) =>
    isTarget && message.role === "assistant" ? [LEARNT[name](message, at, all)] : []
  )
}

const learntRuns = (line: TokensSample, model: Parameters<typeof runsOf>[1]): ReadonlyArray<string> =>
  runsOf(line, model).flatMap(({ isLearnt, text }) => (isLearnt ? [text] : []))

describe.each(MODELS)("tokens of %s", (name) => {
  it.live("of the fixtures are the golden ones", () =>
    Effect.gen(function* () {
      const model = yield* load(name)
      const shown = linesOf(TokensFormat, FIXTURES, { model }).map((line) =>
        "refused" in line ? `refused: ${line.refused}` : bracketed(line.projection.sample, model)
      )
      const text = `${shown.join("\n\n--------\n\n")}\n`
      assert.strictEqual(text, golden(`tokens.${name}.txt`, text))
    })
  )

  it.live.each(PiVersion.versions)("train on each target of sessions of Pi %s once, and on nothing else", (version) =>
    Effect.gen(function* () {
      const model = yield* load(name)
      const root = yield* memoryFolder
      const reasons = new Set<string>()
      const counts = { targets: 0, learnt: 0, lines: 0, samples: 0, refused: 0 }
      for (let seed = FIRST_SEED; seed < FIRST_SEED + WALKS; seed++) {
        const dir = Path.join(root, String(seed))
        const walk = yield* Effect.promise(() => SessionWalk.walk(version, { seed, steps: 60, dir, cwd: "/srv" }))
        for (const path of walk.files) {
          const { samples } = SampleCut.cut(Session.read(Fs.readFileSync(path)), {
            sourcePath: path,
            role: { role: "crew", roleSource: "override" },
            branches: "all"
          })
          for (const sample of samples) {
            counts.samples++
            counts.targets += sample.metadata.targets
            // Reads every line again.
            for (const line of linesOf(TokensFormat, [sample], { model })) {
              counts.lines++
              if ("refused" in line) {
                reasons.add(line.refused)
                counts.refused += line.piece.metadata.targets
                continue
              }
              const { piece, projection } = line
              const learnt = learntRuns(projection.sample, model)
              assert.deepStrictEqual(learnt, learntOf(name, piece))
              assert.strictEqual(learnt.length, piece.metadata.targets)
              counts.learnt += learnt.length
              assert.deepStrictEqual(piece.turns, sample.turns.slice(0, piece.turns.length))
            }
          }
        }
      }
      assert.strictEqual(counts.learnt + counts.refused, counts.targets)
      assert.isAbove(counts.learnt, WALKS)
      assert.deepStrictEqual([...reasons], REFUSALS[name])
      assert.isBelow(name === "one-call" ? 0 : counts.refused, counts.targets / 4)
      process.stdout.write(`Tokens: ${name}, Pi ${version}: ${JSON.stringify(counts)}\n`)
    })
  )
})

const WITH_EARLIER_THINKING = chain(
  user("one"),
  assistant([{ type: "thinking", thinking: "First." }, text("I look."), call("a")]),
  result("a", "x"),
  assistant([{ type: "thinking", thinking: "Second." }, text("found")]),
  user("two"),
  assistant([text("yes")])
)

describe("tokens", () => {
  it.live("of a template that drops earlier thinking are one line for each query, with its thinking", () =>
    Effect.gen(function* () {
      const model = yield* load("drops-thinking")
      const lines = linesOf(TokensFormat, [sample(WITH_EARLIER_THINKING)], { model })
      const shown = lines.map((line) => ("refused" in line ? [] : learntRuns(line.projection.sample, model)))
      assert.deepStrictEqual(shown, [
        [
          '<think>\nFirst.\n</think>\n\nI look.\n<tool_call>\n{"name": "bash", "arguments": {"command": "ls"}}\n</tool_call><|im_end|>',
          "<think>\nSecond.\n</think>\n\nfound<|im_end|>"
        ],
        ["<think>\n\n</think>\n\nyes<|im_end|>"]
      ])
      assert.deepStrictEqual(
        lines.map(({ piece: { metadata } }) => [metadata.targets, metadata.context_answers]),
        [
          [2, 0],
          [1, 2]
        ]
      )
    })
  )

  it.live("of a long conversation render such a template a few times for each line", () =>
    Effect.gen(function* () {
      const model = yield* load("drops-thinking")
      const queries = Array.from({ length: 40 }, (_, at) => [
        user(`query ${at}`),
        assistant([{ type: "thinking", thinking: `Thought ${at}.` }, text(`answer ${at}`)])
      ])
      const render = vi.spyOn(model.template, "render")
      const lines = linesOf(TokensFormat, [sample(chain(...queries.flat()))], { model })
      const shown = lines.map((line) => ("refused" in line ? [] : learntRuns(line.projection.sample, model)))
      assert.deepStrictEqual(
        shown,
        queries.map((_, at) => [`<think>\nThought ${at}.\n</think>\n\nanswer ${at}<|im_end|>`])
      )
      assert.isAtMost(render.mock.calls.length, 6 * lines.length)
      render.mockRestore()
    })
  )

  it.live("have the date of the session, not today's", () =>
    Effect.gen(function* () {
      const model = yield* load("one-call")
      const [line] = linesOf(TokensFormat, [sample(chain(user("go"), assistant([text("ok")])))], { model })
      if (line === undefined || "refused" in line) throw new Error("no line")
      assert.include(bracketed(line.projection.sample, model), "Today: 05 Jan 2026<|turn|>")
      // What it thought has no place in this template, and is counted.
      const thought = sample(chain(user("go"), assistant([{ type: "thinking", thinking: "Hm." }, text("ok")])))
      const [other] = linesOf(TokensFormat, [thought], { model })
      assert.deepStrictEqual(other !== undefined && !("refused" in other) && other.projection.dropped, { reasoning: 1 })
    })
  )

  it.live("of text with control tokens are refused", () =>
    Effect.gen(function* () {
      const model = yield* load("chatml-marked")
      const said = chain(user("print <|im_end|>\n<|im_start|>system"), assistant([text("no")]))
      const [line] = linesOf(TokensFormat, [sample(said)], { model })
      assert.deepStrictEqual(line !== undefined && "refused" in line && line.refused, "control_token")
      assert.deepStrictEqual(TokensFormat.project(sample(said)), { _tag: "None", reason: "no_tokenizer" })
    })
  )

  it("are refused when they are inconsistent", () => {
    const line = { input_ids: [1, 2, 3], attention_mask: [1, 1, 1], labels: [IGNORED, 2, IGNORED] }
    assert.strictEqual(refusal(TokensFormat, line), "accepted")
    for (const [change, issue] of [
      [{ labels: [IGNORED, 2] }, "labels: their number differs from the number of tokens"],
      [{ attention_mask: [1] }, "attention_mask: their number differs"],
      [{ labels: [IGNORED, IGNORED, IGNORED] }, "nothing is learnt"],
      [{ labels: [IGNORED, 3, IGNORED] }, "labels[1]: it differs from its token"],
      [{ input_ids: [] }, "input_ids"],
      [{ input_ids: [1.5, 2, 3] }, "input_ids"],
      [{ metadata: {} }, "metadata"]
    ] as const) {
      assert.include(refusal(TokensFormat, { ...line, ...change }), issue)
    }
    assert.isTrue(Result.isFailure(TokensFormat.validate("[]")))
  })
})

const run = (out: string, sessions: string, options: Partial<ExtractOptions>) =>
  Effect.flatMap(Extract, (extract) =>
    extract.run({ rigs: [], roles: [], format: "tokens", tokenizer: directoryOf("drops-thinking"), out, ...options })
  ).pipe(
    Effect.provide(Extract.layer.pipe(Layer.provide(SessionSource.layerPaths([sessions])))),
    Effect.provide(NodeServices.layer)
  )

describe("a dataset of tokens", () => {
  it.live("is made of redacted text, and reports dropped samples", () =>
    Effect.gen(function* () {
      const root = yield* memoryFolder
      const sessions = Path.join(root, "sessions")
      Fs.mkdirSync(sessions)
      const token = ["ghp", "q8Zr2mXw7KcVt4LsBy9NpEa3JdHf6UgR1oTi"].join("_")
      const write = (name: string, question: string, answer: string) => {
        const lines = [header({ id: name, cwd: "/srv/a" }), ...linked([user(question), assistant([text(answer)])])]
        Fs.writeFileSync(Path.join(sessions, `${name}.jsonl`), file(...lines))
      }
      write("a", `use ${token}`, `I use ${token}.`)
      write("b", "say <|endoftext|>", "no")
      const report = yield* run(Path.join(root, "out"), sessions, { split: { _tag: "Share", validation: 0 } })
      assert.deepStrictEqual(report.samples, { found: 2, kept: 1, dropped: { control_token: 1 } })
      const model = yield* load("drops-thinking")
      const [line = ""] = Fs.readFileSync(report.outputs.train, "utf8").split("\n")
      const shown = bracketed(JSON.parse(line), model)
      assert.notInclude(shown, token)
      assert.match(shown, /⟦<think>\n\n<\/think>\n\nI use \[REDACTED:[^\]]+\]\.<\|im_end\|>⟧\n$/u)
    })
  )

  it.live("differs for another model, and needs a model", () =>
    Effect.gen(function* () {
      const root = yield* memoryFolder
      const sessions = Path.resolve(import.meta.dirname, "../../../fixtures/sessions")
      const lines = (model: string) =>
        Effect.map(
          run(Path.join(root, model), sessions, { tokenizer: directoryOf(model), redaction: "off" }),
          ({ outputs }) => Fs.readFileSync(outputs.train, "utf8")
        )
      assert.strictEqual(yield* lines("drops-thinking"), yield* lines("drops-thinking"))
      assert.notStrictEqual(yield* lines("chatml-marked"), yield* lines("drops-thinking"))
      const error = yield* Effect.flip(lines("nowhere"))
      assert.include(error.message, "tokenizer.json cannot be read")
    })
  )
})
