/** What an entry says that matters to whether Pi can go on with it: its tools, and what its shape lacks. */
import { type Json, type JsonObject, isArray, isObject, numberAt, stringAt } from "@pi-sessions/core/Json"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import { type Readings, type Sends, each, inBoth, reading } from "./PiReading.ts"
import * as blockFaults from "./blockFaults.ts"
import { isLost, printed, readableTexts } from "./readableText.ts"
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

/** `reads` says what the Pis do with it where they send the entry; null where that hangs on more than the entry. */
export interface Fault {
  readonly code: FaultCode
  readonly reads: Readings | null
}

export interface MessageFacts {
  readonly faults: ReadonlyArray<Fault>
  /** Ids of the calls of an assistant's message; null for one without. */
  readonly calls: ReadonlyArray<ToolCall>
  /** The same with the calls that a repair makes of blocks whose type was lost. */
  readonly mendedCalls: ReadonlyArray<ToolCall>
  /** The assistant's turn failed or was aborted, so that Pi does not send it. */
  readonly failed: boolean
  /** The call that a tool's result answers; null where it does not say; undefined where it is no result. */
  readonly resultOf: string | null | undefined
  /** The tool that a result names. */
  readonly resultOfTool: string | undefined
}

export interface ToolCall {
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

/** The role whose content an entry, named by its id, has; undefined where context edits do not change it. */
export type RoleOf = (entryId: string) => blockFaults.ContentRole | undefined

/** The roles of entries that are found by their id. */
export const roleAmong =
  (entryOf: (id: string) => SessionEntry | undefined): RoleOf =>
  (entryId) => {
    const target = entryOf(entryId)
    if (target?.type === "custom_message") return "custom"
    const role = target?.role
    return isContentRole(role) ? role : undefined
  }

/** Undefined for entries that nothing of this can be said of. `payload` is the decoded entry, where it is at hand. */
export const look = (entry: SessionEntry, roleOf: RoleOf, payload?: JsonObject): MessageFacts | undefined => {
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
  // Of anything else Pi can ask for a role.
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

/** Pi leaves out messages of roles that it does not know. */
const unsent = (message: Json): Sends => {
  if (isObject(message) && (message["excludeFromContext"] || isFailed(message))) return "reads"
  return isLost(spokenBy(message), "") ? "loses" : "reads"
}

/** The part of a message that its role has Pi send. */
export const spokenBy = (message: Json): Json =>
  isObject(message)
    ? [message["content"] ?? null, message["text"] ?? null, message["command"] ?? null, message["output"] ?? null]
    : message

const isFailed = ({ stopReason }: JsonObject): boolean => stopReason === "error" || stopReason === "aborted"

/** Only system messages have sections and tools. */
export const isSystemLike = ({ sections, toolsAdded }: JsonObject): boolean =>
  isObject(sections ?? null) || isArray(toolsAdded)

const isSomething = (value: Json | undefined): boolean => value !== undefined && value !== null

const idOf = (value: Json | undefined): string | null => (typeof value === "string" && value !== "" ? value : null)

export const isContentRole = (role: Json | undefined): role is blockFaults.ContentRole =>
  role === "user" || role === "assistant" || role === "toolResult" || role === "custom"

/** Roles that Pi knows; the last two are never stored by it, but it would send them. */
export const isRole = (role: Json | undefined): role is string =>
  isContentRole(role) ||
  role === "bashExecution" ||
  role === "system" ||
  role === "compactionSummary" ||
  role === "branchSummary"

/** `late`: Pi 1.5 makes up for a content that is not there only when it makes the request. */
const contentFaults = (
  role: blockFaults.ContentRole,
  failed: boolean,
  content: Json | undefined,
  late: boolean
): ReadonlyArray<Fault> => {
  if (isArray(content)) return blockFaults.look(role, failed, content)
  if (typeof content === "string")
    return role === "assistant" || role === "toolResult" ? [{ code: "text-content", reads: inBoth("crashes") }] : NONE
  if (isSomething(content)) return [{ code: "odd-content", reads: inBoth("crashes") }]
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
  const isTold = !cancelled && isSomething(exitCode) && exitCode !== 0
  const shown = [command, ...(output ? [output] : []), ...(isTold ? [exitCode] : [])]
  if (truncated && fullOutputPath) shown.push(fullOutputPath)
  const isPrinted = shown.every((value) => printed(value) !== undefined)
  const isWhole = !isLost(command, printed(command) ?? "") && !isLost(output, output ? (printed(output) ?? "") : "")
  const sends = excludeFromContext ? "reads" : !isPrinted ? "crashes" : isWhole ? "reads" : "loses"
  const faults: Array<Fault> = []
  const isMissing = !isSomething(command) || !isSomething(output)
  if (isMissing) faults.push({ code: "missing-command", reads: inBoth(sends, false, true) })
  const isText = (value: Json | undefined): boolean => !isSomething(value) || typeof value === "string"
  const isOdd = !isText(command) || !isText(output) || !isText(fullOutputPath) || printed(exitCode) === undefined
  if (isOdd) faults.push({ code: "odd-command", reads: inBoth(sends) })
  return faults
}

/** Without a summary that can be read, a compaction loses the history before it. */
const summaryFaults = (summary: Json | undefined, isHistory: boolean): ReadonlyArray<Fault> => {
  if (typeof summary === "string") return NONE
  if (!isSomething(summary)) return [{ code: "missing-summary", reads: inBoth("loses", false, true) }]
  const text = printed(summary)
  const isWhole = text !== undefined && !isLost(summary, text) && (!isHistory || readableTexts(summary).length > 0)
  return [{ code: "odd-summary", reads: inBoth(text === undefined ? "crashes" : isWhole ? "reads" : "loses") }]
}

/** Pi makes a date of the times of some entries. */
const dateFaults = (timestamp: Json | undefined): ReadonlyArray<Fault> =>
  printed(timestamp) === undefined ? [{ code: "odd-timestamp", reads: inBoth("crashes") }] : NONE

/** 1.5 compares the times of messages wherever it makes a request, 0.78 only that of the last answer. */
const timeFaults = ({ excludeFromContext, timestamp }: JsonObject): ReadonlyArray<Fault> => {
  if (printed(timestamp) !== undefined) return NONE
  const now = reading(excludeFromContext ? "reads" : "crashes")
  return [{ code: "odd-timestamp", reads: each(reading("reads"), now) }]
}

const COUNTS = ["totalTokens", "input", "output", "cacheRead", "cacheWrite"]

const usageFaults = (usage: Json | undefined): ReadonlyArray<Fault> => {
  if (!isSomething(usage)) return [{ code: "missing-usage", reads: null }]
  const isOdd = isObject(usage ?? null) && COUNTS.some((key) => printed(usageAt(usage, key)) === undefined)
  return isOdd ? [{ code: "odd-usage", reads: null }] : NONE
}

const usageAt = (usage: Json | undefined, key: string): Json | undefined =>
  usage !== undefined && isObject(usage) ? usage[key] : undefined

/** Whether Pi fails where it adds up a usage: it asks for the rest only where there is no total. */
export const isUncountable = (usage: Json | undefined): boolean => {
  const total = usageAt(usage, "totalTokens")
  if (total) return printed(total) === undefined
  return COUNTS.some((key) => printed(usageAt(usage, key)) === undefined)
}

/** A usage that Pi can add up: what is no number is none. */
export const mendedUsage = (usage: JsonObject): JsonObject => ({
  ...usage,
  ...Object.fromEntries(COUNTS.filter((key) => key in usage).map((key) => [key, numberAt(usage, key) ?? 0]))
})

const modelFaults = (provider: Json | undefined, model: Json | undefined): ReadonlyArray<Fault> =>
  printed(provider) === undefined || printed(model) === undefined ? [{ code: "odd-model", reads: null }] : NONE

const errorFaults = ({ errorMessage, stopReason }: JsonObject): ReadonlyArray<Fault> =>
  stopReason === "error" && printed(errorMessage) === undefined ? [{ code: "odd-error", reads: null }] : NONE

/** A replacement of null takes the target out of the context. */
const editFaults = (payload: JsonObject, roleOf: RoleOf): ReadonlyArray<Fault> => {
  const { replacement } = payload
  if (replacement === null) return NONE
  if (replacement === undefined) return [{ code: "broken-edit", reads: ofEdit("crashes") }]
  const role = roleOf(stringAt(payload, "targetId") ?? "") ?? "user"
  const content = isObject(replacement) ? replacement["content"] : undefined
  if (typeof content === "string") return NONE
  if (isArray(content))
    return blockFaults.look(role, false, content).map(({ code, reads }) => ({
      code,
      reads: each(reading("reads"), reads["1.5"])
    }))
  // Without a content, Pi puts nothing in place of the text.
  return [{ code: "broken-edit", reads: isSomething(content) ? ofEdit("crashes") : ofEdit("loses", true) }]
}

/** 0.78 knows no context edits. */
const ofEdit = (sends: Sends, uncounted = false): Readings =>
  each(reading("reads"), reading(sends, uncounted, uncounted))

const isCall = (block: JsonObject): boolean => block["type"] === "toolCall"

const callsOf = (content: ReadonlyArray<Json>, isOne: (block: JsonObject) => boolean): ReadonlyArray<ToolCall> =>
  content.flatMap((block) =>
    isObject(block) && isOne(block) ? [{ id: idOf(block["id"]), name: stringAt(block, "name") }] : []
  )
