/**
 * Text that every reader can read. Truncated tool output holds halves of surrogate pairs, which `JSON.stringify` writes
 * as `\ud83d` and which jq, serde and Python's writers refuse; they become U+FFFD.
 */
import { type Json, type JsonObject, isArray } from "@pi-sessions/core/Json"

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

/** The value with all its strings and keys well-formed. */
export const json = (value: Json): Json => {
  if (typeof value === "string") return value.toWellFormed()
  if (typeof value !== "object" || value === null) return value
  return isArray(value) ? value.map(json) : object(value)
}

/** The object with all its strings and keys well-formed. */
export const object = (value: JsonObject): PlainObject =>
  Object.fromEntries(
    Object.entries(value).flatMap(([key, member]): ReadonlyArray<readonly [string, Json]> =>
      member === undefined ? [] : [[key.toWellFormed(), json(member)]]
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
