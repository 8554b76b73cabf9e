/**
 * A turn: what one side said. Consecutive tool results are one user turn, because the model receives them together. The
 * names are snake_case, as in dataset files; see docs/adr/005-turns-and-roles.md.
 */
import * as Schema from "effect/Schema"
import { AnyJson } from "@pi-sessions/core/Json"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"

export const ToolCall = Schema.Struct({
  /** Never empty: `call_<n>` if the session has no id (see SessionTurns.ts). */
  id: Schema.String,
  name: Schema.String,
  arguments: Schema.Record(Schema.String, AnyJson)
})
export type ToolCall = typeof ToolCall.Type

export const ToolResult = Schema.Struct({
  tool_call_id: Schema.String,
  tool_name: Schema.String,
  content: Schema.String,
  /** As in `Turn`. */
  images: Schema.optionalKey(Schema.Array(Schema.String)),
  is_error: Schema.Boolean
})
export type ToolResult = typeof ToolResult.Type

/** Tokens and cost (US dollars) of one model call, as far as Pi recorded them. */
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
  /** The thinking level of the answer. */
  thinking_level: Schema.optionalKey(Schema.String),
  stop_reason: Schema.optionalKey(Schema.String),
  /** The thinking as text; never part of the content. */
  reasoning: Schema.optionalKey(Schema.String),
  /** Pi's role if it differs from the turn's: toolResult, custom, bashExecution, compactionSummary, branchSummary. */
  message_role: Schema.optionalKey(Schema.String),
  /** Of a message from an extension. */
  custom_type: Schema.optionalKey(Schema.String),
  /** Ids of calls without a recorded result; their results in this turn are Pi's "No result provided". */
  unanswered: Schema.optionalKey(Schema.Array(Schema.String))
})
export type TurnMetadata = typeof TurnMetadata.Type

export const Turn = Schema.Struct({
  role: Schema.Literals(["system", "user", "assistant"]),
  /** Concatenated text; well-formed, may be empty. */
  content: Schema.String,
  /**
   * Paths of image files in the dataset, one for each `[image]` in the content, in order. The content has no other
   * `[image]`. Absent unless images are requested.
   */
  images: Schema.optionalKey(Schema.Array(Schema.String)),
  /** Empty except in assistant turns. */
  tool_calls: Schema.Array(ToolCall),
  /** Empty except in user turns right after the assistant turn with the calls. */
  tool_results: Schema.Array(ToolResult),
  /** Of the entry, ISO 8601; empty if it has none. */
  timestamp: Schema.String,
  /** Id of the (first) entry; empty if it has none. */
  uuid: Schema.String,
  metadata: TurnMetadata
})
export interface Turn extends Schema.Schema.Type<typeof Turn> {
  /** The entries that the turn was made from. Only in traced samples (see TurnOrigin.ts); never written to datasets. */
  readonly entries?: ReadonlyArray<SessionEntry>
}

/** All tokens of a call: the sum of its parts, as in Pi; the recorded total if no part is recorded. */
export const tokensOf = ({ cache_read, cache_write, input, output, total_tokens }: TurnUsage): number =>
  (input ?? output ?? cache_read ?? cache_write) === undefined
    ? (total_tokens ?? 0)
    : (input ?? 0) + (output ?? 0) + (cache_read ?? 0) + (cache_write ?? 0)

/** Cost of a call in US dollars: the recorded total, else the sum of its parts. */
export const costOf = ({ cost }: TurnUsage): number =>
  cost?.total ?? (cost?.input ?? 0) + (cost?.output ?? 0) + (cost?.cache_read ?? 0) + (cost?.cache_write ?? 0)
