/** What did not come along, by reason. Nothing is left out of a dataset without being counted here. */
import * as Schema from "effect/Schema"

/** Why part of a session is not, or not as it was, in what was made of it. */
export const DropReason = Schema.Literals([
  /** Turns and tool results that Pi leaves out of requests. */
  "aborted_turn",
  "error_turn",
  "aborted_turn_tool_result",
  "error_turn_tool_result",
  /** A result whose call is not in the context. */
  "orphan_tool_result",
  /** A second result of a call. */
  "duplicate_tool_result",
  /** Nothing to read in it. */
  "empty_user_turn",
  /** Neither text nor call; thinking alone is not sent again either. */
  "empty_assistant_turn",
  /** `!!command`: the user kept it from the model. */
  "excluded_bash_execution",
  /** A message that no Pi knows, or that this Pi does not send. */
  "unknown_message",
  /** A message before the newest compaction that it did not keep. */
  "compacted_message",
  /** A compaction at the end, after which the model said nothing: the context before it is taken. */
  "unanswered_compaction",
  /** A message that a `context_edit` took out. */
  "edited_out_message",
  /** A message that is not on the active branch. */
  "other_branch_message",
  /** Stands as `[image]` in the text; as `[ image ]` where images are asked for and it is none that can be written. */
  "image",
  /** A content block of a type that is not known. */
  "unknown_block",
  /** Thinking that the provider encrypted. */
  "redacted_thinking",
  /** `pi`: what a provider signed or encrypted. It may hold thinking, and nobody else can read it to redact it. */
  "signature",
  /** `pi`: a line that is no JSON, so that nobody can tell what is to be redacted in it. Pi skips such lines. */
  "damaged_line",
  /** What the model wrote as arguments was no JSON object, or one of more levels than WellFormed.ts takes; the call has `{}`. */
  "invalid_arguments",
  /** Half of a surrogate pair in the arguments, the name or the id of a call, where both Pis send it; it is not there. */
  "lone_surrogate",
  /** Claude Code: what it told the model beside the conversation; the transcript does not have its words. */
  "attachment",
  /** A message after the last assistant message: nothing to learn from it. */
  "trailing_message",
  /** An answer that fits into no window of `--max-tokens` together with its question. */
  "target_over_budget",
  /** `sharegpt`, `mistral`, `lora-forge`: a sample must begin with the human side. */
  "leading_assistant_turn",
  /** `sharegpt`: text beside a tool call has no place there. */
  "text_beside_tool_call",
  /** `sharegpt`: thinking that holds the very marks that set thinking or calls apart. */
  "reasoning_with_marks",
  /** Kept, but the border to its neighbour is gone, where a format wants the sides to take turns. */
  "merged_user_turn",
  "merged_assistant_turn",
  "user_text_in_observation",
  /** `openai`, `mistral`, `lora-forge`, and some templates of `tokens`: there is no place for thinking. */
  "reasoning",
  /** `openai`: no id of this length or with these characters is taken; it is another one, on call and result alike. */
  "replaced_call_id",
  /** `lora-forge`: its windows leave out what stands too far before their answers. */
  "earlier_turn",
  /** `lora-forge`: an answer of the context, told as text of the human side, since it may not be trained on. */
  "answer_as_text",
  /** `lora-forge`: what `gt prime` said stands as the system prompt. */
  "prime_as_system",
  /** `lora-forge`: nobody knows a system prompt; one that names the role stands in its place. */
  "made_system_prompt",
  /** `lora-forge`: a tool result cut in the middle, and lines that it calls noise. */
  "cut_tool_result",
  "noise_line",
  /**
   * `lora-forge`: text that looks like the marks around calls and results; its `<` stands as `&lt;`. Where images are
   * asked for: text that says `[image]`, which stands as `[ image ]`.
   */
  "escaped_mark"
])
export type DropReason = typeof DropReason.Type

/** Counts above zero, by reason, in the order of the reasons' names. */
export const DropCounts = Schema.Record(Schema.String, Schema.Int)
export type DropCounts = typeof DropCounts.Type

/** Counts while something is being made. */
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

/** All counts together. */
export const sum = (all: Iterable<DropCounts>): DropCounts => {
  const total = new Map<string, number>()
  for (const counts of all) {
    for (const [reason, count] of Object.entries(counts)) total.set(reason, (total.get(reason) ?? 0) + count)
  }
  return sorted(total)
}
