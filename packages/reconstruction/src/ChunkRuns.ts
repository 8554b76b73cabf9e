/**
 * Finds the answers that were cut off: runs of chunks without the `pi.assistant` that should follow. Only the chunks of
 * the answer being streamed are held, undecoded, and they are forgotten as soon as it is complete.
 */
import * as Schema from "effect/Schema"
import { stringAt } from "@pi-sessions/core/Json"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import { Chunk, type Interrupted } from "./Thread.ts"

const isChunkEntry = Schema.is(Schema.Struct({ payload: Chunk }))

/** Chunks look alike at their start; the message they belong to is all that is needed to tell runs apart. */
const messageIdOf = (line: SessionEntry): string | undefined => {
  const value = line.decode()
  return isChunkEntry(value) ? value.payload.messageId : undefined
}

export class ChunkRuns {
  #run: Array<SessionEntry> = []
  #messageId: string | undefined
  /** Where in the thread's entries an interrupted answer goes, should this run turn out to be one. */
  #at = 0

  /** Takes a chunk; `at` is how many entries the thread had before it. Returns the answer that it shows to be cut off. */
  push(line: SessionEntry, at: number): { readonly entry: Interrupted; readonly at: number } | undefined {
    // One message streams at a time: only the first chunk of a run is decoded, and those that may start another.
    const messageId = this.#run.length === 0 || this.#startsAnother(line) ? messageIdOf(line) : this.#messageId
    const cut = this.#run.length > 0 && messageId !== this.#messageId ? this.end() : undefined
    this.#run.push(line)
    this.#messageId = messageId
    this.#at = at
    return cut
  }

  /**
   * An answer has come, with this content as JSON text: the run's own when it holds the run's first words, else the
   * run was cut off before it.
   */
  answered(content: string): { readonly entry: Interrupted; readonly at: number } | undefined {
    const [first] = joined(this.#run.slice(0, 1))
    const own =
      first === undefined || first.type === "toolCall" || content.includes(JSON.stringify(first.text).slice(1, -1))
    if (!own) return this.end()
    this.#run = []
    return undefined
  }

  /** A person has spoken. Chunks that do not name their message cannot go on after that. */
  spoken(): { readonly entry: Interrupted; readonly at: number } | undefined {
    return this.#messageId === undefined ? this.end() : undefined
  }

  /** No answer will come any more. */
  end(): { readonly entry: Interrupted; readonly at: number } | undefined {
    const run = this.#run
    this.#run = []
    const last = run.at(-1)
    if (last === undefined || last.id === null) return undefined
    const parts = joined(run)
    if (parts.length === 0) return undefined
    const createdAt = stringAt(last.decode(), "createdAt")
    const entry: Interrupted = {
      id: last.id,
      ...(createdAt === undefined ? {} : { createdAt }),
      type: "interrupted",
      payload: { parts }
    }
    return { entry, at: this.#at }
  }

  #startsAnother(line: SessionEntry): boolean {
    return this.#messageId !== undefined && !line.text.includes(JSON.stringify(this.#messageId))
  }
}

const joined = (run: ReadonlyArray<SessionEntry>): ReadonlyArray<{ readonly type: string; readonly text: string }> => {
  const chunks = run.flatMap((line, order) => {
    const value = line.decode()
    return isChunkEntry(value) ? [{ ...value.payload.delta, idx: value.payload.idx ?? order }] : []
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
