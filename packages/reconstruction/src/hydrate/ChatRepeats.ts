/** Which assistant chats of a thread only repeat what a mirrored Pi turn says already. */
import { isTextBlock } from "@pi-sessions/core/ContentBlock"
import { type ThreadEntry } from "../Thread.ts"

const normalise = (text: string): string => text.replace(/\s+/g, " ").trim()

const textOf = (entry: Extract<ThreadEntry, { readonly type: "pi.assistant" }>): string => {
  const { content } = entry.payload
  if (typeof content === "string") return normalise(content)
  return normalise(content.map((block) => (isTextBlock(block) ? block.text : "")).join("\n"))
}

/**
 * Ids of the chats to leave out. A turn accounts for one chat of the same text (white space aside), the nearest one in
 * the thread that is still free; a text said twice and mirrored once is said once more.
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
  /** How many turns of a text are claimed; chats come in order, so the turns before that are behind us. */
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
 * Who the mirrored Pi is among the thread's authors: those whose chats repeat its turns. Empty when none does; then
 * nobody can be told to be another agent.
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
