/**
 * Format `messages`: TRL's conversational shapes with tools, which Unsloth reads too. Arguments are objects, as the
 * templates of Qwen and Llama iterate over them. A tool's error mark has no place in it; the metadata counts them.
 *
 * TRL trains on every answer in `messages`. A sample whose context holds answers that are no targets is written as
 * `prompt` and `completion` instead, of which TRL trains on the completion only; such lines stand in a file of their own.
 *
 * A sample ends on an assistant message, since nothing is learnt from what follows the last one, and never begins with a
 * tool message. Consecutive messages of one role stay as they are.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { AnyJson } from "@pi-sessions/core/Json"
import { DropTally, sum } from "./DropCounts.ts"
import { InvalidSample, type Projection, type SampleFormat, SampleMetadata, metadataOf } from "./Sample.ts"
import { ToolDefinition } from "./ToolDefinition.ts"
import { type TrainingSample } from "./TrainingSample.ts"
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

const Tools = Schema.Array(Schema.Struct({ type: Schema.Literal("function"), function: ToolDefinition }))

/** Every answer is a target. */
export const MessagesSample = Schema.Struct({
  messages: Schema.NonEmptyArray(ChatMessage),
  tools: Tools,
  metadata: SampleMetadata
})
export type MessagesSample = typeof MessagesSample.Type

/** The answers of the completion are targets, those of the prompt are not. */
export const CompletionSample = Schema.Struct({
  prompt: Schema.NonEmptyArray(ChatMessage),
  completion: Schema.NonEmptyArray(ChatMessage),
  tools: Tools,
  metadata: SampleMetadata
})
export type CompletionSample = typeof CompletionSample.Type

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

type Line = MessagesSample | CompletionSample

const project = (sample: TrainingSample): Projection<Line> => {
  const before = sample.turns.slice(0, sample.first_target).flatMap(messagesOf)
  const after = sample.turns.slice(sample.first_target).flatMap(messagesOf)
  const [first, ...others] = before
  const [target, ...rest] = after.slice(0, after.findLastIndex((message) => message.role === "assistant") + 1)
  if (target === undefined) return { _tag: "None", reason: "no_assistant_turn" }
  const dropped = new DropTally()
  dropped.add("trailing_message", after.length - rest.length - 1)
  const all = sum([sample.metadata.dropped, dropped.counts])
  const common = {
    tools: sample.tools.map((tool) => ({ type: "function" as const, function: tool })),
    metadata: metadataOf(sample, all)
  }
  if (first !== undefined && sample.metadata.context_answers > 0) {
    const line = { prompt: [first, ...others] as const, completion: [target, ...rest] as const, ...common }
    return { _tag: "Sample", sample: line, file: "continued", dropped: all }
  }
  const messages = first === undefined ? ([target, ...rest] as const) : ([first, ...others, target, ...rest] as const)
  return { _tag: "Sample", sample: { messages, ...common }, file: "train", dropped: all }
}

/** The first broken rule among those that a shape cannot say. */
const brokenRule = (
  messages: ReadonlyArray<ChatMessage>,
  tools: Line["tools"]
): readonly [at: string, issue: string] | undefined => {
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

const readMessages = ReadSample.make("messages", MessagesSample)
const readCompletion = ReadSample.make("messages", CompletionSample)

const read = (line: string): Result.Result<Line, InvalidSample> =>
  line.startsWith('{"prompt":') ? readCompletion(line) : readMessages(line)

const brokenBorder = ({ completion }: CompletionSample): readonly [at: string, issue: string] | undefined =>
  completion[0].role === "assistant" ? undefined : ["completion[0]", "a completion that does not begin with an answer"]

const validate = (line: string): Result.Result<Line, InvalidSample> =>
  Result.flatMap(read(line), (sample) => {
    const broken =
      "messages" in sample
        ? brokenRule(sample.messages, sample.tools)
        : (brokenBorder(sample) ?? brokenRule([...sample.prompt, ...sample.completion], sample.tools))
    if (broken === undefined) return Result.succeed(sample)
    const [at, issue] = broken
    return Result.fail(new InvalidSample({ format: "messages", at, issue }))
  })

export const MessagesFormat: SampleFormat<Line> = { name: "messages", project, validate }
