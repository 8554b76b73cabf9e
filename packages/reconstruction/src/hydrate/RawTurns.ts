/**
 * What survives of a session in the raw lines of a lineage that is not whole: they take the place of their projection
 * (docs/thread.md). Only the branch that led to the newest line counts; where a parent is missing, the branch goes on
 * at the line before the gap.
 */
import { type Json, type JsonObject, isArray, isObject, objectAt, stringAt } from "@pi-sessions/core/Json"
import * as ValueText from "@pi-sessions/core/ValueText"
import { contentText } from "@pi-sessions/core/ModelContext"
import { SessionEntry } from "@pi-sessions/core/SessionLine"
import { SessionReader } from "@pi-sessions/core/SessionReader"
import { type Lineage, bytesOf } from "./LosslessHydration.ts"
import { isFlawless, lenient } from "../thread/LenientEntry.ts"
import { type RawEntry, type Thread, type ThreadEntry } from "../Thread.ts"
import { isThreadEntry } from "../ThreadReader.ts"

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
      return `assistant:${ValueText.stringify(payload["content"] ?? null)}`
    case "pi.tool_result":
      return `result:${stringAt(payload, "toolCallId")}:${ValueText.stringify(payload["content"] ?? null)}`
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
  // Labels and edits point at entries by ids that are made anew; without a type there is nothing to tell.
  return ["label", "context_edit", ""].includes(entry.type) ? undefined : of("raw", payload)
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

/** Ids of the session entries in a raw line: one, none in a damaged line, several in one that was glued. */
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

/** Turns of a thread, by the words that lines of a session spell them with. */
const LATER = new Map([
  ["chat", ["user", "assistant"]],
  ["pi.assistant", ["assistant"]],
  ["pi.tool_result", ["toolResult"]],
  ["pi.compaction", ["compaction"]]
])

/** What an answer says, which a `chat` may repeat. */
const wordsKey = (text: string): string => `words:${text.trim()}`

const laterKey = (entry: ThreadEntry): string | undefined => {
  if (!LATER.has(entry.type) || entry.type === "interrupted") return undefined
  if (entry.type === "chat" && entry.payload.role === "assistant") return wordsKey(entry.payload.text ?? "")
  return keyOf(entry.type, { ...entry.payload })
}

/** Turns after the thread's last raw line that no raw line holds: those that Pi took, and chats. */
export const laterTurns = (thread: Thread, lineage: Lineage): { readonly pi: number; readonly chats: number } => {
  const counts = { pi: 0, chats: 0 }
  const last = thread.entries.findLastIndex((entry) => entry.type === "pi.session_entry")
  const later = thread.entries.slice(last + 1).filter(({ type }) => LATER.has(type))
  if (later.length === 0) return counts
  /** How many lines are left for a turn to repeat, by the keys of the later turns. */
  const left = new Map<string | undefined, number>()
  for (const entry of later) left.set(laterKey(entry), 0)
  // Lines of other roles need not be decoded.
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

/** The lines of the lineage, and those of other sessions in the thread: a projection does not say whose it is. */
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
