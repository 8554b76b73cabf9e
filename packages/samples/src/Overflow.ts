/**
 * Shortens samples that are longer than a trainer accepts. Only context is removed, never a part of an answer. The context
 * becomes `reduced`.
 *
 * - `elide-results`: replaces tool results by `ELIDED`, the oldest first, until the sample fits.
 * - `window`: splits the sample. Each window has the system prompt and the last user turn before it. Each target stays a
 *   target in one window. A window never begins with a tool result or separates a call from its result.
 * - `drop`: drops the sample.
 *
 * Samples and targets that cannot fit are dropped.
 */
import * as Schema from "effect/Schema"
import { type TokenCounter, ofSample, ofTools, ofTurn } from "./TokenCount.ts"
import { type TrainingSample, answerCounts } from "./TrainingSample.ts"
import { type Turn } from "./Turn.ts"

export const Overflow = Schema.Literals(["elide-results", "window", "drop"])
export type Overflow = typeof Overflow.Type

export interface Budget {
  /** Limit for a sample, including system prompt and tools. */
  readonly maxTokens: number
  readonly overflow: Overflow
  readonly count: TokenCounter
}

/** Replaces a removed tool result. */
export const ELIDED = "[tool result left out]"

/** Returns the samples that replace a sample; none if it cannot fit. */
export const fit = (sample: TrainingSample, budget: Budget): ReadonlyArray<TrainingSample> => {
  if (ofSample(sample, budget.count) <= budget.maxTokens) return [sample]
  switch (budget.overflow) {
    case "drop":
      return []
    case "elide-results":
      return elideResults(sample, budget)
    case "window":
      return windows(sample, budget)
  }
}

const elideResults = (sample: TrainingSample, { count, maxTokens }: Budget): ReadonlyArray<TrainingSample> => {
  const turns = [...sample.turns]
  const mark = count(ELIDED)
  let excess = ofSample(sample, count) - maxTokens
  for (const [at, turn] of turns.entries()) {
    if (excess <= 0) break
    if (turn.tool_results.length === 0) continue
    const tool_results = turn.tool_results.map((result) => {
      const saved = count(result.content) - mark
      if (excess <= 0 || saved <= 0) return result
      excess -= saved
      return { ...result, content: ELIDED, ...(result.images === undefined ? {} : { images: [] }) }
    })
    turns[at] = { ...turn, tool_results }
  }
  return excess <= 0 ? [reduced(sample, turns, sample.first_target)] : []
}

const reduced = (sample: TrainingSample, turns: ReadonlyArray<Turn>, first_target: number): TrainingSample => {
  const metadata = { ...sample.metadata, context: "reduced" as const, ...answerCounts(turns, first_target) }
  return { ...sample, turns, first_target, metadata }
}

/** Turns that a window keeps together: a user turn, or an answer and the results of its calls. */
interface Unit {
  /** Index of the first turn in the sample. */
  readonly at: number
  readonly turns: ReadonlyArray<Turn>
  readonly tokens: number
}

const unitsOf = (sample: TrainingSample, count: TokenCounter): ReadonlyArray<Unit> => {
  const units: Array<Unit> = []
  for (let at = 0; at < sample.turns.length; at++) {
    const turn = sample.turns[at]
    if (turn === undefined || turn.role === "system") continue
    const next = sample.turns[at + 1]
    const turns =
      turn.role === "assistant" && next !== undefined && next.tool_results.length > 0 ? [turn, next] : [turn]
    units.push({ at, turns, tokens: turns.reduce((sum, one) => sum + ofTurn(one, count), 0) })
    at += turns.length - 1
  }
  return units
}

const isQuestion = ({ turns: [first] }: Unit): boolean => first?.role === "user"

const windows = (sample: TrainingSample, { count, maxTokens }: Budget): ReadonlyArray<TrainingSample> => {
  const system = sample.turns.filter((turn) => turn.role === "system")
  const fixed = system.reduce((sum, turn) => sum + ofTurn(turn, count), ofTools(sample, count))
  const units = unitsOf(sample, count)
  const found: Array<TrainingSample> = []
  let latest: Unit | undefined
  for (let from = 0; from < units.length;) {
    const first = units[from]
    if (first === undefined) break
    // A window that begins in the middle of the work needs the question.
    const question = isQuestion(first) ? undefined : latest
    let tokens = fixed + (question?.tokens ?? 0)
    let to = from
    while (to < units.length && tokens + (units[to]?.tokens ?? 0) <= maxTokens) tokens += units[to++]?.tokens ?? 0
    // A unit longer than a window is dropped.
    if (to === from) {
      if (isQuestion(first)) latest = first
      from++
      continue
    }
    const window = windowOf(sample, system, question, units.slice(from, to))
    if (window !== undefined) found.push(window)
    latest = units.slice(from, to).findLast(isQuestion) ?? latest
    from = to
  }
  return found
}

/** Returns a window up to its last answer; undefined if it has no target. */
const windowOf = (
  sample: TrainingSample,
  system: ReadonlyArray<Turn>,
  question: Unit | undefined,
  units: ReadonlyArray<Unit>
): TrainingSample | undefined => {
  const before = [...system, ...(question?.turns ?? [])]
  const places = units.flatMap((unit) => unit.turns.map((turn, i) => ({ turn, at: unit.at + i })))
  const end = places.findLastIndex(({ turn }) => turn.role === "assistant") + 1
  const kept = places.slice(0, end)
  const first = kept.findIndex(({ at, turn }) => at >= sample.first_target && turn.role === "assistant")
  if (first < 0) return undefined
  const turns = [...before, ...kept.map(({ turn }) => turn)]
  return turns.length === sample.turns.length ? sample : reduced(sample, turns, before.length + first)
}
