/**
 * Chat messages in OpenAI's shape, which TRL, Axolotl, OpenAI and Mistral read, each with its own additions. A user
 * turn of tool results becomes one tool message for each. Consecutive messages of one role are not joined.
 */
import * as Schema from "effect/Schema"
import { AnyJson, type Loose } from "@pi-sessions/core/Json"
import { ToolDefinition } from "@pi-sessions/samples/ToolDefinition"
import { type TrainingSample } from "@pi-sessions/samples/TrainingSample"
import { type Turn } from "@pi-sessions/samples/Turn"
import * as JsonText from "@pi-sessions/core/JsonText"
import { IMAGE, IMAGE_NAME } from "@pi-sessions/samples/SessionImages"

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
  /** Thinking. */
  reasoning_content: Schema.optionalKey(Schema.String),
  tool_calls: Schema.optionalKey(Schema.NonEmptyArray(FunctionCall))
})
export type AssistantMessage = typeof AssistantMessage.Type

export const ChatMessage = Schema.Union([SystemMessage, UserMessage, AssistantMessage, ToolMessage]).pipe(
  Schema.toTaggedUnion("role")
)
export type ChatMessage = typeof ChatMessage.Type

const isString = (value: unknown): value is string => typeof value === "string"
const isId = (value: unknown): value is string => isString(value) && value !== ""

const hasKeys = (value: object, count: number): boolean => Object.keys(value).length === count

const isFunctionCall = (value: unknown): boolean => {
  if (typeof value !== "object" || value === null || !hasKeys(value, 3)) return false
  const { function: called, id, type }: Loose<FunctionCall> = value
  if (!isId(id) || type !== "function" || typeof called !== "object" || called === null) return false
  const { arguments: args, name }: Loose<FunctionCall["function"]> = called
  return hasKeys(called, 2) && isString(name) && typeof args === "object" && args !== null && !Array.isArray(args)
}

const isChatMessage = (value: unknown): value is ChatMessage => {
  if (typeof value !== "object" || value === null || !("role" in value)) return false
  switch (value.role) {
    case "system":
    case "user": {
      const { content }: Loose<typeof UserMessage.Type> = value
      return hasKeys(value, 2) && isString(content)
    }
    case "tool": {
      const { content, name, tool_call_id }: Loose<typeof ToolMessage.Type> = value
      return hasKeys(value, 4) && isString(content) && isString(name) && isId(tool_call_id)
    }
    case "assistant": {
      const { content, reasoning_content, tool_calls }: Loose<AssistantMessage> = value
      const optional = [reasoning_content, tool_calls].filter((member) => member !== undefined).length
      return (
        hasKeys(value, 2 + optional) &&
        isString(content) &&
        (reasoning_content === undefined || isString(reasoning_content)) &&
        (tool_calls === undefined ||
          (Array.isArray(tool_calls) && tool_calls.length > 0 && tool_calls.every(isFunctionCall)))
      )
    }
    default:
      return false
  }
}

/** Accepts the same as `Schema.NonEmptyArray(ChatMessage)`, several times faster, without saying what is wrong. */
export const QuickMessages = Schema.declare(
  (value): value is readonly [ChatMessage, ...ReadonlyArray<ChatMessage>] =>
    Array.isArray(value) && value.length > 0 && value.every(isChatMessage)
)

export const ChatTools = Schema.Array(Schema.Struct({ type: Schema.Literal("function"), function: ToolDefinition }))
export type ChatTools = typeof ChatTools.Type

/** The tools of a sample, as a chat declares them. */
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

/** The image files in the messages of a sample up to its last answer, in the order of their marks. */
export const imagesOf = ({ turns }: TrainingSample): ReadonlyArray<string> =>
  turns
    .slice(0, turns.findLastIndex((turn) => turn.role === "assistant") + 1)
    .flatMap(({ images = [], tool_results }) => [...tool_results.flatMap((result) => result.images ?? []), ...images])

/** A message, and whether it is trained. */
export interface MarkedMessage {
  readonly message: ChatMessage
  /** True of answers only. */
  readonly isTarget: boolean
}

/** The messages of a sample up to its last answer. The caller counts the rest, from which nothing is trained. */
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

/** The parts of messages that the rules of order need. */
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

/** A violated rule: its position and the rule. */
export type BrokenRule = readonly [at: string, issue: string]

/**
 * Returns the first violated rule of order: every call has its result after it, except those of the last answer; every
 * result has its call; the last message is an answer.
 */
export const brokenOrder = (messages: ReadonlyArray<OrderedMessage>): BrokenRule | undefined => {
  /** Calls of the latest assistant message without a result so far. */
  let open = new Map<string, string>()
  for (const [index, message] of messages.entries()) {
    const at = `messages[${index}]`
    if (message.role === "tool") {
      const name = open.get(message.tool_call_id)
      if (name === undefined) return [at, "a tool message without an open call before it"]
      if (message.name !== undefined && name !== message.name) {
        return [at, "a tool message whose name differs from its call"]
      }
      open.delete(message.tool_call_id)
      continue
    }
    if (open.size > 0) return [at, "the assistant message before it has a call without a result"]
    if (message.role === "system" && index > 0) return [at, "a system message that is not the first"]
    if (message.role !== "assistant") continue
    const calls = message.tool_calls ?? []
    if (message.content.trim() === "" && calls.length === 0) return [at, "an assistant message without text or calls"]
    open = new Map(calls.map((call) => [call.id, call.function.name]))
    if (open.size < calls.length) return [at, "two calls with one id"]
    const isNoObject = ({ function: { arguments: args } }: (typeof calls)[number]) =>
      typeof args === "string" && JsonText.parseObject(args) === undefined
    if (calls.some(isNoObject)) return [at, "arguments that are not a JSON object"]
  }
  return messages.at(-1)?.role === "assistant" ? undefined : ["messages", "the last message is not the assistant's"]
}

/** Requires a file for every image mark, and a mark for every file. */
export const brokenImages = (
  messages: ReadonlyArray<OrderedMessage & { readonly content: string }>,
  images: ReadonlyArray<string> | undefined
): BrokenRule | undefined => {
  if (images === undefined) return undefined
  const other = images.findIndex((name) => !IMAGE_NAME.test(name))
  if (other >= 0) return [`images[${other}]`, "not the name of an image file"]
  const shown = messages.filter(({ role }) => role === "user" || role === "tool")
  const marks = shown.reduce((sum, { content }) => sum + content.split(IMAGE).length - 1, 0)
  return marks === images.length ? undefined : ["images", "their number differs from the number of image marks"]
}

/** Requires distinct tool names. */
export const brokenTools = (
  tools: ReadonlyArray<{ readonly function: { readonly name: string } }>
): BrokenRule | undefined =>
  new Set(tools.map((tool) => tool.function.name)).size < tools.length
    ? ["tools", "two tools with one name"]
    : undefined
