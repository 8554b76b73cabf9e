/**
 * Templates that TRL and Axolotl ship, against Python's Jinja2: the same text for hostile texts in every position.
 * `PI_SESSIONS_PYTHON` names a Python that has jinja2, trl and axolotl (the packages alone, without what they depend on).
 */
import { assert, describe, it } from "@effect/vitest"
import * as Jinja from "@huggingface/jinja"
import * as Result from "effect/Result"
import * as ChildProcess from "node:child_process"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as process from "node:process"
import * as Dose from "@pi-sessions/testing/Dose"
import { type ChatMessage, type ChatTools } from "../src/chat/ChatMessages.ts"
import { ChatTemplate, type Conversation } from "../src/model/ChatTemplate.ts"

const PYTHON = process.env["PI_SESSIONS_PYTHON"] || "python3"
const SCRIPT = Path.resolve(import.meta.dirname, "support/renderOracle.py")
const FOLDERS = ["trl/chat_templates", "axolotl/utils/chat_templates/templates"]
const ROUNDS = Dose.of("PI_SESSIONS_ROUNDS", { test: 1, campaign: 16 })
const TOKENS = { bos_token: "<s>", eos_token: "</s>", pad_token: "<pad>" }

/** Texts that templates trim, split, cut or quote. Their number is prime, so that each comes to every position. */
const TEXTS = [
  "plain",
  "  both  ",
  "\ufeffbyte order mark",
  "\u001cseparator\u001c",
  "\u0085next line\u0085",
  "\u00a0no-break space\u00a0",
  "\n\nlines\n\n",
  "<think>\nhm\n</think>\n\nsaid",
  "no open</think>\nx",
  "<think>open only",
  "x<think>a</think>y</think>z",
  "𝒳 astral 𝒳",
  "",
  " ",
  "\u2028line separator\u2028",
  "{{ x }} {% if %}",
  "<tool_response>a</tool_response>",
  "<tool_response>",
  "</tool_response>",
  "a\u200b",
  "quote\"'\\ \n tab\t",
  "é ß ﬁ İ Σς",
  "\u3000ideographic space\u3000",
  "\r\ncarriage return\r",
  "thinking</thinking>",
  "Reasoning: high",
  "<|im_end|>",
  "  <think>  \n",
  "/think",
  "/no_think",
  "\u180evowel separator\u180e"
]

/** Conversations of every shape, whose texts are the next ones of the list. */
const conversations = function* (): Generator<ReadonlyArray<ChatMessage>> {
  let next = 0
  const text = (): string => TEXTS[next++ % TEXTS.length] ?? ""
  const user = (): ChatMessage => ({ role: "user", content: text() })
  const system = (): ChatMessage => ({ role: "system", content: text() })
  const call = (id: string, values: Record<string, never> | object) =>
    ({ id, type: "function", function: { name: "read", arguments: { ...values } } }) as const
  const tool = (tool_call_id: string): ChatMessage => ({ role: "tool", tool_call_id, name: "read", content: text() })
  const said = (rest: object = {}): ChatMessage => ({ role: "assistant", content: text(), ...rest })
  const thought = (rest: object = {}): ChatMessage => said({ reasoning_content: text(), ...rest })
  for (let round = 0; round < ROUNDS; round++) {
    const all = { path: text(), n: 1, f: 1.5, b: true, z: null, l: [1, "x", { k: "v" }], o: { k: text() } }
    yield [user()]
    yield [system(), user(), said()]
    yield [user(), thought(), user(), thought()]
    yield [system(), user(), thought({ tool_calls: [call("call_1", all)] }), tool("call_1"), said()]
    const two = [call("c1", { path: text() }), call("c2", {})]
    const last = [call("c3", { path: text() })]
    yield [
      user(),
      { ...said({ tool_calls: two }), content: "" },
      tool("c1"),
      tool("c2"),
      thought(),
      user(),
      said({ tool_calls: last })
    ]
    yield [user(), user(), said()]
  }
}

const TOOLS: ChatTools = [
  {
    type: "function",
    function: {
      name: "read",
      description: "Reads “x” <b>",
      parameters: {
        type: "object",
        properties: {
          path: { type: "string", description: "p & q" },
          n: { type: ["integer", "null"], default: 1.5 },
          e: { type: "string", enum: ["a", "b"] },
          l: { type: "array", items: { type: "string" } }
        },
        required: ["path"]
      }
    }
  },
  { type: "function", function: { name: "none", description: "", parameters: { type: "object", properties: {} } } }
]

const ask = (input: unknown) =>
  ChildProcess.spawnSync(PYTHON, [SCRIPT], { input: JSON.stringify(input), encoding: "utf8", maxBuffer: 1 << 30 })

/** The folders with templates in the packages of this Python. */
const folders = ((): ReadonlyArray<string> => {
  const code = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
  const { stdout } = ChildProcess.spawnSync(PYTHON, ["-c", code], { encoding: "utf8" })
  return FOLDERS.map((folder) => Path.join((stdout ?? "").trim(), folder)).filter((folder) => Fs.existsSync(folder))
})()
const files = folders.flatMap((folder) =>
  Fs.readdirSync(folder).flatMap((name) => (name.endsWith(".jinja") ? [Path.join(folder, name)] : []))
)
const hasOracle = files.length > 0 && ask({ models: {}, cases: [] }).status === 0
if (!hasOracle) process.stdout.write(`Trainers' templates are not compared: ${PYTHON} has no jinja2, trl or axolotl\n`)

interface Answer {
  readonly refused?: string
  readonly text?: string
  readonly prompt?: string
}

describe("the trainers' templates", () => {
  it.skipIf(!hasOracle)("give the text that Jinja2 gives", { timeout: 600_000 }, () => {
    const date = new Date("2026-01-05T10:00:00.000Z")
    const cases = files.flatMap((file) =>
      Array.from(conversations()).flatMap((messages) =>
        [[], TOOLS].map((tools): Conversation & { file: string } => ({ file, messages, tools, date }))
      )
    )
    const { status, stderr, stdout } = ask({
      models: Object.fromEntries(files.map((file) => [file, file])),
      cases: cases.map(({ file, messages, tools }) => ({ model: file, messages, tools, date: "2026-01-05T10:00:00" }))
    })
    assert.strictEqual(status, 0, stderr)
    const { results }: { readonly results: ReadonlyArray<Answer> } = JSON.parse(stdout)
    const templates = new Map(
      files.map((file) => [file, new ChatTemplate(Jinja, { default: Fs.readFileSync(file, "utf8") }, TOKENS)])
    )
    const counts = { templates: files.length, same: 0, refused: 0, arguments_as_text: 0 }
    for (const [at, conversation] of cases.entries()) {
      const template = templates.get(conversation.file)
      const answer = results[at]
      if (template === undefined || answer === undefined) throw new Error("no such case")
      const rendered = template.render(conversation)
      const what = `${conversation.file} ${JSON.stringify(conversation.messages)}`
      if (answer.text === undefined) {
        // A template that refuses arguments as objects gets them as text.
        if (Result.isSuccess(rendered)) assert.include(answer.refused, "can only concatenate str", what)
        counts[Result.isSuccess(rendered) ? "arguments_as_text" : "refused"]++
        continue
      }
      assert.strictEqual(Result.isSuccess(rendered) ? rendered.success.text : rendered.failure, answer.text, what)
      const prompt = template.render(conversation, { prompt: true })
      assert.strictEqual(Result.isSuccess(prompt) ? prompt.success.text : prompt.failure, answer.prompt, what)
      counts.same++
    }
    assert.isAbove(counts.same, cases.length / 2)
    process.stdout.write(`Trainers' templates against Jinja2: ${JSON.stringify(counts)}\n`)
  })
})
