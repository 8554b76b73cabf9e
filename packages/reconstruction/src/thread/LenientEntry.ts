/**
 * Takes away what is wrong with an entry but not needed: an optional field with a null or of another kind. A mirror
 * that writes `"author": null` has still told us what somebody said.
 */
import { type Json, type JsonObject, type Loose, isArray, isObject, isOptional, objectAt } from "@pi-sessions/core/Json"
import { isUsage } from "@pi-sessions/core/Usage"
import {
  type Assistant,
  type Chat,
  type Compaction,
  type RawEntry,
  type ThreadEntry,
  type ToolResult
} from "../Thread.ts"

type Check = (value: Json) => boolean
/** By field. A map, because the keys of an entry may be `__proto__` or the name of a method of every object. */
type Checks = ReadonlyMap<string, Check>

const checksOf = (checks: { readonly [key: string]: Check }): Checks => new Map(Object.entries(checks))

const text: Check = (value) => typeof value === "string"
const number: Check = (value) => typeof value === "number"
const flag: Check = (value) => typeof value === "boolean"

const author: Check = (value) =>
  isObject(value) && ["id", "name", "kind"].every((key) => isOptional(value[key], "string"))
const attachments: Check = (value) =>
  isArray(value) && value.every((one) => isObject(one) && typeof one["mimeType"] === "string")

/** Optional fields of the payloads by type of entry. */
const OPTIONAL: ReadonlyMap<Json | undefined, Checks> = new Map([
  ["chat", checksOf({ text, author, attachments })],
  [
    "pi.assistant",
    checksOf({
      api: text,
      provider: text,
      model: text,
      usage: (value) => isUsage(value),
      stopReason: text,
      errorMessage: text,
      timestamp: number
    })
  ],
  ["pi.tool_result", checksOf({ toolCallId: text, toolName: text, isError: flag, timestamp: number })],
  ["pi.compaction", checksOf({ tokensBefore: number, keptFrom: text })]
])

const ENTRY = checksOf({ threadId: text, createdAt: text })

const without = (object: JsonObject, checks: Checks, wrong: Array<string>, prefix: string): JsonObject => {
  const kept = Object.entries(object).filter(([key, value]) => {
    const check = checks.get(key)
    if (value === undefined || check === undefined || check(value)) return true
    // A null is how many programs write "absent": nothing to report.
    if (value !== null) wrong.push(`${prefix}${key}`)
    return false
  })
  return Object.fromEntries(kept)
}

/** The entry without its wrong optional fields, and the names of those that held something. */
export const lenient = (entry: JsonObject): { readonly entry: JsonObject; readonly wrong: ReadonlyArray<string> } => {
  const wrong: Array<string> = []
  const { createdAt } = entry
  // Unix time in milliseconds, where others write ISO 8601.
  const dated =
    typeof createdAt === "number" && Math.abs(createdAt) <= 8.64e15
      ? { ...entry, createdAt: new Date(createdAt).toISOString() }
      : entry
  const checked = without(dated, ENTRY, wrong, "")
  const payload = objectAt(entry, "payload")
  const checks = OPTIONAL.get(entry["type"])
  if (payload === undefined || checks === undefined) return { entry: checked, wrong }
  return { entry: { ...checked, payload: without(payload, checks, wrong, "payload.") }, wrong }
}

type Written = Exclude<ThreadEntry, { readonly type: "interrupted" | "raw" }>

/**
 * Whether nothing is wrong with an entry that hydration uses, in plain code: nearly all are so, and the schema takes
 * ten times as long to say it. A no means only that the schema must be asked.
 */
export const isFlawless = (entry: JsonObject): entry is JsonObject & Written => {
  const { id, threadId, createdAt, payload } = entry
  return (
    typeof id === "string" &&
    isOptional(threadId, "string") &&
    isOptional(createdAt, "string") &&
    isObject(payload) &&
    isPayload(entry["type"], payload)
  )
}

const isPayload = (type: Json | undefined, payload: JsonObject): boolean => {
  switch (type) {
    case "chat":
      return isChat(payload)
    case "pi.assistant":
      return isAssistant(payload)
    case "pi.tool_result":
      return isToolResult(payload)
    case "pi.compaction": {
      const { summary, tokensBefore, keptFrom }: Loose<Compaction> = payload
      return typeof summary === "string" && isOptional(tokensBefore, "number") && isOptional(keptFrom, "string")
    }
    case "pi.session_entry":
      return isRawEntry(payload)
    default:
      return false
  }
}

const isChat = (payload: JsonObject): boolean => {
  const { role, text }: Loose<Chat> = payload
  const { author: speaker, attachments } = payload
  return (
    (role === "user" || role === "assistant" || role === "system") &&
    isOptional(text, "string") &&
    (speaker === undefined || author(speaker)) &&
    attachments === undefined
  )
}

const isAssistant = (payload: JsonObject): boolean => {
  const { api, provider, model, stopReason, errorMessage, timestamp }: Loose<Assistant> = payload
  const { content, usage } = payload
  return (
    isContent(content) &&
    isOptional(api, "string") &&
    isOptional(provider, "string") &&
    isOptional(model, "string") &&
    isOptional(stopReason, "string") &&
    isOptional(errorMessage, "string") &&
    isOptional(timestamp, "number") &&
    (usage === undefined || isUsage(usage))
  )
}

const isToolResult = (payload: JsonObject): boolean => {
  const { toolCallId, toolName, isError, timestamp }: Loose<ToolResult> = payload
  const { content } = payload
  return (
    (content === undefined || isContent(content)) &&
    isOptional(toolCallId, "string") &&
    isOptional(toolName, "string") &&
    isOptional(isError, "boolean") &&
    isOptional(timestamp, "number")
  )
}

const isRawEntry = ({ sessionId, generation, sha256, seq, entryId, line, lineBase64 }: Loose<RawEntry>): boolean =>
  typeof sessionId === "string" &&
  (generation === undefined || Number.isSafeInteger(generation)) &&
  typeof sha256 === "string" &&
  Number.isSafeInteger(seq) &&
  (entryId === null || isOptional(entryId, "string")) &&
  isOptional(line, "string") &&
  isOptional(lineBase64, "string")

const isContent = (content: Json | undefined): boolean =>
  typeof content === "string" ||
  (isArray(content) && content.every((block) => isObject(block) && typeof block["type"] === "string"))
