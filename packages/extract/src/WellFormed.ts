/**
 * Text that every reader can read. Truncated tool output holds halves of surrogate pairs, which `JSON.stringify` writes
 * as `\ud83d` and which jq, serde and Python's writers refuse; they become U+FFFD.
 */
import { type Json, type JsonObject, isArray } from "@pi-sessions/core/Json"

/** A JSON object without members that hold `undefined`. */
export type PlainObject = { readonly [key: string]: Json }

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
