/**
 * What is wrong with the blocks of a content, what each Pi does with it, and the blocks that Pi can read.
 *
 * What Pi does was read from its code (the conversion to a request, with the session's own model) and is held against
 * the real Pis by the tests, for each wrong value in each field.
 */
import { type Json, type JsonObject, isArray, isObject } from "@pi-sessions/core/Json"
import { type Reading, type Readings, type Sends, each, inBoth, reading, worse } from "./PiReading.ts"
import { isLost, printed, readableTexts } from "./readableText.ts"

export type BlockCode = "null-block" | "unknown-block" | "empty-block" | "odd-text" | "broken-call" | "missing-call-id"

export interface BlockFault {
  readonly code: BlockCode
  readonly reads: Readings
}

/** Whose content it is; `custom` is a custom_message's. */
export type ContentRole = "user" | "assistant" | "toolResult" | "custom"

const fault = (code: BlockCode, reads: Readings): BlockFault => ({ code, reads })

/** One fault of each kind, with the worst that any of its blocks leads to. */
export const look = (role: ContentRole, failed: boolean, content: ReadonlyArray<Json>): ReadonlyArray<BlockFault> => {
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
  // Pi takes whatever is no text for an image where a person speaks; of a result it leaves it out.
  return [fault("unknown-block", role === "toolResult" ? inBoth(lost) : inBoth(imageSends(block)))]
}

const isNothing = (value: Json | undefined): boolean => value === undefined || value === null

const isName = (value: Json | undefined): boolean => typeof value === "string" && value !== ""

const isImageLike = (block: Json): boolean => isObject(block) && isName(block["data"]) && isName(block["mimeType"])

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
  return [fault(isNothing(text) ? "empty-block" : "odd-text", textReads(role, failed, text))]
}

/** Of a text that is none. */
const textReads = (role: ContentRole, failed: boolean, text: Json | undefined): Readings => {
  const none = isNothing(text)
  if (role === "assistant") return failed ? inBoth("reads", none, none) : inBoth("crashes", none, none)
  if (role !== "toolResult") return each(reading("crashes"), none ? reading("crashes") : spokenReads(text))
  const joined = none ? "" : printed(text)
  return inBoth(joined === undefined ? "crashes" : isLost(text, joined) ? "loses" : "reads", none)
}

/** 1.5 leaves out a text without a length, and fails on one with a length. */
const spokenReads = (text: Json | undefined): Reading => {
  const length = isArray(text) ? text.length : isObject(text ?? null) ? Number(lengthOf(text)) : 0
  return reading(length > 0 ? "crashes" : isLost(text, "") ? "loses" : "reads")
}

const lengthOf = (value: Json | undefined): Json | undefined => {
  const length = value !== undefined && isObject(value) ? value["length"] : undefined
  return typeof length === "number" || typeof length === "string" ? length : undefined
}

/** Blocks that only an assistant's message has. */
const answerFault = (failed: boolean, block: Json): ReadonlyArray<BlockFault> => {
  const type = isObject(block) ? block["type"] : undefined
  if (isObject(block) && type === "thinking") return thinkingFault(failed, block)
  if (isObject(block) && type === "toolCall") return callFaults(failed, block)
  const isNameless = !isObject(block) || isNothing(block["name"])
  if (isArray(block)) return [fault("unknown-block", nestedReads(failed, block))]
  const sends = !failed && isLost(block, "") ? "loses" : "reads"
  return [fault("unknown-block", inBoth(sends, isNameless))]
}

/** Pi takes the blocks of a list within an answer for blocks of the answer, but no list within that list. */
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
    const none = isNothing(thinking)
    const isKept = Boolean(redacted) || Boolean(thinkingSignature)
    const isTrimmed = isKept ? !failed : Boolean(thinking)
    const sends = isTrimmed ? "crashes" : !failed && isLost(thinking, "") ? "loses" : "reads"
    faults.push(fault(none ? "empty-block" : "odd-text", inBoth(sends, none, none)))
  } else if (isArray(thinkingSignature) && thinkingSignature.length > 0 && thinking.trim() !== "" && !failed) {
    // 0.78 takes it for the name of a member.
    if (printed(thinkingSignature) === undefined)
      faults.push(fault("odd-text", each(reading("crashes"), reading("reads"))))
  }
  return faults
}

const callFaults = (failed: boolean, call: JsonObject): ReadonlyArray<BlockFault> => {
  const { arguments: given, id, name } = call
  const faults: Array<BlockFault> = []
  if (!isName(id)) faults.push(fault("missing-call-id", inBoth(failed ? "reads" : "missends")))
  if (isName(name) && given !== undefined) return faults
  const isCounted = isNothing(name) || given === undefined
  faults.push(fault("broken-call", inBoth(failed ? "reads" : "missends", isCounted, isCounted)))
  return faults
}

/** What stands for the name of a tool that a call does not name. */
const UNNAMED = "unknown"

/** The blocks that Pi can read, with all the text there is. */
export const mended = (role: ContentRole, content: ReadonlyArray<Json>): ReadonlyArray<Json> =>
  content.flatMap((block) => (faultsOf(role, false, block).length === 0 ? [block] : mendedBlock(role, block)))

/** Any value as blocks of text, one for each text in it. */
export const asText = (value: Json | undefined): ReadonlyArray<Json> =>
  readableTexts(value).map((text) => ({ type: "text", text }))

const mendedBlock = (role: ContentRole, block: Json): ReadonlyArray<Json> => {
  if (!isObject(block)) return asText(block)
  if (role === "assistant" && isCallLike(block)) {
    const { arguments: given, name } = block
    return [{ ...block, type: "toolCall", name: isName(name) ? name! : UNNAMED, arguments: given ?? {} }]
  }
  if (role !== "assistant" && isImageLike(block) && block["type"] !== "text") return [{ ...block, type: "image" }]
  if (block["type"] === "thinking" && typeof block["thinking"] === "string") {
    const { thinkingSignature: _, ...thinking } = block
    return [thinking]
  }
  return asText(block)
}

/** A call, or what was one before its type was lost. */
export const isCallLike = (block: JsonObject): boolean => {
  const { arguments: given, id, name, type } = block
  return type === "toolCall" || (isName(id) && isName(name) && given !== undefined && isObject(given))
}
