/**
 * Schemas of the entry types that Pi 0.78.0 to 1.5.2 writes. They check a decoded line and convert nothing: unknown fields
 * are kept. An entry of an unknown type is an `UnknownEntry`, not an error.
 */
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { UnknownBlock } from "./ContentBlock.ts"
import * as EntryType from "../EntryType.ts"
import { AnyJson, type JsonObject } from "../Json.ts"
import { StoredMessage, SystemMessage } from "./Message.ts"
import { type SessionEntry } from "../SessionLine.ts"
import { Usage } from "./Usage.ts"

const base = {
  /** Pi writes eight hexadecimal digits and reads any unique string. Absent in version 1. */
  id: Schema.optionalKey(Schema.String),
  /** Null for a root. Absent in version 1. */
  parentId: Schema.optionalKey(Schema.NullOr(Schema.String)),
  /** ISO 8601. */
  timestamp: Schema.optionalKey(Schema.String)
}

export const MessageEntry = Schema.Struct({ ...base, type: Schema.Literal("message"), message: StoredMessage })
export type MessageEntry = typeof MessageEntry.Type

export const ThinkingLevelChange = Schema.Struct({
  ...base,
  type: Schema.Literal("thinking_level_change"),
  /** `off`, `minimal`, `low`, `medium`, `high`, `xhigh`; 1.5 also `max`. */
  thinkingLevel: Schema.String
})
export type ThinkingLevelChange = typeof ThinkingLevelChange.Type

export const ModelChange = Schema.Struct({
  ...base,
  type: Schema.Literal("model_change"),
  provider: Schema.String,
  modelId: Schema.String
})
export type ModelChange = typeof ModelChange.Type

export const Compaction = Schema.Struct({
  ...base,
  type: Schema.Literal("compaction"),
  summary: Schema.String,
  /** First entry of the branch that stays in the context; the compaction's own id: none does (1.5). */
  firstKeptEntryId: Schema.optionalKey(Schema.String),
  /** Version 1: index of the entry in the file; the header has index 0. */
  firstKeptEntryIndex: Schema.optionalKey(Schema.Number),
  tokensBefore: Schema.optionalKey(Schema.Number),
  details: Schema.optionalKey(AnyJson),
  fromHook: Schema.optionalKey(Schema.Boolean),
  /** 1.5 */
  usage: Schema.optionalKey(Usage),
  systemMessage: Schema.optionalKey(SystemMessage)
})
export type Compaction = typeof Compaction.Type

export const BranchSummary = Schema.Struct({
  ...base,
  type: Schema.Literal("branch_summary"),
  /** 0.78: the new leaf; 1.5: the old leaf; "root" where there is none. */
  fromId: Schema.String,
  summary: Schema.String,
  details: Schema.optionalKey(AnyJson),
  fromHook: Schema.optionalKey(Schema.Boolean),
  /** 1.5 */
  usage: Schema.optionalKey(Usage)
})
export type BranchSummary = typeof BranchSummary.Type

/** State of an extension; not in the context. */
export const Custom = Schema.Struct({
  ...base,
  type: Schema.Literal("custom"),
  customType: Schema.String,
  data: Schema.optionalKey(AnyJson)
})
export type Custom = typeof Custom.Type

/** A message of an extension; in the context. */
export const CustomMessageEntry = Schema.Struct({
  ...base,
  type: Schema.Literal("custom_message"),
  customType: Schema.String,
  content: Schema.Union([Schema.String, Schema.Array(UnknownBlock)]),
  display: Schema.optionalKey(Schema.Boolean),
  details: Schema.optionalKey(AnyJson)
})
export type CustomMessageEntry = typeof CustomMessageEntry.Type

export const Label = Schema.Struct({
  ...base,
  type: Schema.Literal("label"),
  targetId: Schema.String,
  /** Absent or empty clears the label. */
  label: Schema.optionalKey(Schema.String)
})
export type Label = typeof Label.Type

export const SessionInfo = Schema.Struct({
  ...base,
  type: Schema.Literal("session_info"),
  /** Empty clears the name. */
  name: Schema.optionalKey(Schema.String)
})
export type SessionInfo = typeof SessionInfo.Type

/** 1.5: usage outside the conversation, such as cache warming. */
export const UsageEntry = Schema.Struct({
  ...base,
  type: Schema.Literal("usage"),
  kind: Schema.String,
  provider: Schema.String,
  model: Schema.String,
  usage: Usage,
  note: Schema.optionalKey(Schema.String)
})
export type UsageEntry = typeof UsageEntry.Type

/** 1.5: removes an earlier entry from the context (null) or replaces its content. */
export const ContextEdit = Schema.Struct({
  ...base,
  type: Schema.Literal("context_edit"),
  targetId: Schema.String,
  replacement: Schema.NullOr(Schema.Struct({ content: Schema.Union([Schema.String, Schema.Array(UnknownBlock)]) }))
})
export type ContextEdit = typeof ContextEdit.Type

export const EntryPayload = Schema.Union([
  MessageEntry,
  ThinkingLevelChange,
  ModelChange,
  Compaction,
  BranchSummary,
  Custom,
  CustomMessageEntry,
  Label,
  SessionInfo,
  UsageEntry,
  ContextEdit
]).pipe(Schema.toTaggedUnion("type"))
export type EntryPayload = typeof EntryPayload.Type

/** An entry of a type that no known Pi writes: kept and in the tree, never in the context. Only its type is checked. */
export const UnknownEntry = Schema.Struct({ type: Schema.String })
export type UnknownEntry = typeof UnknownEntry.Type

/** An entry of a known type whose payload does not fit the schema. */
export class InvalidEntry extends Schema.TaggedError<InvalidEntry>()("InvalidEntry", {
  line: Schema.Int,
  byteOffset: Schema.Int,
  type: Schema.String,
  entryId: Schema.NullOr(Schema.String),
  issue: Schema.String
}) {
  override get message(): string {
    return `line ${this.line}, byte ${this.byteOffset}: entry ${this.entryId ?? "without id"} of type ${this.type}: ${this.issue}`
  }
}

const decodeKnown = Schema.decodeUnknownExit(EntryPayload)
const isKnown = Schema.is(EntryPayload)
const isUnknownEntry = Schema.is(UnknownEntry)

/** Checks the payload of an entry. Returns it with unknown fields; fails with `InvalidEntry`. */
export const decode = (entry: SessionEntry): Result.Result<EntryPayload | UnknownEntry, InvalidEntry> => {
  const value: JsonObject = entry.decode()
  if (isKnown(value)) return Result.succeed(value)
  if (!EntryType.isKnown(entry.type) && isUnknownEntry(value)) return Result.succeed(value)
  const exit = decodeKnown(value)
  const issue = Exit.isFailure(exit) ? String(exit.cause.reasons.map((r) => ("error" in r ? r.error.message : ""))) : ""
  return Result.fail(
    new InvalidEntry({ line: entry.line, byteOffset: entry.byteOffset, type: entry.type, entryId: entry.id, issue })
  )
}
