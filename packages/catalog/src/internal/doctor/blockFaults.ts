/**
 * Finds and repairs faults in the blocks of a content, and says what each Pi does with them.
 *
 * The reactions follow Pi's conversion of a session to a request. Tests compare them with the real Pis for every wrong
 * value in every field.
 */
import { type Json, type JsonObject, isArray, isObject } from "@pi-sessions/core/Json"
import { type Reading, type Readings, type Sends, each, inBoth, reading, worse } from "./PiReading.ts"
import { isAbsent, isLost, printed, readableTexts } from "./readableText.ts"

export type BlockCode = "null-block" | "unknown-block" | "empty-block" | "odd-text" | "broken-call" | "missing-call-id"

export interface BlockFault {
  readonly code: BlockCode
  readonly reads: Readings
}

/** The role of the message with the content; `custom` for a custom_message. */
export type ContentRole = "user" | "assistant" | "toolResult" | "custom"

const fault = (code: BlockCode, reads: Readings): BlockFault => ({ code, reads })

/** The faults of a content: one of each kind, with the worst reaction to any of its blocks. */
export const faultsIn = (
  role: ContentRole,
  failed: boolean,
  content: ReadonlyArray<Json>
): ReadonlyArray<BlockFault> => {
  let found: Map<BlockCode, BlockFault> | undefined
  for (const block of content) {
    for (const one of faultsOf(role, failed, block)) {
      found ??= new Map()
      const known = found.get(one.code)
      found.set(one.code, known === undefined ? one : fault(one.code, worse(known.reads, one.reads)))
    }
  }
  return found === undefined ? NONE : [...found.values()]
}

const NONE: ReadonlyArray<never> = []

const faultsOf = (role: ContentRole, failed: boolean, block: Json): ReadonlyArray<BlockFault> => {
  if (block === null) return [fault("null-block", inBoth("crashes"))]
  if (isObject(block) && block["type"] === "text") return textFault(role, failed, block["text"])
  if (role === "assistant") return answerFault(failed, block)
  const isImage = isObject(block) && block["type"] === "image"
  if (isImage || (role !== "toolResult" && isImageLike(block))) return imageFault(block)
  const lost = isLost(block, "") ? "loses" : "reads"
  // Pi sends any block that is not text as an image in user messages, and omits it in tool results.
  return [fault("unknown-block", role === "toolResult" ? inBoth(lost) : inBoth(imageSends(block)))]
}

const isNonEmpty = (value: Json | undefined): boolean => typeof value === "string" && value !== ""

const isImageLike = (block: Json): boolean =>
  isObject(block) && isNonEmpty(block["data"]) && isNonEmpty(block["mimeType"])

const imageFault = (block: Json): ReadonlyArray<BlockFault> => {
  if (!isImageLike(block)) return [fault("unknown-block", inBoth(imageSends(block)))]
  return isObject(block) && block["type"] === "image" ? NONE : [fault("unknown-block", inBoth("reads"))]
}

const imageSends = (block: Json): Sends => {
  const { data, mimeType } = isObject(block) ? block : {}
  return printed(data) === undefined || printed(mimeType) === undefined ? "crashes" : "missends"
}

const textFault = (role: ContentRole, failed: boolean, text: Json | undefined): ReadonlyArray<BlockFault> => {
  if (typeof text === "string") return NONE
  return [fault(isAbsent(text) ? "empty-block" : "odd-text", textReads(role, failed, text))]
}

/** Reactions to a text that is not a string. */
const textReads = (role: ContentRole, failed: boolean, text: Json | undefined): Readings => {
  const none = isAbsent(text)
  if (role === "assistant") return failed ? inBoth("reads", none, none) : inBoth("crashes", none, none)
  if (role !== "toolResult") return each(reading("crashes"), none ? reading("crashes") : spokenReads(text))
  const joined = none ? "" : printed(text)
  return inBoth(joined === undefined ? "crashes" : isLost(text, joined) ? "loses" : "reads", none)
}

/** 1.5 omits a text without a length, and fails on one with a length. */
const spokenReads = (text: Json | undefined): Reading => {
  const length = isArray(text) ? text.length : isObject(text ?? null) ? Number(lengthOf(text)) : 0
  return reading(length > 0 ? "crashes" : isLost(text, "") ? "loses" : "reads")
}

const lengthOf = (value: Json | undefined): Json | undefined => {
  const length = value !== undefined && isObject(value) ? value["length"] : undefined
  return typeof length === "number" || typeof length === "string" ? length : undefined
}

/** Faults of blocks in an assistant's message. */
const answerFault = (failed: boolean, block: Json): ReadonlyArray<BlockFault> => {
  const type = isObject(block) ? block["type"] : undefined
  if (isObject(block) && type === "thinking") return thinkingFault(failed, block)
  if (isObject(block) && type === "toolCall") return callFaults(failed, block)
  const isNameless = !isObject(block) || isAbsent(block["name"])
  if (isArray(block)) return [fault("unknown-block", nestedReads(failed, block))]
  const sends = !failed && isLost(block, "") ? "loses" : "reads"
  return [fault("unknown-block", inBoth(sends, isNameless))]
}

/** Pi flattens a list of blocks within an answer, but not lists within that list. */
const nestedReads = (failed: boolean, blocks: ReadonlyArray<Json>): Readings => {
  let reads = inBoth("reads", true)
  if (failed) return reads
  for (const block of blocks) {
    if (isArray(block)) reads = worse(reads, inBoth(isLost(block, "") ? "loses" : "reads"))
    else for (const inner of faultsOf("assistant", false, block)) reads = worse(reads, inBoth(inner.reads["1.5"].sends))
  }
  return reads
}

const thinkingFault = (failed: boolean, block: JsonObject): ReadonlyArray<BlockFault> => {
  const { redacted, thinking, thinkingSignature } = block
  const faults: Array<BlockFault> = []
  if (typeof thinking !== "string") {
    const none = isAbsent(thinking)
    const isKept = Boolean(redacted) || Boolean(thinkingSignature)
    const isTrimmed = isKept ? !failed : Boolean(thinking)
    const sends = isTrimmed ? "crashes" : !failed && isLost(thinking, "") ? "loses" : "reads"
    faults.push(fault(none ? "empty-block" : "odd-text", inBoth(sends, none, none)))
  } else if (isArray(thinkingSignature) && thinkingSignature.length > 0 && thinking.trim() !== "" && !failed) {
    // 0.78 uses it as a key.
    if (printed(thinkingSignature) === undefined)
      faults.push(fault("odd-text", each(reading("crashes"), reading("reads"))))
  }
  return faults
}

const callFaults = (failed: boolean, call: JsonObject): ReadonlyArray<BlockFault> => {
  const { arguments: given, id, name } = call
  const faults: Array<BlockFault> = []
  if (!isNonEmpty(id)) faults.push(fault("missing-call-id", inBoth(failed ? "reads" : "missends")))
  if (isNonEmpty(name) && given !== undefined) return faults
  const isCounted = isAbsent(name) || given === undefined
  faults.push(fault("broken-call", inBoth(failed ? "reads" : "missends", isCounted, isCounted)))
  return faults
}

/** Replaces a missing tool name. */
const UNNAMED = "unknown"

/** The content as blocks that Pi can read, with all readable text. */
export const mended = (role: ContentRole, content: ReadonlyArray<Json>): ReadonlyArray<Json> =>
  content.flatMap((block) => (faultsOf(role, false, block).length === 0 ? [block] : mendedBlock(role, block)))

/** Converts any value to blocks of text, one for each readable text in it. */
export const asText = (value: Json | undefined): ReadonlyArray<Json> =>
  readableTexts(value).map((text) => ({ type: "text", text }))

const mendedBlock = (role: ContentRole, block: Json): ReadonlyArray<Json> => {
  if (!isObject(block)) return asText(block)
  if (role === "assistant" && isCallLike(block)) {
    const { arguments: given, name } = block
    return [{ ...block, type: "toolCall", name: isNonEmpty(name) ? name! : UNNAMED, arguments: given ?? {} }]
  }
  if (role !== "assistant" && isImageLike(block) && block["type"] !== "text") return [{ ...block, type: "image" }]
  if (block["type"] === "thinking" && typeof block["thinking"] === "string") {
    const { thinkingSignature: _, ...thinking } = block
    return [thinking]
  }
  return asText(block)
}

/** Whether a block is a call, or was one before it lost its type. */
export const isCallLike = (block: JsonObject): boolean => {
  const { arguments: given, id, name, type } = block
  return type === "toolCall" || (isNonEmpty(id) && isNonEmpty(name) && given !== undefined && isObject(given))
}
