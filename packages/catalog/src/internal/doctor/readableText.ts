/** What a person can read in a JSON value that is not what Pi expects, and what Pi makes of it where it wants text. */
import { type Json, isArray, isObject } from "@pi-sessions/core/Json"

/** Members that name, tie or carry things, and are no text to read. Whatever is below them is not text either. */
const TECHNICAL =
  /^(?:type|role|id|\w+Id|\w+_id|name|mimeType|mime_type|mediaType|media_type|encoding|format|url|uri|image_url|\w*[sS]ignature|redacted|cache_control)$/

/**
 * The readable texts of a value, in order: strings and, with `scalars`, numbers and booleans in place of a text. A walk
 * without recursion, since nothing limits how deep a file nests.
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

/** Numbers and booleans count only where Pi itself has text. */
const isTextMember = (key: string, value: Json | undefined): boolean => {
  if (typeof value === "number" || typeof value === "boolean")
    return key === "text" || key === "content" || key === "thinking"
  // Images and files are one long word.
  if (key === "data" && typeof value === "string") return /\s/.test(value)
  return !TECHNICAL.test(key)
}

/**
 * What JavaScript prints for a value within a text; undefined where it throws, as on `{"toString":1}`. Where it throws,
 * it does so too when it compares the value with a number, and when it makes a date of it.
 */
export const printed = (value: Json | undefined): string | undefined => {
  try {
    return String(value)
  } catch {
    return undefined
  }
}

/** Whether some readable text of a value is missing in what is sent in its place. Numbers are no loss. */
export const isLost = (value: Json | undefined, sent: string): boolean =>
  readableTexts(value, false).some((text) => !sent.includes(text))
