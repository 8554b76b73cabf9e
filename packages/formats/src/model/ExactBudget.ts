/**
 * Limits samples to a number of the model's own tokens, as its template renders them. Counting tokens takes forty times
 * as long as reading, so it is only done if an estimate is close to the limit.
 */
import * as Result from "effect/Result"
import { markedMessages, toolsOf } from "../chat/ChatMessages.ts"
import { type LocalModel } from "./LocalModel.ts"
import { type Budget, fit } from "@pi-sessions/samples/Overflow"
import { type TokenCounter, ofSample } from "@pi-sessions/samples/TokenCount"
import { dateOf, normalized } from "../TokensFormat.ts"
import { type TrainingSample } from "@pi-sessions/samples/TrainingSample"

/**
 * Estimates assume 3.7 characters per token, and a token has at least one. Below a fifth of the budget, counting is
 * unnecessary.
 */
const DOUBT = 5

/** Tokens of a sample up to its last answer; of its texts, if the template refuses it. */
export const countOf = (sample: TrainingSample, model: LocalModel): number => {
  const messages = markedMessages(sample).messages.map(({ message }) => message)
  const conversation = { messages, tools: toolsOf(sample), date: dateOf(sample.metadata.timestamp) }
  const rendered = model.template.render(normalized(conversation, model))
  return Result.isSuccess(rendered)
    ? model.tokenizer.count(rendered.success.text)
    : ofSample(sample, (text) => model.tokenizer.count(text))
}

/** Splits a sample into pieces of at most `maxTokens`; returns none if it cannot fit. */
export const fitExactly = (
  sample: TrainingSample,
  { count: estimate, maxTokens, overflow }: Budget,
  model: LocalModel
): ReadonlyArray<TrainingSample> => {
  if (ofSample(sample, estimate) * DOUBT <= maxTokens) return [sample]
  const counts = new Map<string, number>()
  const count: TokenCounter = (text) => {
    const known = counts.get(text) ?? model.tokenizer.count(text)
    counts.set(text, known)
    return known
  }
  const cut = (piece: TrainingSample, room: number) => fit(piece, { maxTokens: room, overflow, count })
  // The template's additions are known only for a whole sample, so a piece that is too long is fitted again to a lower
  // limit.
  const fitted = (piece: TrainingSample): ReadonlyArray<TrainingSample> => {
    const excess = countOf(piece, model) - maxTokens
    if (excess <= 0) return [piece]
    const texts = ofSample(piece, count)
    return cut(piece, Math.min(maxTokens, texts - (overflow === "elide-results" ? excess : 1))).flatMap(fitted)
  }
  if (overflow !== "window" || countOf(sample, model) <= maxTokens) return fitted(sample)
  // All pieces slightly shorter, instead of one additional piece for each overflow.
  const room = Math.min(maxTokens, ofSample(sample, count) - 1)
  const pieces = cut(sample, room)
  const excess = Math.max(0, ...pieces.map((piece) => countOf(piece, model) - maxTokens))
  const shorter = excess === 0 ? pieces : cut(sample, room - excess)
  return (targetsIn(shorter) < targetsIn(pieces) ? pieces : shorter).flatMap(fitted)
}

const targetsIn = (pieces: ReadonlyArray<TrainingSample>): number =>
  pieces.reduce((sum, { metadata }) => sum + metadata.targets, 0)
