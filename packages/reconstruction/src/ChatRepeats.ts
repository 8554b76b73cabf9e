/** Which assistant chats of a thread only repeat what a mirrored Pi turn says already. */
import { isTextBlock } from "@pi-sessions/core/ContentBlock"
import { type ThreadEntry } from "./Thread.ts"

const normalise = (text: string): string => text.replace(/\s+/g, " ").trim()

const textOf = (entry: Extract<ThreadEntry, { readonly type: "pi.assistant" }>): string => {
  const { content } = entry.payload
  if (typeof content === "string") return normalise(content)
  return normalise(content.map((block) => (isTextBlock(block) ? block.text : "")).join("\n"))
}

/**
 * Ids of the chats to leave out. A turn accounts for one chat of the same text (white space aside), the nearest one in
 * the thread; a text said twice and mirrored once is said once more.
 */
export const find = (entries: ReadonlyArray<ThreadEntry>): ReadonlySet<string> => {
  const turns = new Map<string, Array<number>>()
  entries.forEach((entry, index) => {
    if (entry.type !== "pi.assistant") return
    const text = textOf(entry)
    if (text === "") return
    const same = turns.get(text)
    if (same === undefined) turns.set(text, [index])
    else same.push(index)
  })
  const repeats = new Set<string>()
  entries.forEach((entry, index) => {
    if (entry.type !== "chat" || entry.payload.role !== "assistant") return
    const unclaimed = turns.get(normalise(entry.payload.text ?? ""))
    if (unclaimed === undefined || unclaimed.length === 0) return
    let nearest = 0
    for (let i = 1; i < unclaimed.length; i++) {
      if (Math.abs((unclaimed[i] ?? 0) - index) < Math.abs((unclaimed[nearest] ?? 0) - index)) nearest = i
    }
    unclaimed.splice(nearest, 1)
    repeats.add(entry.id)
  })
  return repeats
}
