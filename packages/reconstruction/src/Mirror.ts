/**
 * Brings threads up to the session files that Pi writes. Nothing is queued that can be read again: the session file is
 * its own spool, and what it does not hold (request contexts) waits on disk until it has arrived. Delivery is at least
 * once, under ids that are the same each time; how far a file has come is saved only when the sink has acknowledged it.
 *
 * One worker does all of it. When a thread cannot be reached it tries again. What no waiting mends (a refused token, an
 * entry too large) is reported once and ends the mirroring of that thread until the next start. Nothing here fails, and
 * nobody waits for it but `flush`, which is bounded.
 */
import * as Context from "effect/Context"
import * as DateTime from "effect/DateTime"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import type * as Path from "effect/Path"
import type * as Scope from "effect/Scope"
import { type JsonObject, stringAt } from "@pi-sessions/core/Json"
import { type ChunkDelta, MirrorChunks } from "./mirror/MirrorChunks.ts"
import * as MirrorStore from "./mirror/MirrorStore.ts"
import { type MirrorTrouble, type Refused, fromSink } from "./mirror/MirrorTrouble.ts"
import * as MirrorWorker from "./mirror/MirrorWorker.ts"
import * as MirroredSession from "./mirror/MirroredSession.ts"
import * as RequestContext from "./mirror/RequestContext.ts"
import { type FollowLimits } from "./mirror/SessionFollower.ts"
import * as Follower from "./mirror/SessionFollower.ts"
import { ThreadSink } from "./ThreadSink.ts"
import { type ThreadSource } from "./ThreadSource.ts"

export interface MirrorOptions extends FollowLimits, MirrorWorker.WorkerPace {
  /** Where states and waiting entries are kept. */
  readonly stateDirectory: string
  /** Names the sink, so that states of one are not taken for another's. Holds no secret. */
  readonly sinkName: string
  /** Tells a person, once: an `error` when mirroring has stopped, a `warning` when the thread cannot be reached. */
  readonly report?: ((kind: "error" | "warning", message: string) => Effect.Effect<void>) | undefined
}

/** The session that Pi is in. */
export interface MirrorSession {
  /** It need not be there yet. */
  readonly file: string
  readonly sessionId: string
  /** The thread to mirror into; by default the one that this file was mirrored into before. */
  readonly threadId?: string | undefined
  /** The thread if neither is known. */
  readonly fallbackThreadId: string
  /** Whether the session has just begun, so that no thread can hold any of it. */
  readonly fresh: boolean
}

export class Mirror extends Context.Service<
  Mirror,
  {
    /** Mirrors this session from now on, and files of others that have grown since; gives the thread's id. */
    readonly open: (session: MirrorSession) => Effect.Effect<string>
    /** Something may have changed. */
    readonly poke: Effect.Effect<void>
    /** A piece of the answer that is being streamed. Lost when the thread cannot be reached. */
    readonly delta: (messageId: string, delta: ChunkDelta) => Effect.Effect<void>
    /** Kept until it has arrived; passed over when it is what was told last. */
    readonly requestContext: (context: RequestContext.RequestContext) => Effect.Effect<void>
    /** Sends what there is, within the time given; false when not all of it has arrived. */
    readonly flush: (limit: Duration.Input) => Effect.Effect<boolean>
  }
>()("@pi-sessions/reconstruction/Mirror") {
  static readonly layer = (options: MirrorOptions) => Layer.effect(Mirror, make(options))
}

/** Request contexts that are held in memory where the disk takes none. */
const MAX_UNKEPT = 16

const make = Effect.fnUntraced(function* (
  options: MirrorOptions
): Effect.fn.Return<
  Mirror["Service"],
  never,
  ThreadSink | ThreadSource | FileSystem.FileSystem | Path.Path | Scope.Scope
> {
  const sink = yield* ThreadSink
  const services = yield* Effect.context<ThreadSink | ThreadSource | FileSystem.FileSystem>()
  const store = yield* MirrorStore.make(options.stateDirectory, options.sinkName)
  const report = options.report ?? (() => Effect.void)
  const chunks = new MirrorChunks()
  const refused = new Set<string>()
  let current: MirroredSession.MirroredSession | undefined
  /** Sessions of other files that have lines to send. */
  let others: Array<MirroredSession.MirroredSession> = []

  const mirrored = (record: MirrorStore.MirrorRecord, copiedUntil: number) =>
    Effect.provideContext(MirroredSession.make(record, { store, limits: options, copiedUntil }), services)

  const sizeOf = (file: string) => Effect.provideContext(MirroredSession.sizeOf(file), services)

  /** Runs `work` for a thread unless it was refused before; when it is refused now, that is reported. */
  const unlessRefused = (
    threadId: string,
    work: Effect.Effect<boolean, MirrorTrouble>
  ): Effect.Effect<boolean, Exclude<MirrorTrouble, Refused>> =>
    refused.has(threadId)
      ? Effect.succeed(false)
      : work.pipe(
          Effect.catchTag("Refused", (error) => {
            refused.add(threadId)
            return Effect.as(
              report("error", `${error.message}. Mirroring has stopped; what is missing is sent at the next start`),
              false
            )
          })
        )

  const advance = (session: MirroredSession.MirroredSession) =>
    unlessRefused(session.state().threadId, session.step(session === current ? chunks : undefined))

  const advanceCurrent = Effect.suspend(() => (current === undefined ? Effect.succeed(false) : advance(current)))

  /** Entries that no disk could keep; the newest of them. */
  let unkept: Array<JsonObject> = []
  /** Entries of an earlier start may wait, too. */
  let mayWait = true
  const sendOne = (threadId: string, entry: JsonObject) =>
    unlessRefused(threadId, sink.append(threadId, [entry]).pipe(Effect.as(true), Effect.mapError(fromSink)))
  const sendWaiting = Effect.gen(function* () {
    if (!mayWait) return
    mayWait = false
    for (const waiting of yield* Effect.orElseSucceed(store.waiting, () => [])) {
      if (yield* sendOne(waiting.threadId, waiting.entry)) yield* Effect.ignore(store.remove(waiting))
    }
    for (const entry of unkept) {
      const threadId = stringAt(entry, "threadId") ?? ""
      if (yield* sendOne(threadId, entry)) unkept = unkept.filter((one) => one !== entry)
    }
  }).pipe(
    Effect.onError(() =>
      Effect.sync(() => {
        mayWait = true
      })
    )
  )

  /** Brings everything up to date. The session that Pi is in comes before each batch of another. */
  const pass = Effect.gen(function* () {
    yield* sendWaiting
    for (;;) {
      let more = true
      while (more) more = yield* advanceCurrent
      const other = others[0]
      if (other === undefined) return refused.size === 0
      // One that cannot be read is left to the next start, and holds up nobody.
      const left = Effect.catchTag(advance(other), "Unreadable", () => Effect.succeed(false))
      if (!(yield* left)) others = others.filter((one) => one !== other)
    }
  })

  const worker = yield* MirrorWorker.make(
    { pass, urgent: () => !chunks.isEmpty, failed: () => chunks.drop(), report },
    options
  )

  const open = Effect.fnUntraced(function* (session: MirrorSession) {
    const records = yield* Effect.orElseSucceed(store.records, () => [])
    const own = records.find(
      ({ state }) =>
        state.file === session.file &&
        state.sessionId === session.sessionId &&
        (session.threadId === undefined || state.threadId === session.threadId)
    )
    const threadId = session.threadId ?? own?.state.threadId ?? session.fallbackThreadId
    const { file, sessionId } = session
    const record = own ?? { state: Follower.initial({ file, threadId, sessionId }), placed: session.fresh }
    if (current !== undefined) others.push(current)
    const opened = yield* mirrored(record, session.fresh ? yield* sizeOf(file) : 0)
    // A session whose first line never arrives is found by its record at the next start.
    if (own === undefined) yield* opened.save
    for (const other of records) {
      const { byteOffset, file: otherFile } = other.state
      if (otherFile === file || others.some((one) => one.state().file === otherFile)) continue
      if ((yield* sizeOf(otherFile)) !== byteOffset) others.push(yield* mirrored(other, 0))
    }
    current = opened
    yield* worker.poke
    return threadId
  })

  const requestContext = Effect.fnUntraced(function* (context: RequestContext.RequestContext) {
    const session = current
    if (session === undefined) return
    const state = session.state()
    const sha256 = RequestContext.sha256Of(state.sessionId, context)
    if (sha256 === session.contextSha256) return
    session.contextSha256 = sha256
    const entry = RequestContext.entryOf(state, context, DateTime.formatIso(yield* DateTime.now))
    yield* store.keep(entry).pipe(
      Effect.catch(() =>
        Effect.sync(() => {
          unkept = [...unkept, entry].slice(-MAX_UNKEPT)
        })
      )
    )
    mayWait = true
    yield* session.save
    yield* worker.poke
  })

  return Mirror.of({
    open,
    poke: worker.poke,
    delta: (messageId, delta) =>
      Effect.sync(() => {
        if (!worker.failing() && current !== undefined) chunks.push(messageId, delta)
      }),
    requestContext,
    flush: worker.flush
  })
})
