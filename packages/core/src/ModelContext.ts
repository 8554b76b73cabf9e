/**
 * From a session's context to what the model is sent: `convertToLlm` of Pi (messages.js) and `transformMessages` of
 * pi-ai, 0.78.0 and 1.5.2. The result is Pi's provider-neutral form; each provider's wire format comes after it.
 */
import { type Json, type JsonObject, isArray, isObject, stringAt } from "./Json.ts"
import * as ValueText from "./ValueText.ts"
import { type PiProfile, newest } from "./PiProfile.ts"

export const COMPACTION_SUMMARY_PREFIX =
  "The conversation history before this point was compacted into the following summary:\n\n<summary>\n"
export const COMPACTION_SUMMARY_SUFFIX = "\n</summary>"
export const BRANCH_SUMMARY_PREFIX =
  "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n"
export const BRANCH_SUMMARY_SUFFIX = "</summary>"

/** Text of a `!command` of the user, as the model gets to read it. */
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

/** A message on its way to the model, and what it was made of. */
export interface Traced<T> {
  readonly message: JsonObject
  readonly of: T
}

const untraced = (message: JsonObject): Traced<undefined> => ({ message, of: undefined })

/** A context message in the form that the model gets; undefined for what it never sees. */
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
 * `!commands` become user messages, roles that Pi does not know are left out.
 */
export const convertToLlm = (
  messages: ReadonlyArray<JsonObject>,
  profile: PiProfile = newest
): ReadonlyArray<JsonObject> => convertTraced(messages.map(untraced), profile).map(({ message }) => message)

/** As `convertToLlm`, for messages that know what they were made of. */
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

/** Consecutive images become one placeholder. */
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

/** An assistant's blocks as its own model, or another one, may see them again. */
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
 * Converted messages as they are sent to `model`: turns that ended in an error or were aborted are left out (their
 * tool results are not: Pi sends them), calls nobody answered get the result "No result provided", thinking of other
 * models is dropped (1.5) or turned into text (0.78), images become placeholders where the model takes none. Unlike
 * Pi, the results made up here carry the timestamp of the call's message, not the clock's.
 */
export const transformMessages = (
  messages: ReadonlyArray<JsonObject>,
  model: TargetModel,
  profile: PiProfile = newest
): ReadonlyArray<JsonObject> => transformTraced(messages.map(untraced), model, profile).map(({ message }) => message)

/** As `transformMessages`; `of` is undefined for a result that Pi makes up. */
export const transformTraced = <T>(
  messages: ReadonlyArray<Traced<T>>,
  model: TargetModel,
  profile: PiProfile = newest
): ReadonlyArray<Traced<T | undefined>> => {
  const sent: Array<Traced<T | undefined>> = []
  let pending: ReadonlyArray<JsonObject> = []
  let pendingTimestamp: Json | undefined
  const answered = new Set<Json | undefined>()
  /** 1.5 puts system messages that fell between a call and its results after the results. */
  let held: Array<Traced<T>> = []
  const close = (): void => {
    for (const call of pending) {
      if (answered.has(call["id"])) continue
      const message = {
        role: "toolResult",
        toolCallId: call["id"],
        toolName: call["name"],
        content: [{ type: "text", text: "No result provided" }],
        isError: true,
        timestamp: pendingTimestamp
      }
      sent.push({ message, of: undefined })
    }
    pending = []
    sent.push(...held)
    held = []
  }
  const push = (message: JsonObject, of: T, placeholder: string): void => {
    const content = message["content"]
    const shown =
      model.images || !isArray(content) ? message : { ...message, content: withoutImages(content, placeholder) }
    sent.push({ message: shown, of })
  }
  for (const traced of messages) {
    const { message: original, of } = traced
    const content = original["content"]
    const message =
      profile === "1.5" && (content === null || content === undefined) ? { ...original, content: [] } : original
    switch (message["role"]) {
      case "assistant": {
        close()
        if (message["stopReason"] === "error" || message["stopReason"] === "aborted") break
        const blocks = assistantBlocks(message, model, profile)
        const calls = blocks.filter((block): block is JsonObject => isObject(block) && block["type"] === "toolCall")
        if (calls.length > 0) {
          pending = calls
          pendingTimestamp = message["timestamp"]
          answered.clear()
        }
        sent.push({ message: { ...message, content: blocks }, of })
        break
      }
      case "toolResult":
        answered.add(message["toolCallId"])
        push(message, of, TOOL_IMAGE)
        break
      case "user":
        close()
        push(message, of, USER_IMAGE)
        break
      case "system":
        if (pending.length > 0) held.push({ message, of })
        else sent.push({ message, of })
        break
      default:
        sent.push({ message, of })
    }
  }
  close()
  return sent
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

/** The tools on offer after all system messages, as declared: name, description, parameters (1.5). */
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
