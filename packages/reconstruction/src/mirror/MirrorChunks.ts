/**
 * Joins the pieces of an answer while a model streams it: consecutive pieces of one kind become one `pi.chunk`. Chunks
 * are for live viewers; nothing depends on them, because the session file gets the whole answer.
 */
import { type JsonObject } from "@pi-sessions/core/Json"

/** A piece of an answer. */
export interface ChunkDelta {
  readonly type: "text" | "thinking" | "toolCall"
  readonly text: string
  readonly contentIndex: number
}

/** Pieces beyond this are dropped. */
const MAX_CHARACTERS = 1 << 20

export class MirrorChunks {
  #messageId = ""
  #idx = 0
  #pending: Array<ChunkDelta> = []
  #characters = 0

  get isEmpty(): boolean {
    return this.#pending.length === 0
  }

  /** Adds a piece of the message `messageId`. Pending pieces of an earlier message are dropped. */
  push(messageId: string, delta: ChunkDelta): void {
    if (messageId !== this.#messageId) {
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

  /** Removes the pending pieces and returns them as entries of `threadId`. */
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

  /** Drops the pending pieces. */
  drop(): void {
    this.#pending = []
    this.#characters = 0
  }
}
