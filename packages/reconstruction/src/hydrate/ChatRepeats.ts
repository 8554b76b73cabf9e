/** Finds the assistant chats of a thread that only repeat a mirrored Pi turn. */
import { isTextBlock } from "@pi-sessions/core/payload/ContentBlock"
import { type ThreadEntry } from "../Thread.ts"

const normalise = (text: string): string => text.replace(/\s+/g, " ").trim()

const textOf = (entry: Extract<ThreadEntry, { readonly type: "pi.assistant" }>): string => {
  const { content } = entry.payload
  if (typeof content === "string") return normalise(content)
  return normalise(content.map((block) => (isTextBlock(block) ? block.text : "")).join("\n"))
}

/**
 * Ids of the repeating chats. Each turn is matched with at most one chat of the same text (white space aside), the
 * nearest free one. So of two equal chats with one turn, one stays.
 */
export const find = (entries: ReadonlyArray<ThreadEntry>): ReadonlySet<string> => {
  if (!entries.some((entry) => entry.type === "chat" && entry.payload.role === "assistant")) return new Set()
  const turns = new Map<string, Array<number>>()
  entries.forEach((entry, index) => {
    if (entry.type !== "pi.assistant") return
    const text = textOf(entry)
    if (text === "") return
    const same = turns.get(text)
    if (same === undefined) turns.set(text, [index])
    else same.push(index)
  })
  /** Index of the next free turn, by text. Chats come in order, so earlier turns are not needed again. */
  const claimed = new Map<string, number>()
  const repeats = new Set<string>()
  entries.forEach((entry, index) => {
    if (entry.type !== "chat" || entry.payload.role !== "assistant") return
    const text = normalise(entry.payload.text ?? "")
    const same = turns.get(text) ?? []
    let at = claimed.get(text) ?? 0
    while (at + 1 < same.length && Math.abs((same[at + 1] ?? 0) - index) < Math.abs((same[at] ?? 0) - index)) at++
    if (at >= same.length) return
    claimed.set(text, at + 1)
    repeats.add(entry.id)
  })
  return repeats
}

/**
 * Ids of the authors that are the mirrored Pi: their chats repeat its turns. When empty, no author is known to be another
 * agent.
 */
export const mirroredAuthors = (
  entries: ReadonlyArray<ThreadEntry>,
  repeats: ReadonlySet<string>
): ReadonlySet<string> =>
  new Set(
    entries.flatMap((entry) =>
      entry.type === "chat" && repeats.has(entry.id) && entry.payload.author?.id !== undefined
        ? [entry.payload.author.id]
        : []
    )
  )
