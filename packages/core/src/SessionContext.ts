/**
 * The context of a branch: the messages that the model is sent, the model and the thinking level. Follows
 * `buildSessionContext` of Pi 0.78.0 and `buildSessionProjection` of 1.5.2, which differ in system messages, context edits
 * and null contents. Entries that a compaction removed are not decoded.
 */
import * as EntryId from "./EntryId.ts"
import { type Json, type JsonObject, isObject, objectAt } from "./Json.ts"
import { type PiProfile, newest } from "./PiProfile.ts"
import { type SessionEntry } from "./SessionLine.ts"
import { type SessionTree } from "./SessionTree.ts"

/** A message of the context and its entry. A compaction entry may give two messages. */
export interface ContextItem {
  readonly entry: SessionEntry
  /** Has a `role`; see payload/Message.ts for the shapes. */
  readonly message: JsonObject
}

export interface SessionContext {
  readonly messages: ReadonlyArray<JsonObject>
  /** Default: `off`. */
  readonly thinkingLevel: Json
  /** The model of the last model change or answer on the branch; null when there is none. */
  readonly model: { readonly provider: Json | undefined; readonly modelId: Json | undefined } | null
}

/** The context at the tree's leaf. */
export const build = (tree: SessionTree, profile: PiProfile = newest): SessionContext => {
  const branch = tree.getBranch(undefined, profile)
  return { messages: project(branch, profile).map((item) => item.message), ...settings(branch) }
}

/** Model and thinking level at the end of a branch; entries before a compaction count too. */
export const settings = (branch: ReadonlyArray<SessionEntry>): Omit<SessionContext, "messages"> => {
  let thinkingLevel: Json | undefined
  let model: SessionContext["model"] | undefined
  for (let i = branch.length - 1; i >= 0 && (thinkingLevel === undefined || model === undefined); i--) {
    const entry = branch[i]
    if (entry === undefined) continue
    if (entry.type === "thinking_level_change") {
      thinkingLevel ??= entry.decode()["thinkingLevel"]
    } else if (model === undefined && entry.type === "model_change") {
      const payload = entry.decode()
      model = { provider: payload["provider"], modelId: payload["modelId"] }
    } else if (model === undefined && entry.role === "assistant") {
      const message = objectAt(entry.decode(), "message")
      model = { provider: message?.["provider"], modelId: message?.["model"] }
    }
  }
  return { thinkingLevel: thinkingLevel ?? "off", model: model ?? null }
}

/** The messages of one entry. */
export type MessagesOf = (entry: SessionEntry, profile: PiProfile) => ReadonlyArray<JsonObject>

/** Messages of a branch (root first) with their entries. `messagesOf` can cache the results of `entryMessages`. */
export const project = (
  branch: ReadonlyArray<SessionEntry>,
  profile: PiProfile = newest,
  messagesOf: MessagesOf = entryMessages
): ReadonlyArray<ContextItem> => {
  const selected = select(branch, profile)
  const edits = profile === "1.5" ? contextEdits(selected) : undefined
  const items: Array<ContextItem> = []
  for (let index = 0; index < selected.length; index++) {
    const entry = selected[index]
    if (entry === undefined) continue
    // An older compaction in the kept range gives no message.
    if (entry.type === "compaction" && index > 0) continue
    const edit = entry.id === null ? undefined : edits?.get(entry.id)
    if (edit === null) continue
    for (const message of messagesOf(entry, profile)) {
      items.push({ entry, message: edit === undefined ? message : applyEdit(message, edit) })
    }
  }
  return items
}

/** The entries of a branch that are in the context: all, or the newest compaction, the entries it keeps and later ones. */
export const select = (
  branch: ReadonlyArray<SessionEntry>,
  profile: PiProfile = newest
): ReadonlyArray<SessionEntry> => {
  const at = branch.findLastIndex((entry) => entry.type === "compaction")
  const compaction = branch[at]
  if (compaction === undefined) return branch
  const firstKeptId = EntryId.read(compaction.decode()["firstKeptEntryId"])
  const firstKept = firstKeptId === null ? -1 : branch.findIndex((entry) => entry.id === firstKeptId)
  const kept =
    firstKept < 0 || firstKept >= at
      ? []
      : branch.slice(firstKept, at).filter((entry) => profile === "0.78" || entry.role !== "system")
  return [compaction, ...kept, ...branch.slice(at + 1)]
}

/** The replacement for each target, or null where the entry is removed; the last edit of a target counts. */
const contextEdits = (entries: ReadonlyArray<SessionEntry>): ReadonlyMap<string, JsonObject | null> => {
  const edits = new Map<string, JsonObject | null>()
  for (const entry of entries) {
    if (entry.type !== "context_edit") continue
    const payload = entry.decode()
    const targetId = EntryId.read(payload["targetId"])
    const replacement = payload["replacement"]
    if (targetId !== null && (replacement === null || isObject(replacement))) edits.set(targetId, replacement)
  }
  return edits
}

const EDITABLE = new Set<Json | undefined>(["user", "assistant", "toolResult", "custom"])

const applyEdit = (message: JsonObject, replacement: JsonObject): JsonObject => {
  if (!EDITABLE.has(message["role"])) return message
  const content = replacement["content"]
  const asBlocks = (message["role"] === "assistant" || message["role"] === "toolResult") && typeof content === "string"
  return { ...message, content: asBlocks ? [{ type: "text", text: content }] : content }
}

const time = (entry: SessionEntry): number => Date.parse(entry.timestamp ?? "")

/** The messages of an entry, before context edits. */
export const entryMessages: MessagesOf = (entry, profile) => {
  switch (entry.type) {
    case "message": {
      const message = objectAt(entry.decode(), "message")
      if (message === undefined) return []
      return [profile === "1.5" ? withContent(message) : message]
    }
    case "custom_message": {
      const { customType, content, display, details } = entry.decode()
      const role = "custom"
      const shown = profile === "1.5" ? (content ?? []) : content
      return [{ role, customType, content: shown, display, details, timestamp: time(entry) }]
    }
    case "branch_summary": {
      const { summary, fromId } = entry.decode()
      return summary ? [{ role: "branchSummary", summary, fromId, timestamp: time(entry) }] : []
    }
    case "compaction": {
      const { summary, tokensBefore, systemMessage } = entry.decode()
      const message = { role: "compactionSummary", summary, tokensBefore, timestamp: time(entry) }
      return profile === "1.5" && isObject(systemMessage) ? [systemMessage, message] : [message]
    }
    default:
      return []
  }
}

const NULLABLE = new Set<Json | undefined>(["user", "assistant", "toolResult"])

/** 1.5 gives messages without content an empty one. */
const withContent = (message: JsonObject): JsonObject => {
  if (message["content"] !== null && message["content"] !== undefined) return message
  if (message["role"] === "system") return { ...message, content: "" }
  return NULLABLE.has(message["role"]) ? { ...message, content: [] } : message
}
