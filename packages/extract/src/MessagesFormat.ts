/**
 * Format `messages`: TRL's conversational shape with tools, which Axolotl and Unsloth read too. Arguments are objects, as
 * the templates of Qwen and Llama iterate over them. A tool's error mark has no place in it; the metadata counts them.
 *
 * One session is one sample. It ends on an assistant message, since nothing is learnt from what follows the last one,
 * and never begins with a tool message. Consecutive messages of one role stay as they are.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { AnyJson } from "@pi-sessions/core/Json"
import { DropTally, sum } from "./DropCounts.ts"
import { type ExtractedSession } from "./ExtractedSession.ts"
import { InvalidSample, type Projection, type SampleFormat, SampleMetadata, metadataOf } from "./Sample.ts"
import { ToolDefinition } from "./ToolDefinition.ts"
import { type Turn } from "./Turn.ts"
import * as ReadSample from "./internal/readSample.ts"

const FunctionCall = Schema.Struct({
  id: Schema.NonEmptyString,
  type: Schema.Literal("function"),
  function: Schema.Struct({ name: Schema.String, arguments: Schema.Record(Schema.String, AnyJson) })
})

export const ChatMessage = Schema.Union([
  Schema.Struct({ role: Schema.Literal("system"), content: Schema.String }),
  Schema.Struct({ role: Schema.Literal("user"), content: Schema.String }),
  Schema.Struct({
    role: Schema.Literal("assistant"),
    content: Schema.String,
    /** The thinking. */
    reasoning_content: Schema.optionalKey(Schema.String),
    tool_calls: Schema.optionalKey(Schema.NonEmptyArray(FunctionCall))
  }),
  Schema.Struct({
    role: Schema.Literal("tool"),
    tool_call_id: Schema.NonEmptyString,
    name: Schema.String,
    content: Schema.String
  })
]).pipe(Schema.toTaggedUnion("role"))
export type ChatMessage = typeof ChatMessage.Type

export const MessagesSample = Schema.Struct({
  messages: Schema.NonEmptyArray(ChatMessage),
  tools: Schema.Array(Schema.Struct({ type: Schema.Literal("function"), function: ToolDefinition })),
  metadata: SampleMetadata
})
export type MessagesSample = typeof MessagesSample.Type

const messagesOf = (turn: Turn): ReadonlyArray<ChatMessage> => {
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

const project = (session: ExtractedSession): Projection<MessagesSample> => {
  const dropped = new DropTally()
  const messages = session.turns.flatMap(messagesOf)
  const end = messages.findLastIndex((message) => message.role === "assistant") + 1
  const [first, ...others] = messages.slice(0, end)
  if (first === undefined) return { _tag: "None", reason: "no_assistant_turn" }
  dropped.add("trailing_message", messages.length - end)
  const all = sum([session.metadata.dropped, dropped.counts])
  return {
    _tag: "Sample",
    sample: {
      messages: [first, ...others],
      tools: session.tools.map((tool) => ({ type: "function", function: tool })),
      metadata: metadataOf(session, all)
    },
    dropped: all
  }
}

/** The first broken rule among those that a shape cannot say. */
const brokenRule = ({ messages, tools }: MessagesSample): readonly [at: string, issue: string] | undefined => {
  /** Calls of the latest assistant message that have no result yet. */
  let open = new Map<string, string>()
  for (const [index, message] of messages.entries()) {
    const at = `messages[${index}]`
    if (message.role === "tool") {
      const name = open.get(message.tool_call_id)
      if (name === undefined) return [at, "a tool message that answers no open call of the assistant message before it"]
      if (name !== message.name) return [at, "a tool message under another name than its call"]
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
  }
  if (messages.at(-1)?.role !== "assistant") return ["messages", "the last message is not the assistant's"]
  const names = new Set(tools.map((tool) => tool.function.name))
  return names.size < tools.length ? ["tools", "two tools with one name"] : undefined
}

const read = ReadSample.make("messages", MessagesSample)

const validate = (line: string): Result.Result<MessagesSample, InvalidSample> =>
  Result.flatMap(read(line), (sample) => {
    const broken = brokenRule(sample)
    if (broken === undefined) return Result.succeed(sample)
    const [at, issue] = broken
    return Result.fail(new InvalidSample({ format: "messages", at, issue }))
  })

export const MessagesFormat: SampleFormat<MessagesSample> = { name: "messages", project, validate }
