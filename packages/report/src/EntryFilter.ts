/**
 * The five filters of Pi's tree navigator (`/tree`; 0.78 and 1.5 agree). No filter lists entries of type `usage`, nor
 * answers that only call tools, unless such an answer is the leaf.
 */
import * as Schema from "effect/Schema"
import { type JsonObject, isArray, isObject, objectAt, stringAt } from "@pi-sessions/core/Json"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import { FILTER_NAMES } from "./EntryFilterName.ts"

export const EntryFilter = Schema.Literals(FILTER_NAMES)
export type EntryFilter = typeof EntryFilter.Type

/** Facts about entries that are not in their envelopes. */
export interface FilterFacts {
  readonly isLabeled: (entry: SessionEntry) => boolean
  /** Called for answers only. */
  readonly isOnlyCalls: (entry: SessionEntry) => boolean
  readonly leaf: SessionEntry | undefined
}

/** Types that record state and say nothing in the conversation. */
const BOOKKEEPING = new Set([
  "label",
  "context_edit",
  "custom",
  "model_change",
  "thinking_level_change",
  "session_info"
])

const isMessageOf = (entry: SessionEntry, role: string): boolean => entry.type === "message" && entry.role === role

/** Whether the filter accepts the entry by type, role and label. Unlike `lists`, it accepts answers that only call tools. */
export const takes = (filter: EntryFilter, entry: SessionEntry, { isLabeled }: Pick<FilterFacts, "isLabeled">) => {
  if (entry.type === "usage") return false
  switch (filter) {
    case "all":
      return true
    case "user-only":
      return isMessageOf(entry, "user")
    case "labeled-only":
      return isLabeled(entry)
    case "no-tools":
      return !BOOKKEEPING.has(entry.type) && !isMessageOf(entry, "toolResult")
    case "default":
      return !BOOKKEEPING.has(entry.type)
  }
}

/** Whether Pi's tree navigator lists the entry. */
export const lists = (filter: EntryFilter, entry: SessionEntry, facts: FilterFacts): boolean =>
  takes(filter, entry, facts) && (entry === facts.leaf || !isMessageOf(entry, "assistant") || !facts.isOnlyCalls(entry))

/** Whether an answer has no text, and neither failed nor was aborted. */
export const onlyCalls = (payload: JsonObject): boolean => {
  const message = objectAt(payload, "message") ?? {}
  const { content, stopReason } = message
  if (
    stopReason !== undefined &&
    stopReason !== null &&
    stopReason !== "" &&
    stopReason !== "stop" &&
    stopReason !== "toolUse"
  ) {
    return false
  }
  if (typeof content === "string") return content.trim() === ""
  if (!isArray(content)) return true
  return !content.some(
    (block) => isObject(block) && block["type"] === "text" && (stringAt(block, "text") ?? "").trim() !== ""
  )
}
