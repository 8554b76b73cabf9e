/**
 * Joins what a model says while it says it: pieces of one kind in a row become one `pi.chunk`, taken a few times a
 * second. Chunks are for those who watch; when they are lost, the session file still tells everything.
 */
import { type JsonObject } from "@pi-sessions/core/Json"

/** A piece of an answer. */
export interface ChunkDelta {
  readonly type: "text" | "thinking" | "toolCall"
  readonly text: string
  readonly contentIndex: number
}

/** More than this is not held when nobody takes it. */
const MAX_CHARACTERS = 1 << 20

export class MirrorChunks {
  #messageId = ""
  #idx = 0
  #pending: Array<ChunkDelta> = []
  #characters = 0

  /** Whether there is anything to take. */
  get isEmpty(): boolean {
    return this.#pending.length === 0
  }

  /** Takes a piece of the message `messageId`. */
  push(messageId: string, delta: ChunkDelta): void {
    if (messageId !== this.#messageId) {
      // What is left of the message before is told by its entry in the file.
      this.#messageId = messageId
      this.#idx = 0
      this.drop()
    }
    if (delta.text === "" || this.#characters + delta.text.length > MAX_CHARACTERS) return
    this.#characters += delta.text.length
    const last = this.#pending.at(-1)
    if (last?.type === delta.type && last.contentIndex === delta.contentIndex) {
      this.#pending[this.#pending.length - 1] = { ...last, text: last.text + delta.text }
    } else this.#pending.push(delta)
  }

  /** What has come since the last time, as entries of `threadId`. */
  take(threadId: string, createdAt: string): ReadonlyArray<JsonObject> {
    const messageId = this.#messageId
    const entries = this.#pending.map((delta): JsonObject => {
      const idx = this.#idx++
      return {
        id: `${threadId}:pi:chunk:${messageId}:${idx}`,
        threadId,
        type: "pi.chunk",
        createdAt,
        payload: { messageId, idx, delta: { ...delta } }
      }
    })
    this.drop()
    return entries
  }

  /** Forgets what has not been taken. */
  drop(): void {
    this.#pending = []
    this.#characters = 0
  }
}
