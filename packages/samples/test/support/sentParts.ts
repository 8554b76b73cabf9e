/** Reads the requests of all provider layers into one form. */
import { type Json, type JsonObject, isArray, isObject, stringAt } from "@pi-sessions/core/Json"

export interface SentPart {
  readonly kind: "system" | "user" | "answer" | "thinking" | "call" | "result" | "image"
  /** Index of the message in the request; -1 for the system prompt. */
  readonly at: number
  /** The text; for calls, the arguments as JSON. */
  readonly text: string
  /** Of calls and results; empty if the layer sends none. */
  readonly id: string
  /** Whether a result is marked as an error. */
  readonly isError: boolean
  /** Whether an image is in a result. */
  readonly inResult: boolean
}

const listOf = (value: Json | undefined): ReadonlyArray<Json> =>
  value === undefined || value === null ? [] : isArray(value) ? value : [value]

/** The parts of a request, in their order. */
export const partsOf = (payload: unknown): ReadonlyArray<SentPart> => {
  const request = JSON.parse(JSON.stringify(payload)) as JsonObject
  const parts: Array<SentPart> = []
  const add = (kind: SentPart["kind"], at: number, more: Partial<SentPart> = {}): void => {
    parts.push({ kind, at, text: "", id: "", isError: false, inResult: false, ...more })
  }
  for (const one of [request["system"], request["config"]].flatMap(listOf)) {
    const text = isObject(one) ? (stringAt(one, "text") ?? stringAt(one, "systemInstruction")) : undefined
    if (text !== undefined) add("system", -1, { text })
  }
  const messages = listOf(request["messages"] ?? request["input"] ?? request["contents"])
  for (const [at, message] of messages.entries()) if (isObject(message)) readMessage(message, at, add)
  return parts
}

type Add = (kind: SentPart["kind"], at: number, more?: Partial<SentPart>) => void

const readMessage = (message: JsonObject, at: number, add: Add): void => {
  const { content, role } = message
  if (message["type"] === "function_call") return readCall(message, at, add)
  if (message["type"] === "function_call_output") return readResult(message, message["output"], at, add)
  if (message["type"] === "reasoning") return add("thinking", at, { text: JSON.stringify(message) })
  if (role === "tool") return readResult(message, content, at, add)
  const kind = role === "user" ? "user" : role === "assistant" || role === "model" ? "answer" : "system"
  for (const field of ["reasoning_content", "reasoning", "reasoning_text"]) {
    const text = stringAt(message, field)
    if (text !== undefined) add("thinking", at, { text })
  }
  for (const part of listOf(content ?? message["parts"])) readPart(part, kind, at, add)
  for (const call of listOf(message["tool_calls"] ?? message["toolCalls"])) if (isObject(call)) readCall(call, at, add)
}

const readPart = (part: Json, kind: SentPart["kind"], at: number, add: Add): void => {
  if (typeof part === "string") return add(kind, at, { text: part })
  if (!isObject(part)) return
  const { functionCall, functionResponse, reasoningContent, thinking, toolResult, toolUse } = part
  if (isObject(functionCall)) return readCall(functionCall, at, add)
  if (isObject(toolUse)) return readCall(toolUse, at, add)
  if (part["type"] === "tool_use") return readCall(part, at, add)
  if (part["type"] === "tool_result") return readResult(part, part["content"], at, add)
  if (isObject(toolResult)) return readResult(toolResult, toolResult["content"], at, add)
  if (isObject(functionResponse)) {
    const response = isObject(functionResponse["response"]) ? functionResponse["response"] : {}
    const isError = response["error"] !== undefined
    readResult({ ...functionResponse, is_error: isError }, response["output"] ?? response["error"], at, add)
    for (const image of listOf(functionResponse["parts"])) if (isImage(image)) add("image", at, { inResult: true })
    return
  }
  if (isImage(part)) return add("image", at)
  if (isObject(reasoningContent)) {
    const { reasoningText } = reasoningContent
    return add("thinking", at, { text: isObject(reasoningText) ? (stringAt(reasoningText, "text") ?? "") : "" })
  }
  if (thinking !== undefined) return add("thinking", at, { text: textOf(thinking) })
  add(part["thought"] === true ? "thinking" : kind, at, { text: stringAt(part, "text") ?? "" })
}

const readCall = (call: JsonObject, at: number, add: Add): void => {
  const made = isObject(call["function"]) ? call["function"] : call
  const args = made["arguments"] ?? made["input"] ?? made["args"]
  const id = stringAt(call, "call_id") ?? stringAt(call, "toolUseId") ?? stringAt(call, "id") ?? ""
  add("call", at, { id, text: typeof args === "string" ? args : JSON.stringify(args) })
}

const readResult = (result: JsonObject, content: Json | undefined, at: number, add: Add): void => {
  const ids = ["tool_call_id", "toolCallId", "tool_use_id", "toolUseId", "call_id", "id"]
  const id = ids.flatMap((key) => stringAt(result, key) ?? [])[0] ?? ""
  const isError = result["is_error"] === true || result["status"] === "error"
  add("result", at, { id, isError, text: textOf(content) })
  for (const part of listOf(content)) if (isImage(part)) add("image", at, { inResult: true })
}

const textOf = (content: Json | undefined): string =>
  listOf(content)
    .flatMap((part) => (typeof part === "string" ? [part] : isObject(part) ? (stringAt(part, "text") ?? []) : []))
    .join("\n")

const isImage = (part: Json): boolean =>
  isObject(part) &&
  (part["inlineData"] !== undefined ||
    part["image"] !== undefined ||
    ["image", "image_url", "input_image"].includes(stringAt(part, "type") ?? ""))
