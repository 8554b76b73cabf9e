/** How far a session file has been mirrored. The mirror keeps this state on disk; all else is read from the file again. */
import * as Schema from "effect/Schema"
import { stringAt } from "@pi-sessions/core/Json"
import { sha256 } from "../internal/sha256.ts"
import { entryOf } from "./MirrorProjection.ts"

export const FollowState = Schema.Struct({
  file: Schema.String,
  threadId: Schema.String,
  sessionId: Schema.String,
  generation: Schema.Int,
  /** Number of the last mirrored line: 0 is the header, -1 means that no line is mirrored. */
  seq: Schema.Int,
  /** Offset of the next line, in bytes. */
  byteOffset: Schema.Int,
  lastLineOffset: Schema.Int,
  lastSha256: Schema.String,
  /** Length of the header line without its newline. */
  headerBytes: Schema.Int,
  headerSha256: Schema.String
})
export type FollowState = typeof FollowState.Type

/** The state of a file of which nothing is mirrored. */
export const initial = (
  { file, threadId, sessionId }: Pick<FollowState, "file" | "threadId" | "sessionId">,
  generation = 0
): FollowState => ({
  file,
  threadId,
  sessionId,
  generation,
  seq: -1,
  byteOffset: 0,
  lastLineOffset: 0,
  lastSha256: "",
  headerBytes: 0,
  headerSha256: ""
})

/** The state after one more line. The header decides the session's id. */
export const advance = (state: FollowState, line: Buffer): FollowState => {
  const lastSha256 = sha256(line)
  const next = {
    seq: state.seq + 1,
    byteOffset: state.byteOffset + line.length + 1,
    lastLineOffset: state.byteOffset,
    lastSha256
  }
  if (state.seq >= 0) return { ...state, ...next }
  const header = entryOf(line.toString("utf8"))
  const id = header?.["type"] === "session" ? stringAt(header, "id") : undefined
  // A different session under the same path starts its own generations.
  const changed = id === undefined || id === state.sessionId ? {} : { sessionId: id, generation: 0 }
  return { ...state, ...changed, ...next, headerBytes: line.length, headerSha256: lastSha256 }
}

/** The id of the thread entry that carries line `seq`. */
export const rawId = (state: FollowState, seq: number): string =>
  `${state.threadId}:pi:raw:${state.sessionId}:${state.generation}:${seq}`
