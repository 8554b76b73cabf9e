/**
 * Finds the answers that were cut off: runs of chunks without the `pi.assistant` that should follow. Only the chunks of
 * the answer being streamed are held, undecoded, and they are forgotten as soon as it is complete.
 */
import { type Json, type JsonObject, isObject, isOptional, objectAt, stringAt } from "@pi-sessions/core/Json"
import { type SessionLine } from "@pi-sessions/core/SessionLine"
import * as ValueText from "@pi-sessions/core/ValueText"
import { type Assistant, type Chunk, type Interrupted } from "../Thread.ts"
import { type ChunkLine } from "../internal/chunkLine.ts"

/** An interrupted answer, and how many of the thread's entries stand before it. */
export interface Cut {
  readonly entry: Interrupted
  readonly at: number
}

export class ChunkRuns {
  #run: Array<SessionLine> = []
  /** The run's first chunk, which tells whose it is. */
  #first: Chunk | undefined
  /** The id of its message as it stands in a line. */
  #messageId: Uint8Array = new Uint8Array(0)
  /** Where in the thread's entries an interrupted answer goes, should this run turn out to be one. */
  #at = 0

  /**
   * Takes a chunk, `known` if its line was; `at` is how many entries the thread had before it. Returns the answer that
   * it shows to be cut off.
   */
  push(line: SessionLine, at: number, known?: ChunkLine): Cut | undefined {
    // One message streams at a time: only the first chunk of a run is decoded, where lines are known.
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

  /**
   * An answer has come, with this content: the run's own when it holds the run's first words, else the run was cut off
   * before it.
   */
  answered(content: Assistant["content"]): Cut | undefined {
    const first = this.#run.length === 0 ? undefined : this.#first
    const text = first?.delta.text ?? ""
    if (first !== undefined && text !== "" && first.delta.type !== "toolCall" && !holds(content, text))
      return this.end()
    this.#run = []
    return undefined
  }

  /** A person has spoken. Chunks that do not name their message cannot go on after that. */
  spoken(): Cut | undefined {
    return this.#first?.messageId === undefined ? this.end() : undefined
  }

  /** No answer will come any more. */
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

/** What the schema says, in plain code (tested). */
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

/** Whether an answer says `text` somewhere. */
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
