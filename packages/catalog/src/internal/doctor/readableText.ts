/** Finds readable text in unexpected JSON values, and what JavaScript prints for them. */
import { type Json, isArray, isObject } from "@pi-sessions/core/Json"

export const isAbsent = (value: Json | undefined): value is null | undefined => value === undefined || value === null

/** Members whose values, at any depth, are technical and not readable text. */
const TECHNICAL =
  /^(?:type|role|id|\w+Id|\w+_id|name|mimeType|mime_type|mediaType|media_type|encoding|format|url|uri|image_url|\w*[sS]ignature|redacted|cache_control)$/

/**
 * The readable texts of a value, in order: strings and, with `scalars`, numbers and booleans in place of a text. Not
 * recursive, because a file may be nested deeper than the stack.
 */
export const readableTexts = (value: Json | undefined, scalars = true): ReadonlyArray<string> => {
  const texts: Array<string> = []
  const open: Array<Json | undefined> = [value]
  while (open.length > 0) {
    const next = open.pop()
    if (typeof next === "string") {
      if (next.trim() !== "") texts.push(next)
    } else if (typeof next === "number" || typeof next === "boolean") {
      if (scalars) texts.push(String(next))
    } else if (isArray(next)) for (let at = next.length - 1; at >= 0; at--) open.push(next[at])
    else if (next !== undefined && isObject(next)) {
      const members = Object.entries(next).toReversed()
      for (const [key, inner] of members) if (isTextMember(key, inner)) open.push(inner)
    }
  }
  return texts
}

/** Whether a member is readable. Numbers and booleans are only where Pi expects text. */
const isTextMember = (key: string, value: Json | undefined): boolean => {
  if (typeof value === "number" || typeof value === "boolean")
    return key === "text" || key === "content" || key === "thinking"
  // The data of images and files contains no space.
  if (key === "data" && typeof value === "string") return /\s/.test(value)
  return !TECHNICAL.test(key)
}

/**
 * The result of JavaScript's conversion to a string; undefined if that throws, as for `{"toString":1}`. Then comparing
 * the value with a number and converting it to a date throw too.
 */
export const printed = (value: Json | undefined): string | undefined => {
  try {
    return String(value)
  } catch {
    return undefined
  }
}

/** Whether a readable text of a value is missing in `sent`. Numbers do not count. */
export const isLost = (value: Json | undefined, sent: string): boolean =>
  readableTexts(value, false).some((text) => !sent.includes(text))
