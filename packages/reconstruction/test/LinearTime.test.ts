/** Readers of this package take a number of steps proportional to their text. */
import { assert, describe, it } from "@effect/vitest"
import { StepCounter } from "@pi-sessions/testing/steps/StepCounter"
import { type TextReader, hostileTexts, steepTexts } from "@pi-sessions/testing/steps/StepGrowth"

const counter = new StepCounter()
const ThreadReader = await import("../src/ThreadReader.ts")
const ThreadPage = await import("../src/thread/ThreadPage.ts")
const ChatRepeats = await import("../src/hydrate/ChatRepeats.ts")
const SemanticHydration = await import("../src/hydrate/SemanticHydration.ts")
const ToolPairs = await import("../src/hydrate/ToolPairs.ts")

const base = { threadId: "t", timestamp: "2026-01-01T00:00:00.000Z" }

/** The text in pieces: chats, answers, calls without results, results without calls. */
const threadOf = (text: string): string =>
  Array.from({ length: Math.ceil(text.length / 64) }, (_, at) => {
    const piece = text.slice(at * 64, at * 64 + 64)
    const entry = { ...base, id: `e${at}`, seq: at + 1 }
    switch (at % 4) {
      case 0:
        return { ...entry, type: "chat", payload: { role: at % 8 === 0 ? "user" : "assistant", text: piece } }
      case 1:
        return {
          ...entry,
          type: "pi.assistant",
          payload: {
            content: [
              { type: "text", text: piece },
              { type: "toolCall", id: piece.slice(0, 4), name: "a", arguments: {} }
            ]
          }
        }
      case 2:
        return { ...entry, type: "pi.chunk", payload: { messageId: "m", index: at, delta: piece } }
      default:
        return {
          ...entry,
          type: "pi.tool_result",
          payload: { toolCallId: piece.slice(0, 4), toolName: "a", content: [{ type: "text", text: piece }] }
        }
    }
  })
    .map((line) => JSON.stringify(line))
    .join("\n")

/** Results without calls, then compactions that keep from the first result. With `omit` no result becomes an entry. */
const compactionsAfterGap = (text: string): string =>
  Array.from({ length: text.length }, (_, at, half = text.length / 2) => {
    const entry = { ...base, id: `e${at}`, seq: at + 1 }
    if (at === 0) return { ...entry, type: "chat", payload: { role: "user", text: "go" } }
    return at < half
      ? { ...entry, type: "pi.tool_result", payload: { toolCallId: `c${at}`, toolName: "a", content: [] } }
      : { ...entry, type: "pi.compaction", payload: { summary: "done", keptFrom: "e1", tokensBefore: 1 } }
  })
    .map((line) => JSON.stringify(line))
    .join("\n")

const attempt = (work: () => unknown): void => {
  try {
    work()
  } catch (error) {
    // Other errors reject text that is not a thread.
    if (error instanceof TypeError || error instanceof RangeError) throw error
  }
}

const readers: ReadonlyArray<TextReader> = [
  { name: "ThreadReader: a line", read: (text) => attempt(() => ThreadReader.read([Buffer.from(text)], "t")) },
  {
    name: "ThreadReader: an entry",
    read: (text) =>
      attempt(() =>
        ThreadReader.read(
          [Buffer.from(JSON.stringify({ ...base, id: text, seq: 1, type: "chat", payload: { role: "user", text } }))],
          "t"
        )
      )
  },
  {
    name: "ThreadReader, ChatRepeats, ToolPairs: a thread",
    read: (text) =>
      attempt(() => {
        const { entries } = ThreadReader.read([Buffer.from(threadOf(text))], "t")
        return [ChatRepeats.mirroredAuthors(entries, new Set()), ToolPairs.pair(entries)]
      })
  },
  {
    name: "SemanticHydration: compactions after a gap",
    // Each character is an entry of the thread.
    most: 20_000,
    length: 256,
    read: (text) => {
      const thread = ThreadReader.read([Buffer.from(compactionsAfterGap(text))], "t")
      return SemanticHydration.hydrate(thread, { cwd: "/", sessionId: "s", tools: "omit" })
    }
  },
  { name: "ThreadPage.take", read: (text) => ThreadPage.take(Buffer.from(`{"entries":[${text}`)) },
  {
    name: "ThreadPage.take: strings",
    read: (text) =>
      ThreadPage.take(
        Buffer.from(`{"a":${JSON.stringify(text)},"entries":[{"a":${JSON.stringify(text)}}],"b":"${text}`)
      )
  }
]

describe("linear time", () => {
  it.each(readers)("$name", async (reader) => {
    assert.deepStrictEqual(await steepTexts(counter, reader, hostileTexts), [])
  })
})
