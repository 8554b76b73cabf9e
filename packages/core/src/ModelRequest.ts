/**
 * The request that Pi sent for an answer: what stood on the branch before it, projected, converted and fitted to the
 * model that answered. Computed from the session alone; what the session does not hold (the system prompt and the tools
 * of 0.78) is not in it.
 */
import * as EntryType from "./EntryType.ts"
import { type Json, type JsonObject, isArray, isObject, stringAt } from "./Json.ts"
import * as ModelContext from "./ModelContext.ts"
import { type PiProfile } from "./PiProfile.ts"
import * as ValueText from "./ValueText.ts"
import * as SessionContext from "./SessionContext.ts"
import { type SessionEntry } from "./SessionLine.ts"

/** A message as it was sent, and the context message that it was made of; undefined for a result that Pi made up. */
export type SentMessage = ModelContext.Traced<SessionContext.ContextItem | undefined>

export interface ModelRequest {
  /** Without system messages. */
  readonly messages: ReadonlyArray<SentMessage>
  /** As they stand in the context (1.5); `ModelContext.systemPrompt` and `ModelContext.tools` say what they come to. */
  readonly systemMessages: ReadonlyArray<SentMessage>
}

/** The request after `branch` (root first) to `model`. */
export const of = (
  branch: ReadonlyArray<SessionEntry>,
  model: ModelContext.TargetModel,
  profile: PiProfile,
  messagesOf: SessionContext.MessagesOf = SessionContext.entryMessages
): ModelRequest => {
  const items = SessionContext.project(branch, profile, messagesOf)
  const converted = ModelContext.convertTraced(
    items.map((item) => ({ message: item.message, of: item })),
    profile
  )
  const messages: Array<SentMessage> = []
  const systemMessages: Array<SentMessage> = []
  for (const sent of ModelContext.transformTraced(converted, model, profile)) {
    ;(sent.message["role"] === "system" ? systemMessages : messages).push(sent)
  }
  return { messages, systemMessages }
}

/** The model that gave an answer. Sessions do not say whether it took images; those that were sent count as taken. */
export const modelOf = (message: JsonObject): ModelContext.TargetModel => ({
  provider: stringAt(message, "provider") ?? "",
  api: stringAt(message, "api") ?? "",
  id: stringAt(message, "model") ?? "",
  images: true
})

/** Whether an assistant message is one that Pi sends again: it did not fail and was not aborted. */
export const isAnswer = (message: JsonObject): boolean =>
  message["role"] === "assistant" && message["stopReason"] !== "error" && message["stopReason"] !== "aborted"

/** Whether only 1.5 writes such an entry: it puts a system message before its first prompt. */
export const isOf15 = (entry: SessionEntry): boolean =>
  entry.role === "system" || EntryType.of(entry.type).since === "1.5"

/** Whether the model reads the same in both: times, signatures and what else is not shown to it do not count. */
export const isSame = (a: JsonObject, b: JsonObject): boolean => {
  if (a === b) return true
  const [left, right] = [a["content"], b["content"]]
  return (
    a["role"] === b["role"] &&
    a["toolCallId"] === b["toolCallId"] &&
    a["toolName"] === b["toolName"] &&
    (left === right || shown(left) === shown(right))
  )
}

/** What the model reads of a content, as text to compare. */
const shown = (content: Json | undefined): string => {
  if (!isArray(content)) return ValueText.stringify([content ?? null])
  return ValueText.stringify(content.map((block) => (isObject(block) ? withoutSignatures(block) : block)))
}

const SIGNATURES = new Set(["textSignature", "thinkingSignature", "thoughtSignature"])

const withoutSignatures = (block: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(block).filter(([key]) => !SIGNATURES.has(key)))
