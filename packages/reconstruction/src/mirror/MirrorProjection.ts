/**
 * The projection of seed 000, taken from the lines of the session file and not from Pi's events, so that a crash loses
 * none of it: `pi.assistant`, `pi.tool_result`, `pi.compaction`.
 *
 * Ids are `<threadId>:pi:idx:<n>`, n being a hash of what is said. So a restarted mirror, in whatever sandbox, gives one
 * message the same n and never gives an n to another; and the turns that a fork copies, or that Pi rewrites with new
 * entry ids, stand in the thread once.
 */
import { createHash } from "node:crypto"
import * as Schema from "effect/Schema"
import * as EntryId from "@pi-sessions/core/EntryId"
import { type Json, type JsonObject, isObject, objectAt, stringAt } from "@pi-sessions/core/Json"
import * as ValueText from "@pi-sessions/core/ValueText"
import { Assistant, Compaction, ToolResult } from "../Thread.ts"
import { parseJson } from "../internal/parseJson.ts"

/** What the projection says of a line, without the id's thread. */
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

/** 52 bits: among a million messages two share one with a probability of one in ten thousand. */
const numberOf = (...parts: ReadonlyArray<string>): number =>
  Number.parseInt(createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 13), 16)

/** What the projection says of an entry; undefined for entries that it has nothing for. */
export const project = (entry: JsonObject): Projected | undefined => {
  const at = stringAt(entry, "timestamp") ?? ""
  if (entry["type"] === "compaction") {
    const { summary, tokensBefore } = entry
    const payload: JsonObject = {
      ...(summary === undefined ? {} : { summary }),
      ...(tokensBefore === undefined ? {} : { tokensBefore })
    }
    return isCompaction(payload)
      ? { type: "pi.compaction", n: numberOf("pi.compaction", at, ValueText.stringify(payload)), payload }
      : undefined
  }
  const message = entry["type"] === "message" ? objectAt(entry, "message") : undefined
  if (message === undefined) return undefined
  const { role, ...payload } = message
  // Messages carry the millisecond they were made in; one that does not is told from others by its entry.
  const when = typeof payload["timestamp"] === "number" ? "" : at
  if (role === "assistant" && isAssistant(payload)) {
    return { type: "pi.assistant", n: numberOf("pi.assistant", when, ValueText.stringify(payload)), payload }
  }
  if (role === "toolResult" && isToolResult(payload)) {
    return { type: "pi.tool_result", n: numberOf("pi.tool_result", when, ValueText.stringify(payload)), payload }
  }
  return undefined
}

/** The object in a line of a session file, if it is one. */
export const entryOf = (line: string): JsonObject | undefined => {
  const value: Json | undefined = parseJson(line.startsWith("\ufeff") ? line.slice(1) : line)
  return isObject(value) ? value : undefined
}

/** The entries of a session file as far as compactions need them: who follows whom, and what was projected of each. */
export class ProjectionIndex {
  readonly #entries = new Map<string, { readonly parentId: string | null; readonly n: number | undefined }>()
  /** Bytes of the file that were indexed. */
  upTo = 0

  add(entry: JsonObject): void {
    const id = EntryId.read(entry["id"])
    if (id === null || entry["type"] === "session") return
    this.#entries.set(id, { parentId: EntryId.read(entry["parentId"]), n: project(entry)?.n })
  }

  /** The first projected entry that a compaction keeps, if that can be told. */
  keptFrom(compaction: JsonObject): number | undefined {
    const kept = EntryId.read(compaction["firstKeptEntryId"])
    if (kept === null) return undefined
    let n: number | undefined
    let id = EntryId.read(compaction["parentId"])
    // A damaged file may hold a cycle.
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
