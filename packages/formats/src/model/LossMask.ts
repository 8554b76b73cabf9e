/**
 * Which parts of a rendered conversation are the answers that are to be learnt: from behind what makes the model answer
 * to the end of its turn.
 *
 * The template is asked, not known. Where it has `{% generation %}`, that says what is learnt. Else an answer begins where
 * the conversation up to it ends when it is rendered with `add_generation_prompt`, and ends with what the template puts
 * behind its last word. In both cases
 *
 * - the text before an answer is what the model would be asked with at that point, or the answer would be learnt in a
 *   context that it never has (templates that leave out the thinking of earlier queries);
 * - everything that the answer says is in its span, in order: the conversation is rendered once more with marks around
 *   each text, thinking, name and argument of the answers, and must be the same text but for them.
 *
 * An answer for which that does not hold is not learnt, and the reason is told.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { type Json, type JsonObject, isArray } from "@pi-sessions/core/Json"
import { type AssistantMessage } from "../chat/ChatMessages.ts"
import {
  type Conversation,
  type PieceKind,
  type PieceOwner,
  RESERVED,
  type Rendered,
  type Span,
  marked
} from "./ChatTemplate.ts"
import { type LocalModel } from "./LocalModel.ts"

/** Why an answer cannot be learnt with a template. */
export const Unlearnable = Schema.Literals([
  /** The template takes no such conversation. */
  "template_refused",
  /** The template, asked at that point, would put something else before the answer. */
  "changed_context",
  /** The template leaves out the thinking, which it shows while the answer is the last one. */
  "lost_reasoning",
  /** What the answer says, or its end, is not found again in the text. */
  "lost_answer",
  /** Somebody said what the tokenizer takes for a token that steers the model. */
  "control_token"
])
export type Unlearnable = typeof Unlearnable.Type

export type Answer =
  | {
      readonly _tag: "Learnt"
      /** Index in the messages. */
      readonly message: number
      readonly span: Span
    }
  | { readonly _tag: "Refused"; readonly message: number; readonly reason: Unlearnable }

export interface LossMask {
  /** The whole conversation; empty where the template refuses it. */
  readonly text: string
  /** Those that are to be learnt, in order. */
  readonly answers: ReadonlyArray<Answer>
  /** How many of their thoughts the template has no place for. */
  readonly withoutReasoning: number
  /** The template's words, where it refuses. */
  readonly detail?: string
}

/** Finds the answers at the given indexes of the messages in the rendered conversation. */
export const find = (conversation: Conversation, targets: ReadonlyArray<number>, model: LocalModel): LossMask =>
  look(conversation, targets, model, (answerOf) => targets.map(answerOf))

/**
 * As `find`, from the last answer back, and no further than to the first that is refused; where that is the last one, to
 * the first that is learnt. Each answer asks the template for all that stands before it.
 */
export const findBack = (conversation: Conversation, targets: ReadonlyArray<number>, model: LocalModel): LossMask =>
  look(conversation, targets, model, (answerOf) => {
    const answers: Array<Answer> = []
    for (const target of targets.toReversed()) {
      const answer = answerOf(target)
      answers.unshift(answer)
      if (answers.at(-1)?._tag !== answer._tag) break
    }
    return answers
  })

const look = (
  conversation: Conversation,
  targets: ReadonlyArray<number>,
  model: LocalModel,
  answersBy: (answerOf: (message: number) => Answer) => ReadonlyArray<Answer>
): LossMask => {
  const refused = (reason: Unlearnable, text = "", detail?: string): LossMask => ({
    text,
    answers: targets.map((message) => ({ _tag: "Refused", message, reason })),
    withoutReasoning: 0,
    ...(detail === undefined ? {} : { detail })
  })
  const said = JSON.stringify([conversation.messages, conversation.tools])
  if (RESERVED.test(said)) return refused("lost_answer")
  const whole = model.template.render(conversation)
  if (Result.isFailure(whole)) return refused("template_refused", "", whole.failure)
  const { text } = whole.success
  if (model.tokenizer.hasControl(said)) return refused("control_token", text)
  const told = model.template.render(withMarks(conversation, new Set(targets)))
  if (Result.isFailure(told) || told.success.text !== text) return refused("lost_answer", text)
  const search = new Search(conversation, model, whole.success, told.success)
  const answers = answersBy((message) => search.answerOf(message))
  return { text, answers, withoutReasoning: search.withoutReasoning }
}

/** Something that an answer says, and that a template writes as it is or as JSON. */
interface Piece {
  readonly kind: PieceKind
  readonly text: string
}

const stringsIn = (value: Json | undefined): ReadonlyArray<string> => {
  if (typeof value === "string") return [value]
  if (typeof value !== "object" || value === null) return []
  return (isArray(value) ? value : Object.values(value)).flatMap(stringsIn)
}

/** What an answer says, in the order in which templates write it. Blanks at the borders are the template's. */
const piecesOf = ({ content, reasoning_content = "", tool_calls }: AssistantMessage): ReadonlyArray<Piece> => {
  const calls = (tool_calls ?? []).flatMap((call) => [call.function.name, ...stringsIn(call.function.arguments)])
  const pieces: ReadonlyArray<Piece> = [
    { kind: "reasoning", text: reasoning_content.trim() },
    { kind: "content", text: content.trim() },
    ...calls.map((text) => ({ kind: "call" as const, text: text.trim() }))
  ]
  return pieces.filter(({ text }) => text !== "")
}

const markedJson = (value: Json | undefined, of: PieceOwner): Json => {
  if (typeof value === "string") return marked(value, of)
  if (typeof value !== "object" || value === null) return value ?? null
  return isArray(value) ? value.map((member) => markedJson(member, of)) : markedObject(value, of)
}

const markedObject = (value: JsonObject, of: PieceOwner): { readonly [key: string]: Json } =>
  Object.fromEntries(Object.entries(value).map(([key, member]) => [key, markedJson(member, of)]))

const markedAnswer = (answer: AssistantMessage, message: number): AssistantMessage => {
  const { content, reasoning_content, tool_calls, ...rest } = answer
  const of = (kind: PieceKind): PieceOwner => ({ message, kind })
  const [first, ...others] = (tool_calls ?? []).map((call) => ({
    ...call,
    function: {
      name: marked(call.function.name, of("call")),
      arguments: markedObject(call.function.arguments, of("call"))
    }
  }))
  return {
    ...rest,
    content: marked(content, of("content")),
    ...(reasoning_content === undefined ? {} : { reasoning_content: marked(reasoning_content, of("reasoning")) }),
    ...(first === undefined ? {} : { tool_calls: [first, ...others] })
  }
}

const withMarks = (conversation: Conversation, targets: ReadonlySet<number>): Conversation => ({
  ...conversation,
  messages: conversation.messages.map((message, at) =>
    targets.has(at) && message.role === "assistant" ? markedAnswer(message, at) : message
  )
})

/** A text as templates write it: as it is, or within a JSON string. */
const isWritten = (written: string, text: string): boolean =>
  written === text || written === JSON.stringify(text).slice(1, -1)

/** Where the pieces of a message stand, each behind the one before; undefined for one that is not there. */
const placesOf = (
  pieces: ReadonlyArray<Piece>,
  { marked, text }: Rendered,
  message: number
): ReadonlyArray<Span | undefined> => {
  let next = 0
  return pieces.map((piece) => {
    const at = marked.findIndex(({ end, kind, message: of, start }, i) => {
      return i >= next && of === message && kind === piece.kind && isWritten(text.slice(start, end), piece.text)
    })
    if (at < 0) return undefined
    next = at + 1
    return marked[at]
  })
}

/** Whether the text says of an object's keys and of what is no text in it; Python writes `True` and `None`. */
const mentions = (text: string, value: Json | undefined): boolean => {
  if (typeof value === "string" || value === undefined) return true
  if (isArray(value)) return value.every((member) => mentions(text, member))
  if (typeof value === "object" && value !== null) {
    return Object.entries(value).every(([key, member]) => {
      return (text.includes(key) || text.includes(JSON.stringify(key))) && mentions(text, member)
    })
  }
  const json = JSON.stringify(value)
  return text.includes(json) || text.toLowerCase().includes(value === null ? "none" : json)
}

/** Looks for answers in one rendered conversation. */
class Search {
  readonly #conversation: Conversation
  readonly #model: LocalModel
  readonly #whole: Rendered
  readonly #marked: Rendered
  /** The template's own span of each answer; undefined where it has none. */
  readonly #generated: ReadonlyMap<number, Span> | undefined
  /** What the template puts behind an answer that calls tools, and one that does not. */
  readonly #tails = new Map<boolean, string>()
  withoutReasoning = 0

  constructor(conversation: Conversation, model: LocalModel, whole: Rendered, marked: Rendered) {
    this.#conversation = conversation
    this.#model = model
    this.#whole = whole
    this.#marked = marked
    const answers = conversation.messages.flatMap(({ role }, at) => (role === "assistant" ? [at] : []))
    const { generated } = whole
    this.#generated =
      generated.length === 0
        ? undefined
        : new Map(
            generated.length === answers.length ? generated.map((span, i) => [answers[i] ?? -1, span] as const) : []
          )
  }

  /** The answer at an index of the messages. */
  answerOf(message: number): Answer {
    const refused = (reason: Unlearnable): Answer => ({ _tag: "Refused", message, reason })
    const answer = this.#conversation.messages[message]
    if (answer?.role !== "assistant") return refused("lost_answer")
    const { text } = this.#whole
    const asked = this.#upTo(message, { prompt: true })
    if (asked === undefined || !text.startsWith(asked)) return refused("changed_context")
    const pieces = piecesOf(answer)
    const places = placesOf(pieces, this.#marked, message)
    const lost = pieces.filter((_, i) => places[i] === undefined)
    if (lost.some(({ kind }) => kind !== "reasoning")) return refused("lost_answer")
    if (lost.length > 0) {
      // A template that has no place for thinking at all loses nothing that it ever had.
      if (this.#alone(message)?.places[0] !== undefined) return refused("lost_reasoning")
    }
    const found = places.filter((place) => place !== undefined)
    const first = found[0]
    const last = found.at(-1)
    if (first === undefined || last === undefined) return refused("lost_answer")
    const words = { start: asked.length, end: last.end }
    const span = this.#generated === undefined ? this.#span(message, words) : this.#generated.get(message)
    const isWhole = span !== undefined && span.start <= first.start && last.end <= span.end
    if (!isWhole || first.start < asked.length) return refused("lost_answer")
    const written = text.slice(span.start, span.end)
    const calls = answer.tool_calls ?? []
    if (!calls.every((call) => mentions(written, call.function.arguments))) return refused("lost_answer")
    if (lost.length > 0) this.withoutReasoning++
    return { _tag: "Learnt", message, span }
  }

  /** The conversation before a message, as text; undefined where the template refuses it. */
  #upTo(message: number, options: { readonly prompt: boolean }): string | undefined {
    const messages = this.#conversation.messages.slice(0, message)
    const rendered = this.#model.template.render({ ...this.#conversation, messages }, options)
    return Result.isSuccess(rendered) ? rendered.success.text : undefined
  }

  /** The answer as it stands while nothing follows it. */
  #alone(message: number) {
    const messages = this.#conversation.messages.slice(0, message + 1)
    const answer = messages[message]
    const cut = withMarks({ ...this.#conversation, messages }, new Set([message]))
    const rendered = this.#model.template.render(cut)
    if (Result.isFailure(rendered) || answer?.role !== "assistant") return undefined
    return { text: rendered.success.text, places: placesOf(piecesOf(answer), rendered.success, message) }
  }

  /** From where the model is asked to the end of its turn, whose last word is known. */
  #span(message: number, { end, start }: Span): Span | undefined {
    const rest = this.#whole.text.slice(end)
    const isLast = message === this.#conversation.messages.length - 1
    if (isLast) return { start, end: end + this.#withoutBlanks(rest).length }
    const answer = this.#conversation.messages[message]
    const calls = answer?.role === "assistant" && answer.tool_calls !== undefined
    const known = this.#tails.get(calls)
    const tail = known !== undefined && rest.startsWith(known) ? known : this.#tailOf(message)
    if (tail === undefined || !rest.startsWith(tail)) return undefined
    if (this.#model.tokenizer.endsInControl(tail)) this.#tails.set(calls, tail)
    return { start, end: end + tail.length }
  }

  #tailOf(message: number): string | undefined {
    const alone = this.#alone(message)
    const last = alone?.places.findLast((place) => place !== undefined)
    return alone === undefined || last === undefined ? undefined : this.#withoutBlanks(alone.text.slice(last.end))
  }

  /** The end of a turn without the white space behind it, which nobody lets the model write. */
  #withoutBlanks(tail: string): string {
    const visible = tail.trimEnd()
    return this.#model.tokenizer.endsInControl(visible) ? visible : tail
  }
}
