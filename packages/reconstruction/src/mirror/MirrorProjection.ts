/**
 * The projection of a session line, which programs read without knowing Pi's files: `pi.assistant`, `pi.tool_result`,
 * `pi.compaction` (docs/thread.md). It is made from the file, not from Pi's events, so a crash loses nothing.
 *
 * Ids are `<threadId>:pi:idx:<n>`, where n is a hash of the content. So a restarted mirror repeats ids, and a turn that
 * a fork copies or that Pi rewrites under another entry id is in the thread once.
 */
import * as Schema from "effect/Schema"
import * as EntryId from "@pi-sessions/core/EntryId"
import { type JsonObject, isObject, objectAt, stringAt } from "@pi-sessions/core/Json"
import * as ValueText from "@pi-sessions/core/ValueText"
import { Assistant, Compaction, ToolResult } from "../Thread.ts"
import { parseJson } from "../internal/parseJson.ts"
import { sha256 } from "../internal/sha256.ts"

export interface Projected {
  readonly type: "pi.assistant" | "pi.tool_result" | "pi.compaction"
  /** The n of the id: a safe integer. */
  readonly n: number
  readonly payload: JsonObject
}

const isAssistant = Schema.is(Assistant)
const isToolResult = Schema.is(ToolResult)
const isCompaction = Schema.is(Compaction)

export const projectionId = (threadId: string, n: number): string => `${threadId}:pi:idx:${n}`

/** `n` has 52 bits: among a million messages two share one with a probability of one in ten thousand. */
const projectedAs = (type: Projected["type"], when: string, payload: JsonObject): Projected => {
  const hash = sha256(JSON.stringify([type, when, ValueText.stringify(payload)]))
  return { type, n: Number.parseInt(hash.slice(0, 13), 16), payload }
}

/** The projection of a session entry; undefined for other types and for damaged messages. */
export const project = (entry: JsonObject): Projected | undefined => {
  const at = stringAt(entry, "timestamp") ?? ""
  if (entry["type"] === "compaction") {
    const { summary, tokensBefore } = entry
    const payload: JsonObject = {
      ...(summary === undefined ? {} : { summary }),
      ...(tokensBefore === undefined ? {} : { tokensBefore })
    }
    return isCompaction(payload) ? projectedAs("pi.compaction", at, payload) : undefined
  }
  const message = entry["type"] === "message" ? objectAt(entry, "message") : undefined
  if (message === undefined) return undefined
  const { role, ...payload } = message
  // A message has its own time in milliseconds. The entry's time distinguishes messages without one.
  const when = typeof payload["timestamp"] === "number" ? "" : at
  if (role === "assistant" && isAssistant(payload)) return projectedAs("pi.assistant", when, payload)
  if (role === "toolResult" && isToolResult(payload)) return projectedAs("pi.tool_result", when, payload)
  return undefined
}

/** The object in a line of a session file; undefined when the line is not a JSON object. */
export const entryOf = (line: string): JsonObject | undefined => {
  const value = parseJson(line.startsWith("\ufeff") ? line.slice(1) : line)
  return isObject(value) ? value : undefined
}

/** Parents and projections of a file's entries, to find what a compaction keeps. */
export class ProjectionIndex {
  readonly #entries = new Map<string, { readonly parentId: string | null; readonly n: number | undefined }>()
  /** How far the file is indexed, in bytes. */
  upTo = 0

  add(entry: JsonObject): void {
    const id = EntryId.read(entry["id"])
    if (id === null || entry["type"] === "session") return
    this.#entries.set(id, { parentId: EntryId.read(entry["parentId"]), n: project(entry)?.n })
  }

  clear(): void {
    this.#entries.clear()
    this.upTo = 0
  }

  /** The first projected entry that a compaction keeps; undefined when the kept entry is not among its ancestors. */
  keptFrom(compaction: JsonObject): number | undefined {
    const kept = EntryId.read(compaction["firstKeptEntryId"])
    if (kept === null) return undefined
    let n: number | undefined
    let id = EntryId.read(compaction["parentId"])
    // A damaged file may have a cycle.
    for (let steps = 0; id !== null && steps <= this.#entries.size; steps++) {
      const entry = this.#entries.get(id)
      if (entry === undefined) return undefined
      n = entry.n ?? n
      if (id === kept) return n
      id = entry.parentId
    }
    return undefined
  }
}
