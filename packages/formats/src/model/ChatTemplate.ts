/**
 * A model's chat template: Jinja as transformers runs it (`trim_blocks`, `lstrip_blocks`, `raise_exception`), with the
 * spans of `{% generation %}`. The date is an input, so the same conversation always gives the same text.
 */
import * as Result from "effect/Result"
import { type ChatMessage, type ChatTools, withTextArguments } from "../chat/ChatMessages.ts"
import * as PythonJinja from "./pythonJinja.ts"
import { strip } from "./pythonText.ts"

/** Noncharacters, which occur in no text. They replace `generation` and `endgeneration` in the template. */
const GENERATION = "\ufdd2"
const END_GENERATION = "\ufdd3"

/** Begin and end of a marked text; see `marked`. */
const MARK = "\ufdd0"
const END_MARK = "\ufdd1"

/** Characters that this module reserves. They must not occur in a conversation. */
export const RESERVED = /[\ufdd0-\ufdd3]/u

/** First of the private-use characters (131,000) that follow a mark and identify its owner. */
const FIRST_OWNER = 0xf0000

/** The part of an answer that a text is. */
export type PieceKind = "reasoning" | "content" | "call"
const KINDS: ReadonlyArray<PieceKind> = ["reasoning", "content", "call"]

export interface PieceOwner {
  /** Index of the message. */
  readonly message: number
  readonly kind: PieceKind
}

/**
 * The text within marks that identify its message and kind. Leading and trailing white space stays outside, since
 * templates may trim it.
 */
export const marked = (text: string, { kind, message }: PieceOwner): string => {
  const visible = strip(text, "strip")
  const mark = MARK + String.fromCodePoint(FIRST_OWNER + message * KINDS.length + KINDS.indexOf(kind))
  return visible === "" ? text : text.replace(visible, () => mark + visible + END_MARK)
}

/** A range of UTF-16 code units, end exclusive. */
export interface Span {
  readonly start: number
  readonly end: number
}

export interface Conversation {
  readonly messages: ReadonlyArray<ChatMessage>
  readonly tools: ChatTools
  /** The template's current date. */
  readonly date: Date
}

export interface Rendered {
  /** The text that the model reads. */
  readonly text: string
  /** The spans of `{% generation %}`, in order; empty if the template has none. */
  readonly generated: ReadonlyArray<Span>
  /** The spans between marks, in order. */
  readonly marked: ReadonlyArray<MarkedSpan>
}

export interface MarkedSpan extends Span, PieceOwner {}

/** Templates by name, as in `tokenizer_config.json`. `tool_use` is for conversations with tools. */
export interface Sources {
  readonly default: string
  readonly tool_use?: string
}

/** The library defines `strftime_now` by the clock and does not allow redefining it. */
const DATE = "date_of_session"

/** Replaces `{% generation %}` by another block, so that Jinja's white-space rules around it stay the same. */
const withMarks = (source: string): string =>
  source
    .replace(/\bstrftime_now\b/gu, DATE)
    .replace(
      /\{%([-+]?)\s*(end)?generation\s*([-+]?)%\}/gu,
      (_, before: string, end: string | undefined, after: string) =>
        `{%${before} if true %}{{ "${end === undefined ? GENERATION : END_GENERATION}" }}{% endif ${after}%}`
    )

export class ChatTemplate {
  readonly #templates: { readonly default: PythonJinja.Template; readonly tool_use: PythonJinja.Template }
  /** Special tokens, such as `bos_token`. */
  readonly #tokens: { readonly [name: string]: string }

  /** Throws if a source is not a template. */
  constructor(library: PythonJinja.Library, sources: Sources, tokens: { readonly [name: string]: string }) {
    const compile = PythonJinja.make(library)
    const whole = compile(withMarks(sources.default))
    const { tool_use } = sources
    this.#templates = { default: whole, tool_use: tool_use === undefined ? whole : compile(withMarks(tool_use)) }
    this.#tokens = tokens
  }

  /**
   * Renders a conversation; with the generation prompt if asked for. Arguments of calls are objects, and JSON text if
   * the template accepts only that (DeepSeek's). Fails with the template's error.
   */
  render(conversation: Conversation, { prompt = false }: RenderOptions = {}): Result.Result<Rendered, string> {
    const rendered = this.#attempt(conversation, conversation.messages, prompt)
    if (Result.isSuccess(rendered)) return rendered
    const inText = conversation.messages.map(withTextCalls)
    if (inText.every((message, at) => message === conversation.messages[at])) return rendered
    const again = this.#attempt(conversation, inText, prompt)
    return Result.isSuccess(again) ? again : rendered
  }

  #attempt(
    { date, tools }: Conversation,
    messages: ReadonlyArray<unknown>,
    prompt: boolean
  ): Result.Result<Rendered, string> {
    const template = tools.length === 0 ? this.#templates.default : this.#templates.tool_use
    let text: string
    try {
      text = template.render(
        {
          messages,
          tools: tools.length === 0 ? null : tools,
          documents: null,
          add_generation_prompt: prompt,
          [DATE]: (format: string) => strftime(date, format),
          ...this.#tokens
        },
        messages.length === 0
      )
    } catch (error) {
      return Result.fail(error instanceof Error ? error.message : String(error))
    }
    return Result.succeed(unmarked(text))
  }
}

export interface RenderOptions {
  /** As `add_generation_prompt`. */
  readonly prompt?: boolean
}

const withTextCalls = (message: ChatMessage): unknown =>
  message.role === "assistant" && message.tool_calls !== undefined
    ? { ...message, tool_calls: message.tool_calls.map(withTextArguments) }
    : message

/** Removes the marks and returns their positions. */
const unmarked = (source: string): Rendered => {
  const generated: Array<Span> = []
  const marked: Array<MarkedSpan> = []
  if (!RESERVED.test(source)) return { text: source, generated, marked }
  let text = ""
  let generation = 0
  let open: (PieceOwner & { readonly start: number }) | undefined
  for (const [, mark = "", part = ""] of source.matchAll(/([\ufdd0-\ufdd3]|^)([^\ufdd0-\ufdd3]*)/gu)) {
    const end = text.length
    if (mark === GENERATION) generation = end
    else if (mark === END_GENERATION) generated.push({ start: generation, end })
    else if (mark === END_MARK && open !== undefined) marked.push({ ...open, end })
    const owner = mark === MARK ? part.codePointAt(0) : undefined
    open = owner === undefined ? undefined : { start: end, ...ownerOf(owner - FIRST_OWNER) }
    text += owner === undefined ? part : part.slice(String.fromCodePoint(owner).length)
  }
  return { text, generated, marked }
}

const ownerOf = (number: number): PieceOwner => ({
  message: Math.floor(number / KINDS.length),
  kind: KINDS[number % KINDS.length] ?? "content"
})

const MONTHS = "January February March April May June July August September October November December".split(" ")
const DAYS = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday".split(" ")

const two = (number: number): string => String(number).padStart(2, "0")

/** A date in UTC, formatted like Python's `strftime`. */
const strftime = (date: Date, format: string): string => {
  const month = MONTHS[date.getUTCMonth()] ?? ""
  const day = DAYS[date.getUTCDay()] ?? ""
  const parts: { readonly [code: string]: string } = {
    Y: String(date.getUTCFullYear()),
    y: two(date.getUTCFullYear() % 100),
    m: two(date.getUTCMonth() + 1),
    d: two(date.getUTCDate()),
    B: month,
    b: month.slice(0, 3),
    A: day,
    a: day.slice(0, 3),
    H: two(date.getUTCHours()),
    M: two(date.getUTCMinutes()),
    S: two(date.getUTCSeconds()),
    "%": "%"
  }
  return format.replace(/%-?([A-Za-z%])/gu, (whole, code: string) => {
    const part = parts[code] ?? whole
    return whole.startsWith("%-") ? part.replace(/^0(?=\d)/u, "") : part
  })
}
