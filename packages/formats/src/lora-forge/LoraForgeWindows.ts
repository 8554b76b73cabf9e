/**
 * Cuts a sample into lora-forge's windows: at most 16 turns and 16,384 characters, each beginning 8 turns after the
 * previous one.
 *
 * lora-forge's windows overlap, and it trains on the overlap twice. Here the answers in the overlap are context, so
 * every answer is a target in exactly one window. Other losses are avoided: a window that does not begin at the start
 * of the sample repeats the sample's first user message; no window begins with a tool result or separates a call from
 * its result; an answer that does not fit begins the next window.
 *
 * lora-forge counts the characters of long samples only. Here all are counted, without the system prompt, and the
 * context gets at most half of them, so that each window makes progress.
 */
import { type DropCounts, DropTally, sum } from "@pi-sessions/samples/DropCounts"
import { type TrainingSample } from "@pi-sessions/samples/TrainingSample"
import { type Turn } from "@pi-sessions/samples/Turn"
import { callText, resultText } from "./loraForgeText.ts"

const WINDOW_TURNS = 16
const STRIDE_TURNS = 8
const WINDOW_CHARS = 16_384

/** The message with the output of `gt prime`, which Gas Town's extension inserts at the start. */
export const isPrime = (turn: Turn): boolean =>
  turn.role === "user" && turn.metadata.custom_type === "gastown-prime" && turn.tool_results.length === 0

const sizeOf = ({ content, tool_calls, tool_results }: Turn): number => {
  const uncounted = new DropTally()
  const calls = tool_calls.reduce((size, call) => size + callText(call).length, 0)
  return tool_results.reduce((size, result) => size + resultText(result, uncounted).length, content.length + calls)
}

/** Turns from `start` to before `end`; the answers from `target` on are targets. */
interface Window {
  readonly start: number
  readonly target: number
  readonly end: number
}

/** The total size before each turn, and of all turns. */
const sizesBefore = (turns: ReadonlyArray<Turn>): ReadonlyArray<number> => {
  const sizes = [0]
  for (const turn of turns) sizes.push((sizes.at(-1) ?? 0) + sizeOf(turn))
  return sizes
}

/** The window that begins with the answer at `target`, within the limits. */
const windowAt = (turns: ReadonlyArray<Turn>, sizes: ReadonlyArray<number>, target: number): Window => {
  const sizeBetween = (start: number, end: number) => (sizes[end] ?? 0) - (sizes[start] ?? 0)
  const mayStart = (at: number) => turns[at]?.tool_results.length === 0
  // The turn before the answer, with the calls if it is a result.
  let nearest = Math.max(0, target - 1)
  while (nearest > 0 && !mayStart(nearest)) nearest--
  let start = Math.min(nearest, Math.max(0, target - STRIDE_TURNS))
  const isTooMuch = () => sizeBetween(start, target) > WINDOW_CHARS / 2
  while (start < nearest && (!mayStart(start) || isTooMuch())) start++
  const opening = start > 0 ? sizeBetween(0, 1) : 0
  let end = target + 1
  for (let at = end; at < Math.min(turns.length, start + WINDOW_TURNS); at++) {
    if (turns[at]?.role === "assistant" && opening + sizeBetween(start, at + 1) <= WINDOW_CHARS) end = at + 1
  }
  return { start, target, end }
}

export const divide = (sample: TrainingSample): ReadonlyArray<TrainingSample> => {
  const { first_target, turns } = sample
  const from = turns.findIndex((turn) => turn.role !== "system" && !isPrime(turn))
  const lead = turns.slice(0, from)
  const body = turns.slice(from)
  const pieces: Array<TrainingSample> = []
  const sizes = sizesBefore(body)
  let target = first_target - from
  while (target >= 0 && target < body.length) {
    const window = windowAt(body, sizes, target)
    pieces.push(pieceOf(sample, { lead, body }, window, pieces.length === 0))
    target = window.end
    while (target < body.length && body[target]?.role !== "assistant") target++
  }
  return pieces
}

const pieceOf = (
  sample: TrainingSample,
  { body, lead }: { readonly lead: ReadonlyArray<Turn>; readonly body: ReadonlyArray<Turn> },
  { end, start, target }: Window,
  isFirst: boolean
): TrainingSample => {
  const [first] = body
  const opening = start > 0 && first?.role === "user" ? [first] : []
  const turns = [...lead, ...opening, ...body.slice(start, end)]
  const targets = body.slice(target, end).filter((turn) => turn.role === "assistant").length
  const answers = turns.filter((turn) => turn.role === "assistant").length
  const skipped = start - opening.length
  const here: DropCounts = skipped > 0 ? { earlier_turn: skipped } : {}
  return {
    ...sample,
    turns,
    first_target: lead.length + opening.length + target - start,
    metadata: {
      ...sample.metadata,
      targets,
      context_answers: answers - targets,
      context: skipped > 0 ? "reduced" : sample.metadata.context,
      tool_errors: turns.flatMap((turn) => turn.tool_results).filter((result) => result.is_error).length,
      // Losses of the whole sample are reported in its first window.
      dropped: sum(isFirst ? [sample.metadata.dropped, here] : [here])
    }
  }
}
