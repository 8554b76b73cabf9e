/**
 * A turn: what one side said, under the names of seed 004 (snake_case, as they stand in files). Consecutive tool results
 * are one user turn, as they reach the model together.
 */
import * as Schema from "effect/Schema"
import { AnyJson } from "@pi-sessions/core/Json"

export const ToolCall = Schema.Struct({
  /** Never empty: where the session has no id, `call_<n>` (see SessionTurns.ts). */
  id: Schema.String,
  name: Schema.String,
  arguments: Schema.Record(Schema.String, AnyJson)
})
export type ToolCall = typeof ToolCall.Type

export const ToolResult = Schema.Struct({
  tool_call_id: Schema.String,
  tool_name: Schema.String,
  content: Schema.String,
  /** As those of a turn. */
  images: Schema.optionalKey(Schema.Array(Schema.String)),
  is_error: Schema.Boolean
})
export type ToolResult = typeof ToolResult.Type

/** Tokens and US dollars of one model call; what Pi did not record is absent. */
export const TurnUsage = Schema.Struct({
  input: Schema.optionalKey(Schema.Number),
  output: Schema.optionalKey(Schema.Number),
  cache_read: Schema.optionalKey(Schema.Number),
  cache_write: Schema.optionalKey(Schema.Number),
  reasoning: Schema.optionalKey(Schema.Number),
  total_tokens: Schema.optionalKey(Schema.Number),
  cost: Schema.optionalKey(
    Schema.Struct({
      input: Schema.optionalKey(Schema.Number),
      output: Schema.optionalKey(Schema.Number),
      cache_read: Schema.optionalKey(Schema.Number),
      cache_write: Schema.optionalKey(Schema.Number),
      total: Schema.optionalKey(Schema.Number)
    })
  )
})
export type TurnUsage = typeof TurnUsage.Type

export const TurnMetadata = Schema.Struct({
  usage: Schema.optionalKey(TurnUsage),
  provider: Schema.optionalKey(Schema.String),
  model: Schema.optionalKey(Schema.String),
  api: Schema.optionalKey(Schema.String),
  /** The level in force when the assistant answered. */
  thinking_level: Schema.optionalKey(Schema.String),
  stop_reason: Schema.optionalKey(Schema.String),
  /** The thinking, as text. Never part of the content. */
  reasoning: Schema.optionalKey(Schema.String),
  /** Pi's role where it is not the turn's: toolResult, custom, bashExecution, compactionSummary, branchSummary. */
  message_role: Schema.optionalKey(Schema.String),
  /** Of a message that an extension put in. */
  custom_type: Schema.optionalKey(Schema.String),
  /** Ids of calls that nobody answered; their results in this turn are the ones Pi makes up. */
  unanswered: Schema.optionalKey(Schema.Array(Schema.String))
})
export type TurnMetadata = typeof TurnMetadata.Type

export const Turn = Schema.Struct({
  role: Schema.Literals(["system", "user", "assistant"]),
  /** Concatenated text. Well-formed; empty, never null. */
  content: Schema.String,
  /**
   * Only where images are asked for: the files, within the dataset, of those that stand as `[image]` in the content, in
   * that order. No other `[image]` stands in it.
   */
  images: Schema.optionalKey(Schema.Array(Schema.String)),
  /** Only of assistant turns. */
  tool_calls: Schema.Array(ToolCall),
  /** Only of user turns, right after the assistant turn that called. */
  tool_results: Schema.Array(ToolResult),
  /** ISO 8601, of the entry; empty when it has none. */
  timestamp: Schema.String,
  /** Id of the entry, of the first one where several became one turn; empty when there is none. */
  uuid: Schema.String,
  metadata: TurnMetadata
})
export type Turn = typeof Turn.Type

/** All tokens of a call: the sum of its parts, as Pi counts; the recorded total if no part is recorded. */
export const tokensOf = ({ cache_read, cache_write, input, output, total_tokens }: TurnUsage): number =>
  (input ?? output ?? cache_read ?? cache_write) === undefined
    ? (total_tokens ?? 0)
    : (input ?? 0) + (output ?? 0) + (cache_read ?? 0) + (cache_write ?? 0)

/** US dollars of a call: as recorded, else the sum of its parts. */
export const costOf = ({ cost }: TurnUsage): number =>
  cost?.total ?? (cost?.input ?? 0) + (cost?.output ?? 0) + (cost?.cache_read ?? 0) + (cost?.cache_write ?? 0)
