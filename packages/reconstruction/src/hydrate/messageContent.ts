/** Content of Pi messages, made from thread payloads. */
import { type UnknownBlock, isImageBlock, isTextBlock } from "@pi-sessions/core/payload/ContentBlock"
import { type JsonObject } from "@pi-sessions/core/Json"
import { type Usage } from "@pi-sessions/core/payload/Usage"
import * as ValueText from "@pi-sessions/core/ValueText"
import { type Chat, type ToolResult } from "../Thread.ts"

export const callText = (name: string, args: JsonObject): string => `${name} ${ValueText.stringify(args)}`

/** Assistant messages of Pi have no images. */
export const imageAsText = (block: JsonObject): JsonObject =>
  block["type"] === "image" ? { type: "text", text: "[image]" } : block

/** A block of an unknown type as text, because Pi could crash on it. */
export const unknownBlock = (block: UnknownBlock): ReadonlyArray<JsonObject> =>
  isImageBlock(block)
    ? [{ type: "text", text: "[image]" }]
    : [{ type: "text", text: `[block of type ${block.type}] ${ValueText.stringify(block)}` }]

export const chatContent = (chat: Chat): string | ReadonlyArray<JsonObject> => {
  const text = chat.text ?? ""
  const attachments = chat.attachments ?? []
  if (attachments.length === 0) return text
  const blocks = attachments.map(({ mimeType, data }): JsonObject =>
    mimeType.startsWith("image/") && data !== undefined
      ? { type: "image", data, mimeType }
      : { type: "text", text: `[attachment of type ${mimeType}]` }
  )
  return text === "" ? blocks : [{ type: "text", text }, ...blocks]
}

export const resultContent = ({ content }: ToolResult): ReadonlyArray<JsonObject> => {
  if (content === undefined || content === null) return []
  if (typeof content === "string") return [{ type: "text", text: content }]
  return content.flatMap((block) => (isTextBlock(block) || isImageBlock(block) ? [block] : unknownBlock(block)))
}

/** All counts that Pi adds up; missing ones are 0. */
export const fullUsage = (usage: Usage | undefined): JsonObject => ({
  input: 0,
  output: 0,
  cacheRead: 0,
  cacheWrite: 0,
  totalTokens: 0,
  ...usage,
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0, ...usage?.cost }
})
