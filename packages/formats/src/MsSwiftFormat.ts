/**
 * Format `ms-swift`: the roles and masks of ms-swift (3602360, August 2026). A call is a message of role `tool_call`
 * after the answer's text, a result one of role `tool_response`. Each message of an answer has a field `loss`. Tools
 * are JSON text. The trainer requires alternating sides and joins consecutive messages of one role without a separator,
 * so they are joined here, where losses are counted:
 *
 * - Consecutive user turns are joined by an empty line. So are consecutive answers, unless only one of them is a
 *   target: these stay two messages, which the trainer masks separately.
 * - User text between results and the next answer is appended to the last result: the trainer fails on a user message
 *   after a tool message.
 * - Thinking precedes text and calls as `<think>\n...\n</think>\n\n`. Thinking that contains such marks is dropped.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { isObject } from "@pi-sessions/core/Json"
import { type BrokenRule, ChatTools, toolsOf } from "./chat/ChatMessages.ts"
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
  textsOf,
  thinkingOf,
  withoutMarks
} from "./chat/turnGroups.ts"

export const MsSwiftMessage = Schema.Union([
  Schema.Struct({ role: Schema.Literals(["system", "user", "tool_response"]), content: Schema.String }),
  Schema.Struct({
    role: Schema.Literals(["assistant", "tool_call"]),
    content: Schema.String,
    loss: Schema.Boolean
  })
])
export type MsSwiftMessage = typeof MsSwiftMessage.Type

export const MsSwiftSample = Schema.Struct({
  messages: Schema.NonEmptyArray(MsSwiftMessage),
  /** JSON list of tool definitions. */
  tools: Schema.String,
  metadata: SampleMetadata
})
export type MsSwiftSample = typeof MsSwiftSample.Type

const userMessages = (
  group: TurnGroup,
  calls: ReadonlyArray<ToolCall>,
  dropped: DropTally
): ReadonlyArray<MsSwiftMessage> => {
  const texts = textsOf(group)
  const results = answersTo(calls, group)
  const last = results.at(-1)
  if (last === undefined) {
    dropped.add("merged_user_turn", texts.length - 1)
    return texts.length === 0 ? [] : [{ role: "user", content: texts.join("\n\n") }]
  }
  dropped.add("user_text_in_observation", texts.length)
  return results.map((result) => ({
    role: "tool_response",
    content: result === last ? [result.content, ...texts].join("\n\n") : result.content
  }))
}

const assistantMessages = (group: TurnGroup, dropped: DropTally): ReadonlyArray<MsSwiftMessage> => {
  const texts = textsOf(group)
  dropped.add("merged_assistant_turn", group.turns.length - 1)
  const said = thinkingOf(group, dropped) + texts.join("\n\n")
  const loss = group.isTarget
  const calls = callsOf(group).map(({ arguments: args, name }): MsSwiftMessage => ({
    role: "tool_call",
    content: withoutMarks(JSON.stringify({ name, arguments: args })),
    loss
  }))
  return said === "" ? calls : [{ role: "assistant", content: said, loss }, ...calls]
}

const project = (source: TrainingSample): Projection<MsSwiftSample> => {
  const dropped = new DropTally()
  const groups = groupsOf(source)
  dropTrailing(groups, dropped)
  if (groups.length === 0) return { _tag: "None", reason: "no_assistant_turn" }
  const messages: Array<MsSwiftMessage> = source.turns
    .filter((turn) => turn.role === "system")
    .map(({ content }) => ({ role: "system", content }))
  let calls: ReadonlyArray<ToolCall> = []
  for (const group of groups) {
    if (group.role === "assistant") messages.push(...assistantMessages(group, dropped))
    else messages.push(...userMessages(group, calls, dropped))
    calls = group.role === "assistant" ? callsOf(group) : []
  }
  const [first, ...others] = messages
  if (first === undefined) return { _tag: "None", reason: "no_assistant_turn" }
  const all = sum([source.metadata.dropped, dropped.counts])
  return {
    _tag: "Sample",
    sample: {
      messages: [first, ...others],
      tools: JSON.stringify(toolsOf(source)),
      metadata: metadataOf(source, all)
    },
    file: "train",
    dropped: all
  }
}

/** Whether a message is part of an answer. */
const isAnswer = (message: MsSwiftMessage) => message.role === "assistant" || message.role === "tool_call"

/** The rule that a message violates, given the one before it. */
const brokenNext = (message: MsSwiftMessage, before: MsSwiftMessage | undefined): string | undefined => {
  switch (message.role) {
    case "system":
      return before === undefined ? undefined : "a system message that is not the first"
    case "user":
      return before === undefined || before.role === "system" || before.role === "assistant"
        ? undefined
        : `a user message after ${before.role}`
    case "tool_response":
      return before?.role === "tool_call" || before?.role === "tool_response" ? undefined : "a result without a call"
    case "assistant":
      if (before?.role === "tool_call") return "a call without a result"
      if (message.content.trim() === "") return "an assistant message without text"
      return before?.role === "assistant" && "loss" in before && before.loss === message.loss
        ? "consecutive assistant messages with the same mask"
        : undefined
    case "tool_call": {
      const call = JsonText.parseObject(message.content)
      if (typeof call?.["name"] !== "string" || !isObject(call["arguments"]))
        return "not a JSON object with name and arguments"
      const isOther = before?.role === "tool_call" && "loss" in before && before.loss !== message.loss
      return isOther ? "a mask that differs from the call before it" : undefined
    }
  }
}

const decodeTools = Schema.decodeUnknownResult(ChatTools)

/** The first violated rule that the schema cannot express. */
const brokenRule = ({ messages, metadata, tools }: MsSwiftSample): BrokenRule | undefined => {
  let calls = 0
  let results = 0
  for (const [index, message] of messages.entries()) {
    const at = `messages[${index}]`
    const before = messages[index - 1]
    const issue = brokenNext(message, before)
    if (issue !== undefined) return [at, issue]
    if (message.role === "tool_call") calls = before?.role === "tool_call" ? calls + 1 : 1
    if (message.role === "tool_response") results = before?.role === "tool_response" ? results + 1 : 1
    const endsResults = message.role === "tool_response" && messages[index + 1]?.role !== "tool_response"
    if (endsResults && calls !== results) return [at, "the numbers of results and calls differ"]
  }
  const last = messages[messages.length - 1]
  if (last === undefined || !isAnswer(last)) return ["messages", "the last message is not the model's"]
  const masks = messages.flatMap((message) => ("loss" in message ? [message.loss] : []))
  if (masks.at(-1) !== true) return ["messages", "the last answer is not trained"]
  if (masks.includes(false, masks.indexOf(true))) return ["messages", "a masked answer after a trained one"]
  if (masks.includes(false) !== metadata.context_answers > 0) return ["messages", "masks that contradict the metadata"]
  return Result.isSuccess(decodeTools(JsonText.parse(tools))) ? undefined : ["tools", "not a JSON list of tools"]
}

const read = ReadSample.make("ms-swift", MsSwiftSample)

const validate = (line: string): Result.Result<MsSwiftSample, InvalidSample> =>
  Result.flatMap(read(line), (sample) => {
    const broken = brokenRule(sample)
    if (broken === undefined) return Result.succeed(sample)
    const [at, issue] = broken
    return Result.fail(new InvalidSample({ format: "ms-swift", at, issue }))
  })

export const MsSwiftFormat: SampleFormat<MsSwiftSample> = {
  name: "ms-swift",
  trainer: "ms-swift: `loss` on each message tells what is trained on.",
  project,
  validate
}
