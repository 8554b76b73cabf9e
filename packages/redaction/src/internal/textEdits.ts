/** Applies replacements to a text. */
import { type TextEdit } from "@pi-sessions/core/SessionOutline"

/** `edits` must be sorted by start and must not overlap. */
export const edited = (text: string, edits: ReadonlyArray<TextEdit>): string => {
  if (edits.length === 0) return text
  const parts: Array<string> = []
  let from = 0
  for (const { by, end, start } of edits) {
    parts.push(text.slice(from, start), by)
    from = end
  }
  parts.push(text.slice(from))
  return parts.join("")
}
