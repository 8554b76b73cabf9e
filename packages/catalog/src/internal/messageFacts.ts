/** What a message entry says that matters to whether Pi can go on with it: its tools, and what its shape lacks. */
import { type Json, type JsonObject, isObject, objectAt, stringAt } from "@pi-sessions/core/Json"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"

export type Fault = "missing-message" | "missing-role" | "missing-content" | "text-content" | "missing-usage"

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

/** Undefined for other entries than messages. */
export const look = (entry: SessionEntry): MessageFacts | undefined => {
  if (entry.type !== "message") return undefined
  const message = objectAt(entry.decode(), "message")
  if (message === undefined) return { faults: ["missing-message"], calls: NONE, failed: false, resultOf: undefined }
  const { role, content } = message
  if (typeof role !== "string") return { faults: ["missing-role"], calls: NONE, failed: false, resultOf: undefined }
  const faults: Array<Fault> = []
  const isAssistant = role === "assistant"
  const isResult = role === "toolResult"
  if (isAssistant || isResult || role === "user") {
    if (typeof content === "string" ? isAssistant || isResult : !Array.isArray(content)) {
      faults.push(typeof content === "string" ? "text-content" : "missing-content")
    }
  }
  if (isAssistant && !isObject(message["usage"])) faults.push("missing-usage")
  const stopReason = message["stopReason"]
  return {
    faults,
    calls: isAssistant && Array.isArray(content) ? callsOf(content) : NONE,
    failed: isAssistant && (stopReason === "error" || stopReason === "aborted"),
    resultOf: isResult ? (stringAt(message, "toolCallId") ?? null) : undefined
  }
}

const callsOf = (content: ReadonlyArray<Json>): ReadonlyArray<string> =>
  content.flatMap((block) => (isObject(block) && block["type"] === "toolCall" ? (stringAt(block, "id") ?? []) : []))

/** The payload as Pi can read it. */
export const mended = (payload: JsonObject, faults: ReadonlyArray<Fault>): JsonObject => {
  if (faults.includes("missing-message")) return asCustom(payload)
  const message = objectAt(payload, "message")
  if (message === undefined) return payload
  const { content } = message
  return {
    ...payload,
    message: {
      ...message,
      ...(faults.includes("text-content") ? { content: [{ type: "text", text: content }] } : {}),
      ...(faults.includes("missing-content") ? { content: [] } : {}),
      ...(faults.includes("missing-usage") ? { usage: NO_USAGE } : {})
    }
  }
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
