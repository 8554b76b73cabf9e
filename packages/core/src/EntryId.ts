/**
 * Ids for entries that this library makes. Pi draws eight random hexadecimal digits; these have the same form but are
 * derived from what the entry stands for, so that the same input gives the same bytes.
 */
import { type Json } from "./Json.ts"
import { sha256Hex } from "./internal/hash.ts"

/**
 * The id that an `id`, `parentId`, `targetId` or `firstKeptEntryId` names, or null if it names none. Pi accepts any JSON
 * value: numbers and `true` link entries like strings do, but `5` is not `"5"`, so they read as `#5` and `#true`.
 * Objects and arrays equal nothing, and Pi follows no link to `false`, 0 or null.
 */
export const read = (value: Json | undefined): string | null => {
  if (typeof value === "string") return value
  return value === true || (typeof value === "number" && value !== 0) ? `#${value}` : null
}

/** An id derived from `parts` that `taken` does not know yet: eight digits, more where they collide. */
export const derive = (taken: { has(id: string): boolean }, ...parts: ReadonlyArray<string | Uint8Array>): string => {
  const digits = sha256Hex(...parts)
  for (let length = 8; length <= digits.length; length += 4) {
    const id = digits.slice(0, length)
    if (!taken.has(id)) return id
  }
  return derive(taken, digits, ...parts)
}

/** A session id derived from `parts`, in the form of a UUID (version 8: made by rules of our own). */
export const deriveSessionId = (...parts: ReadonlyArray<string | Uint8Array>): string => {
  const d = sha256Hex(...parts)
  const variant = ((Number.parseInt(d.slice(16, 17), 16) & 3) | 8).toString(16)
  return `${d.slice(0, 8)}-${d.slice(8, 12)}-8${d.slice(13, 16)}-${variant}${d.slice(17, 20)}-${d.slice(20, 32)}`
}
