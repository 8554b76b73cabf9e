/**
 * Text that every reader can read. Truncated tool output holds lone surrogates (halves of a pair), which `JSON.stringify`
 * writes as `\ud83d` and which jq, serde and Python's writers refuse. Both Pis remove them from what they send, and so do
 * we. Names, ids and paths are not sent as text; in them a lone surrogate becomes U+FFFD, so that they stay distinct.
 */
import { type Json, type JsonObject, isArray } from "./Json.ts"

/** A JSON object without members that hold `undefined`. */
export type PlainObject = { readonly [key: string]: Json }

/**
 * Levels of objects and lists that a payload may have. Everything that is done to one calls itself for each level, and
 * readers of datasets do too (Python stops at 1,000); no tool asks for a tenth of that.
 */
export const MOST_LEVELS = 200

/** Whether a value has no more levels than that. */
export const isShallow = (value: Json | undefined, levels = MOST_LEVELS): boolean => {
  if (typeof value !== "object" || value === null) return true
  if (levels === 0) return false
  const members = isArray(value) ? value : Object.values(value)
  return members.every((member) => isShallow(member, levels - 1))
}

const LONE_SURROGATES = /\p{Surrogate}/gu

/** The text without lone surrogates, as `sanitizeSurrogates` of pi-ai gives it. */
export const text = (value: string): string => (value.isWellFormed() ? value : value.replace(LONE_SURROGATES, ""))

/** The value without lone surrogates in strings and keys. */
export const json = (value: Json): Json => {
  if (typeof value === "string") return text(value)
  if (typeof value !== "object" || value === null) return value
  return isArray(value) ? value.map(json) : object(value)
}

/** The object without lone surrogates in strings and keys. */
export const object = (value: JsonObject): PlainObject =>
  Object.fromEntries(
    Object.entries(value).flatMap(([key, member]): ReadonlyArray<readonly [string, Json]> =>
      member === undefined ? [] : [[text(key), json(member)]]
    )
  )

/** Whether all strings and keys of a value are well-formed. */
export const isWellFormed = (value: Json): boolean => {
  if (typeof value === "string") return value.isWellFormed()
  if (typeof value !== "object" || value === null) return true
  if (isArray(value)) return value.every(isWellFormed)
  return Object.entries(value).every(
    ([key, member]) => key.isWellFormed() && (member === undefined || isWellFormed(member))
  )
}
