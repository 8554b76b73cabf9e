/**
 * Finds interrupted answers: runs of chunks without a `pi.assistant` after them. Only the chunks of the current answer
 * are kept, undecoded.
 */
import { type Json, type JsonObject, isObject, isOptional, objectAt, stringAt } from "@pi-sessions/core/Json"
import { type SessionLine } from "@pi-sessions/core/SessionLine"
import * as ValueText from "@pi-sessions/core/ValueText"
import { type Assistant, type Chunk, type Interrupted } from "../Thread.ts"
import { type ChunkLine } from "../internal/chunkLine.ts"

/** An interrupted answer, and its index in the thread's entries. */
export interface Cut {
  readonly entry: Interrupted
  readonly at: number
}

export class ChunkRuns {
  #run: Array<SessionLine> = []
  /** The run's first chunk. */
  #first: Chunk | undefined
  /** Its message id as JSON. */
  #messageId: Uint8Array = new Uint8Array(0)
  /** Index in the thread's entries for the interrupted answer. */
  #at = 0

  /**
   * Adds a chunk. `at` is the number of thread entries before it; `known` has the parts of a recognized line. Returns the
   * earlier answer, when this chunk shows that it was interrupted.
   */
  push(line: SessionLine, at: number, known?: ChunkLine): Cut | undefined {
    // One message streams at a time, so only the first chunk of a run is decoded.
    let cut: Cut | undefined
    if (this.#run.length === 0 || known?.isOf(this.#messageId) !== true) {
      const chunk = known === undefined ? chunkOf(line) : known.decode()
      if (this.#run.length > 0 && chunk?.messageId !== this.#first?.messageId) cut = this.end()
      if (this.#run.length === 0) {
        this.#first = chunk
        this.#messageId = Buffer.from(JSON.stringify(chunk?.messageId ?? ""), "utf8")
      }
    }
    this.#run.push(line)
    this.#at = at
    return cut
  }

  /** Ends the run at an answer. The run was interrupted when the answer does not contain the run's first words. */
  answered(content: Assistant["content"]): Cut | undefined {
    const first = this.#run.length === 0 ? undefined : this.#first
    const text = first?.delta.text ?? ""
    if (first !== undefined && text !== "" && first.delta.type !== "toolCall" && !holds(content, text))
      return this.end()
    this.#run = []
    return undefined
  }

  /** Ends the run at a user's chat, when its chunks have no message id. */
  spoken(): Cut | undefined {
    return this.#first?.messageId === undefined ? this.end() : undefined
  }

  /** Ends the run. It was interrupted when it has any text. */
  end(): Cut | undefined {
    const run = this.#run
    const messageId = this.#first?.messageId
    this.#run = []
    const last = run.at(-1)
    if (last === undefined) return undefined
    const parts = joined(run)
    if (parts.length === 0) return undefined
    const value = objectIn(last)
    const createdAt = stringAt(value, "createdAt")
    const entry: Interrupted = {
      id: stringAt(value, "id") ?? "",
      ...(createdAt === undefined ? {} : { createdAt }),
      type: "interrupted",
      payload: { ...(messageId === undefined ? {} : { messageId }), parts }
    }
    return { entry, at: this.#at }
  }
}

const objectIn = (line: SessionLine): JsonObject => {
  const value: Json = JSON.parse(line.text)
  return isObject(value) ? value : {}
}

/** The chunk in a line; undefined when it lacks what a chunk needs. */
const chunkOf = (line: SessionLine): Chunk | undefined => {
  const payload = objectAt(objectIn(line), "payload")
  return payload !== undefined && isChunk(payload) ? payload : undefined
}

/** What the schema `Chunk` says, in plain code, which is faster. */
export const isChunk = (payload: JsonObject): payload is JsonObject & Chunk => {
  const { messageId, idx, delta } = payload
  return (
    isOptional(messageId, "string") &&
    isOptional(idx, "number") &&
    isObject(delta) &&
    typeof delta["type"] === "string" &&
    isOptional(delta["text"], "string")
  )
}

/** Whether an answer contains `text`. */
const holds = (content: Assistant["content"], text: string): boolean => {
  if (typeof content === "string") return content.includes(text)
  for (const block of content) {
    const { text: said, thinking }: { readonly type: string; readonly text?: unknown; readonly thinking?: unknown } =
      block
    if (typeof said === "string" && said.includes(text)) return true
    if (typeof thinking === "string" && thinking.includes(text)) return true
  }
  return ValueText.stringify(content).includes(JSON.stringify(text).slice(1, -1))
}

const joined = (run: ReadonlyArray<SessionLine>): Interrupted["payload"]["parts"] => {
  const chunks = run.flatMap((line, order) => {
    const chunk = chunkOf(line)
    return chunk === undefined ? [] : [{ ...chunk.delta, idx: chunk.idx ?? order }]
  })
  const parts: Array<{ readonly type: string; readonly text: string }> = []
  for (const { type, text = "" } of chunks.sort((a, b) => a.idx - b.idx)) {
    const last = parts.at(-1)
    if (text === "") continue
    if (last?.type === type) parts[parts.length - 1] = { type, text: last.text + text }
    else parts.push({ type, text })
  }
  return parts
}
