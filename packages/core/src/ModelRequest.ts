/**
 * The request that Pi sent for an answer: the context before it, converted for the model that answered. Computed from the
 * session alone, so that it lacks what sessions do not record (the system prompt and the tools of 0.78).
 */
import * as EntryType from "./EntryType.ts"
import { type Json, type JsonObject, isArray, isObject, stringAt } from "./Json.ts"
import * as ModelContext from "./ModelContext.ts"
import { type PiProfile } from "./PiProfile.ts"
import * as ValueText from "./ValueText.ts"
import * as SessionContext from "./SessionContext.ts"
import { type SessionEntry } from "./SessionLine.ts"

/** A message as it was sent, and its context message; undefined for a result that Pi added. */
export type SentMessage = ModelContext.Traced<SessionContext.ContextItem | undefined>

export interface ModelRequest {
  /** Without system messages. */
  readonly messages: ReadonlyArray<SentMessage>
  /** In context order (1.5); `ModelContext.systemPrompt` and `ModelContext.tools` combine them. */
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

/** The model of an answer. Sessions do not record whether it takes images; the answer implies that it took those sent. */
export const modelOf = (message: JsonObject): ModelContext.TargetModel => ({
  provider: stringAt(message, "provider") ?? "",
  api: stringAt(message, "api") ?? "",
  id: stringAt(message, "model") ?? "",
  images: true
})

/** Whether Pi sends an assistant message again: it did not fail and was not aborted. */
export const isAnswer = (message: JsonObject): boolean =>
  message["role"] === "assistant" && message["stopReason"] !== "error" && message["stopReason"] !== "aborted"

/** Whether only Pi 1.5 writes the entry. It writes a system message before its first prompt. */
export const isOf15 = (entry: SessionEntry): boolean =>
  entry.role === "system" || EntryType.of(entry.type).since === "1.5"

/** Whether the model reads the same in both messages: times, signatures and other hidden fields are ignored. */
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

/** The part of a content that the model reads, as text for comparison. */
const shown = (content: Json | undefined): string => {
  if (!isArray(content)) return ValueText.stringify([content ?? null])
  return ValueText.stringify(content.map((block) => (isObject(block) ? withoutSignatures(block) : block)))
}

const SIGNATURES = new Set(["textSignature", "thinkingSignature", "thoughtSignature"])

const withoutSignatures = (block: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(block).filter(([key]) => !SIGNATURES.has(key)))
