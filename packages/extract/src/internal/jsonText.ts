/** JSON that stands as text inside of JSON, as several trainers want it. */
import { type Json, type JsonObject, isObject } from "@pi-sessions/core/Json"

/** The value; undefined when the text is no JSON. */
export const parse = (text: string): Json | undefined => {
  try {
    const value: Json = JSON.parse(text)
    return value
  } catch {
    return undefined
  }
}

/** The object; undefined when the text is no JSON of one. */
export const parseObject = (text: string): JsonObject | undefined => {
  const value = parse(text)
  return isObject(value) ? value : undefined
}
