/**
 * Turns from the raw lines of an incomplete lineage. Semantic hydration uses them instead of their projections
 * (docs/thread.md). Only the branch to the newest line counts; where a parent is missing, it continues at the line before
 * the gap.
 */
import * as EntryType from "@pi-sessions/core/EntryType"
import { type Json, type JsonObject, isArray, isObject, objectAt, stringAt } from "@pi-sessions/core/Json"
import * as ValueText from "@pi-sessions/core/ValueText"
import { contentText } from "@pi-sessions/core/ModelContext"
import { SessionEntry } from "@pi-sessions/core/SessionLine"
import { SessionReader } from "@pi-sessions/core/SessionReader"
import { type Lineage, bytesOf } from "./LosslessHydration.ts"
import { isFlawless, lenient } from "../thread/LenientEntry.ts"
import { type RawEntry, type Thread, type ThreadEntry } from "../Thread.ts"
import { isThreadEntry } from "../ThreadReader.ts"

interface Survivor {
  readonly seq: number
  readonly entry: SessionEntry
}

const read = (raw: RawEntry): ReadonlyArray<Survivor> => {
  const bytes = bytesOf(raw)
  if (bytes === undefined) return []
  const reader = new SessionReader()
  const lines = [...reader.push(bytes), ...reader.end()]
  return lines.flatMap((line) => (line instanceof SessionEntry ? [{ seq: raw.seq, entry: line }] : []))
}

/** The branch to the newest surviving line, oldest first. */
const branchOf = (survivors: ReadonlyArray<Survivor>): ReadonlyArray<Survivor> => {
  const indexById = new Map(survivors.map(({ entry }, index) => [entry.id, index]))
  const branch: Array<Survivor> = []
  let index = survivors.length - 1
  while (index >= 0) {
    const survivor = survivors[index]
    if (survivor === undefined) break
    branch.push(survivor)
    const { parentId } = survivor.entry
    if (parentId === null) break
    const parent = indexById.get(parentId)
    // A parent is always earlier. A missing parent was probably written after the line before this one.
    index = parent !== undefined && parent < index ? parent : index - 1
  }
  return branch.reverse()
}

/** A key that is equal for a raw turn and its projection: role and text, or the answered call. */
const keyOf = (type: string, payload: JsonObject): string | undefined => {
  switch (type) {
    case "chat":
      return payload["role"] === "user" ? `user:${stringAt(payload, "text")?.trim()}` : undefined
    case "pi.assistant":
      return `assistant:${ValueText.stringify(payload["content"] ?? null)}`
    case "pi.tool_result":
      return `result:${stringAt(payload, "toolCallId")}:${ValueText.stringify(payload["content"] ?? null)}`
    case "pi.compaction":
      return `compaction:${stringAt(payload, "summary")}`
    default:
      return undefined
  }
}

/** A session entry as a thread entry; undefined for types that a linear session cannot contain. */
const projected = (entry: SessionEntry, idOf: (entryId: string) => string): JsonObject | undefined => {
  const payload = entry.decode()
  const message = objectAt(payload, "message")
  const of = (type: string, own: JsonObject): JsonObject => ({
    id: idOf(entry.id ?? ""),
    type,
    createdAt: entry.timestamp,
    payload: own
  })
  if (entry.type === "message" && message !== undefined) {
    switch (entry.role) {
      case "assistant":
        return of("pi.assistant", message)
      case "toolResult":
        return of("pi.tool_result", message)
      case "user":
        return of("chat", userChat(message))
      default:
        return of("raw", payload)
    }
  }
  if (entry.type === "compaction") {
    const { summary, tokensBefore, firstKeptEntryId } = payload
    const keptFrom = typeof firstKeptEntryId === "string" ? idOf(firstKeptEntryId) : undefined
    return of("pi.compaction", { summary, tokensBefore, keptFrom })
  }
  // Labels and edits refer to entries by ids, which hydration replaces.
  return entry.type === "" || EntryType.of(entry.type).reference === "targetId" ? undefined : of("raw", payload)
}

const userChat = (message: JsonObject): JsonObject => {
  const content: Json | undefined = message["content"]
  const images = isArray(content) ? content.filter((block) => isObject(block) && block["type"] === "image") : []
  return { role: "user", text: contentText(content), ...(images.length === 0 ? {} : { attachments: images }) }
}

/** The thread's entries with the lines of `lineage` instead of their projections. A line is at its raw entry's place. */
export const substitute = (thread: Thread, lineage: Lineage): ReadonlyArray<ThreadEntry> => {
  const survivors = [...lineage.lines.values()].sort((a, b) => a.seq - b.seq).flatMap(read)
  const idOf = (entryId: string): string => `${lineage.sessionId}:${lineage.generation}:${entryId}`
  const bySeq = new Map<number, Array<ThreadEntry>>()
  /** Number of lines by key, to remove as many projections; lines of other branches count too. */
  const repeated = new Map<string, number>()
  const onBranch = new Set(branchOf(survivors))
  for (const survivor of survivors) {
    const made = projected(survivor.entry, idOf)
    if (made === undefined) continue
    const entry = isFlawless(made) ? made : lenient(made).entry
    const payload = objectAt(entry, "payload") ?? {}
    const key = keyOf(String(entry["type"]), payload)
    if (key !== undefined) repeated.set(key, (repeated.get(key) ?? 0) + 1)
    if (!onBranch.has(survivor) || !(isFlawless(entry) || isThreadEntry(entry))) continue
    const same = bySeq.get(survivor.seq)
    if (same === undefined) bySeq.set(survivor.seq, [entry])
    else same.push(entry)
  }
  const seqs = [...bySeq.keys()].sort((a, b) => a - b)
  let next = 0
  return thread.entries.flatMap((entry): ReadonlyArray<ThreadEntry> => {
    if (entry.type === "pi.session_entry" && lineage.lines.get(entry.payload.seq) === entry.payload) {
      // Raw entries may come in any order; lines stay in file order.
      const seq = seqs[next++]
      return seq === undefined ? [] : (bySeq.get(seq) ?? [])
    }
    if (entry.type === "interrupted" || entry.type === "raw") return [entry]
    const key = keyOf(entry.type, { ...entry.payload })
    const left = key === undefined ? 0 : (repeated.get(key) ?? 0)
    if (key === undefined || left === 0) return [entry]
    repeated.set(key, left - 1)
    return []
  })
}

/** Ids of the session entries in a raw line: none in a damaged line, several where entries were glued together. */
export const entryIdsOf = (raw: RawEntry): ReadonlyArray<string> =>
  typeof raw.entryId === "string" ? [raw.entryId] : read(raw).flatMap(({ entry }) => entry.id ?? [])

/** Whether a line of the lineage is an answer of a model. */
export const hasAnswer = (lineage: Lineage): boolean => {
  const roles = new Set(["assistant"])
  for (const raw of lineage.lines.values()) {
    if (mayHold(raw, roles) && read(raw).some(({ entry }) => entry.role === "assistant")) return true
  }
  return false
}

/** By type of thread entry that is a turn: the roles or types in session lines. */
const LATER = new Map([
  ["chat", ["user", "assistant"]],
  ["pi.assistant", ["assistant"]],
  ["pi.tool_result", ["toolResult"]],
  ["pi.compaction", ["compaction"]]
])

/** A key for an answer's text, which a `chat` may repeat. */
const wordsKey = (text: string): string => `words:${text.trim()}`

const laterKey = (entry: ThreadEntry): string | undefined => {
  if (!LATER.has(entry.type) || entry.type === "interrupted") return undefined
  if (entry.type === "chat" && entry.payload.role === "assistant") return wordsKey(entry.payload.text ?? "")
  return keyOf(entry.type, { ...entry.payload })
}

/** Number of turns after the thread's last raw line that are in no raw line: Pi's turns, and chats. */
export const laterTurns = (thread: Thread, lineage: Lineage): { readonly pi: number; readonly chats: number } => {
  const counts = { pi: 0, chats: 0 }
  const last = thread.entries.findLastIndex((entry) => entry.type === "pi.session_entry")
  const later = thread.entries.slice(last + 1).filter(({ type }) => LATER.has(type))
  if (later.length === 0) return counts
  /** Number of lines not yet matched with a turn, by the keys of the later turns. */
  const left = new Map<string | undefined, number>()
  for (const entry of later) left.set(laterKey(entry), 0)
  // Lines of other roles are not decoded, to save time.
  const roles = new Set(later.flatMap(({ type }) => LATER.get(type) ?? []))
  for (const raw of linesBeside(thread, lineage)) {
    for (const { entry } of mayHold(raw, roles) ? read(raw) : []) {
      for (const key of lineKeys(entry)) {
        const count = left.get(key)
        if (count !== undefined) left.set(key, count + 1)
      }
    }
  }
  thread.entries.forEach((entry, index) => {
    const key = laterKey(entry)
    const lines = key === undefined ? 0 : (left.get(key) ?? 0)
    if (lines > 0) left.set(key, lines - 1)
    else if (index > last && LATER.has(entry.type)) counts[entry.type === "chat" ? "chats" : "pi"]++
  })
  return counts
}

/** The lines of the lineage and of other sessions in the thread, since a projection does not name its session. */
function* linesBeside(thread: Thread, lineage: Lineage): Generator<RawEntry> {
  yield* lineage.lines.values()
  for (const { payload, type } of thread.entries) {
    if (type === "pi.session_entry" && payload.sessionId !== lineage.sessionId) yield payload
  }
}

const lineKeys = (entry: SessionEntry): ReadonlyArray<string> => {
  const made = projected(entry, (id) => id)
  const payload = made === undefined ? undefined : objectAt(made, "payload")
  if (made === undefined || payload === undefined) return []
  const key = keyOf(String(made["type"]), payload)
  const words = made["type"] === "pi.assistant" ? [wordsKey(contentText(payload["content"]))] : []
  return key === undefined ? words : [key, ...words]
}

/** Whether a line may be a message of one of these roles: no is certain. */
const mayHold = ({ line }: RawEntry, roles: ReadonlySet<string>): boolean => {
  if (line === undefined || line.includes("\\u")) return true
  for (const role of roles) if (line.includes(`"${role}"`)) return true
  return false
}
