/**
 * Copies live session files into threads (docs/adr/007-mirroring.md). Delivery is at least once, under ids that are the
 * same each time.
 *
 * One worker does all of it. It tries again while a thread cannot be reached. A lasting problem (a refused token, an
 * entry that is too large) is reported once and ends the mirroring of that thread until the next start. No call fails,
 * and no call waits for the thread except `flush`, whose time is limited.
 */
import * as Context from "effect/Context"
import * as DateTime from "effect/DateTime"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import type * as Path from "effect/Path"
import type * as Scope from "effect/Scope"
import { ThreadSink } from "./ThreadSink.ts"
import { type ThreadSource } from "./ThreadSource.ts"
import { type ChunkDelta, MirrorChunks } from "./mirror/MirrorChunks.ts"
import * as MirrorStore from "./mirror/MirrorStore.ts"
import { fromSink } from "./mirror/MirrorTrouble.ts"
import * as MirrorWorker from "./mirror/MirrorWorker.ts"
import { type MirroredSession } from "./mirror/MirroredSession.ts"
import { type MirrorSession, OpenSessions } from "./mirror/OpenSessions.ts"
import { RefusedThreads, type Report } from "./mirror/RefusedThreads.ts"
import * as RequestContext from "./mirror/RequestContext.ts"
import { type FollowLimits } from "./mirror/SessionFollower.ts"
import { WaitingEntries } from "./mirror/WaitingEntries.ts"

export interface MirrorOptions extends FollowLimits, MirrorWorker.WorkerPace {
  /** Directory of states and waiting entries. */
  readonly stateDirectory: string
  /** Identifies the sink, because each sink has its own states. Must hold no secret. */
  readonly sinkName: string
  /** Reports once to the user: an `error` when mirroring stops, a `warning` while the thread cannot be reached. */
  readonly report?: Report | undefined
}

export class Mirror extends Context.Service<
  Mirror,
  {
    /** Mirrors this session from now on, and other files that have grown since. Returns the thread's id. */
    readonly open: (session: MirrorSession) => Effect.Effect<string>
    /** Looks for new lines soon. */
    readonly poke: Effect.Effect<void>
    /** Adds a piece of the answer that is being streamed. Dropped while the thread cannot be reached. */
    readonly delta: (messageId: string, delta: ChunkDelta) => Effect.Effect<void>
    /** Stores the context until the thread has it. Ignored when it equals the last one. */
    readonly requestContext: (context: RequestContext.RequestContext) => Effect.Effect<void>
    /** Sends all lines within the time limit; false when some are missing in the thread. */
    readonly flush: (limit: Duration.Input) => Effect.Effect<boolean>
  }
>()("@pi-sessions/reconstruction/Mirror") {
  static readonly layer = (options: MirrorOptions) => Layer.effect(Mirror, make(options))
}

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
  const sessions = new OpenSessions(store, options)
  const waiting = new WaitingEntries(store)
  const refused = new RefusedThreads(report)
  const chunks = new MirrorChunks()

  const advance = (session: MirroredSession) => {
    const live = session === sessions.current ? chunks : undefined
    return refused.unlessRefused(session.state.threadId, session.step(live))
  }

  /** Brings all threads up to date. The current session comes before each batch of another. */
  const pass = Effect.gen(function* () {
    yield* waiting.sendAll((threadId, entry) =>
      refused.unlessRefused(threadId, Effect.as(Effect.mapError(sink.append(threadId, [entry]), fromSink), true))
    )
    for (;;) {
      while (sessions.current !== undefined && (yield* advance(sessions.current)));
      const other = sessions.nextOther
      if (other === undefined) return refused.isEmpty
      // An unreadable file waits for the next start and does not delay the others.
      const hasMore = yield* Effect.catchTag(advance(other), "Unreadable", () => Effect.succeed(false))
      if (!hasMore) sessions.remove(other)
    }
  })

  const worker = yield* MirrorWorker.make(
    { pass, urgent: () => !chunks.isEmpty, failed: () => chunks.drop(), report },
    options
  )

  const open = Effect.fnUntraced(function* (session: MirrorSession) {
    const opened = yield* Effect.provideContext(sessions.open(session), services)
    yield* worker.poke
    return opened.state.threadId
  })

  const requestContext = Effect.fnUntraced(function* (context: RequestContext.RequestContext) {
    const session = sessions.current
    if (session === undefined) return
    const { state } = session
    const sha256 = RequestContext.sha256Of(state.sessionId, context)
    if (sha256 === session.contextSha256) return
    session.contextSha256 = sha256
    yield* waiting.add(RequestContext.entryOf(state, context, DateTime.formatIso(yield* DateTime.now)))
    yield* session.save
    yield* worker.poke
  })

  return Mirror.of({
    open,
    poke: worker.poke,
    delta: (messageId, delta) =>
      Effect.sync(() => {
        if (!worker.failing() && sessions.current !== undefined) chunks.push(messageId, delta)
      }),
    requestContext,
    flush: worker.flush
  })
})
