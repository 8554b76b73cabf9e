/** What is wrong with the blocks of a content, as far as a real Pi was seen to stumble over it. */
import { type Json, type JsonObject, isArray, isObject } from "@pi-sessions/core/Json"
import { type PiProfile } from "@pi-sessions/core/PiProfile"

export type BlockCode = "null-block" | "unknown-block" | "empty-block" | "broken-call"

/** What a Pi does with a block; `counts`: it fails only where it has to count the tokens of the block itself. */
export type Stumble = "crashes" | "counts" | "missends" | "reads"

export interface BlockFault {
  readonly code: BlockCode
  readonly does: { readonly [version in PiProfile]: Stumble }
}

/** Whose content it is; `custom` is a custom_message's. */
export type ContentRole = "user" | "assistant" | "toolResult" | "custom"

const STRONGEST: ReadonlyArray<Stumble> = ["crashes", "missends", "counts", "reads"]

const fault = (code: BlockCode, old: Stumble, now: Stumble): BlockFault => ({
  code,
  does: { "0.78": old, "1.5": now }
})

/** One fault of each kind, with the worst that any of its blocks leads to. */
export const look = (role: ContentRole, failed: boolean, content: ReadonlyArray<Json>): ReadonlyArray<BlockFault> => {
  let found: Map<BlockCode, BlockFault> | undefined
  for (const block of content) {
    const fault = faultOf(role, failed, block)
    if (fault === undefined) continue
    found ??= new Map()
    const known = found.get(fault.code)
    found.set(fault.code, known === undefined ? fault : worse(known, fault))
  }
  return found === undefined ? [] : [...found.values()]
}

const worse = (a: BlockFault, b: BlockFault): BlockFault => {
  const of = (version: PiProfile): Stumble =>
    STRONGEST.find((does) => does === a.does[version] || does === b.does[version]) ?? "reads"
  return fault(a.code, of("0.78"), of("1.5"))
}

const faultOf = (role: ContentRole, failed: boolean, block: Json): BlockFault | undefined => {
  if (block === null) return fault("null-block", "crashes", "crashes")
  if (isObject(block) && block["type"] === "text") return textFault(role, failed, block["text"])
  if (role === "assistant") return answerFault(failed, block)
  const isImage = isObject(block) && block["type"] === "image"
  // Of a result, what is neither text nor image is left out.
  if (role === "toolResult" && !isImage) return undefined
  if (isImage && typeof block["data"] === "string" && typeof block["mimeType"] === "string") return undefined
  return fault("unknown-block", "missends", "missends")
}

const isNothing = (value: Json | undefined): boolean => value === undefined || value === null

const textFault = (role: ContentRole, failed: boolean, text: Json | undefined): BlockFault | undefined => {
  if (typeof text === "string") return undefined
  const code = "empty-block"
  if (role === "toolResult") return isNothing(text) ? fault(code, "reads", "counts") : undefined
  if (role !== "assistant") return fault(code, "crashes", isNothing(text) ? "crashes" : "reads")
  if (failed) return fault(code, "reads", isNothing(text) ? "counts" : "reads")
  return fault(code, "crashes", "crashes")
}

/** Blocks that only an assistant's message has. */
const answerFault = (failed: boolean, block: Json): BlockFault | undefined => {
  const type = isObject(block) ? block["type"] : undefined
  if (isObject(block) && type === "thinking") {
    const { thinking } = block
    if (typeof thinking === "string") return undefined
    return isNothing(thinking) ? fault("empty-block", "reads", "counts") : fault("empty-block", "crashes", "crashes")
  }
  if (!isObject(block) || type !== "toolCall") return fault("unknown-block", "reads", "counts")
  const { arguments: given, id, name } = block
  if (typeof id === "string" && typeof name === "string" && given !== undefined) return undefined
  const isCountable = !isNothing(name) && given !== undefined
  if (failed) return fault("broken-call", "reads", isCountable ? "reads" : "counts")
  return fault("broken-call", "missends", isCountable ? "missends" : "counts")
}

/** What stands for the name of a tool that a call does not name. */
const UNNAMED = "unknown"

/** The blocks that Pi can read, with all the text there is. */
export const mended = (role: ContentRole, content: Json | undefined): ReadonlyArray<Json> =>
  isArray(content)
    ? content.flatMap((block) => (faultOf(role, false, block) === undefined ? [block] : mendedBlock(block)))
    : []

const mendedBlock = (block: Json): ReadonlyArray<Json> => {
  if (typeof block === "string") return [{ type: "text", text: block }]
  if (!isObject(block)) return []
  if (block["type"] === "toolCall") return mendedCall(block)
  const member = block["type"] === "thinking" ? "thinking" : "text"
  const text = block["type"] === member ? block[member] : undefined
  return typeof text === "number" || typeof text === "boolean" ? [{ ...block, [member]: String(text) }] : []
}

/** A call without an id cannot be answered, and is left out. */
const mendedCall = (call: JsonObject): ReadonlyArray<Json> => {
  const { arguments: given, id, name } = call
  if (typeof id !== "string") return []
  return [{ ...call, name: typeof name === "string" ? name : UNNAMED, arguments: given === undefined ? {} : given }]
}
