/**
 * Text of any value that `JSON.parse` returns. `JSON.parse` reads any depth, but `JSON.stringify` and `String` overflow the
 * stack at a few thousand levels, and `String` throws on `{"toString":1}`.
 */
import { type Json, type JsonObject, isArray } from "./Json.ts"

/** As `JSON.stringify`, at any depth. */
export const stringify = (value: Json): string => {
  try {
    return JSON.stringify(value)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return written(value)
  }
}

/** As `String`, like Pi's template literals. Where `String` throws, and Pi with it, returns the JSON text. */
export const textOf = (value: Json | undefined): string => {
  if (typeof value !== "object" || value === null) return String(value)
  try {
    return String(value)
  } catch {
    return stringify(value)
  }
}

/** An object or array that is being written: its keys, its members and the number of written members. */
interface Level {
  readonly keys: ReadonlyArray<string> | undefined
  readonly members: ReadonlyArray<Json>
  at: number
}

const levelOf = (value: ReadonlyArray<Json> | JsonObject): Level => {
  if (isArray(value)) return { keys: undefined, members: value, at: 0 }
  const keys = Object.keys(value).filter((key) => value[key] !== undefined)
  return { keys, members: keys.map((key) => value[key] ?? null), at: 0 }
}

const written = (value: Json): string => {
  const parts: Array<string> = []
  const levels: Array<Level> = []
  const begin = (member: Json): void => {
    if (typeof member !== "object" || member === null) return void parts.push(JSON.stringify(member))
    levels.push(levelOf(member))
    parts.push(isArray(member) ? "[" : "{")
  }
  begin(value)
  for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
    const { keys, members, at } = level
    const member = members[at]
    if (at === members.length || member === undefined) {
      parts.push(keys === undefined ? "]" : "}")
      levels.pop()
      continue
    }
    if (at > 0) parts.push(",")
    if (keys !== undefined) parts.push(`${JSON.stringify(keys[at])}:`)
    level.at++
    begin(member)
  }
  return parts.join("")
}
