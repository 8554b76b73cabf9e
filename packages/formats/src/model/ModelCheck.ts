/**
 * Checks that a model sees a dataset's answers: renders and tokenizes each conversation and looks for each trained
 * answer, unchanged and in the context of the generation prompt. Counts the model's own tokens.
 */
import * as Result from "effect/Result"
import * as ChatLine from "../chat/ChatLine.ts"
import { type Span } from "./ChatTemplate.ts"
import { type FormatName } from "../FormatName.ts"
import { FORMATS } from "../Formats.ts"
import { type LocalModel } from "./LocalModel.ts"
import * as LossMask from "./LossMask.ts"
import { IGNORED, TokensFormat, labelled, normalized } from "../TokensFormat.ts"

/** Why an answer is missing. */
export type Missing =
  | LossMask.Unlearnable
  /** `tokens`: ids that this model does not have or would not produce for the text. */
  | "other_tokenizer"

/** A line with a missing answer. */
export interface MissingAnswer {
  readonly path: string
  /** From 1. */
  readonly line: number
  readonly reason: Missing
  /** The template's error, if it refuses. Can contain text of the line. */
  readonly detail?: string
}

/** Token counts of conversations. */
export interface TokenSpread {
  readonly min: number
  readonly median: number
  readonly p90: number
  readonly max: number
  readonly total: number
  /** Trained tokens, of the total. */
  readonly learnt: number
}

export interface ModelReport {
  readonly model: string
  /** Preference pairs count as two. */
  readonly conversations: number
  /** Trained answers, or trained spans of token ids. */
  readonly answers: number
  readonly found: number
  /** Counts by `Missing`. */
  readonly missing: { readonly [reason: string]: number }
  /** Number of thinking blocks that the template never shows. */
  readonly without_reasoning: number
  /** Absent if no conversation could be rendered. */
  readonly tokens?: TokenSpread
  readonly max_tokens: number | null
  readonly over_budget: number
  /** The first missing answers. */
  readonly first_missing: ReadonlyArray<MissingAnswer>
}

/** A rendered conversation, and its trained parts. */
export interface ShownSample {
  readonly path: string
  readonly line: number
  readonly text: string
  readonly learnt: ReadonlyArray<Span>
  readonly tokens: number
  readonly learnt_tokens: number
  /** The reasons for its missing answers. */
  readonly missing: ReadonlyArray<Missing>
}

export interface CheckOptions {
  /** Maximum tokens of a conversation. Default: the model's own limit. */
  readonly maxTokens?: number
  /** Number of the conversation to show, from 1. */
  readonly show?: number
}

/** Maximum number of missing answers in the result. */
const LISTED_MAX = 20

interface Found {
  readonly text: string
  readonly learnt: ReadonlyArray<Span>
  readonly ids: ReadonlyArray<number>
  readonly labels: ReadonlyArray<number>
  readonly missing: ReadonlyArray<Missing>
  readonly withoutReasoning: number
  readonly detail?: string
}

export const isChecked = (format: FormatName): boolean =>
  FORMATS[format].hasChatLines === true || FORMATS[format].needsModel === true

export class ModelCheck {
  readonly #model: LocalModel
  readonly #maxTokens: number | undefined
  readonly #show: number | undefined
  readonly #lengths: Array<number> = []
  readonly #missing = new Map<Missing, number>()
  readonly #first: Array<MissingAnswer> = []
  #conversations = 0
  #answers = 0
  #learnt = 0
  #withoutReasoning = 0
  #shown: ShownSample | undefined

  constructor(model: LocalModel, { maxTokens = model.maxTokens, show }: CheckOptions = {}) {
    this.#model = model
    this.#maxTokens = maxTokens
    this.#show = show
  }

  /** Adds a valid line. */
  push({
    format,
    line,
    path,
    text
  }: {
    readonly format: FormatName
    readonly path: string
    readonly line: number
    readonly text: string
  }): void {
    const found = FORMATS[format].needsModel === true ? [ofTokens(text, this.#model)] : conversations(text, this.#model)
    for (const one of found) this.#take(one, path, line)
  }

  #take({ detail, ids, labels, learnt, missing, text, withoutReasoning }: Found, path: string, line: number): void {
    this.#conversations++
    this.#answers += learnt.length + missing.length
    this.#withoutReasoning += withoutReasoning
    const learntTokens = labels.filter((label) => label !== IGNORED).length
    this.#learnt += learntTokens
    if (ids.length > 0) this.#lengths.push(ids.length)
    for (const reason of missing) this.#missing.set(reason, (this.#missing.get(reason) ?? 0) + 1)
    const [reason] = missing
    if (reason !== undefined && this.#first.length < LISTED_MAX) {
      this.#first.push({ path, line, reason, ...(detail === undefined ? {} : { detail }) })
    }
    if (this.#conversations === this.#show) {
      this.#shown = { path, line, text, learnt, tokens: ids.length, learnt_tokens: learntTokens, missing }
    }
  }

  /** The conversation to show; undefined if there are fewer. */
  get shown(): ShownSample | undefined {
    return this.#shown
  }

  get report(): ModelReport {
    const lengths = this.#lengths.toSorted((a, b) => a - b)
    /** The smallest length that is not exceeded by this share of the conversations. */
    const quantile = (share: number): number => lengths[Math.max(0, Math.ceil(share * lengths.length) - 1)] ?? 0
    const missing = [...this.#missing].sort(([a], [b]) => (a < b ? -1 : 1))
    const maxTokens = this.#maxTokens
    const tokens = {
      min: quantile(0),
      median: quantile(0.5),
      p90: quantile(0.9),
      max: quantile(1),
      total: lengths.reduce((sum, length) => sum + length, 0),
      learnt: this.#learnt
    }
    return {
      model: this.#model.name,
      conversations: this.#conversations,
      answers: this.#answers,
      found: this.#answers - missing.reduce((sum, [, count]) => sum + count, 0),
      missing: Object.fromEntries(missing),
      without_reasoning: this.#withoutReasoning,
      ...(lengths.length === 0 ? {} : { tokens }),
      max_tokens: maxTokens ?? null,
      over_budget: maxTokens === undefined ? 0 : lengths.filter((length) => length > maxTokens).length,
      first_missing: this.#first
    }
  }
}

/** The conversations of a chat line. */
const conversations = (text: string, model: LocalModel): ReadonlyArray<Found> =>
  ChatLine.conversationsIn(text).map(({ conversation, targets }) => {
    const { answers, detail, text, withoutReasoning } = LossMask.find(normalized(conversation, model), targets, model)
    const learnt = answers.flatMap((answer) => (answer._tag === "Learnt" ? [answer.span] : []))
    const missing = answers.flatMap((answer): ReadonlyArray<Missing> =>
      answer._tag === "Refused" ? [answer.reason] : []
    )
    const found = { text, learnt, missing, withoutReasoning, ...(detail === undefined ? {} : { detail }) }
    const tokens = text === "" ? undefined : labelled(text, learnt, model)
    if (tokens !== undefined) return { ...found, ids: tokens.input_ids, labels: tokens.labels }
    // The tokens do not decode to the text, so no answer is at its place.
    const lost = text === "" ? missing : answers.map(() => "lost_answer" as const)
    return { ...found, learnt: [], missing: lost, ids: [], labels: [] }
  })

/** A line of `tokens`. Borders separate trained spans, as they did when the line was made. */
const ofTokens = (line: string, model: LocalModel): Found => {
  const { input_ids: ids, labels } = Result.getOrElse(TokensFormat.validate(line), () => NO_TOKENS)
  const learnt: Array<Span> = []
  let text = ""
  let isKnown = true
  for (let from = 0, at = 1; at <= ids.length; at++) {
    const isLearnt = labels[from] !== IGNORED
    if (at < ids.length && (labels[at] !== IGNORED) === isLearnt) continue
    const part = model.tokenizer.decode(ids.slice(from, at))
    isKnown &&= part !== undefined
    if (isLearnt) learnt.push({ start: text.length, end: text.length + (part ?? "").length })
    text += part ?? ""
    from = at
  }
  const again = isKnown ? labelled(text, learnt, model) : undefined
  const isAsked = text.slice(0, learnt[0]?.start).includes(promptOf(model))
  return isAsked && again !== undefined && again.input_ids.join() === ids.join()
    ? { text, learnt, ids, labels, missing: [], withoutReasoning: 0 }
    : { text, learnt: [], ids, labels, missing: ["other_tokenizer"], withoutReasoning: 0 }
}

/** The generation prompt. It precedes at least one answer in every template. */
const promptOf = ({ template }: LocalModel): string => {
  const conversation = { messages: [{ role: "user", content: "x" }] as const, tools: [], date: new Date(0) }
  const before = template.render(conversation)
  const asked = template.render(conversation, { prompt: true })
  if (Result.isFailure(before) || Result.isFailure(asked)) return ""
  return asked.success.text.startsWith(before.success.text) ? asked.success.text.slice(before.success.text.length) : ""
}

const NO_TOKENS = { input_ids: [], labels: [] }
