/** What an entry says that matters to whether Pi can go on with it: its tools, and what its shape lacks. */
import { type Json, type JsonObject, isArray, isObject, objectAt, stringAt } from "@pi-sessions/core/Json"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import * as blockFaults from "./blockFaults.ts"

export type FaultCode =
  | blockFaults.BlockCode
  | "missing-message"
  | "missing-role"
  | "missing-content"
  | "odd-content"
  | "text-content"
  | "missing-usage"
  | "missing-command"
  | "missing-summary"
  | "broken-edit"

/** Those of blocks say what the Pis do with the worst of them. */
export type Fault = { readonly code: Exclude<FaultCode, blockFaults.BlockCode> } | blockFaults.BlockFault

export interface MessageFacts {
  readonly faults: ReadonlyArray<Fault>
  /** Ids of the calls of an assistant's message. */
  readonly calls: ReadonlyArray<string>
  /** The assistant's turn failed or was aborted, so that Pi does not send it. */
  readonly failed: boolean
  /** The call that a tool's result answers; null where it does not say. */
  readonly resultOf: string | null | undefined
}

/** Type of the custom entry that stands for one which Pi cannot read. */
export const DAMAGED_ENTRY_TYPE = "pi-sessions.damaged"

const NO_USAGE: JsonObject = {
  input: 0,
  output: 0,
  cacheRead: 0,
  cacheWrite: 0,
  totalTokens: 0,
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 }
}

const NONE: ReadonlyArray<never> = []

const only = (...faults: ReadonlyArray<Fault>): MessageFacts => ({
  faults,
  calls: NONE,
  failed: false,
  resultOf: undefined
})

/** Undefined for entries that nothing of this can be said of. */
export const look = (entry: SessionEntry): MessageFacts | undefined => {
  switch (entry.type) {
    case "message":
      return messageFacts(entry.decode()["message"])
    case "custom_message":
      return only(...contentFaults("custom", false, entry.decode()["content"]))
    case "compaction":
      return stringAt(entry.decode(), "summary") === undefined ? only({ code: "missing-summary" }) : undefined
    case "context_edit":
      return isReplacement(entry.decode()["replacement"]) ? undefined : only({ code: "broken-edit" })
    default:
      return undefined
  }
}

const messageFacts = (message: Json | undefined): MessageFacts => {
  // Of anything else Pi can ask for a role.
  if (message === undefined || message === null) return only({ code: "missing-message" })
  const role = isObject(message) ? message["role"] : undefined
  if (!isObject(message) || typeof role !== "string") return only({ code: "missing-role" })
  if (role === "bashExecution") {
    const isWhole = isSomething(message["command"]) && isSomething(message["output"])
    return only(...(isWhole ? NONE : [{ code: "missing-command" } as const]))
  }
  if (!isContentRole(role)) return only()
  const { content, stopReason, usage } = message
  const isAssistant = role === "assistant"
  const failed = isAssistant && (stopReason === "error" || stopReason === "aborted")
  const faults = contentFaults(role, failed, content)
  return {
    faults: isAssistant && !isSomething(usage) ? [...faults, { code: "missing-usage" }] : faults,
    calls: isAssistant && isArray(content) ? callsOf(content) : NONE,
    failed,
    resultOf: role === "toolResult" ? (stringAt(message, "toolCallId") ?? null) : undefined
  }
}

const isSomething = (value: Json | undefined): boolean => value !== undefined && value !== null

const isContentRole = (role: string): role is blockFaults.ContentRole =>
  role === "user" || role === "assistant" || role === "toolResult" || role === "custom"

const contentFaults = (
  role: blockFaults.ContentRole,
  failed: boolean,
  content: Json | undefined
): ReadonlyArray<Fault> => {
  if (isArray(content)) return blockFaults.look(role, failed, content)
  if (typeof content === "string")
    return role === "assistant" || role === "toolResult" ? [{ code: "text-content" }] : NONE
  return [{ code: isSomething(content) ? "odd-content" : "missing-content" }]
}

/** Null takes the target out of the context. */
const isReplacement = (replacement: Json | undefined): boolean => {
  if (replacement === null) return true
  const content = isObject(replacement) ? replacement["content"] : undefined
  return typeof content === "string" || (isArray(content) && !content.includes(null))
}

const callsOf = (content: ReadonlyArray<Json>): ReadonlyArray<string> =>
  content.flatMap((block) => (isObject(block) && block["type"] === "toolCall" ? (stringAt(block, "id") ?? []) : []))

/** Faults of entries that are set aside as custom entries. */
const ASIDE: ReadonlySet<FaultCode> = new Set(["missing-message", "missing-summary", "broken-edit"])

/** Faults that a repair leaves as they are. */
const LEFT: ReadonlySet<FaultCode> = new Set(["missing-role"])

const BLOCKS: ReadonlySet<FaultCode> = new Set(["null-block", "unknown-block", "empty-block", "broken-call"])

/** The faults that a repair mends. */
export const mendable = (facts: MessageFacts | undefined): ReadonlyArray<FaultCode> =>
  (facts?.faults ?? NONE).map(({ code }) => code).filter((code) => !LEFT.has(code))

/** Whether the mended entry is a custom one. */
export const isSetAside = (faults: ReadonlyArray<FaultCode>): boolean => faults.some((code) => ASIDE.has(code))

/** The payload as Pi can read it. */
export const mended = (payload: JsonObject, faults: ReadonlyArray<FaultCode>): JsonObject => {
  if (isSetAside(faults)) return asCustom(payload)
  if (payload["type"] === "custom_message")
    return { ...payload, ...mendedContent("custom", payload["content"], faults) }
  const message = objectAt(payload, "message")
  if (message === undefined) return payload
  const { command, content, output, role } = message
  return {
    ...payload,
    message: {
      ...message,
      ...(typeof role === "string" && isContentRole(role) ? mendedContent(role, content, faults) : {}),
      ...(faults.includes("missing-usage") ? { usage: NO_USAGE } : {}),
      ...(faults.includes("missing-command") ? { command: command ?? "", output: output ?? "" } : {})
    }
  }
}

const mendedContent = (
  role: blockFaults.ContentRole,
  content: Json | undefined,
  faults: ReadonlyArray<FaultCode>
): JsonObject => {
  if (faults.includes("text-content")) return { content: [{ type: "text", text: content }] }
  if (faults.includes("missing-content") || faults.includes("odd-content")) return { content: [] }
  return faults.some((code) => BLOCKS.has(code)) ? { content: blockFaults.mended(role, content) } : {}
}

/** An entry that Pi keeps and never looks into, with all that the payload said. */
export const asCustom = ({ id, parentId, timestamp, ...data }: JsonObject): JsonObject => ({
  type: "custom",
  customType: DAMAGED_ENTRY_TYPE,
  data,
  id,
  parentId,
  timestamp
})
