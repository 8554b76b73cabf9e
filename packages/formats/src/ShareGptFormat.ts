/**
 * Format `sharegpt`: what LLaMA-Factory (ff6d4d1, August 2026) reads with `formatting: sharegpt`. It skips a sample
 * unless human and observation are at even places, gpt and function_call at odd ones, and their number is even.
 * Everything else is adapted, and every loss is counted:
 *
 * - Consecutive user turns are joined by an empty line, and so are consecutive assistant turns.
 * - The results of one assistant turn become one observation, in the order of the calls, joined by an empty line. User
 *   text before the next assistant turn is appended to it, since the format has no place between them.
 * - Text beside a call is dropped. A function_call is JSON, and before December 2025 additional text made the trainer
 *   fail. Since then text is possible around `<tool_call>` marks, which differ by template. Within `<think>` the text
 *   would train the model to think what it should say.
 * - Thinking precedes text and calls as `<think>\n...\n</think>\n\n`, which LLaMA-Factory splits off again (templates
 *   with other marks need another format). Thinking that contains such marks is dropped.
 * - Assistant turns before the first user turn are dropped, with their results.
 * - The trainer trains on every answer, so a sample whose context contains answers that are not targets has no line.
 *
 * The system prompt and the tools (a JSON list) are separate columns. Format `llama-factory` has the same lines and a
 * file that describes them to the trainer (LlamaFactoryFormat.ts).
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { isArray, isObject } from "@pi-sessions/core/Json"
import { DropTally, sum } from "@pi-sessions/samples/DropCounts"
import { InvalidSample, type Projection, type SampleFormat, SampleMetadata, metadataOf } from "./SampleFormat.ts"
import { type TrainingSample } from "@pi-sessions/samples/TrainingSample"
import { type ToolCall } from "@pi-sessions/samples/Turn"
import * as JsonText from "@pi-sessions/core/JsonText"
import * as ReadSample from "./readSample.ts"
import {
  type TurnGroup,
  answersTo,
  callsOf,
  dropTrailing,
  groupsOf,
  holdsMarks,
  resultsOf,
  textsOf,
  thinkingOf,
  withoutMarks
} from "./chat/turnGroups.ts"

export const ShareGptMessage = Schema.Struct({
  from: Schema.Literals(["human", "gpt", "function_call", "observation"]),
  value: Schema.String
})
export type ShareGptMessage = typeof ShareGptMessage.Type

export const ShareGptSample = Schema.Struct({
  conversations: Schema.NonEmptyArray(ShareGptMessage),
  /** Empty if unknown: LLaMA-Factory then uses none. It fails if the column is missing. */
  system: Schema.String,
  /** JSON list of tool definitions. */
  tools: Schema.String,
  metadata: SampleMetadata
})
export type ShareGptSample = typeof ShareGptSample.Type

const userMessage = (
  group: TurnGroup,
  calls: ReadonlyArray<ToolCall>,
  dropped: DropTally
): ShareGptMessage | undefined => {
  const texts = textsOf(group)
  const results = resultsOf(group)
  // Results without a call: its assistant turn is not in the sample.
  if (calls.length === 0) dropped.add("orphan_tool_result", results.length)
  if (calls.length === 0 || results.length === 0) {
    if (texts.length === 0) return undefined
    dropped.add("merged_user_turn", texts.length - 1)
    return { from: "human", value: texts.join("\n\n") }
  }
  dropped.add("user_text_in_observation", texts.length)
  return {
    from: "observation",
    value: [...answersTo(calls, group).map((result) => result.content), ...texts].join("\n\n")
  }
}

/** The calls as JSON, in which marks are escaped. */
const callsToJson = (calls: ReadonlyArray<ToolCall>): string => {
  const functions = calls.map(({ arguments: args, name }) => ({ name, arguments: args }))
  return withoutMarks(JSON.stringify(functions.length === 1 ? functions[0] : functions))
}

const assistantMessage = (group: TurnGroup, dropped: DropTally): ShareGptMessage => {
  const texts = textsOf(group)
  const calls = callsOf(group)
  dropped.add("merged_assistant_turn", group.turns.length - 1)
  const thinking = thinkingOf(group, dropped)
  if (calls.length === 0) return { from: "gpt", value: thinking + texts.join("\n\n") }
  dropped.add("text_beside_tool_call", texts.length)
  return { from: "function_call", value: thinking + callsToJson(calls) }
}

const conversationOf = (source: TrainingSample, dropped: DropTally): Array<ShareGptMessage> => {
  const groups = groupsOf(source)
  dropTrailing(groups, dropped)
  const conversation: Array<ShareGptMessage> = []
  let calls: ReadonlyArray<ToolCall> = []
  for (const group of groups) {
    if (group.role === "user") {
      const message = userMessage(group, calls, dropped)
      if (message !== undefined) conversation.push(message)
    } else if (conversation.length % 2 === 0) {
      dropped.add("leading_assistant_turn", group.turns.length)
    } else {
      conversation.push(assistantMessage(group, dropped))
      calls = callsOf(group)
    }
  }
  return conversation
}

const project = (source: TrainingSample): Projection<ShareGptSample> => {
  if (source.metadata.context_answers > 0) return { _tag: "None", reason: "context_answers" }
  const dropped = new DropTally()
  const conversation = conversationOf(source, dropped)
  const [first, ...others] = conversation
  if (first === undefined || others.length === 0) return { _tag: "None", reason: "no_assistant_turn" }
  const system = source.turns.find((turn) => turn.role === "system")?.content ?? ""
  const all = sum([source.metadata.dropped, dropped.counts])
  return {
    _tag: "Sample",
    sample: {
      conversations: [first, ...others],
      system,
      tools: JSON.stringify(source.tools),
      metadata: metadataOf(source, all)
    },
    file: "train",
    dropped: all
  }
}

const isFunctionCall = (value: string): boolean => {
  const json = value.replace(/^<think>\n[^]*?\n<\/think>\n\n/u, "")
  const calls = JsonText.parse(json)
  const list = isArray(calls) ? calls : [calls]
  return (
    !holdsMarks(json) &&
    list.length > 0 &&
    list.every((call) => isObject(call) && typeof call["name"] === "string" && isObject(call["arguments"]))
  )
}

/** The first violated rule that the schema cannot express. */
const brokenRule = ({ conversations, tools }: ShareGptSample): readonly [at: string, issue: string] | undefined => {
  for (const [index, { from, value }] of conversations.entries()) {
    const at = `conversations[${index}]`
    const human = from === "human" || from === "observation"
    if (human !== (index % 2 === 0)) return [at, `${from} at a place of the ${human ? "model" : "human"} side`]
    const afterCall = conversations[index - 1]?.from === "function_call"
    if (human && afterCall !== (from === "observation")) {
      return [at, afterCall ? "a call without an observation" : "an observation without a call"]
    }
    if (from === "function_call" && !isFunctionCall(value)) return [at, "not a JSON object with name and arguments"]
  }
  if (conversations.length % 2 !== 0) return ["conversations", "an odd number of messages"]
  return isArray(JsonText.parse(tools)) ? undefined : ["tools", "no JSON list"]
}

const read = ReadSample.make("sharegpt", ShareGptSample)

const validate = (line: string): Result.Result<ShareGptSample, InvalidSample> =>
  Result.flatMap(read(line), (sample) => {
    const broken = brokenRule(sample)
    if (broken === undefined) return Result.succeed(sample)
    const [at, issue] = broken
    return Result.fail(new InvalidSample({ format: "sharegpt", at, issue }))
  })

export const ShareGptFormat: SampleFormat<ShareGptSample> = {
  name: "sharegpt",
  trainer: "LLaMA-Factory: `formatting: sharegpt`; it trains on every `gpt` and `function_call`.",
  project,
  validate
}
