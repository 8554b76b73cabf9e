/**
 * One session file on its way into a thread. It goes a batch at a time, and how far it has come is saved only when the
 * sink has acknowledged the batch.
 *
 * The thread is read, once and whole, when its own record does not say where the file goes on: when there is no record
 * of a session that is not new, when Pi has rewritten the file, and when the sink had entries already that are not known
 * to have arrived from here. Those may be another place's, under the same ids, and only their bytes tell.
 *
 * When the thread turns out to lack a line that was acknowledged, or one before the last that it holds, the lines from
 * there on are sent again. If it lacks that line still, mirroring fails: its server acknowledges what it does not keep.
 */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as LosslessHydration from "../hydrate/LosslessHydration.ts"
import { type MirrorChunks } from "./MirrorChunks.ts"
import { type MirrorRecord, type MirrorStore } from "./MirrorStore.ts"
import { type MirrorTrouble, Refused, fromFile, fromSink, fromSource } from "./MirrorTrouble.ts"
import { type FollowLimits, type FollowState } from "./SessionFollower.ts"
import * as Follower from "./SessionFollower.ts"
import { type Thread } from "../Thread.ts"
import { ThreadSink } from "../ThreadSink.ts"
import { ThreadSource } from "../ThreadSource.ts"

export interface MirroredSession {
  /** How far the thread is known to hold it. */
  readonly state: () => FollowState
  /** Of the last request context. */
  contextSha256: string | undefined
  /** Puts all this on record. When that fails, each step tries again. */
  readonly save: Effect.Effect<void>
  /** Brings the thread one batch nearer to the file, with what is streamed now; false when it is there. */
  readonly step: (chunks: MirrorChunks | undefined) => Effect.Effect<boolean, MirrorTrouble>
}

export interface Options {
  readonly store: MirrorStore
  readonly limits: FollowLimits
  /** Up to here the file was there before its generation began, and may say what other sessions in the thread said. */
  readonly copiedUntil: number
}

/** Bytes in a file; none when it is not there. */
export const sizeOf = Effect.fnUntraced(function* (
  file: string
): Effect.fn.Return<number, never, FileSystem.FileSystem> {
  const fs = yield* FileSystem.FileSystem
  return yield* Effect.match(fs.stat(file), { onFailure: () => 0, onSuccess: ({ size }) => Number(size) })
})

/** Size, time and inode, which are others once a file has changed. */
const signatureOf = Effect.fnUntraced(function* (file: string): Effect.fn.Return<string, never, FileSystem.FileSystem> {
  const fs = yield* FileSystem.FileSystem
  return yield* Effect.match(fs.stat(file), {
    onFailure: () => "",
    onSuccess: ({ size, mtime, ino }) =>
      [size, Option.getOrUndefined(mtime)?.getTime(), Option.getOrUndefined(ino)].join(" ")
  })
})

/** Whether a lineage ends where `state` goes on. */
const holds = (state: FollowState, lineage: LosslessHydration.Lineage): boolean =>
  state.seq >= [...lineage.lines.keys()].reduce((last, seq) => Math.max(last, seq), 0)

/** The thread without raw lines that say they belong to another one; a server may answer with the wrong thread. */
const own = (thread: Thread, threadId: string): Thread => ({
  ...thread,
  entries: thread.entries.filter(
    (entry) =>
      (entry.type !== "pi.session_header" && entry.type !== "pi.session_entry") ||
      entry.threadId === undefined ||
      entry.threadId === threadId
  )
})

/** The session of a record, which goes on where the record says. */
export const make = Effect.fnUntraced(function* (
  record: MirrorRecord,
  { copiedUntil: copied, limits, store }: Options
): Effect.fn.Return<MirroredSession, never, ThreadSink | ThreadSource | FileSystem.FileSystem> {
  const sink = yield* ThreadSink
  const source = yield* ThreadSource
  const files = yield* Effect.context<FileSystem.FileSystem>()
  const { file } = record.state
  const follower = yield* Follower.make(file)
  let { state, placed } = record
  let copiedUntil = copied
  /** The file's signature when there was nothing new. */
  let seen = ""

  /** Id of the raw line that the thread lacked when it was read last. */
  let missing: string | undefined

  /** Whether the record on disk says less than it should. */
  let unsaved = false

  const save = Effect.suspend(() => {
    const { contextSha256 } = session
    unsaved = true
    return store.save({ state, placed, ...(contextSha256 === undefined ? {} : { contextSha256 }) }).pipe(
      Effect.andThen(
        Effect.sync(() => {
          unsaved = false
        })
      ),
      Effect.ignore
    )
  })

  /** What the thread holds of the session, in its highest generation. */
  const lineage = Effect.suspend(() =>
    source.thread(state.threadId).pipe(
      Effect.map((thread) => LosslessHydration.choose(own(thread, state.threadId), state.sessionId)),
      Effect.catchIf(
        (error) => error.why === "absent",
        () => Effect.undefined
      ),
      Effect.mapError(fromSource(state.threadId))
    )
  )

  /**
   * Finds out from the thread where the file goes on. `acknowledged` is as far as the sink says it has come. Fails when
   * the thread lacks the same line as the last time.
   */
  const place = Effect.fnUntraced(function* (acknowledged: FollowState) {
    const held = yield* lineage
    const size = yield* Effect.provideContext(sizeOf(file), files)
    const found =
      held === undefined
        ? Follower.initial(acknowledged, acknowledged.generation)
        : yield* Effect.mapError(follower.adopt(state, held), fromFile)
    const isShort = found.generation === acknowledged.generation && found.seq < acknowledged.seq
    const isHeld = held !== undefined && found.generation === held.generation
    const hasGap = isHeld && !holds(found, held)
    const lacks = isShort || hasGap ? Follower.rawId(found, found.seq + 1) : undefined
    if (lacks !== undefined && lacks === missing) {
      const { threadId } = state
      const reason = `thread ${threadId} lacks ${lacks}, although its server acknowledges that entry each time`
      return yield* new Refused({ threadId, reason })
    }
    missing = lacks
    state = found
    placed = true
    copiedUntil = isHeld && lacks === undefined ? 0 : size
    yield* save
  })

  const step = Effect.fnUntraced(function* (
    chunks: MirrorChunks | undefined
  ): Effect.fn.Return<boolean, MirrorTrouble> {
    if (unsaved) yield* save
    const from = state
    const { threadId } = from
    const signature = yield* Effect.provideContext(signatureOf(file), files)
    if (signature === seen && (chunks === undefined || chunks.isEmpty)) return false
    if (!placed) {
      yield* place(Follower.initial(from))
      return true
    }
    const read = yield* Effect.mapError(follower.next(from, limits), fromFile)
    // It goes before the lines that were read before it was taken.
    const live =
      chunks === undefined || chunks.isEmpty ? [] : chunks.take(threadId, DateTime.formatIso(yield* DateTime.now))
    if (read._tag === "Rewritten") {
      missing = undefined
      yield* place(Follower.initial(from, from.generation + 1))
      return true
    }
    if (read._tag === "Nothing") {
      if (live.length > 0) yield* Effect.mapError(sink.append(threadId, live), fromSink)
      seen = signature
      return false
    }
    const { repeated } = yield* Effect.mapError(sink.append(threadId, [...live, ...read.entries]), fromSink)
    // Where the file was copied from another session, its projections may repeat; its raw lines are new.
    const mayRepeat = from.byteOffset >= copiedUntil ? 0 : read.entries.length - (read.state.seq - from.seq)
    if (repeated > mayRepeat) {
      // Sent from here before a crash or a lost answer, or from another place that went on with the same session.
      yield* place(read.state)
      return true
    }
    state = read.state
    yield* save
    return true
  })

  const session: MirroredSession = { state: () => state, contextSha256: record.contextSha256, save, step }
  return session
})
