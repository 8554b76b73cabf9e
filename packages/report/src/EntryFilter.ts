/**
 * The five filters of Pi's tree navigator (`/tree`; 0.78 and 1.5 agree). No filter lists entries of type `usage`, nor
 * answers that only call tools, unless such an answer is the leaf.
 */
import * as Schema from "effect/Schema"
import * as EntryType from "@pi-sessions/core/EntryType"
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

const isMessageOf = (entry: SessionEntry, role: string): boolean => entry.type === "message" && entry.role === role

/** Whether the filter accepts the entry by type, role and label. Unlike `lists`, it accepts answers that only call tools. */
export const takes = (filter: EntryFilter, entry: SessionEntry, { isLabeled }: Pick<FilterFacts, "isLabeled">) => {
  const { navigator } = EntryType.of(entry.type)
  if (navigator === "hidden") return false
  switch (filter) {
    case "all":
      return true
    case "user-only":
      return isMessageOf(entry, "user")
    case "labeled-only":
      return isLabeled(entry)
    case "no-tools":
      return navigator !== "bookkeeping" && !isMessageOf(entry, "toolResult")
    case "default":
      return navigator !== "bookkeeping"
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
