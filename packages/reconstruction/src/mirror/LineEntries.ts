/** Makes thread entries from lines of a session file: each raw line, and its projection where it has one. */
import { isUtf8 } from "node:buffer"
import { type JsonObject, stringAt } from "@pi-sessions/core/Json"
import * as FileLines from "./FileLines.ts"
import { type FollowState, advance, rawId } from "./FollowState.ts"
import { type Projected, type ProjectionIndex, entryOf, project, projectionId } from "./MirrorProjection.ts"

/** A line of the file, ready to become thread entries. */
export interface TakenLine {
  readonly raw: JsonObject
  /** The session entry in the line, when the line is a JSON object. */
  readonly entry: JsonObject | undefined
  readonly projected: Projected | undefined
  readonly createdAt: { readonly createdAt?: string }
}

/** Takes at most `maxLines` lines from `bytes`, which follow the state `from`. */
export const take = (
  bytes: Buffer,
  from: FollowState,
  maxLines: number
): { readonly lines: ReadonlyArray<TakenLine>; readonly state: FollowState } => {
  const lines: Array<TakenLine> = []
  let state = from
  for (const line of FileLines.split(bytes)) {
    if (lines.length >= maxLines) break
    state = advance(state, line)
    lines.push(takenLine(line, state))
  }
  return { lines, state }
}

/** `state` is the state after the line. */
const takenLine = (line: Buffer, state: FollowState): TakenLine => {
  const { sessionId, generation, seq, threadId, lastSha256: sha256 } = state
  const text = line.toString("utf8")
  const entry = entryOf(text)
  const timestamp = entry === undefined ? undefined : stringAt(entry, "timestamp")
  const createdAt = timestamp === undefined || Number.isNaN(Date.parse(timestamp)) ? {} : { createdAt: timestamp }
  const encoded = isUtf8(line) ? { line: text } : { lineBase64: line.toString("base64") }
  const entryId = (entry === undefined ? undefined : stringAt(entry, "id")) ?? null
  const isHeader = seq === 0
  const payload: JsonObject = isHeader
    ? // The schema requires `line` in a header, also where it is not UTF-8.
      { sessionId, generation, line: text, ...encoded, sha256 }
    : { sessionId, generation, seq, entryId, ...encoded, sha256 }
  const type = isHeader ? "pi.session_header" : "pi.session_entry"
  return {
    raw: { id: rawId(state, seq), threadId, type, ...createdAt, payload },
    entry,
    projected: entry === undefined || isHeader ? undefined : project(entry),
    createdAt
  }
}

/** The thread entries of a line. `index` must cover the file up to this line when the line is a compaction. */
export const threadEntries = (
  { raw, entry, projected, createdAt }: TakenLine,
  threadId: string,
  index: ProjectionIndex
): ReadonlyArray<JsonObject> => {
  if (projected === undefined || entry === undefined) return [raw]
  const { type, n, payload } = projected
  const kept = type === "pi.compaction" ? index.keptFrom(entry) : undefined
  const keptFrom = kept === undefined ? {} : { keptFrom: projectionId(threadId, kept) }
  return [raw, { id: projectionId(threadId, n), threadId, type, ...createdAt, payload: { ...payload, ...keptFrom } }]
}
