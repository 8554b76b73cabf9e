/**
 * Which texts of which entries each search scope contains (docs/adr/004-discovery-and-search.md).
 *
 * `prompts`: user messages. `conversations` adds the assistant's text, thinking and tool calls, tool results, the
 * user's `!commands`, and summaries of compactions and branches. `all` adds session names, messages of extensions and
 * system prompts (Pi 1.5). Never searched: custom data, labels, changes of model and thinking level, usage, context
 * edits, details of tool results, signatures, images.
 */
import * as Schema from "effect/Schema"
import { type Json, type JsonObject, isArray, isObject, objectAt, stringAt } from "@pi-sessions/core/Json"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"

export const SearchScope = Schema.Literals(["prompts", "conversations", "all"])
export type SearchScope = typeof SearchScope.Type

/** The origin of a text. */
export const TextKind = Schema.Literals([
  "prompt",
  "assistant",
  "thinking",
  "tool_call",
  "tool_result",
  "bash",
  "compaction",
  "branch_summary",
  "session_name",
  "custom_message",
  "system"
])
export type TextKind = typeof TextKind.Type

/** A text of an entry, unchanged. */
export interface SearchableText {
  readonly kind: TextKind
  readonly text: string
  /** The tool of a call or result. */
  readonly tool?: string
}

const SCOPES: { readonly [Kind in TextKind]: SearchScope } = {
  prompt: "prompts",
  assistant: "conversations",
  thinking: "conversations",
  tool_call: "conversations",
  tool_result: "conversations",
  bash: "conversations",
  compaction: "conversations",
  branch_summary: "conversations",
  session_name: "all",
  custom_message: "all",
  system: "all"
}

const WIDTHS: { readonly [Scope in SearchScope]: number } = { prompts: 0, conversations: 1, all: 2 }

const KINDS_OF_ROLES: ReadonlyMap<string, TextKind> = new Map([
  ["user", "prompt"],
  ["assistant", "assistant"],
  ["toolResult", "tool_result"],
  ["bashExecution", "bash"],
  // Called hookMessage in version 2.
  ["custom", "custom_message"],
  ["hookMessage", "custom_message"],
  ["system", "system"]
] satisfies ReadonlyArray<readonly [string, TextKind]>)

const KINDS_OF_TYPES: ReadonlyMap<string, TextKind> = new Map([
  ["compaction", "compaction"],
  ["branch_summary", "branch_summary"],
  ["session_info", "session_name"],
  ["custom_message", "custom_message"]
] satisfies ReadonlyArray<readonly [string, TextKind]>)

const kindOf = (entry: Pick<SessionEntry, "type" | "role">): TextKind | undefined =>
  entry.type === "message" ? KINDS_OF_ROLES.get(entry.role ?? "") : KINDS_OF_TYPES.get(entry.type)

/** Whether a scope contains texts of an entry, by its type and role. */
export const admits = (scope: SearchScope, entry: Pick<SessionEntry, "type" | "role">): boolean => {
  const kind = kindOf(entry)
  return kind !== undefined && WIDTHS[SCOPES[kind]] <= WIDTHS[scope]
}

/** A text that every line with an entry of the scope contains; undefined if there is none. */
export const requiredText = (scope: SearchScope): string | undefined => (scope === "prompts" ? "user" : undefined)

/** The texts of an entry that a scope contains, in their order. */
export const textsOf = (
  scope: SearchScope,
  entry: Pick<SessionEntry, "type" | "role" | "decode">
): ReadonlyArray<SearchableText> => {
  const kind = kindOf(entry)
  if (kind === undefined || !admits(scope, entry)) return []
  const payload = entry.decode()
  switch (kind) {
    case "compaction":
    case "branch_summary":
      return own(kind, payload["summary"])
    case "session_name":
      return own(kind, payload["name"])
    case "custom_message":
      return contentTexts(kind, entry.type === "message" ? objectAt(payload, "message") : payload)
    default:
      return messageTexts(kind, objectAt(payload, "message") ?? {})
  }
}

const messageTexts = (kind: TextKind, message: JsonObject): ReadonlyArray<SearchableText> => {
  switch (kind) {
    case "assistant":
      return isArray(message["content"]) ? message["content"].flatMap(assistantTexts) : own(kind, message["content"])
    case "tool_result":
      return contentTexts(kind, message, stringAt(message, "toolName"))
    case "bash":
      return [...own(kind, message["command"]), ...own(kind, message["output"])]
    case "system":
      return [
        ...contentTexts(kind, message),
        ...Object.values(objectAt(message, "sections") ?? {}).flatMap((section) => own(kind, section))
      ]
    default:
      return contentTexts(kind, message)
  }
}

const assistantTexts = (block: Json): ReadonlyArray<SearchableText> => {
  if (!isObject(block)) return []
  switch (block["type"]) {
    case "text":
      return own("assistant", block["text"])
    case "thinking":
      return own("thinking", block["thinking"])
    case "toolCall": {
      const tool = stringAt(block, "name")
      return [
        ...own("tool_call", tool, tool),
        ...strings(block["arguments"]).flatMap((text) => own("tool_call", text, tool))
      ]
    }
    default:
      return []
  }
}

/** All strings in a call's arguments at any depth, without keys and numbers. */
const strings = (value: Json | undefined): ReadonlyArray<string> => {
  const found: Array<string> = []
  // Not recursive: arguments may be nested deeper than the stack.
  const left = [value]
  while (left.length > 0) {
    const next = left.pop()
    if (typeof next === "string") found.push(next)
    const inner = isArray(next) ? next : isObject(next) ? Object.values(next) : []
    for (let i = inner.length - 1; i >= 0; i--) left.push(inner[i])
  }
  return found
}

/** The texts of a `content` that is a string or a list of blocks. */
const contentTexts = (kind: TextKind, holder: JsonObject | undefined, tool?: string): ReadonlyArray<SearchableText> => {
  const content = holder?.["content"]
  if (!isArray(content)) return own(kind, content, tool)
  return content.flatMap((block) => (isObject(block) && block["type"] === "text" ? own(kind, block["text"], tool) : []))
}

const own = (kind: TextKind, text: Json | undefined, tool?: string): ReadonlyArray<SearchableText> =>
  typeof text === "string" && text !== "" ? [{ kind, text, ...(tool === undefined ? {} : { tool }) }] : []
