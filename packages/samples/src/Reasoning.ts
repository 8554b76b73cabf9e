/** Removes the model's thinking from samples. */
import * as Schema from "effect/Schema"
import { type TrainingSample } from "./TrainingSample.ts"
import { type Turn } from "./Turn.ts"

export const Reasoning = Schema.Literals(["all", "last-query", "none"])
export type Reasoning = typeof Reasoning.Type

const withoutReasoning = (turn: Turn): Turn => {
  if (turn.metadata.reasoning === undefined) return turn
  const { reasoning: _, ...metadata } = turn.metadata
  return { ...turn, metadata }
}

/**
 * Keeps all thinking, the thinking after the last user turn, or none. `last-query` is what chat templates such as Qwen3's
 * keep; tool results are not user turns there.
 */
export const withReasoning = (sample: TrainingSample, reasoning: Reasoning): TrainingSample => {
  if (reasoning === "all") return sample
  const { turns } = sample
  const lastQuery = turns.findLastIndex(({ content, role }) => role === "user" && content !== "")
  const from = reasoning === "none" ? turns.length : lastQuery
  return { ...sample, turns: turns.map((turn, at) => (at < from ? withoutReasoning(turn) : turn)) }
}
