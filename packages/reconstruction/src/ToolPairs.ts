/**
 * Which tool result answers which tool call in a thread. Results are looked for after their call wherever they stand
 * (a person may have written in between). Calls without an id (seed 004) are paired by order and tool name and get a
 * derived id. A turn that ended in an error or was aborted has no results: Pi leaves it out of later requests.
 */
import * as EntryId from "@pi-sessions/core/EntryId"
import { isToolCallBlock, type ToolCallBlock } from "@pi-sessions/core/ContentBlock"
import { type ThreadEntry } from "./Thread.ts"

type Assistant = Extract<ThreadEntry, { readonly type: "pi.assistant" }>
type Result = Extract<ThreadEntry, { readonly type: "pi.tool_result" }>

/** A call block of an assistant turn and what answered it. */
export interface ToolPair {
  readonly block: ToolCallBlock
  /** The call's own id, or a derived one where that is empty or taken in the same turn. */
  readonly id: string
  readonly result: Result | undefined
}

export interface ToolPairs {
  /** Calls of each assistant entry (by its id), in order. */
  readonly byAssistant: ReadonlyMap<string, ReadonlyArray<ToolPair>>
  /** Ids of result entries that answer a call. */
  readonly answering: ReadonlySet<string>
}

/** Whether Pi would leave this turn out of later requests. */
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
      if (!hasFailed(entry)) for (const call of calls) open.add(call)
    } else if (entry.type === "pi.tool_result") {
      const call = open.take(entry)
      if (call === undefined) continue
      call.result = entry
      answering.add(entry.id)
    }
  }
  return { byAssistant, answering }
}

/** A pair in the making. */
interface Call {
  readonly block: ToolCallBlock
  readonly id: string
  result: Result | undefined
}

/** The calls that wait for their results. */
class OpenCalls {
  /** Newest last. */
  readonly #byId = new Map<string, Array<Call>>()
  /** Those without an id by tool name, oldest first. */
  readonly #byName = new Map<string, Array<Call>>()

  add(call: Call): void {
    const { id, name } = call.block
    const [calls, key] = id === "" ? [this.#byName, name] : [this.#byId, id]
    const same = calls.get(key)
    if (same === undefined) calls.set(key, [call])
    else same.push(call)
  }

  /** By id the newest open call; without one the oldest of that tool that has no id either. */
  take({ payload: { toolCallId = "", toolName } }: Result): Call | undefined {
    if (toolCallId !== "") return this.#byId.get(toolCallId)?.pop()
    const name = toolName ?? [...this.#byName].find(([, calls]) => calls.length > 0)?.[0]
    return name === undefined ? undefined : this.#byName.get(name)?.shift()
  }
}

const callsOf = (assistant: Assistant): ReadonlyArray<Call> => {
  const { content } = assistant.payload
  if (typeof content === "string") return []
  const used = new Set<string>()
  return content.flatMap((block, index) => {
    if (!isToolCallBlock(block)) return []
    const id =
      block.id !== "" && !used.has(block.id)
        ? block.id
        : `call_${EntryId.derive(used, assistant.id, "toolCall", String(index))}`
    used.add(id)
    return [{ block, id, result: undefined }]
  })
}
