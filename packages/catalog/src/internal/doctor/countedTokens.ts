/** Finds the entries whose text Pi reads to estimate tokens, because no later answer reports a usage. */
import * as EntryType from "@pi-sessions/core/EntryType"
import { type Json, type JsonObject, isObject, numberAt } from "@pi-sessions/core/Json"
import { type PiProfile } from "@pi-sessions/core/PiProfile"
import * as SessionContext from "@pi-sessions/core/SessionContext"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"

type Items = ReadonlyArray<SessionContext.ContextItem>

/** Total tokens of a usage; NaN if it has none. */
const tokensOf = (usage: Json | undefined): number => {
  if (!isObject(usage)) return Number.NaN
  const at = (key: string): number => numberAt(usage, key) ?? Number.NaN
  return at("totalTokens") || at("input") + at("output") + at("cacheRead") + at("cacheWrite")
}

/** Whether Pi uses the usage of a message. 0.78 accepts any value, 1.5 only a positive total. */
const reportsTokens = ({ role, stopReason, usage }: JsonObject, version: PiProfile): boolean =>
  role === "assistant" &&
  stopReason !== "aborted" &&
  stopReason !== "error" &&
  (version === "0.78" ? Boolean(usage) : tokensOf(usage) > 0)

const after = (items: Items, index: number): ReadonlySet<SessionEntry> =>
  new Set(items.slice(index + 1).map(({ entry }) => entry))

/** Entries that 1.5 counts when it makes a request. It ignores answers that are older than a message before them. */
export const inRequest = (items: Items): ReadonlySet<SessionEntry> => {
  let last = -1
  let latest = Number.NEGATIVE_INFINITY
  for (const [index, { message }] of items.entries()) {
    const time = numberAt(message, "timestamp") ?? Number.NaN
    if (time >= latest && reportsTokens(message, "1.5")) last = index
    latest = Math.max(latest, time)
  }
  return after(items, last)
}

/** The answer besides the last one whose usage 0.78 reads: after a failed turn, the last one with a usage. */
export const earlierUsage = (items: Items): SessionEntry | undefined => {
  const answer = items.findLast(({ message }) => message["role"] === "assistant")?.message
  if (answer?.["stopReason"] !== "error") return undefined
  return items.findLast(({ message }) => reportsTokens(message, "0.78"))?.entry
}

/**
 * Entries that Pi counts before a prompt to decide on compaction: after a failed turn, in 1.5 also after a turn without
 * tokens and if there are context edits; none if it compacted since the last turn.
 */
export const beforePrompt = (
  branch: ReadonlyArray<SessionEntry>,
  items: Items,
  version: PiProfile
): ReadonlySet<SessionEntry> => {
  const answer = items.findLast(({ message }) => message["role"] === "assistant")?.message
  if (answer === undefined) return new Set()
  const compaction = branch.findLast(({ type }) => type === "compaction")
  const isStale = (numberAt(answer, "timestamp") ?? Number.NaN) <= Date.parse(compaction?.timestamp ?? "")
  if (isStale) return new Set()
  const last = items.findLastIndex(({ message }) => reportsTokens(message, version))
  if (version === "1.5" && SessionContext.select(branch, version).some(({ type }) => type === "context_edit")) {
    const changed = branch.findLastIndex(({ type }) => EntryType.of(type).context === "rewrite")
    const reporting = items[last]?.entry
    // A usage from before the last change of the context is outdated.
    return after(items, reporting !== undefined && branch.indexOf(reporting) > changed ? last : -1)
  }
  const counts = answer["stopReason"] === "error" || (version === "1.5" && tokensOf(answer["usage"]) === 0)
  return counts ? after(items, last) : new Set()
}
