/** What is wrong with a system message: 1.5 makes its prompt and its tools of it, 0.78 leaves it out. */
import { type Json, type JsonObject, isArray, isObject } from "@pi-sessions/core/Json"
import { type Sends, each, reading } from "./PiReading.ts"
import { isLost, printed, readableTexts } from "./readableText.ts"

export interface SystemFault {
  readonly code: "odd-system"
  readonly reads: ReturnType<typeof each>
}

const isNothing = (value: Json | undefined): value is null | undefined => value === undefined || value === null

export const systemFaults = (message: JsonObject): ReadonlyArray<SystemFault> => {
  const { content, sections, toolsAdded, toolsRemoved } = message
  const isSound =
    isSoundContent(content) && isSoundSections(sections) && isSoundTools(toolsAdded) && isSoundTools(toolsRemoved)
  if (isSound) return []
  const isCounted = isObject(sections ?? null) && Object.values(sections ?? {}).some(isUncountable)
  return [{ code: "odd-system", reads: each(reading("reads"), reading(sends(message), isCounted, isCounted)) }]
}

const isSoundContent = (content: Json | undefined): boolean =>
  isNothing(content) ||
  typeof content === "string" ||
  (isArray(content) &&
    content.every((block) => isObject(block) && block["type"] === "text" && typeof block["text"] === "string"))

const isSoundSections = (sections: Json | undefined): boolean =>
  isNothing(sections) ||
  (isObject(sections) && Object.values(sections).every((value) => value === null || typeof value === "string"))

const isSoundTools = (tools: Json | undefined): boolean =>
  isNothing(tools) || (isArray(tools) && tools.every((tool) => isObject(tool) && typeof tool["name"] === "string"))

/** Pi sends its own sections, but makes text of these where it counts tokens, unless they seem empty. */
const isUncountable = (section: Json | undefined): boolean =>
  section !== undefined && isArray(section) && section.length > 0 && printed(section) === undefined

const sends = ({ content, toolsAdded, toolsRemoved }: JsonObject): Sends => {
  const text = contentText(content)
  if (text === undefined || !isIterated(toolsAdded) || !isIterated(toolsRemoved)) return "crashes"
  return isLost(content, text) ? "loses" : "reads"
}

/** The blocks of text; undefined where Pi fails to find them. */
const contentText = (content: Json | undefined): string | undefined => {
  if (isNothing(content)) return ""
  if (typeof content === "string") return content
  if (!isArray(content) || content.includes(null)) return undefined
  const texts = content.flatMap((block) => (isObject(block) && block["type"] === "text" ? [block["text"]] : []))
  return printed(texts.map((text) => text ?? null))
}

const isIterated = (tools: Json | undefined): boolean =>
  isNothing(tools) || typeof tools === "string" || (isArray(tools) && !tools.includes(null))

/** The message with what 1.5 can read, and all the text there is. */
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
