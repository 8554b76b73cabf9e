/**
 * Format `tokens`: a sample as token ids of one model. `labels` are the ids where an answer is trained, and -100
 * elsewhere; LossMask.ts decides which.
 *
 * Some templates (Qwen3's) leave out the thinking of earlier queries, so they do not show earlier answers as they were
 * given. Such a sample becomes several lines, each up to the last answer that the template still shows unchanged: every
 * answer is trained once, with its thinking, in the context that the model would have.
 *
 * Lines contain nothing else: trainers of token ids require exactly these columns.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { type ChatMessage, markedMessages, toolsOf } from "./chat/ChatMessages.ts"
import { type Conversation, type Span } from "./model/ChatTemplate.ts"
import { DropTally, sum } from "@pi-sessions/samples/DropCounts"
import { type LocalModel } from "./model/LocalModel.ts"
import * as LossMask from "./model/LossMask.ts"
import { byteOffsets } from "./model/ModelTokenizer.ts"
import { InvalidSample, type ProjectOptions, type Projection, type SampleFormat } from "./SampleFormat.ts"
import { type TrainingSample } from "@pi-sessions/samples/TrainingSample"
import * as ReadSample from "./readSample.ts"

const Token = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/** Label of positions that are not trained: PyTorch's `ignore_index`. */
export const IGNORED = -100

export const TokensSample = Schema.Struct({
  input_ids: Schema.NonEmptyArray(Token),
  /** All ones: lines are not padded. */
  attention_mask: Schema.Array(Schema.Literal(1)),
  labels: Schema.Array(Schema.Union([Token, Schema.Literal(IGNORED)]))
})
export type TokensSample = typeof TokensSample.Type

/** The date that templates use as today if a sample has no timestamp. */
const SOME_DAY = new Date("2026-01-01T00:00:00.000Z")

/** The start of a sample's session, for templates that print a date. */
export const dateOf = (timestamp: string | undefined): Date => {
  const date = new Date(timestamp ?? "")
  return Number.isNaN(date.getTime()) ? SOME_DAY : date
}

/** The conversation in the tokenizer's normal form, which would otherwise change the text later. */
export const normalized = (conversation: Conversation, { tokenizer }: LocalModel): Conversation => {
  const text = JSON.stringify([conversation.messages, conversation.tools])
  const normal = tokenizer.normalized(text)
  if (normal === text) return conversation
  const [messages, tools]: [Conversation["messages"], Conversation["tools"]] = JSON.parse(normal)
  return { ...conversation, messages, tools }
}

/** The tokens of a text, trained within spans; undefined if the tokens do not decode to the text. */
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
    // After an odd number of borders: within a span.
    labels.push(border % 2 === 1 ? (tokens.ids[i] ?? IGNORED) : IGNORED)
    start = end
  }
  return { input_ids: [first, ...others], labels }
}

/** The answers of a sample in its rendered conversation. */
interface Found {
  readonly model: LocalModel
  readonly mask: LossMask.LossMask
}

/** Results for a sample, kept from its division to its projection. */
const known = new WeakMap<TrainingSample, Found>()

const conversationOf = (sample: TrainingSample, messages: ReadonlyArray<ChatMessage>): Conversation => ({
  messages,
  tools: toolsOf(sample),
  date: dateOf(sample.metadata.timestamp)
})

/** With `LossMask.findBack`, not all answers, unless they are known already. */
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

/** The sample up to a turn; the answers from turn `first_target` on are targets. */
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
    // If the last answer itself cannot be trained, it gets a line of its own, which is refused.
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
  if (labels.length !== input_ids.length) return ["labels", "their number differs from the number of tokens"]
  if (attention_mask.length !== input_ids.length)
    return ["attention_mask", "their number differs from the number of tokens"]
  const other = labels.findIndex((label, at) => label !== IGNORED && label !== input_ids[at])
  if (other >= 0) return [`labels[${other}]`, "it differs from its token"]
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
