/**
 * The parts of a dataset line, and which of them the trainer trains when set up as the card says. For people who
 * inspect lines. Goes by the shapes that formats share (messages, conversations, prompts), not by their names.
 */
import { type Json, type JsonObject, isArray, isObject, objectAt, stringAt } from "@pi-sessions/core/Json"
import * as ValueText from "@pi-sessions/core/ValueText"
import { type LocalModel } from "../model/LocalModel.ts"
import { IGNORED } from "../TokensFormat.ts"
import * as JsonText from "@pi-sessions/core/JsonText"

export interface LinePart {
  /** The format's name of the speaker: `assistant`, `gpt`, `tool_call`. */
  readonly who: string
  /** `rejected`: the answer that a preference trainer learns to avoid. */
  readonly as: "learnt" | "read" | "rejected"
  /** Additional to `who`: a tool's name; often empty. */
  readonly about: string
  readonly thinking: string
  readonly text: string
  readonly calls: ReadonlyArray<{ readonly name: string; readonly arguments: string }>
}

export interface LineContent {
  /** Empty for a line without text, such as tokens without their model. */
  readonly parts: ReadonlyArray<LinePart>
  /** Number of declared tools. */
  readonly tools: number
}

/** Returns the parts of a line in the order in which the model reads them. Token ids need their model. */
export const of = (line: string, model?: Pick<LocalModel, "tokenizer">): LineContent => {
  const value = JsonText.parse(line)
  if (!isObject(value)) return { parts: [], tools: 0 }
  if (isArray(value["input_ids"])) return { parts: model === undefined ? [] : tokenParts(value, model), tools: 0 }
  const { chosen, completion, conversations, messages, prompt, rejected } = value
  const system = stringAt(value, "system") ?? ""
  return {
    parts: [
      ...(system === "" ? [] : [partOf({ role: "system", content: system }, "read")]),
      ...partsOf(prompt, () => "read"),
      ...partsOf(messages ?? conversations ?? completion ?? chosen, (message) =>
        isLearnt(message) ? "learnt" : "read"
      ),
      ...partsOf(rejected, () => "rejected")
    ],
    tools: toolsOf(value["tools"])
  }
}

const partsOf = (list: Json | undefined, as: (message: JsonObject) => LinePart["as"]): ReadonlyArray<LinePart> =>
  isArray(list) ? list.filter(isObject).map((message) => partOf(message, as(message))) : []

/** One part for each run of tokens with the same mask. */
const tokenParts = (value: JsonObject, { tokenizer }: Pick<LocalModel, "tokenizer">): ReadonlyArray<LinePart> => {
  const numbers = (key: string): ReadonlyArray<number> => {
    const list = value[key]
    return isArray(list) ? list.filter((one) => typeof one === "number") : []
  }
  const labels = numbers("labels")
  const runs: Array<{ readonly as: LinePart["as"]; readonly ids: Array<number> }> = []
  for (const [at, id] of numbers("input_ids").entries()) {
    const as = labels[at] === IGNORED ? "read" : "learnt"
    const last = runs.at(-1)
    if (last?.as === as) last.ids.push(id)
    else runs.push({ as, ids: [id] })
  }
  return runs.map(({ as, ids }) => {
    const text = tokenizer.decode(ids) ?? ""
    return {
      who: `${ids.length} ${ids.length === 1 ? "token" : "tokens"}`,
      as,
      about: "",
      thinking: "",
      text,
      calls: []
    }
  })
}

const whoOf = (message: JsonObject): string => stringAt(message, "role") ?? stringAt(message, "from") ?? ""

/** The model's side, in all formats. */
const ANSWERS = new Set(["assistant", "gpt", "function_call", "tool_call"])

/** Masks decide if the format has them; else every answer is trained. */
const isLearnt = (message: JsonObject): boolean => {
  const { loss, train, weight } = message
  return ANSWERS.has(whoOf(message)) && train !== false && loss !== false && weight !== 0
}

const partOf = (message: JsonObject, as: LinePart["as"]): LinePart => {
  const calls = message["tool_calls"]
  return {
    who: whoOf(message),
    as,
    about: stringAt(message, "name") ?? "",
    thinking: stringAt(message, "reasoning_content") ?? "",
    text: textOf(message["content"] ?? message["value"]),
    calls: isArray(calls) ? calls.filter(isObject).map(callOf) : []
  }
}

/** The text, or the text blocks of a content, with `[image]` for each image. */
const textOf = (content: Json | undefined): string => {
  if (typeof content === "string") return content
  if (!isArray(content)) return content === undefined || content === null ? "" : ValueText.stringify(content)
  return content
    .map((block) => (isObject(block) ? (stringAt(block, "text") ?? `[${ValueText.textOf(block["type"])}]`) : ""))
    .join("\n")
}

const callOf = (call: JsonObject): LinePart["calls"][number] => {
  const called = objectAt(call, "function") ?? call
  const given = called["arguments"]
  return {
    name: stringAt(called, "name") ?? "",
    arguments: typeof given === "string" ? given : ValueText.stringify(given ?? {})
  }
}

const toolsOf = (tools: Json | undefined): number => {
  const list = typeof tools === "string" ? JsonText.parse(tools) : tools
  return isArray(list) ? list.length : 0
}
