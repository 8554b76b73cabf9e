/** Values as JSON text. `JSON.parse` takes any depth, `JSON.stringify` overflows the stack at a few thousand levels. */
import { type Json, isArray, isObject } from "@pi-sessions/core/Json"

const MOST_LEVELS = 500

/** Whether a value is nested deeper than anything that is meant to be read. */
export const isTooDeep = (value: Json | undefined, levels = MOST_LEVELS): boolean => {
  if (isArray(value)) return levels === 0 || value.some((item) => isTooDeep(item, levels - 1))
  return isObject(value) && (levels === 0 || Object.values(value).some((item) => isTooDeep(item, levels - 1)))
}

export const shownJson = (value: Json): string =>
  isTooDeep(value) ? '"nested too deeply to be shown"' : JSON.stringify(value)
