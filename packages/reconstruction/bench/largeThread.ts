/**
 * Writes a long thread as the mirror does: projections of a session's lines (`LargeSession`), optionally the raw lines,
 * user turns as chats, and before each answer its chunks, which are most of the thread.
 */
import { createHash } from "node:crypto"
import * as FileSystem from "node:fs"
import * as LargeSession from "@pi-sessions/testing/sessions/LargeSession"
import { type Json, type JsonObject, isArray, isObject, objectAt, stringAt } from "@pi-sessions/core/Json"
import { contentText } from "@pi-sessions/core/ModelContext"
import * as MirrorProjection from "../src/mirror/MirrorProjection.ts"

export interface LargeThreadOptions {
  readonly entries: number
  /** The share of the entries that are chunks. */
  readonly chunks: number
  /** Whether the thread has raw lines. */
  readonly raw: boolean
}

export interface LargeThread {
  readonly bytes: number
  readonly entries: number
}

const THREAD_ID = "th_01JWKX5T9GZ8Q4M2"
const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex")

/** The text of an answer, block by block. */
const deltasOf = (content: Json | undefined): ReadonlyArray<{ readonly type: string; readonly text: string }> =>
  (isArray(content) ? content : []).flatMap((block) => {
    if (!isObject(block)) return []
    const type = stringAt(block, "type") ?? "text"
    return [{ type, text: stringAt(block, type) ?? JSON.stringify(block["arguments"]) }]
  })

/** Makes the thread entries of a session, line by line. */
class Mirroring {
  readonly #raw: boolean
  readonly #sessionId: string
  #messages = 0
  #chunkCount = 0
  #seq = 0

  constructor(raw: boolean, header: string) {
    this.#raw = raw
    this.#sessionId = stringAt(MirrorProjection.entryOf(header) ?? {}, "id") ?? ""
  }

  /** Number of chunks so far. */
  get chunks(): number {
    return this.#chunkCount
  }

  header(line: string): ReadonlyArray<JsonObject> {
    const payload = { sessionId: this.#sessionId, generation: 0, line, sha256: sha256(line) }
    return this.#raw ? [this.#entry("pi.session_header", `raw:${this.#sessionId}:0:0`, "", payload)] : []
  }

  entries(line: string, chunks: number): ReadonlyArray<JsonObject> {
    const entry = MirrorProjection.entryOf(line) ?? {}
    const at = stringAt(entry, "timestamp") ?? ""
    const made: Array<JsonObject> = []
    const projected = MirrorProjection.project(entry)
    const message = objectAt(entry, "message") ?? {}
    if (projected?.type === "pi.assistant") made.push(...this.#chunks(message, at, chunks))
    if (this.#raw) {
      const seq = ++this.#seq
      const entryId = stringAt(entry, "id")
      const payload = { sessionId: this.#sessionId, generation: 0, seq, entryId, line, sha256: sha256(line) }
      made.push(this.#entry("pi.session_entry", `raw:${this.#sessionId}:0:${seq}`, at, payload))
    }
    if (projected !== undefined) made.push(this.#entry(projected.type, `idx:${projected.n}`, at, projected.payload))
    else if (message["role"] === "user") {
      const author = { id: "u_ann", name: "Ann", kind: "human" }
      const payload = { role: "user", text: contentText(message["content"]), author }
      made.push(this.#entry("chat", `chat:${stringAt(entry, "id")}`, at, payload))
    }
    return made
  }

  #entry(type: string, id: string, createdAt: string, payload: JsonObject): JsonObject {
    return { id: `${THREAD_ID}:pi:${id}`, threadId: THREAD_ID, type, createdAt, payload }
  }

  #chunks(message: JsonObject, at: string, count: number): ReadonlyArray<JsonObject> {
    const messageId = `m${++this.#messages}`
    const deltas = deltasOf(message["content"])
    const length = deltas.reduce((sum, { text }) => sum + text.length, 0)
    const step = Math.max(1, Math.ceil(length / count))
    let idx = 0
    return deltas.flatMap(({ type, text }, contentIndex) => {
      // Never splits a character: the sample text has no surrogate pairs.
      const pieces = text.match(new RegExp(`[^]{1,${step}}`, "g")) ?? []
      return pieces.map((piece) => {
        const payload = { messageId, idx, delta: { type, text: piece, contentIndex } }
        this.#chunkCount++
        return this.#entry("pi.chunk", `chunk:${messageId}:${idx++}`, at, payload)
      })
    })
  }
}

/** Writes the thread. The bytes depend only on the options. */
export const write = async (file: string, options: LargeThreadOptions): Promise<LargeThread> => {
  const whole = Math.round(options.entries * (1 - options.chunks))
  const session = `${file}.session`
  await LargeSession.write(session, { entries: options.raw ? Math.round(whole / 2) : whole, seed: 1, meanBytes: 900 })
  const lines = FileSystem.readFileSync(session, "utf8").trimEnd().split("\n")
  FileSystem.rmSync(session)
  const answers = lines.filter((line) => line.includes('"role":"assistant"')).length
  const [header = "", ...rest] = lines
  const mirroring = new Mirroring(options.raw, header)
  const handle = FileSystem.openSync(file, "w")
  let bytes = 0
  let entries = 0
  const put = (made: ReadonlyArray<JsonObject>): void => {
    if (made.length === 0) return
    entries += made.length
    bytes += FileSystem.writeSync(handle, made.map((entry) => `${JSON.stringify(entry)}\n`).join(""))
  }
  put(mirroring.header(header))
  let left = answers
  for (const line of rest) {
    // Short answers have fewer chunks; later answers get more to reach the share.
    const due = options.entries * options.chunks - mirroring.chunks
    put(mirroring.entries(line, Math.max(1, due / left)))
    if (line.includes('"role":"assistant"')) left--
  }
  FileSystem.closeSync(handle)
  return { bytes, entries }
}
