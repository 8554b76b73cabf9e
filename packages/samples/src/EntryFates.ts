/**
 * The fate of each entry of a session: the samples in which it is a target or context, or why it is in none.
 *
 * Messages have a fate, and so do entries that became a message of a request (a compaction's summary) and attachments of
 * Claude Code. Settings, labels and states of extensions have none.
 */
import { HARNESS } from "@pi-sessions/core/ClaudeCodeSession"
import { ATTACHMENT_TYPE } from "@pi-sessions/core/ClaudeCodeTold"
import { stringAt } from "@pi-sessions/core/Json"
import type * as Session from "@pi-sessions/core/Session"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import { type DropReason } from "./DropCounts.ts"
import { type TargetRun } from "./TargetRuns.ts"
import { isConversation } from "./SessionFacts.ts"
import { text } from "./TurnWriter.ts"

/** How a sample uses an entry. `rejected`: as the rejected answer of a preference pair. */
export type Telling = "target" | "context" | "rejected"

export interface EntryFate {
  /** An entry of the session in the current version. */
  readonly entry: SessionEntry
  /** The samples that use it, by number from 1, in order. */
  readonly told: ReadonlyArray<{ readonly sample: number; readonly as: Telling }>
  /** Why no sample uses it: a `DropReason`, or the reason why its session has no samples. Undefined if one does. */
  readonly reason: string | undefined
  /** Parts that no sample contains, such as `image`. */
  readonly lost: ReadonlyArray<DropReason>
}

/** The entries that are in no run, in file order, with the reasons. */
export const leftOut = (
  session: Session.Session,
  runs: ReadonlyArray<TargetRun>,
  branches: "active" | "all"
): ReadonlyMap<SessionEntry, DropReason> => {
  const found = new Map<SessionEntry, DropReason>()
  const held = new Set(runs.flatMap((run) => run.messages.flatMap(({ of }) => of?.entry ?? [])))
  for (const run of runs) for (const { of } of run.systemMessages) if (of !== undefined) held.add(of.entry)
  const active = branches === "all" ? undefined : new Set(session.tree.getBranch())
  const edited = new Set<string>()
  for (const entry of session.tree.getEntries()) {
    if (entry.type === "context_edit") edited.add(text(entry.decode(), "targetId"))
  }
  const isClaudeCode = session.header?.decode()["harness"] === HARNESS
  for (const entry of session.tree.getEntries()) {
    if (isClaudeCode && isAttachment(entry)) found.set(entry, "attachment")
    if (!isConversation(entry) || held.has(entry)) continue
    if (active !== undefined && !active.has(entry)) found.set(entry, "other_branch_message")
    else found.set(entry, reasonOf(entry, edited.has(entry.id ?? "")))
  }
  return found
}

const isAttachment = (entry: SessionEntry): boolean =>
  entry.type === "custom" && stringAt(entry.decode(), "customType") === ATTACHMENT_TYPE

const reasonOf = (entry: SessionEntry, isEdited: boolean): DropReason => {
  if (entry.role === "assistant") {
    const message = entry.decode()["message"]
    const stopReason = typeof message === "object" && message !== null && "stopReason" in message && message.stopReason
    if (stopReason === "error") return "error_turn"
    if (stopReason === "aborted") return "aborted_turn"
  }
  if (isEdited) return "edited_out_message"
  if (entry.type === "message" && entry.role === undefined) return "unknown_message"
  return "trailing_message"
}
