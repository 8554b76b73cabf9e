/**
 * Whether a dataset's answers are found again in what a model is shown: each conversation is rendered and put into tokens,
 * and each answer that would be learnt must stand in it as it was given, behind what the model would be asked with. Counts
 * are the model's own.
 */
import * as Result from "effect/Result"
import * as ChatLine from "../chat/ChatLine.ts"
import { type Span } from "./ChatTemplate.ts"
import { type FormatName } from "../FormatName.ts"
import { FORMATS } from "../Formats.ts"
import { type LocalModel } from "./LocalModel.ts"
import * as LossMask from "./LossMask.ts"
import { IGNORED, TokensFormat, labelled, normalized } from "../TokensFormat.ts"

/** Why an answer is not found again. */
export type Missing =
  | LossMask.Unlearnable
  /** `tokens`: numbers that this model does not have, or would not make of the text. */
  | "other_tokenizer"

/** A line with such an answer. */
export interface MissingAnswer {
  readonly path: string
  /** From 1. */
  readonly line: number
  readonly reason: Missing
  /** The template's words, where it refuses; they may hold text of the line. */
  readonly detail?: string
}

/** Tokens of conversations. */
export interface TokenSpread {
  readonly min: number
  readonly median: number
  readonly p90: number
  readonly max: number
  readonly total: number
  /** Of the total, those that are learnt. */
  readonly learnt: number
}

export interface ModelReport {
  readonly model: string
  /** A line with a chosen and a rejected answer has two. */
  readonly conversations: number
  /** Answers that are to be learnt, or learnt spans of tokens. */
  readonly answers: number
  readonly found: number
  /** By `Missing`. */
  readonly missing: { readonly [reason: string]: number }
  /** Thoughts for which the template has no place. */
  readonly without_reasoning: number
  /** Absent where no conversation could be rendered. */
  readonly tokens?: TokenSpread
  readonly max_tokens: number | null
  readonly over_budget: number
  /** The first ones. */
  readonly first_missing: ReadonlyArray<MissingAnswer>
}

/** A rendered conversation and what of it is learnt. */
export interface ShownSample {
  readonly path: string
  readonly line: number
  readonly text: string
  readonly learnt: ReadonlyArray<Span>
  readonly tokens: number
  readonly learnt_tokens: number
  /** Why an answer of it is not found again. */
  readonly missing: ReadonlyArray<Missing>
}

export interface CheckOptions {
  /** Tokens that a conversation may have; the model's own limit unless given. */
  readonly maxTokens?: number
  /** The conversation to show, from 1. */
  readonly show?: number
}

/** Conversations that are told of. */
const TOLD = 20

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

  /** Takes a line that its format's validator took. */
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
    if (reason !== undefined && this.#first.length < TOLD) {
      this.#first.push({ path, line, reason, ...(detail === undefined ? {} : { detail }) })
    }
    if (this.#conversations === this.#show) {
      this.#shown = { path, line, text, learnt, tokens: ids.length, learnt_tokens: learntTokens, missing }
    }
  }

  /** The conversation that was to be shown; undefined where there are not as many. */
  get shown(): ShownSample | undefined {
    return this.#shown
  }

  get report(): ModelReport {
    const lengths = this.#lengths.toSorted((a, b) => a - b)
    /** The smallest length that so great a share of the conversations does not exceed. */
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

/** The conversations of a line of a chat. */
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
    // Tokens that do not give the text back: nothing of it is where it should be.
    const lost = text === "" ? missing : answers.map(() => "lost_answer" as const)
    return { ...found, learnt: [], missing: lost, ids: [], labels: [] }
  })

/** A line of `tokens`: what is learnt stands between borders, at which the text is parted as it was then. */
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

/** What makes the model answer: it stands before an answer somewhere, whatever else a template does. */
const promptOf = ({ template }: LocalModel): string => {
  const conversation = { messages: [{ role: "user", content: "x" }] as const, tools: [], date: new Date(0) }
  const before = template.render(conversation)
  const asked = template.render(conversation, { prompt: true })
  if (Result.isFailure(before) || Result.isFailure(asked)) return ""
  return asked.success.text.startsWith(before.success.text) ? asked.success.text.slice(before.success.text.length) : ""
}

const NO_TOKENS = { input_ids: [], labels: [] }
