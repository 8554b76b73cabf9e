/**
 * Converts a session's context to the messages that the model is sent: `convertToLlm` of Pi (messages.js) and
 * `transformMessages` of pi-ai, 0.78.0 and 1.5.2. The result is Pi's provider-neutral form, not a provider's wire format.
 */
import { type Json, type JsonObject, isArray, isObject, stringAt } from "./Json.ts"
import * as ValueText from "./ValueText.ts"
import { type PiProfile, newest } from "./PiProfile.ts"

const COMPACTION_SUMMARY_PREFIX =
  "The conversation history before this point was compacted into the following summary:\n\n<summary>\n"
const COMPACTION_SUMMARY_SUFFIX = "\n</summary>"
const BRANCH_SUMMARY_PREFIX =
  "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n"
const BRANCH_SUMMARY_SUFFIX = "</summary>"

/** The user's own `!command` and its output, as text for the model. */
export const bashExecutionToText = (message: JsonObject): string => {
  let text = `Ran \`${ValueText.textOf(message["command"])}\`\n`
  text += message["output"] ? `\`\`\`\n${ValueText.textOf(message["output"])}\n\`\`\`` : "(no output)"
  const exitCode = message["exitCode"]
  if (message["cancelled"]) text += "\n\n(command cancelled)"
  else if (exitCode !== null && exitCode !== undefined && exitCode !== 0) {
    text += `\n\nCommand exited with code ${ValueText.textOf(exitCode)}`
  }
  if (message["truncated"] && message["fullOutputPath"]) {
    text += `\n\n[Output truncated. Full output: ${ValueText.textOf(message["fullOutputPath"])}]`
  }
  return text
}

const userText = (text: string, message: JsonObject): JsonObject => ({
  role: "user",
  content: [{ type: "text", text }],
  timestamp: message["timestamp"]
})

/** A message for the model and its source. */
export interface Traced<T> {
  readonly message: JsonObject
  readonly of: T
}

const untraced = (message: JsonObject): Traced<undefined> => ({ message, of: undefined })

/** A context message in the form that the model gets; undefined for a message that is not sent. */
const toLlm = (message: JsonObject, profile: PiProfile): JsonObject | undefined => {
  switch (message["role"]) {
    case "user":
    case "assistant":
    case "toolResult":
      return message
    case "system":
      return profile === "1.5" ? message : undefined
    case "bashExecution":
      return message["excludeFromContext"] ? undefined : userText(bashExecutionToText(message), message)
    case "custom": {
      const { content, timestamp } = message
      return {
        role: "user",
        content: typeof content === "string" ? [{ type: "text", text: content }] : content,
        timestamp
      }
    }
    case "branchSummary":
      return userText(BRANCH_SUMMARY_PREFIX + ValueText.textOf(message["summary"]) + BRANCH_SUMMARY_SUFFIX, message)
    case "compactionSummary":
      return userText(
        COMPACTION_SUMMARY_PREFIX + ValueText.textOf(message["summary"]) + COMPACTION_SUMMARY_SUFFIX,
        message
      )
    default:
      return undefined
  }
}

/**
 * Context messages as user, assistant and toolResult messages (in 1.5 system ones too): custom messages, summaries and
 * `!commands` become user messages; messages with roles that Pi does not know are omitted.
 */
export const convertToLlm = (
  messages: ReadonlyArray<JsonObject>,
  profile: PiProfile = newest
): ReadonlyArray<JsonObject> => convertTraced(messages.map(untraced), profile).map(({ message }) => message)

/** As `convertToLlm`, for messages with sources. */
export const convertTraced = <T>(
  messages: ReadonlyArray<Traced<T>>,
  profile: PiProfile = newest
): ReadonlyArray<Traced<T>> =>
  messages.flatMap(({ message, of }) => {
    const converted = toLlm(message, profile)
    return converted === undefined ? [] : { message: converted, of }
  })

/** The model that a request goes to. */
export interface TargetModel {
  readonly provider: string
  readonly api: string
  readonly id: string
  /** Whether it takes images. */
  readonly images: boolean
}

const USER_IMAGE = "(image omitted: model does not support images)"
const TOOL_IMAGE = "(tool image omitted: model does not support images)"

/** Replaces images by a placeholder; consecutive images get one. */
const withoutImages = (content: ReadonlyArray<Json>, placeholder: string): ReadonlyArray<Json> => {
  const blocks: Array<Json> = []
  let afterPlaceholder = false
  for (const block of content) {
    if (isObject(block) && block["type"] === "image") {
      if (!afterPlaceholder) blocks.push({ type: "text", text: placeholder })
      afterPlaceholder = true
    } else {
      blocks.push(block)
      afterPlaceholder = isObject(block) && block["text"] === placeholder
    }
  }
  return blocks
}

/** An assistant's blocks in the form in which they are sent to `model`, which may be another model. */
const assistantBlocks = (message: JsonObject, model: TargetModel, profile: PiProfile): ReadonlyArray<Json> => {
  const same = message["provider"] === model.provider && message["api"] === model.api && message["model"] === model.id
  const content = message["content"]
  if (!isArray(content)) return []
  return content.flatMap((block): ReadonlyArray<Json> => {
    if (!isObject(block)) return [block]
    switch (block["type"]) {
      case "thinking": {
        const thinking = stringAt(block, "thinking") ?? ""
        if (block["redacted"]) return same ? [block] : []
        if (same && block["thinkingSignature"]) return [block]
        if (thinking.trim() === "" || (!same && profile === "1.5")) return []
        return [same ? block : { type: "text", text: thinking }]
      }
      case "text":
        return [same ? block : { type: "text", text: block["text"] }]
      case "toolCall": {
        if (same || !block["thoughtSignature"]) return [block]
        const { thoughtSignature: _, ...rest } = block
        return [rest]
      }
      default:
        return [block]
    }
  })
}

/**
 * Converted messages as they are sent to `model`. Turns that failed or were aborted are omitted (Pi still sends their tool
 * results). Calls without a result get the result "No result provided", with the timestamp of the call's message, where Pi
 * uses the clock. Thinking of other models is dropped (1.5) or becomes text (0.78). Images become placeholders when the
 * model takes none.
 */
export const transformMessages = (
  messages: ReadonlyArray<JsonObject>,
  model: TargetModel,
  profile: PiProfile = newest
): ReadonlyArray<JsonObject> => transformTraced(messages.map(untraced), model, profile).map(({ message }) => message)

/** As `transformMessages`, for messages with sources; `of` is undefined for a result that Pi adds. */
export const transformTraced = <T>(
  messages: ReadonlyArray<Traced<T>>,
  model: TargetModel,
  profile: PiProfile = newest
): ReadonlyArray<Traced<T | undefined>> => {
  const request = new Request<T>(model, profile)
  for (const traced of messages) request.add(traced)
  return request.end()
}

/** Builds the messages of one request, with a result for every call. */
class Request<T> {
  readonly #model: TargetModel
  readonly #profile: PiProfile
  readonly #sent: Array<Traced<T | undefined>> = []
  /** The last assistant message with calls that may still get results, and the ids of calls that have one. */
  #calls: ReadonlyArray<JsonObject> = []
  #timestamp: Json | undefined
  readonly #answered = new Set<Json | undefined>()
  /** 1.5 moves system messages between a call and its results after the results. */
  #held: Array<Traced<T>> = []

  constructor(model: TargetModel, profile: PiProfile) {
    this.#model = model
    this.#profile = profile
  }

  add({ message: original, of }: Traced<T>): void {
    const content = original["content"]
    const isEmpty = this.#profile === "1.5" && (content === null || content === undefined)
    const message = isEmpty ? { ...original, content: [] } : original
    switch (message["role"]) {
      case "assistant":
        this.end()
        return this.#addAnswer(message, of)
      case "toolResult":
        this.#answered.add(message["toolCallId"])
        return this.#addGiven(message, of, TOOL_IMAGE)
      case "user":
        this.end()
        return this.#addGiven(message, of, USER_IMAGE)
      case "system":
        return void (this.#calls.length > 0 ? this.#held : this.#sent).push({ message, of })
      default:
        this.#sent.push({ message, of })
    }
  }

  #addAnswer(message: JsonObject, of: T): void {
    if (message["stopReason"] === "error" || message["stopReason"] === "aborted") return
    const blocks = assistantBlocks(message, this.#model, this.#profile)
    this.#calls = blocks.filter((block): block is JsonObject => isObject(block) && block["type"] === "toolCall")
    this.#timestamp = message["timestamp"]
    this.#answered.clear()
    this.#sent.push({ message: { ...message, content: blocks }, of })
  }

  #addGiven(message: JsonObject, of: T, placeholder: string): void {
    const content = message["content"]
    const isSentWhole = this.#model.images || !isArray(content)
    this.#sent.push({
      message: isSentWhole ? message : { ...message, content: withoutImages(content, placeholder) },
      of
    })
  }

  /** Adds the missing results and the held messages. Returns all messages so far. */
  end(): ReadonlyArray<Traced<T | undefined>> {
    for (const call of this.#calls) {
      if (this.#answered.has(call["id"])) continue
      const message = {
        role: "toolResult",
        toolCallId: call["id"],
        toolName: call["name"],
        content: [{ type: "text", text: "No result provided" }],
        isError: true,
        timestamp: this.#timestamp
      }
      this.#sent.push({ message, of: undefined })
    }
    this.#calls = []
    for (const held of this.#held) this.#sent.push(held)
    this.#held = []
    return this.#sent
  }
}

/** The system prompt after all system messages: contents in order, then the sections that remain (1.5). */
export const systemPrompt = (messages: ReadonlyArray<JsonObject>): string => {
  const contents: Array<string> = []
  const sections = new Map<string, string>()
  for (const message of messages) {
    if (message["role"] !== "system") continue
    contents.push(contentText(message["content"]))
    for (const [name, value] of Object.entries(isObject(message["sections"]) ? message["sections"] : {})) {
      if (typeof value === "string") sections.set(name, value)
      else sections.delete(name)
    }
  }
  const content = contents.filter((text) => text !== "").join("\n\n")
  return [content, ...sections.values()].filter((text) => text !== "").join("\n\n")
}

/** The available tools after all system messages, as declared: name, description, parameters (1.5). */
export const tools = (messages: ReadonlyArray<JsonObject>): ReadonlyArray<JsonObject> => {
  const current = new Map<Json | undefined, JsonObject>()
  for (const message of messages) {
    if (message["role"] !== "system") continue
    const { toolsRemoved, toolsAdded } = message
    for (const tool of isArray(toolsRemoved) ? toolsRemoved : []) if (isObject(tool)) current.delete(tool["name"])
    for (const tool of isArray(toolsAdded) ? toolsAdded : []) if (isObject(tool)) current.set(tool["name"], tool)
  }
  return [...current.values()]
}

/** The text blocks of a content, joined by newlines; a string content as it is. */
export const contentText = (content: Json | undefined, separator = "\n"): string => {
  if (typeof content === "string") return content
  if (!isArray(content)) return ""
  return content
    .flatMap((block) => (isObject(block) && block["type"] === "text" ? (stringAt(block, "text") ?? []) : []))
    .join(separator)
}
