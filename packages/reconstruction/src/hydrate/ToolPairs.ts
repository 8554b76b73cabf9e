/**
 * Pairs tool results with tool calls in a thread. A result may be anywhere after its call, since users may write in
 * between. Calls without an id (some session files have `"id": ""`) are paired by order and tool name and get a derived
 * id. A failed or aborted turn gets no results, because Pi leaves it out of later requests.
 */
import * as EntryId from "@pi-sessions/core/EntryId"
import { type ToolCallBlock, type UnknownBlock } from "@pi-sessions/core/payload/ContentBlock"
import { type Json, type JsonObject, isObject, isOptional } from "@pi-sessions/core/Json"
import { type ThreadEntry } from "../Thread.ts"
import { parseJson } from "../internal/parseJson.ts"

type Assistant = Extract<ThreadEntry, { readonly type: "pi.assistant" }>
type Result = Extract<ThreadEntry, { readonly type: "pi.tool_result" }>

/** A call block of an assistant turn and its result. */
export interface ToolPair {
  readonly block: ToolCallBlock
  /** The call's own id; a derived one when that is empty or used before in the turn. */
  readonly id: string
  readonly result: Result | undefined
}

export interface ToolPairs {
  /** Calls of each assistant entry (by its id), in order. */
  readonly byAssistant: ReadonlyMap<string, ReadonlyArray<ToolPair>>
  /** Ids of result entries that answer a call. */
  readonly answering: ReadonlySet<string>
}

/** Whether Pi leaves this turn out of later requests. */
export const hasFailed = (assistant: Assistant): boolean =>
  assistant.payload.stopReason === "error" || assistant.payload.stopReason === "aborted"

export const pair = (entries: ReadonlyArray<ThreadEntry>): ToolPairs => {
  const byAssistant = new Map<string, ReadonlyArray<Call>>()
  const answering = new Set<string>()
  const open = new OpenCalls()
  for (const entry of entries) {
    if (entry.type === "pi.assistant") {
      const calls = callsOf(entry)
      byAssistant.set(entry.id, calls)
      if (!hasFailed(entry)) open.add(calls)
    } else if (entry.type === "pi.tool_result") {
      const call = open.take(entry)
      if (call === undefined) continue
      call.result = entry
      answering.add(entry.id)
    }
  }
  return { byAssistant, answering }
}

interface Call {
  readonly block: ToolCallBlock
  /** The id in the thread, which may be empty. */
  readonly writtenId: string
  readonly id: string
  result: Result | undefined
}

/** The calls without a result so far. */
class OpenCalls {
  /** By id: a list for each turn, newest turn last, oldest call first. */
  readonly #byId = new Map<string, Array<Array<Call>>>()
  /** Calls without an id, by tool name, oldest first. */
  readonly #byName = new Map<string, Array<Call>>()

  /** Adds the calls of a turn. */
  add(calls: ReadonlyArray<Call>): void {
    const turn = new Map<string, Array<Call>>()
    for (const call of calls) {
      const [into, key] = call.writtenId === "" ? [this.#byName, call.block.name] : [turn, call.writtenId]
      const same = into.get(key)
      if (same === undefined) into.set(key, [call])
      else same.push(call)
    }
    for (const [id, own] of turn) {
      const turns = this.#byId.get(id)
      if (turns === undefined) this.#byId.set(id, [own])
      else turns.push(own)
    }
  }

  /** The call of a result: with an id, the oldest open call of the newest turn; without, the oldest of that tool. */
  take({ payload: { toolCallId = "", toolName } }: Result): Call | undefined {
    if (toolCallId !== "") {
      const turns = this.#byId.get(toolCallId)
      const call = turns?.at(-1)?.shift()
      if (turns?.at(-1)?.length === 0) turns.pop()
      return call
    }
    const name = toolName ?? [...this.#byName].find(([, calls]) => calls.length > 0)?.[0]
    return name === undefined ? undefined : this.#byName.get(name)?.shift()
  }
}

/**
 * A `toolCall` block as Pi writes it; undefined for other blocks. Mirrors may omit the id, which is empty then, and may
 * give the arguments as JSON text.
 */
export const callBlock = (block: UnknownBlock): ToolCallBlock | undefined => {
  if (block.type !== "toolCall") return undefined
  const { id, name, arguments: given }: { readonly [Key in keyof ToolCallBlock]?: Json } = { ...block }
  if (typeof name !== "string" || (id !== null && !isOptional(id, "string"))) return undefined
  return { ...block, type: "toolCall", name, id: typeof id === "string" ? id : "", arguments: argumentsOf(given) }
}

const argumentsOf = (value: Json | undefined): JsonObject => {
  if (isObject(value)) return value
  if (typeof value !== "string") return {}
  const parsed = parseJson(value)
  return isObject(parsed) ? parsed : { arguments: value }
}

const callsOf = (assistant: Assistant): ReadonlyArray<Call> => {
  const { content } = assistant.payload
  if (typeof content === "string") return []
  const used = new Set<string>()
  return content.flatMap((one, index) => {
    const block = callBlock(one)
    if (block === undefined) return []
    const writtenId = block.id
    const id =
      writtenId !== "" && !used.has(writtenId)
        ? writtenId
        : `call_${EntryId.derive(used, assistant.id, "toolCall", String(index))}`
    used.add(id)
    return [{ block, writtenId, id, result: undefined }]
  })
}
