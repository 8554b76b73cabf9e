/** Finds and repairs faults in system messages. 1.5 makes its prompt and tools from them; 0.78 omits them. */
import { type Json, type JsonObject, isArray, isObject } from "@pi-sessions/core/Json"
import { type Sends, each, reading } from "./PiReading.ts"
import { isAbsent, isLost, printed, readableTexts } from "./readableText.ts"

export interface SystemFault {
  readonly code: "odd-system"
  readonly reads: ReturnType<typeof each>
}

export const systemFaults = (message: JsonObject): ReadonlyArray<SystemFault> => {
  const { content, sections, toolsAdded, toolsRemoved } = message
  const isSound =
    isSoundContent(content) && isSoundSections(sections) && isSoundTools(toolsAdded) && isSoundTools(toolsRemoved)
  if (isSound) return []
  const isCounted = isObject(sections ?? null) && Object.values(sections ?? {}).some(isUncountable)
  return [{ code: "odd-system", reads: each(reading("reads"), reading(sends(message), isCounted, isCounted)) }]
}

const isSoundContent = (content: Json | undefined): boolean =>
  isAbsent(content) ||
  typeof content === "string" ||
  (isArray(content) &&
    content.every((block) => isObject(block) && block["type"] === "text" && typeof block["text"] === "string"))

const isSoundSections = (sections: Json | undefined): boolean =>
  isAbsent(sections) ||
  (isObject(sections) && Object.values(sections).every((value) => value === null || typeof value === "string"))

const isSoundTools = (tools: Json | undefined): boolean =>
  isAbsent(tools) || (isArray(tools) && tools.every((tool) => isObject(tool) && typeof tool["name"] === "string"))

/** Pi sends its own sections, but converts these to text to count tokens, unless they are empty. */
const isUncountable = (section: Json | undefined): boolean =>
  section !== undefined && isArray(section) && section.length > 0 && printed(section) === undefined

const sends = ({ content, toolsAdded, toolsRemoved }: JsonObject): Sends => {
  const text = contentText(content)
  if (text === undefined || !isIterated(toolsAdded) || !isIterated(toolsRemoved)) return "crashes"
  return isLost(content, text) ? "loses" : "reads"
}

/** The text of a content; undefined if Pi fails on it. */
const contentText = (content: Json | undefined): string | undefined => {
  if (isAbsent(content)) return ""
  if (typeof content === "string") return content
  if (!isArray(content) || content.includes(null)) return undefined
  const texts = content.flatMap((block) => (isObject(block) && block["type"] === "text" ? [block["text"]] : []))
  return printed(texts.map((text) => text ?? null))
}

const isIterated = (tools: Json | undefined): boolean =>
  isAbsent(tools) || typeof tools === "string" || (isArray(tools) && !tools.includes(null))

/** The message in a form that 1.5 can read, with all readable text. */
export const mendedSystem = (message: JsonObject): JsonObject => {
  const { content, sections, toolsAdded, toolsRemoved, ...rest } = message
  const texts = isSoundContent(content) ? content : readableTexts(content).join("\n")
  return {
    ...rest,
    ...(texts === undefined ? {} : { content: texts }),
    ...(sections === undefined ? {} : { sections: isSoundSections(sections) ? sections : mendedSections(sections) }),
    ...(toolsAdded === undefined ? {} : { toolsAdded: mendedTools(toolsAdded) }),
    ...(toolsRemoved === undefined ? {} : { toolsRemoved: mendedTools(toolsRemoved) })
  }
}

const mendedSections = (sections: Json): JsonObject =>
  isObject(sections)
    ? Object.fromEntries(
        Object.entries(sections).map(([name, value]) => [
          name,
          value === null || typeof value === "string" ? value : readableTexts(value).join("\n")
        ])
      )
    : {}

const mendedTools = (tools: Json): Json =>
  isSoundTools(tools) || !isArray(tools)
    ? isArray(tools)
      ? tools
      : []
    : tools.filter((tool) => isObject(tool) && typeof tool["name"] === "string")
