/** Chat messages for fine-tuning at OpenAI and Mistral: a weight on each answer, arguments as JSON text. */
import * as Schema from "effect/Schema"
import {
  type BrokenRule,
  type ChatMessage,
  ChatTools,
  SystemMessage,
  TextFunctionCall,
  UserMessage,
  brokenOrder,
  brokenTools,
  markedMessages,
  withTextArguments
} from "./ChatMessages.ts"
import { type DropTally } from "@pi-sessions/samples/DropCounts"
import { type TrainingSample } from "@pi-sessions/samples/TrainingSample"

export const WeightedMessage = Schema.Union([
  SystemMessage,
  UserMessage,
  Schema.Struct({
    role: Schema.Literal("assistant"),
    content: Schema.String,
    tool_calls: Schema.optionalKey(Schema.NonEmptyArray(TextFunctionCall)),
    /** 1: target. 0: context. */
    weight: Schema.Literals([0, 1])
  }),
  Schema.Struct({ role: Schema.Literal("tool"), tool_call_id: Schema.String, content: Schema.String })
])
export type WeightedMessage = typeof WeightedMessage.Type

export const WeightedSample = Schema.Struct({
  messages: Schema.NonEmptyArray(WeightedMessage),
  tools: Schema.optionalKey(ChatTools)
})
export type WeightedSample = typeof WeightedSample.Type

const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/u

/** Whether both services accept the names of all declared and called tools. */
export const takesTools = ({ tools, turns }: TrainingSample): boolean =>
  tools.every(({ name }) => TOOL_NAME.test(name)) &&
  turns.every((turn) => turn.tool_calls.every(({ name }) => TOOL_NAME.test(name)))

const messageOf = (
  message: ChatMessage,
  isTarget: boolean,
  idOf: (id: string) => string,
  dropped: DropTally
): WeightedMessage => {
  if (message.role === "tool") {
    const { content, role, tool_call_id } = message
    return { role, tool_call_id: idOf(tool_call_id), content }
  }
  if (message.role !== "assistant") return message
  const { content, reasoning_content, role, tool_calls } = message
  if (reasoning_content !== undefined) dropped.add("reasoning")
  const weight = isTarget ? 1 : 0
  if (tool_calls === undefined) return { role, content, weight }
  const callOf = (call: (typeof tool_calls)[number]): TextFunctionCall => ({
    ...withTextArguments(call),
    id: idOf(call.id)
  })
  const [first, ...others] = tool_calls
  return { role, content, tool_calls: [callOf(first), ...others.map(callOf)], weight }
}

/** The messages of a sample, with call ids that the service accepts. */
export const weightedMessages = (
  sample: TrainingSample,
  idOf: (id: string) => string,
  dropped: DropTally
): ReadonlyArray<WeightedMessage> => {
  const { messages, trailing } = markedMessages(sample)
  dropped.add("trailing_message", trailing)
  return messages.map(({ isTarget, message }) => messageOf(message, isTarget, idOf, dropped))
}

/** The first violated rule that the schema cannot express. */
export const brokenRule = ({ messages, tools = [] }: WeightedSample, callId: RegExp): BrokenRule | undefined => {
  for (const [index, message] of messages.entries()) {
    if (message.role !== "assistant") continue
    const calls = message.tool_calls ?? []
    if (calls.some(({ id }) => !callId.test(id))) return [`messages[${index}]`, "a call id that the service refuses"]
    if (calls.some((call) => !TOOL_NAME.test(call.function.name))) {
      return [`messages[${index}]`, "a tool name that the service refuses"]
    }
  }
  if (tools.some((tool) => !TOOL_NAME.test(tool.function.name)))
    return ["tools", "a tool name that the service refuses"]
  const weights = messages.flatMap((message) => (message.role === "assistant" ? [message.weight] : []))
  if (weights.at(-1) !== 1) return ["messages", "the last answer is not trained"]
  if (weights.includes(0, weights.indexOf(1))) return ["messages", "a masked answer after a trained one"]
  return brokenOrder(messages) ?? brokenTools(tools)
}
