/** Converts messages of Claude Code (blocks of Anthropic's Messages API) to Pi's form. */
import { type Json, type JsonObject, isArray, isObject, numberAt, objectAt, stringAt } from "../Json.ts"

/** Blocks of a content; a text is one block. */
export const blocksOf = (content: Json | undefined): ReadonlyArray<JsonObject> => {
  if (typeof content === "string") return [{ type: "text", text: content }]
  if (!isArray(content)) return []
  return content.flatMap((block) =>
    typeof block === "string" ? [{ type: "text", text: block }] : isObject(block) ? [block] : []
  )
}

/** The text of a content of text blocks only; undefined for other contents. */
export const plainText = (content: Json | undefined): string | undefined => {
  const blocks = blocksOf(content)
  if (blocks.length === 0 || blocks.some(({ type }) => type !== "text")) return undefined
  return blocks.map((block) => stringAt(block, "text") ?? "").join("\n")
}

/** A block of the user or of a tool. Of a block that Pi does not know only the type is kept. */
export const givenBlock = (block: JsonObject): JsonObject => {
  if (block["type"] === "text") return { type: "text", text: stringAt(block, "text") ?? "" }
  const source = objectAt(block, "source") ?? {}
  const data = stringAt(source, "data")
  if (block["type"] === "image" && data !== undefined) {
    return { type: "image", data, mimeType: stringAt(source, "media_type") ?? "" }
  }
  return { type: stringAt(block, "type") ?? "unknown" }
}

/** A block of the model. */
export const answeredBlock = (block: JsonObject): JsonObject => {
  switch (block["type"]) {
    case "text":
      return { type: "text", text: stringAt(block, "text") ?? "" }
    case "thinking":
      return {
        type: "thinking",
        thinking: stringAt(block, "thinking") ?? "",
        ...(stringAt(block, "signature") === undefined ? {} : { thinkingSignature: stringAt(block, "signature") })
      }
    case "redacted_thinking":
      return { type: "thinking", thinking: "", redacted: true, thinkingSignature: stringAt(block, "data") ?? "" }
    case "tool_use": {
      const { input } = block
      const call = { type: "toolCall", id: stringAt(block, "id") ?? "", name: stringAt(block, "name") ?? "" }
      return isObject(input) ? { ...call, arguments: input } : { ...call, arguments: {}, argumentsError: input ?? null }
    }
    default:
      return { type: stringAt(block, "type") ?? "unknown" }
  }
}

const STOP_REASONS: ReadonlyMap<string, string> = new Map([
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["tool_use", "toolUse"],
  ["max_tokens", "length"]
])

/** Pi's stop reason; undefined when the line was written before the end of the answer. */
export const stopReasonOf = (message: JsonObject): string | undefined => {
  const reason = stringAt(message, "stop_reason")
  return reason === undefined ? undefined : (STOP_REASONS.get(reason) ?? reason)
}

/** Tokens under Pi's names; the cost only where the line has it (old versions). */
export const usageOf = (message: JsonObject, dollars: number | undefined): JsonObject => {
  const usage = objectAt(message, "usage") ?? {}
  const input = numberAt(usage, "input_tokens") ?? 0
  const output = numberAt(usage, "output_tokens") ?? 0
  const cacheRead = numberAt(usage, "cache_read_input_tokens") ?? 0
  const cacheWrite = numberAt(usage, "cache_creation_input_tokens") ?? 0
  const totalTokens = input + output + cacheRead + cacheWrite
  const cost = dollars === undefined ? {} : { cost: { total: dollars } }
  return { input, output, cacheRead, cacheWrite, totalTokens, ...cost }
}
