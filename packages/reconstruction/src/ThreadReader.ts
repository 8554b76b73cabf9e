/**
 * Reads the bytes of a thread file into a `Thread`. SessionReader reads the lines, since thread entries have the same
 * envelope (`id`, `type`). Only types that hydration uses are parsed; chunks, most of a long thread, are not.
 */
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import { type Json, type JsonObject, isArray, isObject, objectAt, stringAt } from "@pi-sessions/core/Json"
import { type Position, SessionEntry, SessionLine } from "@pi-sessions/core/SessionLine"
import { SessionReader } from "@pi-sessions/core/SessionReader"
import { ChunkRuns, type Cut } from "./thread/ChunkRuns.ts"
import { isFlawless, lenient } from "./thread/LenientEntry.ts"
import * as Thread from "./Thread.ts"
import { ByteSet } from "./internal/byteSet.ts"
import { ChunkLine } from "./internal/chunkLine.ts"
import { parseJson } from "./internal/parseJson.ts"

/** Whether a value is an entry that hydration uses. */
export const isThreadEntry = Schema.is(Thread.ThreadEntry)
const decodeThreadEntry = Schema.decodeUnknownExit(Thread.ThreadEntry)
const USED_TYPES: ReadonlySet<string> = new Set(
  // `raw` entries are made from raw lines; threads do not contain them.
  Object.keys(Thread.ThreadEntry.cases).filter((type) => type !== "raw")
)

/** Why a value is not a `ThreadEntry`. */
const issueOf = (value: Json): string => {
  const exit = decodeThreadEntry(value)
  if (Exit.isSuccess(exit)) return ""
  return exit.cause.reasons.map((reason) => (reason._tag === "Fail" ? reason.error.message : "")).join("; ")
}

/** Collects the entries of a thread. */
class ThreadBuilder {
  readonly #source: string
  #threadId: string | undefined
  readonly #seen = new ByteSet()
  readonly #entries: Array<Thread.ThreadEntry> = []
  readonly #requests: Array<Thread.Request> = []
  readonly #passedOver = new Map<string, number>()
  readonly #diagnostics: Array<Thread.ThreadDiagnostic> = []
  readonly #chunks = new ChunkRuns()
  #chunkCount = 0
  #repeated = 0

  constructor(source: string) {
    this.#source = source
  }

  /** Number of different ids. */
  get ids(): number {
    return this.#seen.size
  }

  report(at: Position, entryId: string | undefined, message: string): void {
    this.#diagnostics.push({ line: at.line, byteOffset: at.byteOffset, entryId, message })
  }

  add(line: SessionLine): void {
    if (!isEntry(line)) return
    // SessionReader accepts ids of other types; threads require strings.
    if (line.id === null || typeof line.idValue !== "string") {
      this.report(line, undefined, `an entry of type ${JSON.stringify(line.type)} without an id; it is left out`)
    } else if (USED_TYPES.has(line.type)) this.addUsed(line.id, line.decode(), line)
    else if (this.#isNew(line.id)) {
      if (line.type === "pi.request_context") this.#pushRequest(line.decode())
      if (line.type === "pi.chunk") this.#pushChunk(line)
      else this.#passedOver.set(line.type, (this.#passedOver.get(line.type) ?? 0) + 1)
    }
  }

  /** Adds a chunk whose line `known` recognized. */
  addChunk(line: SessionLine, known: ChunkLine): void {
    if (this.#seen.add(line.source, known.idStart, known.idEnd)) this.#pushChunk(line, known)
    else this.#repeated++
  }

  /** Adds an entry of a type that hydration uses. */
  addUsed(id: string, value: JsonObject, at: Position): void {
    if (!this.#isNew(id)) return
    const entry = this.#entryOf(id, value, at)
    if (entry === undefined) return
    this.#threadId ??= entry.threadId
    if (entry.type === "pi.assistant") this.#place(this.#chunks.answered(entry.payload.content))
    else if (entry.type === "chat" && entry.payload.role === "user") this.#place(this.#chunks.spoken())
    this.#entries.push(entry)
  }

  /** The entry without wrong optional fields; undefined when a needed field is wrong. */
  #entryOf(id: string, value: JsonObject, at: Position): typeof Thread.ThreadEntry.Type | undefined {
    if (isFlawless(value)) return value
    const { entry, wrong } = lenient(value)
    if (!isThreadEntry(entry)) {
      this.report(at, id, `${issueOf(entry)}; the entry is left out`)
      return undefined
    }
    if (wrong.length > 0) this.report(at, id, `wrong optional fields, ignored: ${wrong.join(", ")}`)
    return entry
  }

  #isNew(id: string): boolean {
    // UTF-8 cannot encode a lone surrogate, so such an id is compared as JSON, after a byte that UTF-8 never uses.
    const written = Buffer.from(id.isWellFormed() ? id : JSON.stringify(id), "utf8")
    const bytes = id.isWellFormed() ? written : Buffer.concat([Uint8Array.of(0xff), written])
    const isNew = this.#seen.add(bytes, 0, bytes.length)
    if (!isNew) this.#repeated++
    return isNew
  }

  #pushRequest(value: JsonObject): void {
    const payload = objectAt(value, "payload")
    const sessionId = payload === undefined ? undefined : stringAt(payload, "sessionId")
    if (payload === undefined || sessionId === undefined) return
    const createdAt = stringAt(value, "createdAt")
    const afterEntryId = stringAt(payload, "afterEntryId")
    this.#requests.push({
      ...(createdAt === undefined ? {} : { createdAt }),
      sessionId,
      ...(afterEntryId === undefined ? {} : { afterEntryId })
    })
  }

  #pushChunk(line: SessionLine, known?: ChunkLine): void {
    this.#chunkCount++
    this.#place(this.#chunks.push(line, this.#entries.length, known))
  }

  #place(cut: Cut | undefined): void {
    if (cut !== undefined) this.#entries.splice(cut.at, 0, cut.entry)
  }

  finish(diagnostics: ReadonlyArray<Thread.ThreadDiagnostic>): Thread.Thread {
    this.#place(this.#chunks.end())
    if (this.#chunkCount > 0) this.#passedOver.set("pi.chunk", this.#chunkCount)
    return {
      id: this.#threadId ?? (this.#source || (this.#entries[0]?.id ?? "thread")),
      entries: this.#entries,
      requests: this.#requests,
      passedOver: this.#passedOver,
      repeated: this.#repeated,
      diagnostics: [...diagnostics, ...this.#diagnostics].sort((a, b) => a.byteOffset - b.byteOffset)
    }
  }
}

const USED_AS_WRITTEN = [...USED_TYPES].map((type) => Buffer.from(`${type}"`))

/** Whether the text at `at` is a type that hydration uses. */
const isUsedAt = (bytes: Uint8Array, at: number): boolean => {
  if (at < 0) return false
  for (const written of USED_AS_WRITTEN) {
    let i = 0
    while (i < written.length && bytes[at + i] === written[i]) i++
    if (i === written.length) return true
  }
  return false
}

/** Reads a thread as JSONL, piece by piece. Used entries are decoded at once; of the rest, only a few chunks are kept. */
export class ThreadPieces {
  readonly #builder: ThreadBuilder
  readonly #chunk = new ChunkLine()
  readonly #reader = new SessionReader({
    take: (bytes, start, end, line, byteOffset) => this.#take(bytes, start, end, line, byteOffset)
  })

  /** `source` is the thread's id when no entry has one. */
  constructor(source: string) {
    this.#builder = new ThreadBuilder(source)
  }

  /** Number of different entries so far. */
  get entries(): number {
    return this.#builder.ids
  }

  /** Reads the next bytes, which may end within a line. The caller must not reuse their memory. */
  push(chunk: Uint8Array): void {
    this.#add(this.#reader.push(chunk))
  }

  /** The thread. Call once, after the last piece. */
  end(): Thread.Thread {
    this.#add(this.#reader.end())
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

  #add(lines: ReadonlyArray<SessionLine>): void {
    for (const line of lines) this.#builder.add(line)
  }

  /** Reads the usual lines without a scan: the mirror's chunks, and entries that hydration uses. */
  #take(bytes: Uint8Array, start: number, end: number, line: number, byteOffset: number): boolean {
    if (this.#chunk.match(bytes, start, end)) {
      this.#add(this.#reader.drain())
      this.#builder.addChunk(new SessionLine(bytes, start, end, line, byteOffset, true), this.#chunk)
      return true
    }
    if (!isUsedAt(bytes, this.#chunk.typeStart)) return false
    const value = parseJson(textOf(bytes, start, end))
    if (!isObject(value)) return false
    const { id, type } = value
    if (typeof id !== "string" || typeof type !== "string" || !USED_TYPES.has(type)) return false
    this.#add(this.#reader.drain())
    this.#builder.addUsed(id, value, { line, byteOffset })
    return true
  }
}

/** SessionReader accepts and reports objects without a type; in a thread they are not entries. */
const isEntry = (line: SessionLine): line is SessionEntry => line instanceof SessionEntry && line.type !== ""

const textOf = (bytes: Uint8Array, start: number, end: number): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString("utf8")

/**
 * Reads a thread file piece by piece: JSONL, or one JSON document with an `entries` array, which is kept in memory until
 * it is complete. Never throws on content.
 */
export class ThreadFilePieces {
  readonly #source: string
  readonly #lines: ThreadPieces
  /** The bytes so far while the file may be a document; undefined once it is known to be JSONL. */
  #held: Array<Uint8Array> | undefined = []
  #firstLineSeen = false

  /** `source` is the thread's id when no entry has one; empty for a file, whose name may change. */
  constructor(source: string) {
    this.#source = source
    this.#lines = new ThreadPieces(source)
  }

  /** Reads the next bytes. The caller must not reuse their memory. */
  push(chunk: Uint8Array): void {
    if (this.#held === undefined) return this.#lines.push(chunk)
    this.#held.push(chunk)
    const newline = this.#firstLineSeen ? -1 : chunk.indexOf(0x0a)
    if (newline < 0) return
    // The first line of JSONL is an entry. That of a document is not.
    this.#firstLineSeen = true
    const firstLine = Buffer.concat([...this.#held.slice(0, -1), chunk.subarray(0, newline + 1)])
    const [first] = new SessionReader().push(firstLine)
    if (first !== undefined && isEntry(first)) this.#release()
  }

  /** The thread. Call once, after the last piece. */
  end(): Thread.Thread {
    const page = this.#held === undefined ? undefined : pageOf(this.#held)
    if (page !== undefined) return readPage(page, this.#source)
    this.#release()
    return this.#lines.end()
  }

  #release(): void {
    const held = this.#held ?? []
    this.#held = undefined
    for (const chunk of held) this.#lines.push(chunk)
  }
}

/** Reads a thread from the bytes of its file, as `ThreadFilePieces` does. */
export const read = (chunks: ReadonlyArray<Uint8Array>, source: string): Thread.Thread => {
  const pieces = new ThreadFilePieces(source)
  for (const chunk of chunks) pieces.push(chunk)
  return pieces.end()
}

const readPage = (page: ReadonlyArray<Json>, source: string): Thread.Thread => {
  const builder = new ThreadBuilder(source)
  page.forEach((entry, index) => {
    const position = { line: index + 1, byteOffset: 0 }
    const type = isObject(entry) ? stringAt(entry, "type") : undefined
    if (isObject(entry) && type !== undefined) builder.add(SessionEntry.make({ ...entry, type }, position))
  })
  return builder.finish([])
}

/** The `entries` of a JSON document; undefined when the bytes are not such a document. */
const pageOf = (chunks: ReadonlyArray<Uint8Array>): ReadonlyArray<Json> | undefined => {
  try {
    const value: Json = JSON.parse(Buffer.concat(chunks).toString("utf8"))
    const entries = isObject(value) ? value["entries"] : undefined
    return isArray(entries) ? entries : undefined
  } catch {
    // Also thrown for files that are too large for one string.
    return undefined
  }
}
