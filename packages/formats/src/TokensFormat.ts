/**
 * Format `tokens`: a sample as its model reads it, in numbers. `labels` are the numbers again where an answer is learnt,
 * and -100 elsewhere; which parts those are, is said in LossMask.ts.
 *
 * A template that leaves out the thinking of earlier queries (Qwen3's) does not show a conversation's earlier answers as
 * they were given. Such a sample becomes several lines, each up to an answer behind which the template would show it
 * otherwise: every answer is learnt once, thinking included, in the very context that the model would have.
 *
 * Lines hold nothing else: trainers that take tokens want exactly these columns.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { type ChatMessage, markedMessages, toolsOf } from "./chat/ChatMessages.ts"
import { type Conversation, type Span } from "./model/ChatTemplate.ts"
import { DropTally, sum } from "@pi-sessions/samples/DropCounts"
import { type LocalModel } from "./model/LocalModel.ts"
import * as LossMask from "./model/LossMask.ts"
import { byteOffsets } from "./model/ModelTokenizer.ts"
import { InvalidSample, type ProjectOptions, type Projection, type SampleFormat } from "./Sample.ts"
import { type TrainingSample } from "@pi-sessions/samples/TrainingSample"
import * as ReadSample from "./readSample.ts"

const Token = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/** Where nothing is learnt, as PyTorch's cross entropy has it. */
export const IGNORED = -100

export const TokensSample = Schema.Struct({
  input_ids: Schema.NonEmptyArray(Token),
  /** Ones: nothing is padded here. */
  attention_mask: Schema.Array(Schema.Literal(1)),
  labels: Schema.Array(Schema.Union([Token, Schema.Literal(IGNORED)]))
})
export type TokensSample = typeof TokensSample.Type

/** What templates take for today where a sample says no time. */
const SOME_DAY = new Date("2026-01-01T00:00:00.000Z")

/** When a sample's session was begun, for templates that say what day it is. */
export const dateOf = (timestamp: string | undefined): Date => {
  const date = new Date(timestamp ?? "")
  return Number.isNaN(date.getTime()) ? SOME_DAY : date
}

/** A conversation in the normal form that the tokenizer wants, since it would change the text later. */
export const normalized = (conversation: Conversation, { tokenizer }: LocalModel): Conversation => {
  const text = JSON.stringify([conversation.messages, conversation.tools])
  const normal = tokenizer.normalized(text)
  if (normal === text) return conversation
  const [messages, tools]: [Conversation["messages"], Conversation["tools"]] = JSON.parse(normal)
  return { ...conversation, messages, tools }
}

/** The tokens of a text, learnt within spans; undefined where the tokens do not give the text back. */
export const labelled = (
  text: string,
  spans: ReadonlyArray<Span>,
  { tokenizer }: LocalModel
): Pick<TokensSample, "input_ids" | "labels"> | undefined => {
  const borders = spans.flatMap(({ end, start }) => [start, end])
  const tokens = tokenizer.encodeWithin(text, borders)
  if (tokens === undefined) return undefined
  const [first, ...others] = tokens.ids
  if (first === undefined) return undefined
  const offsets = byteOffsets(text, borders)
  const labels: Array<number> = []
  let border = 0
  let start = 0
  for (const [i, end] of tokens.ends.entries()) {
    while (border < offsets.length && (offsets[border] ?? 0) <= start) border++
    // An odd number of borders behind us: within a span.
    labels.push(border % 2 === 1 ? (tokens.ids[i] ?? IGNORED) : IGNORED)
    start = end
  }
  return { input_ids: [first, ...others], labels }
}

/** A sample's answers in its rendered conversation. */
interface Found {
  readonly model: LocalModel
  readonly mask: LossMask.LossMask
}

/** What was found for a sample, from its division to its projection. */
const known = new WeakMap<TrainingSample, Found>()

const conversationOf = (sample: TrainingSample, messages: ReadonlyArray<ChatMessage>): Conversation => ({
  messages,
  tools: toolsOf(sample),
  date: dateOf(sample.metadata.timestamp)
})

/** By `LossMask.findBack` not all of them, where they are not known yet. */
const find = (sample: TrainingSample, model: LocalModel, by: typeof LossMask.find): LossMask.LossMask => {
  const before = known.get(sample)
  if (before?.model === model) return before.mask
  const { messages } = markedMessages(sample)
  const targets = messages.flatMap(({ isTarget }, at) => (isTarget ? [at] : []))
  const conversation = conversationOf(
    sample,
    messages.map(({ message }) => message)
  )
  const mask = by(normalized(conversation, model), targets, model)
  if (mask.answers.length === targets.length) known.set(sample, { model, mask })
  return mask
}

/** The sample up to a turn, of which the answers from another turn on are targets. */
const part = (sample: TrainingSample, first_target: number, end: number): TrainingSample => {
  if (first_target === sample.first_target && end === sample.turns.length) return sample
  const turns = sample.turns.slice(0, end)
  const answers = turns.flatMap(({ role }, at) => (role === "assistant" ? [at] : []))
  const targets = answers.filter((at) => at >= first_target).length
  const metadata = { ...sample.metadata, targets, context_answers: answers.length - targets }
  return { ...sample, turns, first_target, metadata }
}

const divide = (sample: TrainingSample, { model }: ProjectOptions = {}): ReadonlyArray<TrainingSample> => {
  if (model === undefined) return [sample]
  const pieces: Array<TrainingSample> = []
  let rest = sample
  for (;;) {
    const mask = find(rest, model, LossMask.findBack)
    const { answers } = mask
    const failed = answers.findLastIndex(({ _tag }) => _tag === "Refused")
    if (failed < 0 || !answers.some(({ _tag }) => _tag === "Learnt")) return [rest, ...pieces]
    const targets = rest.turns.flatMap(({ role }, at) => (role === "assistant" && at >= rest.first_target ? [at] : []))
    // Where the last one itself cannot be learnt, it goes alone, to be refused.
    const last = answers.slice(Math.min(failed + 1, answers.length - 1))
    const first = targets.length - last.length
    const piece = part(rest, targets[first] ?? 0, rest.turns.length)
    known.set(piece, { model, mask: { ...mask, answers: last } })
    pieces.unshift(piece)
    rest = part(rest, rest.first_target, (targets[first - 1] ?? 0) + 1)
  }
}

const project = (sample: TrainingSample, { model }: ProjectOptions = {}): Projection<TokensSample> => {
  if (model === undefined) return { _tag: "None", reason: "no_tokenizer" }
  const { answers, text, withoutReasoning } = find(sample, model, LossMask.find)
  if (answers.length === 0) return { _tag: "None", reason: "no_assistant_turn" }
  const spans: Array<Span> = []
  for (const answer of answers) {
    if (answer._tag === "Refused") return { _tag: "None", reason: answer.reason }
    spans.push(answer.span)
  }
  const tokens = labelled(text, spans, model)
  if (tokens === undefined) return { _tag: "None", reason: "lost_answer" }
  const dropped = new DropTally()
  dropped.add("reasoning", withoutReasoning)
  dropped.add("trailing_message", markedMessages(sample).trailing)
  const { input_ids, labels } = tokens
  return {
    _tag: "Sample",
    sample: { input_ids, attention_mask: input_ids.map(() => 1 as const), labels },
    file: "train",
    dropped: sum([sample.metadata.dropped, dropped.counts])
  }
}

const brokenRule = ({ attention_mask, input_ids, labels }: TokensSample): readonly [string, string] | undefined => {
  if (labels.length !== input_ids.length) return ["labels", "not as many as tokens"]
  if (attention_mask.length !== input_ids.length) return ["attention_mask", "not as many as tokens"]
  const other = labels.findIndex((label, at) => label !== IGNORED && label !== input_ids[at])
  if (other >= 0) return [`labels[${other}]`, "another token than the one that stands there"]
  return labels.every((label) => label === IGNORED) ? ["labels", "nothing is learnt"] : undefined
}

const read = ReadSample.make("tokens", TokensSample)

const validate = (line: string): Result.Result<TokensSample, InvalidSample> =>
  Result.flatMap(read(line), (sample) => {
    const broken = brokenRule(sample)
    if (broken === undefined) return Result.succeed(sample)
    const [at, issue] = broken
    return Result.fail(new InvalidSample({ format: "tokens", at, issue }))
  })

export const TokensFormat: SampleFormat<TokensSample> = {
  name: "tokens",
  trainer:
    "Tokens of one model, for trainers that take them as they are (Axolotl: give no `type`): `labels` are -100 where nothing is learnt.",
  needsModel: true,
  divide,
  project,
  validate
}
