/**
 * Semantic hydration: makes a linear session, which Pi continues, from any thread (docs/adr/001-resume-from-a-thread.md;
 * rules in docs/thread.md). The same thread gives the same bytes: ids are derived, times come from the thread.
 */
import { isTextBlock, isThinkingBlock } from "@pi-sessions/core/payload/ContentBlock"
import * as EntryId from "@pi-sessions/core/EntryId"
import { type JsonObject, objectAt } from "@pi-sessions/core/Json"
import * as Session from "@pi-sessions/core/Session"
import { HYDRATED_ENTRY_TYPE, HYDRATED_FIELD } from "@pi-sessions/core/SessionHeader"
import { HeaderLine, SessionEntry } from "@pi-sessions/core/SessionLine"
import * as ChatRepeats from "./ChatRepeats.ts"
import * as HydratedHeader from "./HydratedHeader.ts"
import { type Assistant, type Thread, type ThreadEntry } from "../Thread.ts"
import * as ToolPairs from "./ToolPairs.ts"
import { callText, chatContent, fullUsage, imageAsText, resultContent, unknownBlock } from "./messageContent.ts"

/** How calls with a result are written. Calls without one always become text. */
export const TOOL_MODES = ["pairs", "flatten", "omit"] as const
export type ToolMode = (typeof TOOL_MODES)[number]

export interface Options {
  /** Working directory for the header. */
  readonly cwd: string
  readonly tools: ToolMode
  /** Default: derived from the thread's id. */
  readonly sessionId?: string
}

/** What hydration made of the thread. */
export interface Summary {
  readonly userTurns: number
  readonly assistantTurns: number
  readonly toolResults: number
  readonly compactions: number
  /** Assistant chats left out because they repeat a `pi.assistant`. */
  readonly repeatedChats: number
  /** Calls without a result, written as text. */
  readonly unansweredCalls: number
  /** Results without a call, written as text (or left out with `omit`). */
  readonly orphanResults: number
  /** Interrupted answers, written as marked text. */
  readonly interruptedAnswers: number
}

export interface Hydrated {
  readonly session: Session.Session
  readonly summary: Summary
}

type Of<Type extends ThreadEntry["type"]> = Extract<ThreadEntry, { readonly type: Type }>

/** The session; undefined when the thread has no turn. */
export const hydrate = (thread: Thread, options: Options): Hydrated | undefined => {
  const writer = new LinearWriter(thread, options)
  for (const entry of thread.entries) writer.add(entry)
  return writer.finish()
}

/** Time of entries before the first dated one. A clock would give different bytes each time. */
const EPOCH = "1970-01-01T00:00:00.000Z"

/** The form in which Pi writes times. */
const PI_TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

class LinearWriter {
  readonly #thread: Thread
  readonly #options: Options
  readonly #pairs: ToolPairs.ToolPairs
  readonly #repeats: ReadonlySet<string>
  readonly #mirroredAuthors: ReadonlySet<string>
  /** Index in the thread, by id. */
  readonly #indexOf = new Map<string, number>()
  readonly #entries: Array<SessionEntry> = []
  readonly #ids = new Set<string>()
  /** Index of the first session entry made from a thread entry, by the thread entry's id. */
  readonly #firstOf = new Map<string, number>()
  /** For each session entry: its index, or for a tool result that of the nearest other entry before it. */
  readonly #sendable: Array<number> = []
  /** Thread entries without session entries, with the index to continue at, so that a long gap is walked once. */
  readonly #gaps = new Map<number, number>()
  #timestamp = EPOCH
  #count = {
    userTurns: 0,
    assistantTurns: 0,
    toolResults: 0,
    compactions: 0,
    repeatedChats: 0,
    unansweredCalls: 0,
    orphanResults: 0,
    interruptedAnswers: 0
  }

  constructor(thread: Thread, options: Options) {
    this.#thread = thread
    this.#options = options
    this.#pairs = ToolPairs.pair(thread.entries)
    this.#repeats = ChatRepeats.find(thread.entries)
    this.#mirroredAuthors = ChatRepeats.mirroredAuthors(thread.entries, this.#repeats)
    thread.entries.forEach((entry, index) => this.#indexOf.set(entry.id, index))
  }

  add(entry: ThreadEntry): void {
    this.#timestamp = this.#timestampOf(entry)
    switch (entry.type) {
      case "chat":
        return this.#chat(entry)
      case "pi.assistant":
        return this.#assistant(entry)
      case "pi.tool_result":
        return this.#pairs.answering.has(entry.id) ? undefined : this.#orphan(entry)
      case "pi.compaction":
        return this.#compaction(entry)
      case "interrupted":
        return this.#interrupted(entry)
      case "raw": {
        const { type: _, id: _id, parentId: _parentId, timestamp: _at, ...rest }: JsonObject = { ...entry.payload }
        return this.#append(entry, "raw", entry.payload.type, rest)
      }
      default:
        return
    }
  }

  finish(): Hydrated | undefined {
    const { userTurns, assistantTurns, compactions } = this.#count
    if (userTurns + assistantTurns + compactions === 0) return undefined
    const first = this.#entries[0]?.timestamp ?? EPOCH
    const header = HydratedHeader.make({
      threadId: this.#thread.id,
      sessionId: this.#options.sessionId,
      timestamp: first,
      cwd: this.#options.cwd
    })
    return { session: Session.fromLines([HeaderLine.make(header), ...this.#entries]), summary: this.#count }
  }

  /** Writes the `custom` entry that marks the session as hydrated. */
  #mark(source: ThreadEntry): void {
    this.#append(source, "hydrated", "custom", {
      customType: HYDRATED_ENTRY_TYPE,
      data: { threadId: this.#thread.id, mode: "semantic", marks: "answers" }
    })
    this.#firstOf.delete(source.id)
  }

  /** Appends an entry. `rest` has the fields after the common ones. */
  #append(source: ThreadEntry, part: string, type: string, rest: JsonObject): void {
    if (this.#entries.length === 0 && part !== "hydrated") this.#mark(source)
    const id = EntryId.derive(this.#ids, this.#thread.id, source.id, part)
    this.#ids.add(id)
    const parentId = this.#entries.at(-1)?.id ?? null
    const isAnswer = objectAt(rest, "message")?.["role"] === "assistant"
    const mark = isAnswer ? { [HYDRATED_FIELD]: true } : {}
    const entry = SessionEntry.make({ type, id, parentId, timestamp: this.#timestampOf(source), ...rest, ...mark })
    this.#entries.push(entry)
    const at = this.#entries.length - 1
    this.#sendable.push(entry.role === "toolResult" ? (this.#sendable[at - 1] ?? -1) : at)
    if (!this.#firstOf.has(source.id)) this.#firstOf.set(source.id, this.#entries.length - 1)
  }

  /** The entry's time; that of the entry before when it has none. */
  #timestampOf({ createdAt }: ThreadEntry): string {
    if (createdAt === undefined || createdAt === this.#timestamp) return this.#timestamp
    const time = Date.parse(createdAt)
    if (Number.isNaN(time)) return this.#timestamp
    return PI_TIMESTAMP.test(createdAt) ? createdAt : new Date(time).toISOString()
  }

  /** A message's time in milliseconds: its own, else its entry's. */
  #time(source: ThreadEntry, own: number | undefined): number {
    return own ?? Date.parse(this.#timestampOf(source))
  }

  #user(source: ThreadEntry, part: string, content: string | ReadonlyArray<JsonObject>, timestamp?: number): void {
    this.#append(source, part, "message", {
      message: { role: "user", content, timestamp: this.#time(source, timestamp) }
    })
  }

  #chat(entry: Of<"chat">): void {
    const { role } = entry.payload
    if (this.#repeats.has(entry.id)) {
      this.#count.repeatedChats++
      return
    }
    const content = chatContent(entry.payload)
    if (content.length === 0) return
    if (role === "user" || (role === "assistant" && this.#isOtherAgent(entry))) {
      this.#count.userTurns++
      this.#user(entry, "user", content)
    } else if (role === "assistant") {
      const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content
      this.#assistantMessage(entry, blocks.map(imageAsText), {})
    } else {
      this.#append(entry, "system", "custom_message", { customType: "thread-system", content, display: true })
    }
  }

  /** Whether an agent other than the mirrored Pi wrote the chat. Its chats are user turns. */
  #isOtherAgent({ payload: { author } }: Of<"chat">): boolean {
    return (
      author?.kind === "agent" &&
      author.id !== undefined &&
      this.#mirroredAuthors.size > 0 &&
      !this.#mirroredAuthors.has(author.id)
    )
  }

  #assistant(entry: Of<"pi.assistant">): void {
    const { payload } = entry
    const failed = ToolPairs.hasFailed(entry)
    const pairs = this.#pairs.byAssistant.get(entry.id) ?? []
    const kept: Array<ToolPairs.ToolPair> = []
    const content = typeof payload.content === "string" ? [{ type: "text", text: payload.content }] : payload.content
    let call = 0
    const blocks = content.flatMap((block): ReadonlyArray<JsonObject> => {
      const callBlock = ToolPairs.callBlock(block)
      if (callBlock === undefined) {
        return isTextBlock(block) || isThinkingBlock(block) ? [block] : unknownBlock(block)
      }
      const pair = pairs[call++]
      if (pair?.result === undefined) {
        this.#count.unansweredCalls++
        const why = failed ? "the turn broke off" : "no result was recorded"
        return [{ type: "text", text: `[Tool call, ${why}: ${callText(callBlock.name, callBlock.arguments)}]` }]
      }
      kept.push(pair)
      if (this.#options.tools === "omit") return []
      if (this.#options.tools === "flatten") {
        return [{ type: "text", text: `[Tool call: ${callText(callBlock.name, callBlock.arguments)}]` }]
      }
      return [{ ...callBlock, id: pair.id }]
    })
    if (blocks.length > 0 || failed) this.#assistantMessage(entry, blocks, payload)
    if (this.#options.tools === "omit") return
    for (const { id, block, result } of kept) {
      if (result !== undefined) this.#result(result, id, block.name)
    }
  }

  #assistantMessage(source: ThreadEntry, content: ReadonlyArray<JsonObject>, payload: Partial<Assistant>): void {
    this.#count.assistantTurns++
    const calls = content.some((block) => block["type"] === "toolCall")
    const { content: _, role: _role, api, provider, model, usage, stopReason, timestamp, ...rest } = payload
    this.#append(source, "assistant", "message", {
      message: {
        role: "assistant",
        content,
        api,
        provider,
        model,
        usage: fullUsage(usage),
        stopReason: calls ? "toolUse" : stopReason === undefined || stopReason === "toolUse" ? "stop" : stopReason,
        timestamp: this.#time(source, timestamp),
        ...rest
      }
    })
  }

  /** Writes an interrupted answer as text, tool calls too, since Pi never ran them. */
  #interrupted(entry: Of<"interrupted">): void {
    this.#count.interruptedAnswers++
    const content = entry.payload.parts.map(({ type, text }) => ({
      type: "text",
      text: `[interrupted ${type === "text" ? "answer" : type === "toolCall" ? "tool call" : type}]\n${text}`
    }))
    this.#assistantMessage(entry, content, {})
  }

  #result(source: Of<"pi.tool_result">, toolCallId: string, callName: string): void {
    this.#count.toolResults++
    const { payload } = source
    const content = resultContent(payload)
    const toolName = payload.toolName ?? callName
    if (this.#options.tools === "flatten") {
      const head = { type: "text", text: `[Result of tool ${toolName}]` }
      this.#user(source, "result", [head, ...content], payload.timestamp)
      return
    }
    const timestamp = this.#time(source, payload.timestamp)
    const { role: _, details, isError = false, ...rest } = payload
    this.#append(source, "result", "message", {
      message: { role: "toolResult", ...rest, toolCallId, toolName, content, details, isError, timestamp }
    })
  }

  #orphan(entry: Of<"pi.tool_result">): void {
    this.#count.orphanResults++
    if (this.#options.tools === "omit") return
    const head = `[Result of tool ${entry.payload.toolName ?? "unknown"}, without its call]`
    this.#user(
      entry,
      "result",
      [{ type: "text", text: head }, ...resultContent(entry.payload)],
      entry.payload.timestamp
    )
  }

  #compaction(entry: Of<"pi.compaction">): void {
    this.#count.compactions++
    const { summary, tokensBefore = 0 } = entry.payload
    const firstKeptEntryId = this.#firstKept(entry) ?? this.#keepNothing(entry)
    this.#append(entry, "compaction", "compaction", { summary, firstKeptEntryId, tokensBefore })
  }

  /**
   * Id of the session entry for `keptFrom`: made from that thread entry, or from the next one before the compaction that
   * has a session entry. Never a tool result, which would be sent without its call.
   */
  #firstKept(compaction: Of<"pi.compaction">): string | undefined {
    const { keptFrom } = compaction.payload
    const { entries } = this.#thread
    const end = this.#indexOf.get(compaction.id) ?? 0
    const start = keptFrom === undefined ? undefined : this.#indexOf.get(keptFrom)
    if (start === undefined) return undefined
    const passed: Array<number> = []
    let kept: string | undefined
    let index = start
    for (; index < end; index = this.#gaps.get(index) ?? index + 1) {
      const made = this.#firstOf.get(entries[index]?.id ?? "")
      kept = made === undefined ? undefined : (this.#entries[this.#sendable[made] ?? -1]?.id ?? undefined)
      if (kept !== undefined) break
      passed.push(index)
    }
    for (const at of passed) this.#gaps.set(at, index)
    return kept
  }

  /** Writes an entry without context for a compaction that keeps nothing, so that both Pis send only the summary. */
  #keepNothing(compaction: Of<"pi.compaction">): string | undefined {
    this.#append(compaction, "boundary", "custom", { customType: "pi-sessions.compaction-boundary" })
    return this.#entries.at(-1)?.id ?? undefined
  }
}
