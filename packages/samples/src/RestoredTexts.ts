/** Restores the long texts of a sample that was cut from an outline. */
import { type LongTexts } from "@pi-sessions/core/SessionOutline"
import { type TrainingSample } from "./TrainingSample.ts"
import { type Turn } from "./Turn.ts"
import { type PlainObject } from "@pi-sessions/core/WellFormed"

export const restored = (sample: TrainingSample, texts: LongTexts): TrainingSample => {
  const { rejected, tools, turns } = sample
  return {
    ...sample,
    turns: turns.map((turn) => turnOf(turn, texts)),
    tools: tools.map(({ description, name, parameters }) => ({
      name,
      description: texts.restore(description),
      parameters: objectOf(parameters, texts)
    })),
    ...(rejected === undefined ? {} : { rejected: turnOf(rejected, texts) })
  }
}

const turnOf = (turn: Turn, texts: LongTexts): Turn => {
  const { content, metadata, tool_calls, tool_results } = turn
  const { reasoning } = metadata
  return {
    ...turn,
    content: texts.restore(content),
    tool_calls: tool_calls.map((call) => ({ ...call, arguments: objectOf(call.arguments, texts) })),
    tool_results: tool_results.map((result) => ({ ...result, content: texts.restore(result.content) })),
    metadata: reasoning === undefined ? metadata : { ...metadata, reasoning: texts.restore(reasoning) }
  }
}

const objectOf = (object: PlainObject, texts: LongTexts): PlainObject =>
  Object.fromEntries(Object.entries(object).map(([key, member]) => [key, texts.restoreJson(member)]))
