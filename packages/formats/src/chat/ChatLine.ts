/**
 * Reads lines of chat formats back as conversations: `messages`, or `prompt` and its completion, with arguments and
 * tools as JSON or as text. The targets are the answers that the line's trainer would train.
 */
import { type Json, type JsonObject, isArray, isObject, objectAt, stringAt } from "@pi-sessions/core/Json"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { ChatMessage, ChatTools } from "./ChatMessages.ts"
import { type Conversation } from "../model/ChatTemplate.ts"
import { dateOf } from "../TokensFormat.ts"
import * as JsonText from "@pi-sessions/core/JsonText"

export interface LearntConversation {
  readonly conversation: Conversation
  /** Indexes of the messages that are trained. */
  readonly targets: ReadonlyArray<number>
}

const decodeMessages = Schema.decodeUnknownResult(Schema.Array(ChatMessage))
const decodeTools = Schema.decodeUnknownResult(ChatTools)

const listAt = (line: JsonObject, key: string): ReadonlyArray<JsonObject> => {
  const list = line[key]
  return isArray(list) ? list.filter(isObject) : []
}

/** Null members are absent members: columns of tables have them. */
const withoutNulls = (object: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(object).filter(([, member]) => member !== null && member !== undefined))

const parsed = (value: Json | undefined): Json | undefined =>
  typeof value === "string" ? JsonText.parse(value) : value

const callOf = (call: JsonObject): JsonObject => {
  const called = objectAt(call, "function") ?? {}
  return { ...call, function: { ...called, arguments: parsed(called["arguments"]) } }
}

/** A message as templates expect it: arguments as an object, the tool's name on its result. */
const messageOf = (given: JsonObject, names: Map<string, string>): JsonObject => {
  const message = withoutNulls(given)
  if (message["role"] === "tool") {
    const id = stringAt(message, "tool_call_id") ?? ""
    return { ...message, tool_call_id: id, name: stringAt(message, "name") ?? names.get(id) ?? "" }
  }
  const calls = listAt(message, "tool_calls").map(callOf)
  for (const call of calls)
    names.set(stringAt(call, "id") ?? "", stringAt(objectAt(call, "function") ?? {}, "name") ?? "")
  const { tool_calls: _, ...rest } = message
  return calls.length === 0 ? rest : { ...rest, tool_calls: calls }
}

const isLearnt = ({ role, train, weight }: JsonObject): boolean =>
  role === "assistant" && train !== false && weight !== 0

/** A conversation; unmasked answers from index `first` on are targets. */
const conversationOf = (
  line: JsonObject,
  given: ReadonlyArray<JsonObject>,
  from: number
): LearntConversation | undefined => {
  const names = new Map<string, string>()
  const messages = decodeMessages(given.map((message) => messageOf(message, names)))
  const tools = decodeTools(parsed(line["tools"]) ?? [])
  if (Result.isFailure(messages) || Result.isFailure(tools)) return undefined
  const date = dateOf(stringAt(objectAt(line, "metadata") ?? {}, "timestamp"))
  const targets = given.flatMap((message, at) => (at >= from && isLearnt(message) ? [at] : []))
  return { conversation: { messages: messages.success, tools: tools.success, date }, targets }
}

/** The conversations of a line: two for a preference pair, none if the line is not a chat. */
export const conversationsIn = (text: string): ReadonlyArray<LearntConversation> => {
  const line = JsonText.parseObject(text)
  if (line === undefined) return []
  const prompt = listAt(line, "prompt")
  const endings = ["completion", "chosen", "rejected"]
    .map((key) => listAt(line, key))
    .filter(({ length }) => length > 0)
  const all =
    endings.length === 0
      ? [conversationOf(line, listAt(line, "messages"), 0)]
      : endings.map((ending) => conversationOf(line, [...prompt, ...ending], prompt.length))
  return all.filter((one) => one !== undefined)
}
