/**
 * Schemas of messages by role: the `message` of message entries. Fields that Pi 0.78.0 and 1.5.2 load a message without
 * are optional (found by removing each). Unknown fields are allowed and kept.
 */
import * as Schema from "effect/Schema"
import { AnyJson } from "../Json.ts"
import { UnknownBlock } from "./ContentBlock.ts"
import { Usage } from "./Usage.ts"

const Blocks = Schema.Array(UnknownBlock)
const StringOrBlocks = Schema.Union([Schema.String, Blocks])
/** Unix time in milliseconds. */
const Timestamp = Schema.optionalKey(Schema.Number)

export const UserMessage = Schema.Struct({
  role: Schema.Literal("user"),
  content: StringOrBlocks,
  timestamp: Timestamp
})
export type UserMessage = typeof UserMessage.Type

export const AssistantMessage = Schema.Struct({
  role: Schema.Literal("assistant"),
  content: Blocks,
  usage: Schema.optionalKey(Usage),
  api: Schema.optionalKey(Schema.String),
  provider: Schema.optionalKey(Schema.String),
  model: Schema.optionalKey(Schema.String),
  /** `stop`, `length`, `toolUse`, `error`, `aborted`; 1.5 adds `deferred` (and `pending`, never written). */
  stopReason: Schema.optionalKey(Schema.String),
  errorMessage: Schema.optionalKey(Schema.String),
  responseModel: Schema.optionalKey(Schema.String),
  responseId: Schema.optionalKey(Schema.String),
  diagnostics: Schema.optionalKey(Schema.Array(AnyJson)),
  timestamp: Timestamp,
  /** 1.5 */
  thinkingLevel: Schema.optionalKey(Schema.String),
  providerThinkingLevel: Schema.optionalKey(AnyJson),
  deferred: Schema.optionalKey(AnyJson),
  rawStopReason: Schema.optionalKey(AnyJson),
  endTurn: Schema.optionalKey(Schema.Boolean),
  durationMs: Schema.optionalKey(Schema.Number)
})
export type AssistantMessage = typeof AssistantMessage.Type

export const ToolResultMessage = Schema.Struct({
  role: Schema.Literal("toolResult"),
  toolCallId: Schema.String,
  content: Blocks,
  toolName: Schema.optionalKey(Schema.String),
  isError: Schema.optionalKey(Schema.Boolean),
  /** Depends on the tool; extensions keep snapshots of their state here. */
  details: Schema.optionalKey(AnyJson),
  timestamp: Timestamp,
  /** 1.5 */
  usage: Schema.optionalKey(Usage),
  nestedCalls: Schema.optionalKey(AnyJson),
  durationMs: Schema.optionalKey(Schema.Number)
})
export type ToolResultMessage = typeof ToolResultMessage.Type

/** The user's own `!command`. */
export const BashExecutionMessage = Schema.Struct({
  role: Schema.Literal("bashExecution"),
  command: Schema.String,
  output: Schema.String,
  exitCode: Schema.optionalKey(Schema.NullOr(Schema.Number)),
  cancelled: Schema.optionalKey(Schema.Boolean),
  truncated: Schema.optionalKey(Schema.Boolean),
  fullOutputPath: Schema.optionalKey(Schema.String),
  /** `!!command`: not in the context. */
  excludeFromContext: Schema.optionalKey(Schema.Boolean),
  timestamp: Timestamp
})
export type BashExecutionMessage = typeof BashExecutionMessage.Type

/** In files migrated from version 2, and in contexts: the message of a `custom_message` entry. */
export const CustomMessage = Schema.Struct({
  role: Schema.Literal("custom"),
  customType: Schema.optionalKey(Schema.String),
  content: StringOrBlocks,
  display: Schema.optionalKey(Schema.Boolean),
  details: Schema.optionalKey(AnyJson),
  timestamp: Timestamp
})
export type CustomMessage = typeof CustomMessage.Type

/** 1.5 only: system prompt sections and tools, as they change. */
export const SystemMessage = Schema.Struct({
  role: Schema.Literal("system"),
  content: StringOrBlocks,
  /** Null removes the section. */
  sections: Schema.optionalKey(Schema.Record(Schema.String, Schema.NullOr(Schema.String))),
  toolsAdded: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({
        name: Schema.String,
        description: Schema.optionalKey(Schema.String),
        parameters: Schema.optionalKey(AnyJson)
      })
    )
  ),
  toolsRemoved: Schema.optionalKey(Schema.Array(Schema.Struct({ name: Schema.String }))),
  timestamp: Timestamp
})
export type SystemMessage = typeof SystemMessage.Type

/** Only in contexts: the message of a `compaction` entry. */
export const CompactionSummaryMessage = Schema.Struct({
  role: Schema.Literal("compactionSummary"),
  summary: Schema.String,
  tokensBefore: Schema.optionalKey(Schema.Number),
  timestamp: Timestamp
})
export type CompactionSummaryMessage = typeof CompactionSummaryMessage.Type

/** Only in contexts: the message of a `branch_summary` entry. */
export const BranchSummaryMessage = Schema.Struct({
  role: Schema.Literal("branchSummary"),
  summary: Schema.String,
  fromId: Schema.optionalKey(Schema.String),
  timestamp: Timestamp
})
export type BranchSummaryMessage = typeof BranchSummaryMessage.Type

/** Messages in session files. */
export const StoredMessage = Schema.Union([
  UserMessage,
  AssistantMessage,
  ToolResultMessage,
  BashExecutionMessage,
  CustomMessage,
  SystemMessage
])
export type StoredMessage = typeof StoredMessage.Type
