/**
 * Chat messages: OpenAI's shape, which TRL, Axolotl, OpenAI itself and Mistral read, each with additions of its own. A
 * user turn of tool results is a tool message for each; consecutive messages of one role stay as they are.
 */
import * as Schema from "effect/Schema"
import { AnyJson } from "@pi-sessions/core/Json"
import { ToolDefinition } from "./ToolDefinition.ts"
import { type TrainingSample } from "./TrainingSample.ts"
import { type Turn } from "./Turn.ts"
import * as JsonText from "./internal/jsonText.ts"

export const SystemMessage = Schema.Struct({ role: Schema.Literal("system"), content: Schema.String })
export const UserMessage = Schema.Struct({ role: Schema.Literal("user"), content: Schema.String })
export const ToolMessage = Schema.Struct({
  role: Schema.Literal("tool"),
  tool_call_id: Schema.NonEmptyString,
  name: Schema.String,
  content: Schema.String
})

const functionCall = <S extends Schema.Top>(args: S) =>
  Schema.Struct({
    id: Schema.NonEmptyString,
    type: Schema.Literal("function"),
    function: Schema.Struct({ name: Schema.String, arguments: args })
  })

/** Arguments as an object. */
export const FunctionCall = functionCall(Schema.Record(Schema.String, AnyJson))
export type FunctionCall = typeof FunctionCall.Type

/** Arguments as JSON text. */
export const TextFunctionCall = functionCall(Schema.String)
export type TextFunctionCall = typeof TextFunctionCall.Type

export const AssistantMessage = Schema.Struct({
  role: Schema.Literal("assistant"),
  content: Schema.String,
  /** The thinking. */
  reasoning_content: Schema.optionalKey(Schema.String),
  tool_calls: Schema.optionalKey(Schema.NonEmptyArray(FunctionCall))
})
export type AssistantMessage = typeof AssistantMessage.Type

export const ChatMessage = Schema.Union([SystemMessage, UserMessage, AssistantMessage, ToolMessage]).pipe(
  Schema.toTaggedUnion("role")
)
export type ChatMessage = typeof ChatMessage.Type

export const ChatTools = Schema.Array(Schema.Struct({ type: Schema.Literal("function"), function: ToolDefinition }))
export type ChatTools = typeof ChatTools.Type

/** The tools of a sample as a chat declares them. */
export const toolsOf = (sample: TrainingSample): ChatTools =>
  sample.tools.map((tool) => ({ type: "function" as const, function: tool }))

/** A turn as messages. */
export const messagesOf = (turn: Turn): ReadonlyArray<ChatMessage> => {
  const { content, metadata, role, tool_calls, tool_results } = turn
  switch (role) {
    case "system":
      return [{ role, content }]
    case "assistant": {
      const [first, ...others] = tool_calls.map(({ arguments: args, id, name }) => ({
        id,
        type: "function" as const,
        function: { name, arguments: args }
      }))
      return [
        {
          role,
          content,
          ...(metadata.reasoning === undefined ? {} : { reasoning_content: metadata.reasoning }),
          ...(first === undefined ? {} : { tool_calls: [first, ...others] })
        }
      ]
    }
    case "user": {
      const results = tool_results.map((result): ChatMessage => {
        const { content, tool_call_id, tool_name } = result
        return { role: "tool", tool_call_id, name: tool_name, content }
      })
      return content === "" ? results : [...results, { role, content }]
    }
  }
}

/** A message, and whether it is to be learnt. */
export interface MarkedMessage {
  readonly message: ChatMessage
  /** Of answers only. */
  readonly isTarget: boolean
}

/** The messages of a sample up to its last answer. What follows that is counted by the caller: nothing is learnt from it. */
export const markedMessages = (
  sample: TrainingSample
): { readonly messages: ReadonlyArray<MarkedMessage>; readonly trailing: number } => {
  const all = sample.turns.flatMap((turn, at) =>
    messagesOf(turn).map((message) => ({
      message,
      isTarget: turn.role === "assistant" && at >= sample.first_target
    }))
  )
  const messages = all.slice(0, all.findLastIndex(({ message }) => message.role === "assistant") + 1)
  return { messages, trailing: all.length - messages.length }
}

/** A call with its arguments as JSON text. */
export const withTextArguments = (call: FunctionCall): TextFunctionCall => ({
  ...call,
  function: { name: call.function.name, arguments: JSON.stringify(call.function.arguments) }
})

/** What the rules of order look at. */
export type OrderedMessage =
  | { readonly role: "system" | "user"; readonly content: string }
  | {
      readonly role: "assistant"
      readonly content: string
      readonly tool_calls?: ReadonlyArray<{
        readonly id: string
        readonly function: { readonly name: string; readonly arguments: unknown }
      }>
    }
  | { readonly role: "tool"; readonly tool_call_id: string; readonly name?: string }

/** A broken rule: where, and which. */
export type BrokenRule = readonly [at: string, issue: string]

/**
 * The first broken rule among those that a shape cannot say: every call has its result behind it, except those of the
 * last answer; every result its call; the end is an answer.
 */
export const brokenOrder = (messages: ReadonlyArray<OrderedMessage>): BrokenRule | undefined => {
  /** Calls of the latest assistant message that have no result yet. */
  let open = new Map<string, string>()
  for (const [index, message] of messages.entries()) {
    const at = `messages[${index}]`
    if (message.role === "tool") {
      const name = open.get(message.tool_call_id)
      if (name === undefined) return [at, "a tool message that answers no open call of the assistant message before it"]
      if (message.name !== undefined && name !== message.name) {
        return [at, "a tool message under another name than its call"]
      }
      open.delete(message.tool_call_id)
      continue
    }
    if (open.size > 0) return [at, "a call of the assistant message before it has no tool message"]
    if (message.role === "system" && index > 0) return [at, "a system message that is not the first"]
    if (message.role !== "assistant") continue
    const calls = message.tool_calls ?? []
    if (message.content.trim() === "" && calls.length === 0) return [at, "an assistant message without text or calls"]
    open = new Map(calls.map((call) => [call.id, call.function.name]))
    if (open.size < calls.length) return [at, "two calls with one id"]
    const isNoObject = ({ function: { arguments: args } }: (typeof calls)[number]) =>
      typeof args === "string" && JsonText.parseObject(args) === undefined
    if (calls.some(isNoObject)) return [at, "arguments that are no JSON object"]
  }
  return messages.at(-1)?.role === "assistant" ? undefined : ["messages", "the last message is not the assistant's"]
}

/** Tools are told apart by their names. */
export const brokenTools = (
  tools: ReadonlyArray<{ readonly function: { readonly name: string } }>
): BrokenRule | undefined =>
  new Set(tools.map((tool) => tool.function.name)).size < tools.length
    ? ["tools", "two tools with one name"]
    : undefined
