/** One step of a timeline: the header or an entry, what it is, when it was, and what it holds. */
import * as Schema from "effect/Schema"
import { type SessionDiagnostic } from "@pi-sessions/core/SessionDiagnostic"
import { type Depth, reaches } from "./TimelineDepth.ts"
import { type TimelinePart, shallow } from "./TimelinePart.ts"

/** What an item is. */
export const Kind = Schema.Literals([
  "session",
  "user",
  "assistant",
  "tool_result",
  /** The user's own `!command`. */
  "bash",
  /** 1.5: system prompt and tools. */
  "system",
  /** Of an extension. */
  "custom_message",
  "compaction",
  "branch_summary",
  "label",
  /** The session gets a name. */
  "name",
  "model",
  "thinking_level",
  /** 1.5: an entry is taken out of the context, or its content replaced. */
  "context_edit",
  /** 1.5: tokens spent outside the conversation. */
  "usage",
  /** State of an extension. */
  "custom",
  /** An entry type or a role that no known Pi writes, or a message entry without a message. */
  "unknown"
])
export type Kind = typeof Kind.Type

export interface TimelineItem {
  readonly kind: Kind
  /** From which depth on it is shown. */
  readonly depth: Depth
  /** Null for the header. */
  readonly entryId: string | null
  /** The entry's type as it stands; `session` for the header. */
  readonly type: string
  /** Line in the file, from 1. */
  readonly line: number
  /** ISO 8601: of the entry; of its message where the entry has none; undefined where both have none. */
  readonly time: string | undefined
  /** In a few words: the model, the tool, what a label says; often empty. */
  readonly about: string
  /** An error, or broken off. */
  readonly failed: boolean
  /** The label that stands on the entry. */
  readonly label: string | undefined
  /** Entries that follow this one on other branches; for the header, other entries that a branch begins with. */
  readonly branches: ReadonlyArray<string>
  /** What the reader or the tree noticed about its line. */
  readonly damage: ReadonlyArray<SessionDiagnostic>
  /** What it holds, in the order in which it stands there. */
  readonly parts: ReadonlyArray<TimelinePart>
}

/** An item as it is shown at a depth: without the parts that lie deeper; undefined where it is not shown at all. */
export const atDepth = (item: TimelineItem, depth: Depth): TimelineItem | undefined => {
  if (!reaches(depth, item.depth)) return undefined
  if (depth === "full") return item
  return { ...item, parts: item.parts.filter((part) => reaches(depth, part.depth)).map(shallow) }
}
