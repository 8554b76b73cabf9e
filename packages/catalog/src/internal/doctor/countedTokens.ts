/** Where a Pi counts tokens by the text of messages, for want of an answer that tells them: there it looks closer. */
import { type Json, type JsonObject, isObject, numberAt } from "@pi-sessions/core/Json"
import { type PiProfile } from "@pi-sessions/core/PiProfile"
import * as SessionContext from "@pi-sessions/core/SessionContext"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"

type Items = ReadonlyArray<SessionContext.ContextItem>

/** What an answer tells; NaN where it tells nothing. */
const tokensOf = (usage: Json | undefined): number => {
  if (!isObject(usage)) return Number.NaN
  const at = (key: string): number => numberAt(usage, key) ?? Number.NaN
  return at("totalTokens") || at("input") + at("output") + at("cacheRead") + at("cacheWrite")
}

/** 0.78 takes any usage at its word. */
const tellsTokens = ({ role, stopReason, usage }: JsonObject, version: PiProfile): boolean =>
  role === "assistant" &&
  stopReason !== "aborted" &&
  stopReason !== "error" &&
  (version === "0.78" ? Boolean(usage) : tokensOf(usage) > 0)

const after = (items: Items, index: number): ReadonlySet<SessionEntry> =>
  new Set(items.slice(index + 1).map(({ entry }) => entry))

/** What 1.5 counts when it makes a request: an answer that is older than what stands before it does not count. */
export const inRequest = (items: Items): ReadonlySet<SessionEntry> => {
  let last = -1
  let latest = Number.NEGATIVE_INFINITY
  for (const [index, { message }] of items.entries()) {
    const time = numberAt(message, "timestamp") ?? Number.NaN
    if (time >= latest && tellsTokens(message, "1.5")) last = index
    latest = Math.max(latest, time)
  }
  return after(items, last)
}

/** The answer whose usage 0.78 asks for besides the last one: after a turn that failed, the last that tells tokens. */
export const askedInstead = (items: Items): SessionEntry | undefined => {
  const answer = items.findLast(({ message }) => message["role"] === "assistant")?.message
  if (answer?.["stopReason"] !== "error") return undefined
  return items.findLast(({ message }) => tellsTokens(message, "0.78"))?.entry
}

/**
 * What a Pi counts before a prompt, to learn whether to compact: after a turn that failed; 1.5 after one of no tokens
 * too, and wherever context edits count; not where it compacted since that turn.
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
  const last = items.findLastIndex(({ message }) => tellsTokens(message, version))
  if (version === "1.5" && SessionContext.select(branch, version).some(({ type }) => type === "context_edit")) {
    const changed = branch.findLastIndex(({ type }) => type === "context_edit" || type === "compaction")
    const told = items[last]?.entry
    // What was told before the context changed is no longer true.
    return after(items, told !== undefined && branch.indexOf(told) > changed ? last : -1)
  }
  const counts = answer["stopReason"] === "error" || (version === "1.5" && tokensOf(answer["usage"]) === 0)
  return counts ? after(items, last) : new Set()
}
