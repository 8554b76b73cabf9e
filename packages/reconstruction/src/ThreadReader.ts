/**
 * Bytes of a thread file to a `Thread`. The lines are read by the reader of session files: a thread entry has the same
 * envelope (`id`, `type`), and is parsed only when its type is one that hydration uses, so chunks, which are most of a
 * long thread, cost no more than finding their end.
 */
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import { type Json, isArray, isObject, stringAt } from "@pi-sessions/core/Json"
import { SessionEntry, type SessionLine } from "@pi-sessions/core/SessionLine"
import { SessionReader } from "@pi-sessions/core/SessionReader"
import { ChunkRuns } from "./ChunkRuns.ts"
import { lenient } from "./LenientEntry.ts"
import * as Thread from "./Thread.ts"

/** Whether a value is an entry that hydration uses. */
export const isThreadEntry = Schema.is(Thread.ThreadEntry)
const decodeThreadEntry = Schema.decodeUnknownExit(Thread.ThreadEntry)
const USED_TYPES: ReadonlySet<string> = new Set(
  // A raw session entry comes from raw lines, never from a file of its own.
  Object.keys(Thread.ThreadEntry.cases).filter((type) => type !== "raw")
)

/** What is wrong with an entry that is no `ThreadEntry`. */
const issueOf = (value: Json): string => {
  const exit = decodeThreadEntry(value)
  if (Exit.isSuccess(exit)) return ""
  return exit.cause.reasons.map((reason) => (reason._tag === "Fail" ? reason.error.message : "")).join("; ")
}

/** Builds a thread up from the lines of its file. */
class ThreadBuilder {
  readonly #source: string
  #threadId: string | undefined
  readonly #seen = new Set<string>()
  readonly #entries: Array<Thread.ThreadEntry> = []
  readonly #passedOver = new Map<string, number>()
  readonly #diagnostics: Array<Thread.ThreadDiagnostic> = []
  readonly #chunks = new ChunkRuns()
  #repeated = 0

  constructor(source: string) {
    this.#source = source
  }

  /** How many different ids were seen. */
  get ids(): number {
    return this.#seen.size
  }

  report(line: SessionLine, entryId: string | undefined, message: string): void {
    this.#diagnostics.push({ line: line.line, byteOffset: line.byteOffset, entryId, message })
  }

  add(line: SessionLine): void {
    if (!(line instanceof SessionEntry)) return
    if (line.id === null) {
      this.report(line, undefined, `an entry of type ${JSON.stringify(line.type)} without an id; it is left out`)
      return
    }
    if (this.#seen.has(line.id)) {
      this.#repeated++
      return
    }
    this.#seen.add(line.id)
    if (line.type === "pi.chunk") this.#place(this.#chunks.push(line, this.#entries.length))
    if (!USED_TYPES.has(line.type)) {
      this.#passedOver.set(line.type, (this.#passedOver.get(line.type) ?? 0) + 1)
      return
    }
    const { entry, wrong } = lenient(line.decode())
    if (!isThreadEntry(entry)) {
      this.report(line, line.id, `${issueOf(entry)}; the entry is left out`)
      return
    }
    if (wrong.length > 0) this.report(line, line.id, `not what it should be, and passed over: ${wrong.join(", ")}`)
    this.#threadId ??= entry.threadId
    if (entry.type === "pi.assistant") this.#place(this.#chunks.answered(JSON.stringify(entry.payload.content)))
    else if (entry.type === "chat" && entry.payload.role === "user") this.#place(this.#chunks.spoken())
    this.#entries.push(entry)
  }

  #place(cut: { readonly entry: Thread.Interrupted; readonly at: number } | undefined): void {
    if (cut !== undefined) this.#entries.splice(cut.at, 0, cut.entry)
  }

  finish(diagnostics: ReadonlyArray<Thread.ThreadDiagnostic>): Thread.Thread {
    this.#place(this.#chunks.end())
    return {
      id: this.#threadId ?? (this.#source || (this.#entries[0]?.id ?? "thread")),
      entries: this.#entries,
      passedOver: this.#passedOver,
      repeated: this.#repeated,
      diagnostics: [...diagnostics, ...this.#diagnostics].sort((a, b) => a.byteOffset - b.byteOffset)
    }
  }
}

/**
 * Reads a thread that comes piece by piece, as JSONL. A piece may go once it was pushed: what hydration uses is decoded
 * by then, and nothing else is kept.
 */
export class ThreadPieces {
  readonly #builder: ThreadBuilder
  readonly #reader = new SessionReader()

  /** `source` is the thread's id in case no entry says it. */
  constructor(source: string) {
    this.#builder = new ThreadBuilder(source)
  }

  /** How many different entries have come. */
  get entries(): number {
    return this.#builder.ids
  }

  /** Takes the next bytes, which need not end with a line; their memory must not be used again. */
  push(chunk: Uint8Array): void {
    for (const line of this.#reader.push(chunk)) this.#builder.add(line)
  }

  /** The thread. Call once, after the last piece. */
  end(): Thread.Thread {
    for (const line of this.#reader.end()) this.#builder.add(line)
    return this.#builder.finish(
      this.#reader.diagnostics
        .filter(({ code }) => code !== "missing-header" && code !== "missing-id")
        .map(({ line, byteOffset, entryId, code, message }) => ({
          line,
          byteOffset,
          entryId,
          message: `${code}: ${message}`
        }))
    )
  }
}

/**
 * Reads a thread: JSONL, one entry a line, or one JSON document with an `entries` array. Never throws on content.
 * `source` is the thread's id in case no entry says it; empty for a file, whose name may change.
 */
export const read = (chunks: ReadonlyArray<Uint8Array>, source: string): Thread.Thread => {
  const page = pageOf(chunks)
  if (page !== undefined) {
    const builder = new ThreadBuilder(source)
    page.forEach((entry, index) => {
      const position = { line: index + 1, byteOffset: 0 }
      const type = isObject(entry) ? stringAt(entry, "type") : undefined
      if (isObject(entry) && type !== undefined) builder.add(SessionEntry.make({ ...entry, type }, position))
    })
    return builder.finish([])
  }
  const pieces = new ThreadPieces(source)
  for (const chunk of chunks) pieces.push(chunk)
  return pieces.end()
}

/** The `entries` of a thread given as one JSON document; undefined when it is not one. */
const pageOf = (chunks: ReadonlyArray<Uint8Array>): ReadonlyArray<Json> | undefined => {
  const first = chunks[0]
  if (first === undefined) return undefined
  // A thread of JSONL starts with an entry, a document with `{` and then `"entries"` or a line break.
  const [line] = new SessionReader().push(first.subarray(0, 1 << 16))
  if (line instanceof SessionEntry) return undefined
  try {
    const value: Json = JSON.parse(Buffer.concat(chunks).toString("utf8"))
    const entries = isObject(value) ? value["entries"] : undefined
    return isArray(entries) ? entries : undefined
  } catch {
    return undefined
  }
}
