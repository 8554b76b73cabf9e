/**
 * What survives of a session in the raw lines of a lineage that is not whole: they take the place of their projection
 * (docs/thread.md). Only the branch that led to the newest line counts; where a parent is missing, the branch goes on
 * at the line before the gap.
 */
import { type Json, type JsonObject, isArray, isObject, objectAt, stringAt } from "@pi-sessions/core/Json"
import { contentText } from "@pi-sessions/core/ModelContext"
import { SessionEntry } from "@pi-sessions/core/SessionLine"
import { SessionReader } from "@pi-sessions/core/SessionReader"
import { type Lineage, bytesOf } from "./LosslessHydration.ts"
import { isFlawless, lenient } from "./LenientEntry.ts"
import { type RawEntry, type Thread, type ThreadEntry } from "./Thread.ts"
import { isThreadEntry } from "./ThreadReader.ts"

/** A surviving line as the entry it holds. */
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
    // Only earlier lines can be parents; a lost one was written right after a line that survives.
    index = parent !== undefined && parent < index ? parent : index - 1
  }
  return branch.reverse()
}

/** What makes a turn the same turn, raw or projected: who spoke, and the words, or the call that is answered. */
const keyOf = (type: string, payload: JsonObject): string | undefined => {
  switch (type) {
    case "chat":
      return payload["role"] === "user" ? `user:${stringAt(payload, "text")?.trim()}` : undefined
    case "pi.assistant":
      return `assistant:${JSON.stringify(payload["content"])}`
    case "pi.tool_result":
      return `result:${stringAt(payload, "toolCallId")}:${JSON.stringify(payload["content"])}`
    case "pi.compaction":
      return `compaction:${stringAt(payload, "summary")}`
    default:
      return undefined
  }
}

/** The thread entry that says what a session entry says; undefined where a linear session has no place for it. */
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
  // Labels and edits point at entries by ids that are made anew.
  return entry.type === "label" || entry.type === "context_edit" ? undefined : of("raw", payload)
}

const userChat = (message: JsonObject): JsonObject => {
  const content: Json | undefined = message["content"]
  const images = isArray(content) ? content.filter((block) => isObject(block) && block["type"] === "image") : []
  return { role: "user", text: contentText(content), ...(images.length === 0 ? {} : { attachments: images }) }
}

/**
 * The thread's entries with the surviving lines of `lineage` in place of what only repeats them. A line stands where
 * its raw entry stood.
 */
export const substitute = (thread: Thread, lineage: Lineage): ReadonlyArray<ThreadEntry> => {
  const survivors = [...lineage.lines.values()].sort((a, b) => a.seq - b.seq).flatMap(read)
  const idOf = (entryId: string): string => `${lineage.sessionId}:${lineage.generation}:${entryId}`
  const bySeq = new Map<number, Array<ThreadEntry>>()
  /** How many projected entries each turn stands for, by key; lines off the branch count too. */
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
      // Raw entries may come in any order; the lines keep theirs.
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

/** How many of the thread's turns after its last raw line the raw lines do not hold; what `substitute` would leave of them. */
export const laterTurns = (thread: Thread, lineage: Lineage): number => {
  const last = thread.entries.findLastIndex((entry) => entry.type === "pi.session_entry")
  const later = thread.entries.slice(last + 1).filter(({ type }) => type === "pi.assistant" || type === "chat")
  if (later.length === 0) return 0
  const keyOfEntry = (entry: ThreadEntry): string | undefined =>
    entry.type === "pi.assistant" || entry.type === "chat" ? keyOf(entry.type, { ...entry.payload }) : undefined
  /** How many lines are left for a turn to repeat, by the keys of the later turns. */
  const left = new Map<string | undefined, number>()
  for (const entry of later) left.set(keyOfEntry(entry), 0)
  // Lines of other roles need not be decoded.
  const roles = new Set(later.map(({ type }) => (type === "chat" ? "user" : "assistant")))
  for (const raw of lineage.lines.values()) {
    for (const { entry } of mayHold(raw, roles) ? read(raw) : []) {
      const made = projected(entry, (id) => id)
      const key = made === undefined ? undefined : keyOf(String(made["type"]), objectAt(made, "payload") ?? {})
      if (key !== undefined && left.has(key)) left.set(key, (left.get(key) ?? 0) + 1)
    }
  }
  let count = 0
  thread.entries.forEach((entry, index) => {
    const key = keyOfEntry(entry)
    const lines = key === undefined ? 0 : (left.get(key) ?? 0)
    if (lines > 0) left.set(key, lines - 1)
    else if (index > last && (entry.type === "pi.assistant" || entry.type === "chat")) count++
  })
  return count
}

/** Whether a line may be a message of one of these roles: no is certain. */
const mayHold = ({ line }: RawEntry, roles: ReadonlySet<string>): boolean => {
  if (line === undefined || line.includes("\\u")) return true
  for (const role of roles) if (line.includes(`"${role}"`)) return true
  return false
}
