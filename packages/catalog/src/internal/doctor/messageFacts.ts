/** Extracts from an entry what the doctor needs: its faults, tool calls and the call that it answers. */
import { type Json, type JsonObject, isArray, isObject, numberAt, stringAt } from "@pi-sessions/core/Json"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import { type Readings, type Sends, each, inBoth, reading } from "./PiReading.ts"
import * as blockFaults from "./blockFaults.ts"
import { isAbsent, isLost, printed, readableTexts } from "./readableText.ts"
import { systemFaults } from "./systemFaults.ts"

export type FaultCode =
  | blockFaults.BlockCode
  | "missing-message"
  | "missing-role"
  | "missing-content"
  | "odd-content"
  | "text-content"
  | "missing-usage"
  | "odd-usage"
  | "odd-error"
  | "missing-command"
  | "odd-command"
  | "missing-summary"
  | "odd-summary"
  | "odd-system"
  | "odd-timestamp"
  | "odd-model"
  | "broken-edit"

/** `reads`: what each Pi does when it sends the entry; null if that depends on more than the entry. */
export interface Fault {
  readonly code: FaultCode
  readonly reads: Readings | null
}

export interface MessageFacts {
  readonly faults: ReadonlyArray<Fault>
  /** The calls of an assistant's message. */
  readonly calls: ReadonlyArray<ToolCall>
  /** The calls after a repair, which restores lost types of blocks. */
  readonly mendedCalls: ReadonlyArray<ToolCall>
  /** The assistant's turn failed or was aborted, so Pi does not send it. */
  readonly failed: boolean
  /** The call id of a tool result; null if the result has none; undefined for other entries. */
  readonly resultOf: string | null | undefined
  /** The tool that a result names. */
  readonly resultOfTool: string | undefined
}

export interface ToolCall {
  /** Null if absent or empty. */
  readonly id: string | null
  readonly name: string | undefined
}

const NONE: ReadonlyArray<never> = []

const only = (faults: ReadonlyArray<Fault>): MessageFacts => ({
  faults,
  calls: NONE,
  mendedCalls: NONE,
  failed: false,
  resultOf: undefined,
  resultOfTool: undefined
})

/** The role of an entry by its id; undefined if context edits cannot change the entry. */
export type RoleOf = (entryId: string) => blockFaults.ContentRole | undefined

/** A lookup of roles, from a lookup of entries. */
export const roleAmong =
  (entryOf: (id: string) => SessionEntry | undefined): RoleOf =>
  (entryId) => {
    const target = entryOf(entryId)
    if (target?.type === "custom_message") return "custom"
    const role = target?.role
    return isContentRole(role) ? role : undefined
  }

/** The facts of an entry; undefined for types without any. `payload` is the decoded entry, if the caller has it. */
export const factsOf = (entry: SessionEntry, roleOf: RoleOf, payload?: JsonObject): MessageFacts | undefined => {
  switch (entry.type) {
    case "message":
      return messageFacts((payload ?? entry.decode())["message"])
    case "custom_message": {
      const { content, timestamp } = entry.decode()
      return only([...contentFaults("custom", false, content, false), ...dateFaults(timestamp)])
    }
    case "compaction": {
      const { summary, timestamp } = entry.decode()
      return some([...summaryFaults(summary, true), ...dateFaults(timestamp)])
    }
    case "branch_summary": {
      const { summary, timestamp } = entry.decode()
      return some([...(summary ? summaryFaults(summary, false) : NONE), ...dateFaults(timestamp)])
    }
    case "context_edit":
      return some(editFaults(entry.decode(), roleOf))
    case "model_change": {
      const { modelId, provider } = entry.decode()
      return some(modelFaults(provider, modelId))
    }
    default:
      return undefined
  }
}

const some = (faults: ReadonlyArray<Fault>): MessageFacts | undefined =>
  faults.length === 0 ? undefined : only(faults)

const messageFacts = (message: Json | undefined): MessageFacts => {
  // Reading the role of any other value does not fail.
  if (message === undefined || message === null) return only([{ code: "missing-message", reads: null }])
  const role = isObject(message) ? message["role"] : undefined
  if (!isObject(message) || !isRole(role)) {
    const sends = unsent(message)
    const old = isObject(message) && isSystemLike(message) ? "reads" : sends
    return only([{ code: "missing-role", reads: each(reading(old), reading(sends)) }])
  }
  const timed = timeFaults(message)
  if (role === "bashExecution") return only([...commandFaults(message), ...timed])
  if (role === "system") return only([...systemFaults(message), ...timed])
  if (!isContentRole(role)) return only(timed)
  const { content, model, provider, toolCallId, usage } = message
  const isAssistant = role === "assistant"
  const failed = isAssistant && isFailed(message)
  const faults: Array<Fault> = [...contentFaults(role, failed, content, role === "custom"), ...timed]
  if (isAssistant) faults.push(...usageFaults(usage), ...modelFaults(provider, model), ...errorFaults(message))
  return {
    faults,
    calls: isAssistant && isArray(content) ? callsOf(content, isCall) : NONE,
    mendedCalls: isAssistant && isArray(content) ? callsOf(content, blockFaults.isCallLike) : NONE,
    failed,
    resultOf: role === "toolResult" ? idOf(toolCallId) : undefined,
    resultOfTool: role === "toolResult" ? stringAt(message, "toolName") : undefined
  }
}

/** Pi omits messages of unknown roles. */
const unsent = (message: Json): Sends => {
  if (isObject(message) && (message["excludeFromContext"] || isFailed(message))) return "reads"
  return isLost(sentParts(message), "") ? "loses" : "reads"
}

/** The parts of a message that Pi would send, whatever the role. */
export const sentParts = (message: Json): Json =>
  isObject(message)
    ? [message["content"] ?? null, message["text"] ?? null, message["command"] ?? null, message["output"] ?? null]
    : message

const isFailed = ({ stopReason }: JsonObject): boolean => stopReason === "error" || stopReason === "aborted"

/** Only system messages have sections and tools. */
export const isSystemLike = ({ sections, toolsAdded }: JsonObject): boolean =>
  isObject(sections ?? null) || isArray(toolsAdded)

const idOf = (value: Json | undefined): string | null => (typeof value === "string" && value !== "" ? value : null)

export const isContentRole = (role: Json | undefined): role is blockFaults.ContentRole =>
  role === "user" || role === "assistant" || role === "toolResult" || role === "custom"

/** The roles that Pi sends. It does not store the last two itself. */
export const isRole = (role: Json | undefined): role is string =>
  isContentRole(role) ||
  role === "bashExecution" ||
  role === "system" ||
  role === "compactionSummary" ||
  role === "branchSummary"

/** `late`: Pi 1.5 replaces a missing content only when it makes the request, so counting tokens fails. */
const contentFaults = (
  role: blockFaults.ContentRole,
  failed: boolean,
  content: Json | undefined,
  late: boolean
): ReadonlyArray<Fault> => {
  if (isArray(content)) return blockFaults.faultsIn(role, failed, content)
  if (typeof content === "string")
    return role === "assistant" || role === "toolResult" ? [{ code: "text-content", reads: inBoth("crashes") }] : NONE
  if (!isAbsent(content)) return [{ code: "odd-content", reads: inBoth("crashes") }]
  return [{ code: "missing-content", reads: each(reading("crashes"), reading("reads", late, late)) }]
}

const commandFaults = ({
  cancelled,
  command,
  excludeFromContext,
  exitCode,
  fullOutputPath,
  output,
  truncated
}: JsonObject): ReadonlyArray<Fault> => {
  const showsExit = !cancelled && !isAbsent(exitCode) && exitCode !== 0
  const shown = [command, ...(output ? [output] : []), ...(showsExit ? [exitCode] : [])]
  if (truncated && fullOutputPath) shown.push(fullOutputPath)
  const isPrinted = shown.every((value) => printed(value) !== undefined)
  const isWhole = !isLost(command, printed(command) ?? "") && !isLost(output, output ? (printed(output) ?? "") : "")
  const sends = excludeFromContext ? "reads" : !isPrinted ? "crashes" : isWhole ? "reads" : "loses"
  const faults: Array<Fault> = []
  const isMissing = isAbsent(command) || isAbsent(output)
  if (isMissing) faults.push({ code: "missing-command", reads: inBoth(sends, false, true) })
  const isText = (value: Json | undefined): boolean => isAbsent(value) || typeof value === "string"
  const isOdd = !isText(command) || !isText(output) || !isText(fullOutputPath) || printed(exitCode) === undefined
  if (isOdd) faults.push({ code: "odd-command", reads: inBoth(sends) })
  return faults
}

/** A compaction without a readable summary loses the history before it. */
const summaryFaults = (summary: Json | undefined, isHistory: boolean): ReadonlyArray<Fault> => {
  if (typeof summary === "string") return NONE
  if (isAbsent(summary)) return [{ code: "missing-summary", reads: inBoth("loses", false, true) }]
  const text = printed(summary)
  const isWhole = text !== undefined && !isLost(summary, text) && (!isHistory || readableTexts(summary).length > 0)
  return [{ code: "odd-summary", reads: inBoth(text === undefined ? "crashes" : isWhole ? "reads" : "loses") }]
}

/** Pi converts the timestamps of some entries to dates. */
const dateFaults = (timestamp: Json | undefined): ReadonlyArray<Fault> =>
  printed(timestamp) === undefined ? [{ code: "odd-timestamp", reads: inBoth("crashes") }] : NONE

/** 1.5 compares the timestamps of messages in every request; 0.78 only that of the last answer. */
const timeFaults = ({ excludeFromContext, timestamp }: JsonObject): ReadonlyArray<Fault> => {
  if (printed(timestamp) !== undefined) return NONE
  const now = reading(excludeFromContext ? "reads" : "crashes")
  return [{ code: "odd-timestamp", reads: each(reading("reads"), now) }]
}

const COUNTS = ["totalTokens", "input", "output", "cacheRead", "cacheWrite"]

const usageFaults = (usage: Json | undefined): ReadonlyArray<Fault> => {
  if (isAbsent(usage)) return [{ code: "missing-usage", reads: null }]
  const isOdd = isObject(usage ?? null) && COUNTS.some((key) => printed(usageAt(usage, key)) === undefined)
  return isOdd ? [{ code: "odd-usage", reads: null }] : NONE
}

const usageAt = (usage: Json | undefined, key: string): Json | undefined =>
  usage !== undefined && isObject(usage) ? usage[key] : undefined

/** Whether Pi fails to add up a usage. It reads the parts only if there is no total. */
export const isUncountable = (usage: Json | undefined): boolean => {
  const total = usageAt(usage, "totalTokens")
  if (total) return printed(total) === undefined
  return COUNTS.some((key) => printed(usageAt(usage, key)) === undefined)
}

/** The usage with zeros in place of values that are not numbers. */
export const mendedUsage = (usage: JsonObject): JsonObject => ({
  ...usage,
  ...Object.fromEntries(COUNTS.filter((key) => key in usage).map((key) => [key, numberAt(usage, key) ?? 0]))
})

const modelFaults = (provider: Json | undefined, model: Json | undefined): ReadonlyArray<Fault> =>
  printed(provider) === undefined || printed(model) === undefined ? [{ code: "odd-model", reads: null }] : NONE

const errorFaults = ({ errorMessage, stopReason }: JsonObject): ReadonlyArray<Fault> =>
  stopReason === "error" && printed(errorMessage) === undefined ? [{ code: "odd-error", reads: null }] : NONE

/** A replacement of null removes the target from the context. */
const editFaults = (payload: JsonObject, roleOf: RoleOf): ReadonlyArray<Fault> => {
  const { replacement } = payload
  if (replacement === null) return NONE
  if (replacement === undefined) return [{ code: "broken-edit", reads: ofEdit("crashes") }]
  const role = roleOf(stringAt(payload, "targetId") ?? "") ?? "user"
  const content = isObject(replacement) ? replacement["content"] : undefined
  if (typeof content === "string") return NONE
  if (isArray(content))
    return blockFaults.faultsIn(role, false, content).map(({ code, reads }) => ({
      code,
      reads: each(reading("reads"), reads["1.5"])
    }))
  // Without a content, Pi removes the text.
  return [{ code: "broken-edit", reads: isAbsent(content) ? ofEdit("loses", true) : ofEdit("crashes") }]
}

/** 0.78 ignores context edits. */
const ofEdit = (sends: Sends, uncounted = false): Readings =>
  each(reading("reads"), reading(sends, uncounted, uncounted))

const isCall = (block: JsonObject): boolean => block["type"] === "toolCall"

const callsOf = (content: ReadonlyArray<Json>, isOne: (block: JsonObject) => boolean): ReadonlyArray<ToolCall> =>
  content.flatMap((block) =>
    isObject(block) && isOne(block) ? [{ id: idOf(block["id"]), name: stringAt(block, "name") }] : []
  )
