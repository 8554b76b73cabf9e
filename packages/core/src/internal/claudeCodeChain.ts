/** Makes the entries of a session from the lines of a transcript of Claude Code, each with its parent. */
import * as EntryType from "../EntryType.ts"
import { type Json, type JsonObject, isArray, numberAt, objectAt, stringAt } from "../Json.ts"
import { SessionEntry } from "../SessionLine.ts"
import * as Message from "./claudeCodeMessage.ts"
import { NearestLine } from "./NearestLine.ts"
import * as HarnessMessage from "../claudeCode/HarnessMessage.ts"

/** A line of the conversation. */
export interface TranscriptLine {
  readonly entry: SessionEntry
  readonly value: JsonObject
  /** Default: empty. */
  readonly message: JsonObject
  readonly uuid: string
  readonly parentUuid: string | undefined
  readonly isSidechain: boolean
}

/** An answer of the model on one or more lines. */
interface Answer {
  /** The uuid of the first line. */
  readonly id: string
  readonly lines: Array<TranscriptLine>
  /** Tool names by call id. */
  readonly calls: Map<string, string>
  isInterrupted: boolean
}

/** An entry without id, parent and timestamp. */
type Payload = JsonObject & { readonly type: EntryType.EntryType }

/** The place of an entry in the tree. */
interface Place {
  /** The line from which it is made. */
  readonly entry: SessionEntry
  readonly after: string | null
  /** The line or answer whose children follow the entry. */
  readonly group: string
}

/** The entries of a transcript. */
export class Chain {
  readonly entries: Array<SessionEntry> = []
  readonly #lines: ReadonlyMap<string, TranscriptLine>
  /** The nearest lines with an entry or a message, in sub-agents and outside them. */
  readonly #entry: NearestLine<TranscriptLine>
  readonly #mainEntry: NearestLine<TranscriptLine>
  readonly #message: NearestLine<TranscriptLine>
  readonly #mainMessage: NearestLine<TranscriptLine>
  readonly #answerOfMessage = new Map<string, Answer>()
  /** By the uuids of their lines and of the lines with their results. */
  readonly #answers = new Map<string, Answer>()
  readonly #answerOfCall = new Map<string, Answer>()
  /** The last entry of each line, by uuid; of an answer with its results, by the answer's id. */
  readonly #ends = new Map<string, string | null>()
  readonly #parents = new Map<string, string | null>()
  /** Ids of the entries that add messages to the context. */
  readonly #messages = new Set<string>()
  /** The context after each compaction, last entry first, by the last entry of the compaction. */
  readonly #kept = new Map<string, ReadonlyArray<string>>()
  /** Work of the compactions so far. */
  #steps = 0
  #edits = 0
  /** The last entry outside sub-agents. */
  #leaf: string | null = null
  #isSidechain = false

  constructor(lines: ReadonlyArray<TranscriptLine>) {
    this.#lines = new Map(lines.map((line) => [line.uuid, line]))
    const isMain = (line: TranscriptLine): boolean => !line.isSidechain
    this.#entry = new NearestLine(this.#lines, hasEntry)
    this.#mainEntry = new NearestLine(this.#lines, (line) => isMain(line) && hasEntry(line))
    this.#message = new NearestLine(this.#lines, hasMessage)
    this.#mainMessage = new NearestLine(this.#lines, (line) => isMain(line) && hasMessage(line))
    for (const line of lines) this.#gather(line)
    for (const line of lines) {
      this.#isSidechain = line.isSidechain
      if (line.entry.type === "assistant") this.#answer(line)
      else if (line.entry.type === "user") this.#user(line)
      else if (line.entry.type === "attachment") this.#attachment(line)
      else if (isBoundary(line)) this.#boundary(line)
    }
  }

  get hasMessages(): boolean {
    return this.#messages.size > 0
  }

  /** Adds the title and the version after the last entry outside sub-agents, which makes it the leaf. */
  end({ uuid, value }: TranscriptLine, title: string | undefined): void {
    const entry = [...this.#lines.values()].at(-1)?.entry
    if (entry === undefined) return
    this.#isSidechain = false
    const put = (id: string, payload: Payload): void => this.#put(id, payload, { entry, after: this.#leaf, group: id })
    if (title !== undefined) put(`${uuid}.name`, { type: "session_info", name: title })
    const data = { version: value["version"], gitBranch: value["gitBranch"] }
    put(`${uuid}.origin`, { type: "custom", customType: HarnessMessage.ORIGIN_TYPE, data })
  }

  /** Finds the answer of a line. */
  #gather(line: TranscriptLine): void {
    const { entry, message, uuid } = line
    if (entry.type === "assistant" && !isSynthetic(line)) return this.#gatherAnswer(line)
    if (entry.type !== "user") return
    for (const block of resultsIn(message)) {
      const answer = this.#answerOfCall.get(stringAt(block, "tool_use_id") ?? "")
      if (answer !== undefined && !this.#answers.has(uuid)) this.#answers.set(uuid, answer)
    }
    const before = (line.isSidechain ? this.#message : this.#mainMessage).before(line) ?? ""
    const answer = this.#answers.get(before)
    if (answer === undefined || !this.#isAnswer(before)) return
    const texts = Message.blocksOf(message["content"]).map((block) => stringAt(block, "text")?.trim())
    answer.isInterrupted ||= texts.includes(HarnessMessage.INTERRUPTED)
  }

  #gatherAnswer(line: TranscriptLine): void {
    const { message, uuid, value } = line
    const key = `${stringAt(value, "agentId") ?? ""} ${stringAt(message, "id") ?? uuid}`
    const known = this.#answerOfMessage.get(key)
    const answer: Answer = known ?? { id: uuid, lines: [], calls: new Map(), isInterrupted: false }
    answer.lines.push(line)
    this.#answerOfMessage.set(key, answer)
    this.#answers.set(uuid, answer)
    for (const block of Message.blocksOf(message["content"])) {
      const id = stringAt(block, "id")
      if (block["type"] !== "tool_use" || id === undefined) continue
      answer.calls.set(id, stringAt(block, "name") ?? "")
      this.#answerOfCall.set(id, answer)
    }
  }

  /** The parent of a line's entry. The first entry of a sub-agent has none. */
  #before(line: TranscriptLine): string | null {
    const before = (line.isSidechain ? this.#entry : this.#mainEntry).before(line)
    if (before === undefined) return null
    const known = this.#lines.get(before)
    if (known !== undefined && known.isSidechain !== line.isSidechain) return null
    const group = this.#answers.get(before)?.id ?? before
    const end = this.#ends.get(group)
    return end === undefined ? group : end
  }

  #put(id: string, { type, ...payload }: Payload, { after, entry, group }: Place): void {
    const timestamp = entry.timestamp ?? ""
    this.entries.push(SessionEntry.make({ type, id, parentId: after, timestamp, ...payload }, entry))
    this.#parents.set(id, after)
    this.#ends.set(group, id)
    if (EntryType.of(type).context === "message") this.#messages.add(id)
    if (!this.#isSidechain) this.#leaf = id
  }

  #answer(line: TranscriptLine): void {
    const { entry, message, uuid, value } = line
    const answer = this.#answers.get(uuid)
    const place = { entry, after: this.#before(line), group: uuid }
    if (answer === undefined) {
      if (value["isApiErrorMessage"] !== true) return
      const errorMessage = Message.plainText(message["content"]) ?? ""
      const failed = { ...answerOf(line), content: [], stopReason: "error", errorMessage }
      return this.#put(uuid, { type: "message", message: failed }, place)
    }
    if (answer.id === uuid) this.#put(uuid, { type: "message", message: whole(answer, line) }, place)
  }

  #user(line: TranscriptLine): void {
    const { entry, message, uuid } = line
    if (!hasEntry(line)) return
    const answer = this.#answers.get(uuid)
    const group = answer?.id ?? uuid
    const given = Message.blocksOf(message["content"]).filter(({ type }) => type !== "tool_result")
    const payloads = [
      ...resultsIn(message).map((block) => this.#result(block, entry)),
      ...partsOf(given).map((blocks) => userPayload(blocks, line))
    ]
    let after = answer === undefined ? this.#before(line) : (this.#ends.get(group) ?? group)
    if (payloads.length === 0) this.#ends.set(group, after)
    for (const [at, payload] of payloads.entries()) {
      const id = at === 0 ? uuid : `${uuid}.${at}`
      this.#put(id, payload, { entry, after, group })
      after = id
    }
  }

  #result(block: JsonObject, entry: SessionEntry): Payload {
    const toolCallId = stringAt(block, "tool_use_id") ?? ""
    const message = {
      role: "toolResult",
      toolCallId,
      toolName: this.#answerOfCall.get(toolCallId)?.calls.get(toolCallId) ?? "",
      content: Message.blocksOf(block["content"]).map(Message.givenBlock),
      isError: block["is_error"] === true,
      timestamp: timeOf(entry)
    }
    return { type: "message", message }
  }

  #attachment(line: TranscriptLine): void {
    const { entry, uuid, value } = line
    const place = { entry, after: this.#before(line), group: uuid }
    const attached = attachedTo(line)
    if (attached !== undefined) return this.#put(uuid, payloadOf(attached.blocks, attached.customType, entry), place)
    const data = { type: objectAt(value, "attachment")?.["type"] ?? null }
    this.#put(uuid, { type: "custom", customType: HarnessMessage.ATTACHMENT_TYPE, data }, place)
  }

  /** Removes the context before a compaction, except the entries that it kept. */
  #boundary(line: TranscriptLine): void {
    const { entry, uuid, value } = line
    const logical = { ...line, parentUuid: stringAt(value, "logicalParentUuid") }
    // Some refer to a line that is not in the transcript: they follow the leaf.
    let after = this.#lines.has(logical.parentUuid ?? "") ? this.#before(logical) : this.#leaf
    this.#ends.set(uuid, after)
    const context = this.#context(after)
    const kept = this.#keptOf(value, context)
    const targets = context.filter((id) => !kept.has(id)).reverse()
    this.#charge(context.length, targets.length)
    for (const [at, targetId] of targets.entries()) {
      const id = at === 0 ? uuid : `${uuid}.${at}`
      this.#put(id, { type: "context_edit", targetId, replacement: null }, { entry, after, group: uuid })
      after = id
    }
    if (after !== null) this.#kept.set(after, [...kept])
  }

  /** A genuine compaction removes each message once. Compactions of one context over and over would fill the memory. */
  #charge(steps: number, edits: number): void {
    this.#steps += steps
    this.#edits += edits
    if (this.#edits > EDITS + EDITS_PER_LINE * this.#lines.size)
      throw new TranscriptTooLarge("context edits", this.#edits)
    if (this.#steps > STEPS + STEPS_PER_LINE * this.#lines.size) throw new TranscriptTooLarge("steps", this.#steps)
  }

  /** Ids of the messages in the context at an entry, the last one first. */
  #context(leaf: string | null): ReadonlyArray<string> {
    const found: Array<string> = []
    const seen = new Set<string>()
    for (let id = leaf; id !== null && !seen.has(id); id = this.#parents.get(id) ?? null) {
      const kept = this.#kept.get(id)
      if (kept !== undefined) return [...found, ...kept]
      seen.add(id)
      if (this.#messages.has(id)) found.push(id)
    }
    return found
  }

  /** The part of a context that a compaction kept: a list of lines, or the first and the last. */
  #keptOf(value: JsonObject, context: ReadonlyArray<string>): ReadonlySet<string> {
    const metadata = objectAt(value, "compactMetadata") ?? {}
    const { uuids } = objectAt(metadata, "preservedMessages") ?? {}
    if (isArray(uuids)) {
      const named = new Set(uuids.flatMap((uuid) => (typeof uuid === "string" ? [uuid, this.#entryOf(uuid)] : [])))
      return new Set(context.filter((id) => named.has(lineOf(id))))
    }
    const { headUuid, tailUuid } = objectAt(metadata, "preservedSegment") ?? {}
    const placeOf = (uuid: Json | undefined): number =>
      typeof uuid === "string" ? context.findIndex((id) => lineOf(id) === this.#entryOf(uuid)) : -1
    const [from, to] = [placeOf(tailUuid), placeOf(headUuid)]
    return new Set(from < 0 || to < from ? [] : context.slice(from, to + 1))
  }

  /** The entry of a line; an answer's lines have one entry. */
  #entryOf(uuid: string): string {
    return this.#isAnswer(uuid) ? (this.#answers.get(uuid)?.id ?? uuid) : uuid
  }

  /** Whether a line of `#answers` is the answer's own, not one with results. */
  #isAnswer(uuid: string): boolean {
    return this.#lines.get(uuid)?.entry.type === "assistant"
  }
}

/** The line of an entry: the entries of a line with several messages are `uuid`, `uuid.1`, ... */
const lineOf = (id: string): string => id.split(".", 1)[0] ?? id

/** Limits of what the compactions of a transcript may cost: fixed, and for each of its lines. */
const EDITS = 10_000
const EDITS_PER_LINE = 16
const STEPS = 10_000_000
const STEPS_PER_LINE = 1000

/** The compactions of a transcript cost more than those of any genuine one. */
export class TranscriptTooLarge extends Error {
  constructor(what: string, count: number) {
    super(`its compactions need more than ${count - 1} ${what}`)
  }
}

const isBoundary = ({ value }: TranscriptLine): boolean => value["subtype"] === "compact_boundary"

/** Whether the program wrote a line in the model's place. */
const isSynthetic = ({ message, value }: TranscriptLine): boolean =>
  value["isApiErrorMessage"] === true || stringAt(message, "model") === "<synthetic>"

/** Whether a line has an entry. Some lines of the user are only displayed. */
const hasEntry = (line: TranscriptLine): boolean => {
  const { entry, value } = line
  switch (entry.type) {
    case "assistant":
      return !isSynthetic(line) || value["isApiErrorMessage"] === true
    case "user":
      return value["isVisibleInTranscriptOnly"] !== true || value["isCompactSummary"] === true
    default:
      return entry.type === "attachment" || isBoundary(line)
  }
}

/** Whether a line adds a message: not an attachment whose text is not in the transcript. */
const hasMessage = (line: TranscriptLine): boolean =>
  hasEntry(line) && (line.entry.type !== "attachment" || attachedTo(line) !== undefined)

const attachedTo = ({ value }: TranscriptLine) => {
  const attached = HarnessMessage.attached(objectAt(value, "attachment") ?? {})
  const blocks = Message.blocksOf(attached?.content).filter(({ type, text }) => type !== "text" || text !== "")
  return attached === undefined || blocks.length === 0 ? undefined : { blocks, customType: attached.customType }
}

const timeOf = (entry: SessionEntry): number | undefined => {
  const time = Date.parse(entry.timestamp ?? "")
  return Number.isNaN(time) ? undefined : time
}

const answerOf = ({ entry, message }: TranscriptLine): JsonObject => {
  const model = stringAt(message, "model") ?? ""
  return { role: "assistant", api: "anthropic-messages", provider: "anthropic", model, timestamp: timeOf(entry) }
}

/** The message of an answer. */
const whole = ({ isInterrupted, lines }: Answer, first: TranscriptLine): JsonObject => {
  const calls = new Set<string>()
  const content = lines.flatMap(({ message }) =>
    Message.blocksOf(message["content"]).flatMap((block): ReadonlyArray<Json> => {
      // A call may be on two lines.
      const id = block["type"] === "tool_use" ? stringAt(block, "id") : undefined
      if (id !== undefined && calls.has(id)) return []
      if (id !== undefined) calls.add(id)
      return [Message.answeredBlock(block)]
    })
  )
  // The last line has the usage of the whole answer.
  const { message: last, value } = lines.at(-1) ?? first
  const stopReason = lines.flatMap(({ message }) => Message.stopReasonOf(message) ?? []).at(-1)
  // An answer with a stop reason ended before the interruption.
  const ended = stopReason ?? (isInterrupted ? "aborted" : undefined)
  const usage = Message.usageOf(last, numberAt(value, "costUSD"))
  return { ...answerOf(first), content, usage, ...(ended === undefined ? {} : { stopReason: ended }) }
}

const userPayload = (blocks: ReadonlyArray<JsonObject>, { entry, value }: TranscriptLine): Payload =>
  payloadOf(blocks, HarnessMessage.typeOf(value, Message.plainText(blocks)?.trim() ?? ""), entry)

/** A message in the user's place; without `customType` it is the user's. */
const payloadOf = (blocks: ReadonlyArray<JsonObject>, customType: string | undefined, entry: SessionEntry): Payload => {
  const content = blocks.map(Message.givenBlock)
  if (customType !== undefined) return { type: "custom_message", customType, content, display: true }
  return { type: "message", message: { role: "user", content, timestamp: timeOf(entry) } }
}

const resultsIn = (message: JsonObject): ReadonlyArray<JsonObject> =>
  Message.blocksOf(message["content"]).filter(({ type }) => type === "tool_result")

/** Markers of interruptions are separate messages from the user's text. */
const partsOf = (blocks: ReadonlyArray<JsonObject>): ReadonlyArray<ReadonlyArray<JsonObject>> => {
  const isMark = (block: JsonObject): boolean => HarnessMessage.isInterruption(stringAt(block, "text") ?? "")
  const others = blocks.filter((block) => !isMark(block))
  return [...blocks.filter(isMark).map((mark) => [mark]), ...(others.length === 0 ? [] : [others])]
}
