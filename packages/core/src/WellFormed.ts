/**
 * Well-formed text. Truncated tool output contains lone surrogates (halves of a pair), which `JSON.stringify` writes as
 * `\ud83d` and which jq, serde and Python's writers reject. They are removed from text, as both Pis do before sending it.
 */
import { type Json, type JsonObject, isArray } from "./Json.ts"

/** A JSON object without members that hold `undefined`. */
export type PlainObject = { readonly [key: string]: Json }

/**
 * Most levels of objects and lists in a payload. Functions on payloads are recursive, and so are readers of datasets
 * (Python's limit is 1,000). Real tools use less than a tenth.
 */
export const MOST_LEVELS = 200

/** Whether a value has at most so many levels. */
export const isShallow = (value: Json | undefined, levels = MOST_LEVELS): boolean => {
  if (typeof value !== "object" || value === null) return true
  if (levels === 0) return false
  const members = isArray(value) ? value : Object.values(value)
  return members.every((member) => isShallow(member, levels - 1))
}

const LONE_SURROGATES = /\p{Surrogate}/gu

/** The text without lone surrogates, as of `sanitizeSurrogates` of pi-ai. */
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
