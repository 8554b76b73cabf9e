/**
 * The entry types that Pi 0.78.0 to 1.5.2 write, and their properties. Code that treats several types alike asks this
 * table; code that reads the members of one type names that type.
 */
import { type PiProfile } from "./PiProfile.ts"

export type EntryType =
  | "message"
  | "thinking_level_change"
  | "model_change"
  | "compaction"
  | "branch_summary"
  | "custom"
  | "custom_message"
  | "label"
  | "session_info"
  | "usage"
  | "context_edit"

export interface Properties {
  /** The oldest of the known Pis that writes the type. */
  readonly since: PiProfile
  /**
   * What an entry does to the context that the model is sent. `message`: adds a message. `rewrite`: removes or replaces
   * messages of earlier entries (a compaction also adds its summary). `none`: the entry is not sent.
   */
  readonly context: "message" | "rewrite" | "none"
  /** The member, beside `parentId`, that holds the id of another entry. */
  readonly reference: "targetId" | "firstKeptEntryId" | "fromId" | undefined
  /** Whether the entry has a `summary` of other entries. */
  readonly hasSummary: boolean
  /** Whether the entry itself may have `usage` (tokens and cost); an assistant message has its own. */
  readonly hasUsage: boolean
  /** Pi's tree navigator (`/tree`): in its default list, only in `all` and `labeled-only`, or never listed. */
  readonly navigator: "listed" | "bookkeeping" | "hidden"
}

/** Also the properties of unknown types: Pi keeps such entries in the tree and does not send them to the model. */
const PLAIN: Properties = {
  since: "0.78",
  context: "none",
  reference: undefined,
  hasSummary: false,
  hasUsage: false,
  navigator: "listed"
}
const SETTING: Properties = { ...PLAIN, navigator: "bookkeeping" }

const TABLE: Readonly<Record<EntryType, Properties>> = {
  message: { ...PLAIN, context: "message" },
  model_change: SETTING,
  thinking_level_change: SETTING,
  compaction: { ...PLAIN, context: "rewrite", reference: "firstKeptEntryId", hasSummary: true, hasUsage: true },
  branch_summary: { ...PLAIN, context: "message", reference: "fromId", hasSummary: true, hasUsage: true },
  custom: SETTING,
  custom_message: { ...PLAIN, context: "message" },
  label: { ...SETTING, reference: "targetId" },
  session_info: SETTING,
  usage: { ...PLAIN, since: "1.5", hasUsage: true, navigator: "hidden" },
  context_edit: { ...SETTING, since: "1.5", context: "rewrite", reference: "targetId" }
}

const PROPERTIES: ReadonlyMap<string, Properties> = new Map(Object.entries(TABLE))

/** Whether a known Pi writes the type. */
export const isKnown = (type: string): type is EntryType => PROPERTIES.has(type)

/** Every entry type, the most frequent first. */
export const all: ReadonlyArray<EntryType> = Object.keys(TABLE).filter(isKnown)

/** The properties of a type; an unknown type is listed in the navigator and has no other effect. */
export const of = (type: string): Properties => PROPERTIES.get(type) ?? PLAIN
