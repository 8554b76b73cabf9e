/**
 * Reads the ids of entries, and derives ids for new ones. Pi's ids are eight random hexadecimal digits; derived ids have the
 * same form, and the same input gives the same id.
 */
import { type Json } from "./Json.ts"
import { sha256Hex } from "./internal/hash.ts"

/**
 * The id in an `id`, `parentId`, `targetId` or `firstKeptEntryId`; null when it links to no entry. Pi accepts any JSON
 * value: numbers and `true` link entries as strings do, but `5` is not `"5"`, so they read as `#5` and `#true`. Objects
 * and arrays equal no id, and Pi ignores links to `false`, 0 and null.
 */
export const read = (value: Json | undefined): string | null => {
  if (typeof value === "string") return value
  return value === true || (typeof value === "number" && value !== 0) ? `#${value}` : null
}

/** An id derived from `parts` that is not in `taken`: eight hexadecimal digits, more where they collide. */
export const derive = (taken: { has(id: string): boolean }, ...parts: ReadonlyArray<string | Uint8Array>): string => {
  const digits = sha256Hex(...parts)
  for (let length = 8; length <= digits.length; length += 4) {
    const id = digits.slice(0, length)
    if (!taken.has(id)) return id
  }
  return derive(taken, digits, ...parts)
}

/** A session id derived from `parts`, in the form of a UUID (version 8: custom). */
export const deriveSessionId = (...parts: ReadonlyArray<string | Uint8Array>): string => {
  const d = sha256Hex(...parts)
  const variant = ((Number.parseInt(d.slice(16, 17), 16) & 3) | 8).toString(16)
  return `${d.slice(0, 8)}-${d.slice(8, 12)}-8${d.slice(13, 16)}-${variant}${d.slice(17, 20)}-${d.slice(20, 32)}`
}
