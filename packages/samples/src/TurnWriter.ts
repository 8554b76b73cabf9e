/** Writes messages as turns, in the order in which they are sent. SessionTurns.ts has the rules. */
import { type Json, type JsonObject, isArray, isObject, numberAt, objectAt, stringAt } from "@pi-sessions/core/Json"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import { type DropReason, type DropTally } from "./DropCounts.ts"
import { type ToolCall, type ToolResult, type Turn, type TurnMetadata, type TurnUsage } from "./Turn.ts"
import { type SessionBudget } from "@pi-sessions/core/SessionBudget"
import * as WellFormed from "@pi-sessions/core/WellFormed"
import { OpenCalls } from "./internal/openCalls.ts"
import { IMAGE, NO_IMAGE, type SessionImages } from "./SessionImages.ts"

/** Returns a string member, for names and ids. Lone surrogates become U+FFFD. Empty if there is none. */
export const text = (object: JsonObject, key: string): string => stringAt(object, key)?.toWellFormed() ?? ""

/** Returns `{ [key]: value }`, or `{}` if the value is undefined. */
export const named = <K extends string>(key: K, value: string | undefined): { readonly [P in K]?: string } => {
  const member: { [P in K]?: string } = {}
  if (value !== undefined) member[key] = value.toWellFormed()
  return member
}

export const origin = (entry: SessionEntry | undefined): Pick<Turn, "timestamp" | "uuid"> => ({
  timestamp: entry?.timestamp?.toWellFormed() ?? "",
  uuid: entry?.id?.toWellFormed() ?? ""
})

const isCall = (block: Json): block is JsonObject =>
  isObject(block) && block["type"] === "toolCall" && typeof block["name"] === "string"

/** The tool calls of an assistant message. */
export const callsOf = (message: JsonObject): ReadonlyArray<JsonObject> => {
  const content = message["content"]
  return isArray(content) ? content.filter(isCall) : []
}

interface RecordedCall {
  readonly id: string
  readonly name: string
}

/** A call of the latest assistant turn. */
interface PendingCall {
  readonly call: ToolCall
  /** As recorded: may be empty or contain lone surrogates. */
  readonly id: string
  readonly name: string
  answered: boolean
}

export class TurnWriter {
  readonly turns: Array<Turn> = []
  readonly #ids: ReadonlySet<string>
  readonly #levels: ReadonlyMap<SessionEntry, string>
  readonly #dropped: DropTally
  /** Undefined unless images are requested. */
  readonly #images: SessionImages | undefined
  readonly #budget: SessionBudget | undefined
  #madeIds = 0
  #pending: ReadonlyArray<PendingCall> = []
  #open = new OpenCalls<PendingCall>([])
  /** Results of the pending calls so far, and the entry of the first one. */
  #results: Array<ToolResult> = []
  #resultsEntry: SessionEntry | undefined
  /** The calls of the latest answer if it was dropped; their results are dropped too. */
  #droppedAnswer: { readonly calls: OpenCalls<RecordedCall>; readonly reason: DropReason } | undefined

  constructor(
    ids: ReadonlySet<string>,
    levels: ReadonlyMap<SessionEntry, string>,
    dropped: DropTally,
    {
      budget,
      images
    }: { readonly images?: SessionImages | undefined; readonly budget?: SessionBudget | undefined } = {}
  ) {
    this.#ids = ids
    this.#levels = levels
    this.#dropped = dropped
    this.#images = images
    this.#budget = budget
  }

  /** Adds a message of the context; `sent` is the same message as Pi sends it. */
  push(entry: SessionEntry, message: JsonObject, sent: JsonObject): void {
    switch (sent["role"]) {
      case "assistant":
        this.#close(true)
        return this.#assistant(entry, sent)
      case "toolResult":
        return this.#toolResult(entry, sent)
      default:
        this.#close(true)
        return this.#user(entry, message, sent)
    }
  }

  /** Ends the conversation. */
  end(): void {
    this.#close(false)
  }

  /** Writes the results of the pending calls. If something follows, calls without a result get one, as in Pi. */
  #close(somethingFollows: boolean): void {
    const unanswered = somethingFollows ? this.#pending.filter((pending) => !pending.answered) : []
    const called = this.turns.at(-1)
    const made = unanswered.map(({ call }): ToolResult => ({
      tool_call_id: call.id,
      tool_name: call.name,
      content: "No result provided",
      is_error: true
    }))
    if (this.#results.length + made.length > 0) {
      this.turns.push({
        role: "user",
        content: "",
        tool_calls: [],
        tool_results: [...this.#results, ...made],
        ...(this.#resultsEntry === undefined
          ? { timestamp: called?.timestamp ?? "", uuid: "" }
          : origin(this.#resultsEntry)),
        metadata: {
          message_role: "toolResult",
          ...(made.length === 0 ? {} : { unanswered: made.map((result) => result.tool_call_id) })
        }
      })
    }
    this.#pending = []
    this.#open = new OpenCalls([])
    this.#results = []
    this.#resultsEntry = undefined
  }

  #user(entry: SessionEntry, message: JsonObject, sent: JsonObject): void {
    const { content, ...images } = this.#shown(sent["content"])
    if (content.trim() === "") return this.#dropped.add("empty_user_turn")
    const role = stringAt(message, "role")
    this.turns.push({
      role: "user",
      content,
      ...images,
      tool_calls: [],
      tool_results: [],
      ...origin(entry),
      metadata: {
        ...named("message_role", role === "user" ? undefined : role),
        ...named("custom_type", role === "custom" ? stringAt(message, "customType") : undefined)
      }
    })
  }

  #assistant(entry: SessionEntry, message: JsonObject): void {
    const stopReason = stringAt(message, "stopReason")
    if (stopReason === "error" || stopReason === "aborted") {
      this.#dropped.add(stopReason === "error" ? "error_turn" : "aborted_turn")
      const reason = stopReason === "error" ? "error_turn_tool_result" : "aborted_turn_tool_result"
      const calls = callsOf(message).map((call) => ({ id: stringAt(call, "id") ?? "", name: text(call, "name") }))
      this.#droppedAnswer = { calls: new OpenCalls(calls), reason }
      return
    }
    this.#droppedAnswer = undefined
    const content = this.#text(message["content"], "")
    this.#pending = this.#calls(callsOf(message))
    this.#open = new OpenCalls(this.#pending)
    if (content.trim() === "" && this.#pending.length === 0) return this.#dropped.add("empty_assistant_turn")
    const usage = usageOf(objectAt(message, "usage"))
    this.turns.push({
      role: "assistant",
      content,
      tool_calls: this.#pending.map((pending) => pending.call),
      tool_results: [],
      ...origin(entry),
      metadata: {
        ...(usage === undefined ? {} : { usage }),
        ...named("provider", stringAt(message, "provider")),
        ...named("model", stringAt(message, "model")),
        ...named("api", stringAt(message, "api")),
        ...named("thinking_level", stringAt(message, "thinkingLevel") ?? this.#levels.get(entry)),
        ...named("stop_reason", stopReason),
        ...this.#reasoning(message["content"])
      }
    })
  }

  #calls(blocks: ReadonlyArray<JsonObject>): ReadonlyArray<PendingCall> {
    const inTurn = new Set<string>()
    return blocks.map((block) => {
      const recordedId = stringAt(block, "id") ?? ""
      const name = stringAt(block, "name") ?? ""
      const readable = recordedId.toWellFormed()
      const id = readable === "" || inTurn.has(readable) ? this.#makeId() : readable
      inTurn.add(id)
      const call = { id, name: name.toWellFormed(), arguments: this.#arguments(block) }
      // Pi removes lone surrogates only from texts, so it sent these.
      if (readable !== recordedId || call.name !== name) this.#dropped.add("lone_surrogate")
      return { call, id: recordedId, name: call.name, answered: false }
    })
  }

  #makeId(): string {
    for (;;) {
      const id = `call_${++this.#madeIds}`
      if (!this.#ids.has(id)) return id
    }
  }

  #arguments(block: JsonObject): ToolCall["arguments"] {
    const args = block["arguments"]
    const valid = isObject(args) && WellFormed.isShallow(args) ? args : undefined
    if (valid === undefined || block["argumentsError"] !== undefined) this.#dropped.add("invalid_arguments")
    if (valid === undefined) return {}
    // Pi sends lone surrogates in arguments as escapes.
    if (!WellFormed.isWellFormed(valid)) this.#dropped.add("lone_surrogate")
    return WellFormed.object(valid)
  }

  #toolResult(entry: SessionEntry, message: JsonObject): void {
    const id = stringAt(message, "toolCallId") ?? ""
    const name = text(message, "toolName")
    const open = this.#open.take(id, name)
    if (open === undefined) {
      if (this.#open.has(id, name)) this.#dropped.add("duplicate_tool_result")
      else
        this.#dropped.add(
          this.#droppedAnswer?.calls.has(id, name) === true ? this.#droppedAnswer.reason : "orphan_tool_result"
        )
      return
    }
    open.answered = true
    this.#resultsEntry ??= entry
    this.#results.push({
      tool_call_id: open.call.id,
      tool_name: open.call.name,
      ...this.#shown(message["content"]),
      is_error: message["isError"] === true
    })
  }

  /** The text of a content, and the files of its images if images are requested. */
  #shown(content: Json | undefined): Pick<Turn, "content" | "images"> {
    if (this.#images === undefined) return { content: this.#text(content, "\n") }
    const images: Array<string> = []
    return { content: this.#text(content, "\n", images), images }
  }

  /** Changes a literal `[image]`, so that it is not taken for an image with a file. */
  #unmarked(text: string): string {
    if (!text.includes(IMAGE)) return text
    this.#dropped.add("escaped_mark")
    return text.replaceAll(IMAGE, NO_IMAGE)
  }

  /** The text of a content, without thinking and calls. */
  #text(content: Json | undefined, separator: string, images?: Array<string>): string {
    // Each block alone, as in Pi, so that surrogates in two blocks do not become a pair.
    const plain = (text: string): string => {
      const sent = WellFormed.text(text)
      return images === undefined ? sent : this.#unmarked(sent)
    }
    if (typeof content === "string") return plain(content)
    if (!isArray(content)) return ""
    const texts = content.flatMap((block): ReadonlyArray<string> => {
      const type = isObject(block) ? block["type"] : undefined
      if (isObject(block) && type === "text") return [plain(stringAt(block, "text") ?? "")]
      if (isObject(block) && type === "image") {
        const file = images === undefined ? undefined : this.#images?.take(block)
        if (file === undefined) this.#dropped.add("image")
        else images?.push(file)
        return [file === undefined && images !== undefined ? NO_IMAGE : IMAGE]
      }
      if (type !== "thinking" && !isCall(block)) this.#dropped.add("unknown_block")
      return []
    })
    const joined = texts.join(separator)
    this.#budget?.charge("turns", joined.length)
    return joined
  }

  #reasoning(content: Json | undefined): Pick<TurnMetadata, "reasoning"> {
    const thoughts = (isArray(content) ? content : []).flatMap((block): ReadonlyArray<string> => {
      if (!isObject(block) || block["type"] !== "thinking") return []
      if (block["redacted"] === true) this.#dropped.add("redacted_thinking")
      const thinking = WellFormed.text(stringAt(block, "thinking") ?? "")
      return thinking.trim() === "" ? [] : [thinking]
    })
    return named("reasoning", thoughts.length === 0 ? undefined : thoughts.join("\n"))
  }
}

const numbers = <K extends string>(
  object: JsonObject,
  names: ReadonlyArray<readonly [recorded: string, written: K]>
): { readonly [P in K]?: number } => {
  const found: { [P in K]?: number } = {}
  for (const [recorded, written] of names) {
    const value = numberAt(object, recorded)
    if (value !== undefined) found[written] = value
  }
  return found
}

const COST_NAMES = [
  ["input", "input"],
  ["output", "output"],
  ["cacheRead", "cache_read"],
  ["cacheWrite", "cache_write"],
  ["total", "total"]
] as const

const USAGE_NAMES = [
  ["input", "input"],
  ["output", "output"],
  ["cacheRead", "cache_read"],
  ["cacheWrite", "cache_write"],
  ["reasoning", "reasoning"],
  ["totalTokens", "total_tokens"]
] as const

const usageOf = (usage: JsonObject | undefined): TurnUsage | undefined => {
  if (usage === undefined) return undefined
  const cost = objectAt(usage, "cost")
  return { ...numbers(usage, USAGE_NAMES), ...(cost === undefined ? {} : { cost: numbers(cost, COST_NAMES) }) }
}
