/** Counts of dropped content by reason. Everything that a dataset loses of a session is counted here. */
import * as Schema from "effect/Schema"

/** Why a part of a session is missing or changed. */
export const DropReason = Schema.Literals([
  /** Failed and aborted answers, which Pi does not send, and their results. */
  "aborted_turn",
  "error_turn",
  "aborted_turn_tool_result",
  "error_turn_tool_result",
  /** A result whose call is not in the context. */
  "orphan_tool_result",
  /** A second result of a call. */
  "duplicate_tool_result",
  /** No text. */
  "empty_user_turn",
  /** Neither text nor call. Pi does not send thinking alone either. */
  "empty_assistant_turn",
  /** `!!command`: the user excluded it from the context. */
  "excluded_bash_execution",
  /** A message that Pi does not know, or that this version does not send. */
  "unknown_message",
  /** A message that the newest compaction did not keep. */
  "compacted_message",
  /** A compaction at the end without an answer after it; the context before it is used. */
  "unanswered_compaction",
  /** A message that a `context_edit` removed. */
  "edited_out_message",
  /** A message that is not on the active branch. */
  "other_branch_message",
  /** Became `[image]` in the text; if images are requested, `[ image ]` because it cannot be written as a file. */
  "image",
  /** A content block of an unknown type. */
  "unknown_block",
  /** Thinking that the provider encrypted. */
  "redacted_thinking",
  /** `pi`: data that a provider signed or encrypted. It may contain thinking, and cannot be redacted. */
  "signature",
  /** `pi`: a line that is not JSON and so cannot be redacted. Pi skips such lines. */
  "damaged_line",
  /** Arguments that are not a JSON object, or nested deeper than core's WellFormed.ts allows; the call has `{}`. */
  "invalid_arguments",
  /** Half a surrogate pair in the arguments, name or id of a call. Pi sends it; the sample does not contain it. */
  "lone_surrogate",
  /** Claude Code: text that it sent beside the conversation and that the transcript does not contain. */
  "attachment",
  /** A message after the last answer. */
  "trailing_message",
  /** A target that does not fit into `--max-tokens` together with its question. */
  "target_over_budget",
  /** `sharegpt`, `mistral`, `lora-forge`: a sample must begin with a user turn. */
  "leading_assistant_turn",
  /** `sharegpt`: the format has no text beside a tool call. */
  "text_beside_tool_call",
  /** `sharegpt`: thinking that contains the format's tags for thinking or calls. */
  "reasoning_with_marks",
  /** Kept, but joined with the turn before it, because the format requires alternating sides. */
  "merged_user_turn",
  "merged_assistant_turn",
  "user_text_in_observation",
  /** `openai`, `mistral`, `lora-forge`, and some templates of `tokens`: the format has no thinking. */
  "reasoning",
  /** `openai`: an id with a length or characters that are not allowed; replaced in call and result. */
  "replaced_call_id",
  /** `lora-forge`: a turn too far before the answers of a window. */
  "earlier_turn",
  /** `lora-forge`: an answer of the context, written as user text because it must not be trained on. */
  "answer_as_text",
  /** `lora-forge`: the output of `gt prime` became the system prompt. */
  "prime_as_system",
  /** `lora-forge`: the system prompt is unknown; replaced by one that names the role. */
  "made_system_prompt",
  /** `lora-forge`: a tool result cut in the middle, and lines that it counts as noise. */
  "cut_tool_result",
  "noise_line",
  /**
   * `lora-forge`: a literal tag of calls or results; its `<` became `&lt;`. If images are requested: a literal `[image]`; it
   * became `[ image ]`.
   */
  "escaped_mark"
])
export type DropReason = typeof DropReason.Type

/** Counts above zero by reason, sorted. */
export const DropCounts = Schema.Record(Schema.String, Schema.Int)
export type DropCounts = typeof DropCounts.Type

/** Counts drops. */
export class DropTally {
  readonly #counts = new Map<string, number>()

  add(reason: DropReason, count = 1): void {
    if (count > 0) this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + count)
  }

  get counts(): DropCounts {
    return sorted(this.#counts)
  }
}

const sorted = (counts: ReadonlyMap<string, number>): DropCounts =>
  Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1)))

/** Adds counts up, by reason. */
export const sum = (all: Iterable<DropCounts>): DropCounts => {
  const total = new Map<string, number>()
  for (const counts of all) {
    for (const [reason, count] of Object.entries(counts)) total.set(reason, (total.get(reason) ?? 0) + count)
  }
  return sorted(total)
}
