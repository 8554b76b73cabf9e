/** Reads a thread to find where a session file continues in it. */
import * as Effect from "effect/Effect"
import * as LosslessHydration from "../hydrate/LosslessHydration.ts"
import { type Thread } from "../Thread.ts"
import { type ThreadSource } from "../ThreadSource.ts"
import { type FollowState, initial, rawId } from "./FollowState.ts"
import { type MirrorTrouble, fromFile, fromSource } from "./MirrorTrouble.ts"
import { type SessionFollower } from "./SessionFollower.ts"

export interface ThreadPosition {
  readonly state: FollowState
  /** Id of a raw line that the thread lacks, although its server acknowledged it or the thread holds a later one. */
  readonly missing: string | undefined
  /** Whether the file continues the generation that the thread holds. */
  readonly isHeld: boolean
}

/** Finds where the file of `state` continues. The server has acknowledged lines up to `acknowledged`. */
export const find = Effect.fnUntraced(function* (
  follower: SessionFollower,
  lineage: LosslessHydration.Lineage | undefined,
  state: FollowState,
  acknowledged: FollowState
): Effect.fn.Return<ThreadPosition, MirrorTrouble> {
  if (lineage === undefined) {
    const start = initial(acknowledged, acknowledged.generation)
    return { state: start, missing: acknowledged.seq > start.seq ? rawId(start, 0) : undefined, isHeld: false }
  }
  const found = yield* Effect.mapError(follower.adopt(state, lineage), fromFile)
  const isHeld = found.generation === lineage.generation
  const isShort = found.generation === acknowledged.generation && found.seq < acknowledged.seq
  const last = [...lineage.lines.keys()].reduce((last, seq) => Math.max(last, seq), 0)
  const hasGap = isHeld && found.seq < last
  return { state: found, missing: isShort || hasGap ? rawId(found, found.seq + 1) : undefined, isHeld }
})

/** What the thread holds of the session, in its highest generation. */
export const lineageOf = (source: ThreadSource["Service"], { threadId, sessionId }: FollowState) =>
  source.thread(threadId).pipe(
    Effect.map((thread) => LosslessHydration.choose(withoutForeignLines(thread, threadId), sessionId)),
    Effect.catchIf(
      (error) => error.why === "absent",
      () => Effect.undefined
    ),
    Effect.mapError(fromSource(threadId))
  )

/** Leaves out raw lines that name another thread: a faulty server may answer with the wrong one. */
const withoutForeignLines = (thread: Thread, threadId: string): Thread => ({
  ...thread,
  entries: thread.entries.filter(
    (entry) =>
      (entry.type !== "pi.session_header" && entry.type !== "pi.session_entry") ||
      entry.threadId === undefined ||
      entry.threadId === threadId
  )
})
