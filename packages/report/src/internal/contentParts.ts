/** Turns content into timeline parts: blocks of messages, outputs of tools, other values as JSON. */
import { type Json, type JsonObject, isArray, isObject, objectAt, stringAt } from "@pi-sessions/core/Json"
import { type Depth } from "../TimelineDepth.ts"
import { type TimelinePart } from "../TimelinePart.ts"
import { firstLine } from "./firstLine.ts"
import { isTooDeep, shownJson } from "../ShownJson.ts"
import { toolCallLine } from "./toolCallLine.ts"

export const text = (depth: Depth, text: string): TimelinePart => ({ part: "text", depth, text })

/** A value as JSON; no part for undefined, null and empty objects. */
export const data = (name: string, value: Json | undefined): ReadonlyArray<TimelinePart> =>
  value === undefined || value === null || (isObject(value) && Object.keys(value).length === 0)
    ? []
    : [{ part: "data", depth: "full", name, json: shownJson(value) }]

/** The parts of a message's content, texts and pictures at `depth`. Accepts strings in place of blocks. */
export const partsOf = (content: Json | undefined, depth: Depth): ReadonlyArray<TimelinePart> => {
  if (typeof content === "string") return content === "" ? [] : [text(depth, content)]
  if (!isArray(content)) return data("content", content)
  return content.flatMap((block) => {
    if (typeof block === "string") return [text(depth, block)]
    return isObject(block) ? blockPart(block, depth) : data("block", block)
  })
}

const blockPart = (block: JsonObject, depth: Depth): ReadonlyArray<TimelinePart> => {
  switch (block["type"]) {
    case "text": {
      const said = stringAt(block, "text")
      if (said === undefined) return data("block", block)
      return said === "" ? [] : [text(depth, said)]
    }
    case "thinking": {
      const redacted = block["redacted"] === true
      const thought = stringAt(block, "thinking") ?? ""
      return thought === "" && !redacted ? [] : [{ part: "thinking", depth: "full", text: thought, redacted }]
    }
    case "image":
      return [{ part: "image", depth, mimeType: stringAt(block, "mimeType") ?? "", sizeBytes: base64Bytes(block) }]
    case "toolCall": {
      const given = objectAt(block, "arguments") ?? {}
      const name = stringAt(block, "name") ?? ""
      return [
        {
          part: "tool_call",
          depth: "tools",
          callId: stringAt(block, "id") ?? "",
          name,
          line: toolCallLine(given),
          arguments: isTooDeep(given) ? {} : given
        },
        ...data("argumentsError", block["argumentsError"])
      ]
    }
    default:
      return data("block", block)
  }
}

const base64Bytes = (block: JsonObject): number => {
  const data = stringAt(block, "data") ?? ""
  const padding = data.endsWith("==") ? 2 : data.endsWith("=") ? 1 : 0
  return Math.max(0, Math.floor((data.length * 3) / 4) - padding)
}

/** The result of a tool or command: its texts joined into one output, then its other parts. */
export const output = (content: Json | undefined, callId?: string): ReadonlyArray<TimelinePart> => {
  const parts = partsOf(content, "tools")
  const whole = parts.flatMap((part) => (part.part === "text" ? [part.text] : [])).join("\n")
  const others = parts.filter((part) => part.part !== "text")
  if (whole === "" && others.length > 0) return others
  return [
    { part: "output", depth: "tools", ...(callId === undefined ? {} : { callId }), ...firstLine(whole), text: whole },
    ...others
  ]
}
