/** One item of a timeline: the header or an entry. */
import * as Schema from "effect/Schema"
import { type SessionDiagnostic } from "@pi-sessions/core/SessionDiagnostic"
import { type Depth, reaches } from "./TimelineDepth.ts"
import { type TimelinePart, shallow } from "./TimelinePart.ts"

/** Kinds of items: finer than entry types, because messages are divided by role. */
export const Kind = Schema.Literals([
  "session",
  "user",
  "assistant",
  "tool_result",
  /** A `!command` of the user. */
  "bash",
  /** Pi 1.5: system prompt and tools. */
  "system",
  /** Message of an extension. */
  "custom_message",
  "compaction",
  "branch_summary",
  "label",
  /** `session_info`: the session gets a name. */
  "name",
  "model",
  "thinking_level",
  /** Pi 1.5: an entry is removed from the context, or its content replaced. */
  "context_edit",
  /** Pi 1.5: tokens used outside the conversation. */
  "usage",
  /** State of an extension. */
  "custom",
  /** A type or role that no known Pi writes, or a message entry without a message. */
  "unknown"
])
export type Kind = typeof Kind.Type

export interface TimelineItem {
  readonly kind: Kind
  /** The lowest depth at which it appears. */
  readonly depth: Depth
  /** Null for the header. */
  readonly entryId: string | null
  /** The entry's type as recorded; `session` for the header. */
  readonly type: string
  /** Line in the file, from 1. */
  readonly line: number
  /** ISO 8601: the entry's time, else its message's. */
  readonly time: string | undefined
  /** A few words: the model, the tool, the text of a label; often empty. */
  readonly about: string
  /** It ended in an error or was aborted. */
  readonly failed: boolean
  /** The label on the entry. */
  readonly label: string | undefined
  /** Ids of children on other branches; for the header, of other roots. */
  readonly branches: ReadonlyArray<string>
  /** Diagnostics of its line, from reader and tree. */
  readonly damage: ReadonlyArray<SessionDiagnostic>
  readonly parts: ReadonlyArray<TimelinePart>
}

/** The item without the parts that are deeper than `depth`; undefined if the item itself is deeper. */
export const atDepth = (item: TimelineItem, depth: Depth): TimelineItem | undefined => {
  if (!reaches(depth, item.depth)) return undefined
  if (depth === "full") return item
  return { ...item, parts: item.parts.filter((part) => reaches(depth, part.depth)).map(shallow) }
}
