/** Repairs the payload of an entry, so that Pi can read it, with all its readable text. */
import { type Json, type JsonObject, isArray, isObject, objectAt, stringAt } from "@pi-sessions/core/Json"
import * as blockFaults from "../doctor/blockFaults.ts"
import {
  type FaultCode,
  type MessageFacts,
  type RoleOf,
  isContentRole,
  isSystemLike,
  mendedUsage,
  sentParts
} from "../doctor/messageFacts.ts"
import { isLost, printed, readableTexts } from "../doctor/readableText.ts"
import { mendedSystem } from "../doctor/systemFaults.ts"

/** Type of the custom entry or message that replaces one that Pi cannot read. */
const DAMAGED_ENTRY_TYPE = "pi-sessions.damaged"

const NO_USAGE: JsonObject = {
  input: 0,
  output: 0,
  cacheRead: 0,
  cacheWrite: 0,
  totalTokens: 0,
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 }
}

/** Faults that other steps repair: `callIds` and `withRole`. */
const ELSEWHERE: ReadonlySet<FaultCode> = new Set(["missing-call-id", "missing-role"])

/** The faults that `mended` repairs. */
export const mendable = (facts: MessageFacts | undefined): ReadonlyArray<FaultCode> =>
  (facts?.faults ?? []).map(({ code }) => code).filter((code) => !ELSEWHERE.has(code))

export interface Mended {
  readonly payload: JsonObject
  /** The entry contains nothing readable and becomes a custom entry, which Pi keeps and does not read. */
  readonly isSetAside: boolean
}

/** Repairs the faults of an entry. */
export const mended = (payload: JsonObject, faults: ReadonlyArray<FaultCode>, roleOf: RoleOf): Mended => {
  if (faults.length === 0) return { payload, isSetAside: false }
  const whole = withTime(payload, faults)
  const found = mendedPayload(whole, faults, roleOf)
  return found === undefined ? { payload: asCustom(whole), isSetAside: true } : { payload: found, isSetAside: false }
}

/** Removes a timestamp that cannot be converted. Pi does not need it. */
const withTime = (payload: JsonObject, faults: ReadonlyArray<FaultCode>): JsonObject => {
  if (!faults.includes("odd-timestamp") || printed(payload["timestamp"]) !== undefined) return payload
  const { timestamp: _, ...rest } = payload
  return rest
}

const mendedPayload = (
  payload: JsonObject,
  faults: ReadonlyArray<FaultCode>,
  roleOf: RoleOf
): JsonObject | undefined => {
  const { content, summary, type } = payload
  switch (type) {
    case "compaction":
    case "branch_summary": {
      if (typeof summary === "string") return payload
      const text = readableTexts(summary).join("\n")
      return text === "" ? undefined : { ...payload, summary: text }
    }
    case "context_edit":
      return mendedEdit(payload, roleOf)
    case "custom_message":
      return { ...payload, content: mendedContent("custom", content) }
    case "model_change":
      return { ...payload, ...namedModel(payload, "provider"), ...namedModel(payload, "modelId") }
    default:
      return mendedMessage(payload, faults)
  }
}

const mendedMessage = (payload: JsonObject, faults: ReadonlyArray<FaultCode>): JsonObject | undefined => {
  const message = objectAt(payload, "message")
  if (message === undefined) return undefined
  const { role, timestamp, usage, ...rest } = message
  const isAssistant = role === "assistant"
  return {
    ...payload,
    message: {
      role,
      ...rest,
      ...(isContentRole(role) ? { content: mendedContent(role, rest["content"]) } : {}),
      ...(role === "system" ? mendedSystem(rest) : {}),
      ...(role === "bashExecution" ? mendedCommand(message) : {}),
      ...(faults.includes("odd-error") ? { errorMessage: textOf(message["errorMessage"]) } : {}),
      ...(isAssistant && faults.includes("odd-model")
        ? { ...namedModel(message, "provider"), ...namedModel(message, "model") }
        : {}),
      ...(isAssistant
        ? { usage: isObject(usage ?? null) ? mendedUsageOf(usage) : (usage ?? NO_USAGE) }
        : usage === undefined
          ? {}
          : { usage }),
      ...(timestamp === undefined || printed(timestamp) === undefined ? {} : { timestamp })
    }
  }
}

const mendedUsageOf = (usage: Json | undefined): JsonObject =>
  usage !== undefined && isObject(usage) ? mendedUsage(usage) : NO_USAGE

/** Keeps a string where Pi accepts strings; converts anything else to blocks. */
const mendedContent = (role: blockFaults.ContentRole, content: Json | undefined): Json => {
  if (typeof content === "string") return role === "user" || role === "custom" ? content : blockFaults.asText(content)
  if (isArray(content)) return blockFaults.mended(role, content)
  return isObject(content ?? null) ? blockFaults.mended(role, [content ?? null]) : blockFaults.asText(content)
}

const mendedCommand = (message: JsonObject): JsonObject => {
  const { exitCode, fullOutputPath } = message
  return {
    command: textOf(message["command"]),
    output: textOf(message["output"]),
    ...(printed(exitCode) === undefined ? { exitCode: null } : {}),
    ...(fullOutputPath === undefined || fullOutputPath === null ? {} : { fullOutputPath: textOf(fullOutputPath) })
  }
}

const textOf = (value: Json | undefined): string =>
  typeof value === "string" ? value : readableTexts(value).join("\n")

/** Replaces a name that cannot be converted to a string. */
const namedModel = (object: JsonObject, key: string): JsonObject =>
  printed(object[key]) === undefined ? { [key]: "unknown" } : {}

/** The edit with a replacement that Pi can send; undefined if none is readable. */
const mendedEdit = (payload: JsonObject, roleOf: RoleOf): JsonObject | undefined => {
  const { replacement } = payload
  const role = roleOf(stringAt(payload, "targetId") ?? "") ?? "user"
  const given = objectAt(payload, "replacement")
  const content = given?.["content"]
  if (isArray(content)) return { ...payload, replacement: { ...given, content: blockFaults.mended(role, content) } }
  const source = content ?? replacement
  if (!isLost(source, "")) return undefined
  return { ...payload, replacement: { content: mendedContent(role, source) } }
}

/** A custom entry with the whole payload as data. Pi keeps it and does not read it. */
export const asCustom = ({ id, parentId, timestamp, ...data }: JsonObject): JsonObject => ({
  type: "custom",
  customType: DAMAGED_ENTRY_TYPE,
  data,
  id,
  parentId,
  timestamp
})

/**
 * A message without a known role, with the role that its members suggest; undefined if it contains nothing readable.
 */
export const withRole = (message: Json): JsonObject | undefined => {
  if (!isObject(message)) {
    const content = blockFaults.asText(message)
    return content.length === 0 ? undefined : asCustomMessage({ content })
  }
  const { command, content, role, toolCallId } = message
  if (typeof toolCallId === "string") return { ...message, role: "toolResult" }
  if (isFromModel(message)) return { ...message, role: "assistant" }
  if (typeof command === "string") return { ...message, role: "bashExecution" }
  if (isSystemLike(message)) return { ...message, role: "system" }
  if (readableTexts(sentParts(message)).length === 0) return undefined
  const isPlain = Object.keys(message).every((key) => key === "role" || key === "content" || key === "timestamp")
  if (isPlain && typeof role !== "string") return { ...message, role: "user" }
  return asCustomMessage(
    content === undefined ? { ...message, content: blockFaults.asText(sentParts(message)) } : message
  )
}

/** A custom message: Pi sends it as a user message, but displays it as what it is. */
const asCustomMessage = (message: JsonObject): JsonObject => ({
  customType: DAMAGED_ENTRY_TYPE,
  display: true,
  ...message,
  role: "custom"
})

const isFromModel = ({ content, stopReason, usage }: JsonObject): boolean =>
  typeof stopReason === "string" ||
  (usage !== undefined && usage !== null) ||
  (isArray(content) &&
    content.some((block) => isObject(block) && (block["type"] === "toolCall" || block["type"] === "thinking")))
