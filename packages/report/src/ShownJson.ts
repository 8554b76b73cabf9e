/** JSON text of values of any depth: `JSON.stringify` overflows the stack at a few thousand levels. */
import { type Json, type JsonObject, isArray, isObject } from "@pi-sessions/core/Json"

/** Deeper values are replaced by a note. */
const MOST_LEVELS = 500

/** Whether a value is nested deeper than `levels`. Default: 500. */
export const isTooDeep = (value: Json | undefined, levels = MOST_LEVELS): boolean => {
  if (isArray(value)) return levels === 0 || value.some((item) => isTooDeep(item, levels - 1))
  return isObject(value) && (levels === 0 || Object.values(value).some((item) => isTooDeep(item, levels - 1)))
}

const TOO_DEEP = "nested too deeply to be shown"

/** Replaces what is nested too deeply by a note, so that recursion over the result cannot overflow the stack. */
export const shallow = (value: JsonObject): JsonObject => (isTooDeep(value) ? shallowObject(value, MOST_LEVELS) : value)

const shallowObject = (value: JsonObject, levels: number): JsonObject =>
  Object.fromEntries(Object.entries(value).map(([key, member]) => [key, shallowValue(member, levels - 1)]))

const shallowValue = (value: Json | undefined, levels: number): Json | undefined => {
  if (!isArray(value) && !isObject(value)) return value
  if (levels === 0) return TOO_DEEP
  return isArray(value) ? value.map((item) => shallowValue(item, levels - 1) ?? null) : shallowObject(value, levels)
}

/** JSON text, or a note for a value that is nested too deeply. */
export const shownJson = (value: Json): string => (isTooDeep(value) ? JSON.stringify(TOO_DEEP) : JSON.stringify(value))
