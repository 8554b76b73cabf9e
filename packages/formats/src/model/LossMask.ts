/**
 * Finds the trained parts of a rendered conversation: for each answer, from the end of the generation prompt to the end
 * of its turn.
 *
 * This works for any template. If it has `{% generation %}`, that marks the answers. Otherwise an answer begins where
 * the conversation before it ends when rendered with `add_generation_prompt`, and ends with what the template writes
 * after its last text. In both cases
 *
 * - the text before an answer must equal the model's input at that point. Otherwise the answer would be trained in a
 *   context that never occurs (templates that leave out the thinking of earlier queries);
 * - everything the answer says must be in its span, in order. To check this, the conversation is rendered again with
 *   marks around each text, thinking, name and argument of the answers, and must be the same text without the marks.
 *
 * An answer that fails either check is not trained, and the reason is reported.
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
import { strip } from "./pythonText.ts"

/** Why an answer cannot be trained with a template. */
export const Unlearnable = Schema.Literals([
  /** The template refuses the conversation. */
  "template_refused",
  /** With the generation prompt at that point, the template renders a different context. */
  "changed_context",
  /** The template leaves out the thinking that it shows while the answer is the last one. */
  "lost_reasoning",
  /** The answer or its end was not found in the text. */
  "lost_answer",
  /** The conversation contains text that the tokenizer reads as a control token. */
  "control_token"
])
export type Unlearnable = typeof Unlearnable.Type

export type Answer =
  | {
      readonly _tag: "Learnt"
      /** Index of the message. */
      readonly message: number
      readonly span: Span
    }
  | { readonly _tag: "Refused"; readonly message: number; readonly reason: Unlearnable }

export interface LossMask {
  /** The rendered conversation; empty if the template refuses it. */
  readonly text: string
  /** The trained answers, in order. */
  readonly answers: ReadonlyArray<Answer>
  /** Number of thinking blocks that the template never shows. */
  readonly withoutReasoning: number
  /** The template's error, if it refuses. */
  readonly detail?: string
}

/** Finds the answers at the given message indexes in the rendered conversation. */
export const find = (conversation: Conversation, targets: ReadonlyArray<number>, model: LocalModel): LossMask =>
  look(conversation, targets, model, (answerOf) => targets.map(answerOf))

/**
 * Like `find`, from the last answer backwards up to the first that is refused; if the last one is refused, up to the
 * first that can be trained. Each answer costs one rendering of everything before it.
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
  const marked = model.template.render(withMarks(conversation, new Set(targets)))
  if (Result.isFailure(marked) || marked.success.text !== text) return refused("lost_answer", text)
  const search = new Search(conversation, model, whole.success, marked.success)
  const answers = answersBy((message) => search.answerOf(message))
  return { text, answers, withoutReasoning: search.withoutReasoning }
}

/** A text of an answer, which a template writes unchanged or as JSON. */
interface Piece {
  readonly kind: PieceKind
  readonly text: string
}

const stringsIn = (value: Json | undefined): ReadonlyArray<string> => {
  if (typeof value === "string") return [value]
  if (typeof value !== "object" || value === null) return []
  return (isArray(value) ? value : Object.values(value)).flatMap(stringsIn)
}

/** The texts of an answer, in the order in which templates write them. The template owns white space at their ends. */
const piecesOf = ({ content, reasoning_content = "", tool_calls }: AssistantMessage): ReadonlyArray<Piece> => {
  const calls = (tool_calls ?? []).flatMap((call) => [call.function.name, ...stringsIn(call.function.arguments)])
  const pieces: ReadonlyArray<Piece> = [
    { kind: "reasoning", text: strip(reasoning_content, "strip") },
    { kind: "content", text: strip(content, "strip") },
    ...calls.map((text) => ({ kind: "call" as const, text: strip(text, "strip") }))
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

/** Whether a template wrote a text: unchanged, or within a JSON string. */
const isWritten = (written: string, text: string): boolean =>
  written === text || written === JSON.stringify(text).slice(1, -1)

/** The positions of a message's pieces, each after the previous one; undefined for a missing one. */
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

/** Whether the text mentions an object's keys and its values that are not strings; Python writes `True` and `None`. */
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

/** Searches one rendered conversation for answers. */
class Search {
  readonly #conversation: Conversation
  readonly #model: LocalModel
  readonly #whole: Rendered
  readonly #marked: Rendered
  /** The template's own span of each answer; undefined if it has none. */
  readonly #generated: ReadonlyMap<number, Span> | undefined
  /** What the template writes after an answer, by whether it calls tools. */
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

  /** The answer at a message index. */
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
      // A template that never shows thinking does not lose it.
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

  /** The rendered conversation before a message; undefined if the template refuses it. */
  #upTo(message: number, options: { readonly prompt: boolean }): string | undefined {
    const messages = this.#conversation.messages.slice(0, message)
    const rendered = this.#model.template.render({ ...this.#conversation, messages }, options)
    return Result.isSuccess(rendered) ? rendered.success.text : undefined
  }

  /** The answer as rendered while it is the last message. */
  #alone(message: number) {
    const messages = this.#conversation.messages.slice(0, message + 1)
    const answer = messages[message]
    const cut = withMarks({ ...this.#conversation, messages }, new Set([message]))
    const rendered = this.#model.template.render(cut)
    if (Result.isFailure(rendered) || answer?.role !== "assistant") return undefined
    return { text: rendered.success.text, places: placesOf(piecesOf(answer), rendered.success, message) }
  }

  /** From the generation prompt to the end of the turn, given the span of the answer's texts. */
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

  /** The end of a turn without trailing white space, which a model is not asked to generate. */
  #withoutBlanks(tail: string): string {
    const visible = strip(tail, "rstrip")
    return this.#model.tokenizer.endsInControl(visible) ? visible : tail
  }
}
