/**
 * Brings threads up to the session files that Pi writes. Nothing is queued that can be read again: the session file is
 * its own spool, and what it does not hold (request contexts) waits on disk until it has arrived. Delivery is at least
 * once, under ids that are the same each time; how far a file has come is saved only when the sink has acknowledged it.
 *
 * One worker does all of it, when it is poked and every half second, because Pi 0.78 tells nobody of labels, names and
 * custom entries. When a thread cannot be reached it tries again for as long as it lives, ever more rarely. What no
 * waiting mends (a refused token, an entry too large) is reported once and ends the mirroring of that thread until the
 * next start. Nothing here fails, and nobody waits for it but `flush`, which is bounded.
 *
 * A file may have been mirrored from elsewhere, or its state be lost: then the thread is asked where it goes on. The
 * same happens when the sink has entries already that were not sent from here.
 */
import { createHash } from "node:crypto"
import * as Context from "effect/Context"
import * as DateTime from "effect/DateTime"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Path from "effect/Path"
import type * as PlatformError from "effect/PlatformError"
import * as Queue from "effect/Queue"
import * as Random from "effect/Random"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { type Json, type JsonObject } from "@pi-sessions/core/Json"
import * as LosslessHydration from "./LosslessHydration.ts"
import { type ChunkDelta, MirrorChunks } from "./MirrorChunks.ts"
import * as MirrorStore from "./MirrorStore.ts"
import { type FollowLimits, type FollowState, type SessionFollower } from "./SessionFollower.ts"
import * as Follower from "./SessionFollower.ts"
import { ThreadSink, type ThreadSinkError } from "./ThreadSink.ts"
import { ThreadSource, type ThreadUnavailable } from "./ThreadSource.ts"

export interface MirrorOptions extends FollowLimits {
  /** Where states and waiting entries are kept. */
  readonly stateDirectory: string
  /** Names the sink, so that states of one are not taken for another's. Holds no secret. */
  readonly sinkName: string
  /** Tells a person, once: an `error` when mirroring has stopped, a `warning` when the thread cannot be reached. */
  readonly report?: ((kind: "error" | "warning", message: string) => Effect.Effect<void>) | undefined
  /** How often the session file is looked at without a poke; half a second by default. */
  readonly interval?: Duration.Input | undefined
  /** The first pause after a failure, which doubles, give or take a quarter; half a second by default. */
  readonly backoff?: Duration.Input | undefined
  /** The longest pause; half a minute by default. */
  readonly longestBackoff?: Duration.Input | undefined
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

/** What a model is told before the conversation. */
export interface RequestContext {
  readonly systemPrompt: string
  readonly tools: ReadonlyArray<{ readonly name: string; readonly description: string; readonly parameters: Json }>
  /** The entry that Pi stood at. */
  readonly afterEntryId?: string | undefined
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
    readonly requestContext: (context: RequestContext) => Effect.Effect<void>
    /** Sends what there is, within the time given; false when not all of it has arrived. */
    readonly flush: (limit: Duration.Input) => Effect.Effect<boolean>
  }
>()("@pi-sessions/reconstruction/Mirror") {
  static readonly layer = (options: MirrorOptions) => Layer.effect(Mirror, make(options))
}

/** Why a pass could not be finished; another one may be. */
class Unreachable extends Schema.TaggedError<Unreachable>()("Unreachable", { reason: Schema.String }) {
  override get message(): string {
    return this.reason
  }
}

/** No waiting mends this. */
class Refused extends Schema.TaggedError<Refused>()("Refused", { threadId: Schema.String, reason: Schema.String }) {
  override get message(): string {
    return this.reason
  }
}

/** A session file cannot be read. */
class Unreadable extends Schema.TaggedError<Unreadable>()("Unreadable", { reason: Schema.String }) {
  override get message(): string {
    return this.reason
  }
}

type Trouble = Unreachable | Refused | Unreadable

/** A session file that is being followed. */
interface Followed {
  readonly follower: SessionFollower
  state: FollowState
  placed: boolean
  contextSha256: string | undefined
  /** Size, time and inode when there was nothing new. */
  seen: string
  /** Where a batch began that was sent and not acknowledged: some of it may have arrived. */
  attempted: number | undefined
  /** Up to here the file was there before its generation began, and may say what other sessions in the thread said. */
  copiedUntil: number
}

const fromSink = (error: ThreadSinkError): Trouble =>
  error.retryable
    ? new Unreachable({ reason: error.message })
    : new Refused({ threadId: error.threadId, reason: error.message })

const fromFile = (error: PlatformError.PlatformError): Trouble => new Unreadable({ reason: error.message })

/** Whether a lineage ends where `state` goes on. */
const holds = (state: FollowState, lineage: LosslessHydration.Lineage): boolean =>
  state.seq >= [...lineage.lines.keys()].reduce((last, seq) => Math.max(last, seq), 0)

const make = Effect.fnUntraced(function* (
  options: MirrorOptions
): Effect.fn.Return<
  Mirror["Service"],
  never,
  ThreadSink | ThreadSource | FileSystem.FileSystem | Path.Path | Scope.Scope
> {
  const fs = yield* FileSystem.FileSystem
  const sink = yield* ThreadSink
  const source = yield* ThreadSource
  const store = yield* MirrorStore.make(options.stateDirectory, options.sinkName)
  const report = options.report ?? (() => Effect.void)
  const wake = yield* Queue.sliding<void>(1)
  const urgent = yield* Queue.sliding<void>(1)
  const chunks = new MirrorChunks()
  const refused = new Set<string>()
  const flushes: Array<Deferred.Deferred<boolean>> = []
  let current: Followed | undefined
  /** Files of other sessions that have lines to send. */
  let others: Array<Followed> = []
  let failures = 0

  const save = (followed: Followed) =>
    Effect.ignore(
      store.save({
        state: followed.state,
        placed: followed.placed,
        ...(followed.contextSha256 === undefined ? {} : { contextSha256: followed.contextSha256 })
      })
    )

  const followedFrom = Effect.fnUntraced(function* (record: MirrorStore.MirrorRecord, copiedUntil: number) {
    const follower = yield* Effect.provideService(Follower.make(record.state.file), FileSystem.FileSystem, fs)
    const followed: Followed = {
      follower,
      state: record.state,
      placed: record.placed,
      contextSha256: record.contextSha256,
      seen: "",
      attempted: undefined,
      copiedUntil
    }
    return followed
  })

  /** What the thread holds of a session, in its highest generation. */
  const lineageOf = (state: FollowState) =>
    source.thread(state.threadId).pipe(
      Effect.map((thread) => LosslessHydration.choose(thread, state.sessionId)),
      Effect.catchIf(
        (error) => error.why === "absent",
        () => Effect.undefined
      ),
      Effect.mapError((error: ThreadUnavailable): Trouble =>
        error.why === "unreachable"
          ? new Unreachable({ reason: error.message })
          : new Refused({ threadId: state.threadId, reason: error.message })
      )
    )

  /** Finds out from the thread where a file goes on; `otherwise` when the thread holds nothing of it. */
  const place = Effect.fnUntraced(function* (followed: Followed, otherwise: FollowState) {
    const lineage = yield* lineageOf(followed.state)
    const size = yield* sizeOf(followed.state.file)
    const state =
      lineage === undefined
        ? otherwise
        : yield* Effect.mapError(followed.follower.adopt(followed.state, lineage), fromFile)
    const all = lineage !== undefined && state.generation === lineage.generation && holds(state, lineage)
    followed.state = state
    followed.placed = true
    followed.attempted = undefined
    followed.copiedUntil = all ? 0 : size
    yield* save(followed)
  })

  const sizeOf = (file: string) =>
    Effect.match(fs.stat(file), { onFailure: () => 0, onSuccess: ({ size }) => Number(size) })

  const signature = (file: string) =>
    Effect.match(fs.stat(file), {
      onFailure: () => "",
      onSuccess: ({ size, mtime, ino }) =>
        [size, Option.getOrUndefined(mtime)?.getTime(), Option.getOrUndefined(ino)].join(" ")
    })

  const send = (threadId: string, entries: ReadonlyArray<JsonObject>) =>
    Effect.mapError(sink.append(threadId, entries), fromSink)

  /** What was streamed since the last time. It goes before the lines that were read before it was taken. */
  const takeChunks = (followed: Followed) =>
    followed !== current || chunks.isEmpty
      ? Effect.succeed([])
      : Effect.map(DateTime.now, (now) => chunks.take(followed.state.threadId, DateTime.formatIso(now)))

  /** Brings the thread one batch nearer to a file; false when it is there. */
  const step = Effect.fnUntraced(function* (followed: Followed): Effect.fn.Return<boolean, Trouble> {
    const { state } = followed
    const { threadId } = state
    const seen = yield* signature(state.file)
    if (seen === followed.seen && (followed !== current || chunks.isEmpty)) return false
    if (!followed.placed) {
      yield* place(followed, Follower.initial(state))
      return true
    }
    const read = yield* Effect.mapError(followed.follower.next(state, options), fromFile)
    const live = yield* takeChunks(followed)
    if (read._tag === "Rewritten") {
      yield* place(followed, Follower.initial(state, state.generation + 1))
      return true
    }
    if (read._tag === "Nothing") {
      if (live.length > 0) yield* send(threadId, live)
      followed.seen = seen
      return false
    }
    const sentBefore = followed.attempted === state.byteOffset
    followed.attempted = state.byteOffset
    const { repeated } = yield* send(threadId, [...live, ...read.entries])
    followed.attempted = undefined
    if (repeated > 0 && !sentBefore && state.byteOffset >= followed.copiedUntil) {
      // Sent from here before a crash, or from another place that went on with the same session.
      yield* place(followed, read.state)
      return true
    }
    followed.state = read.state
    yield* save(followed)
    return true
  })

  /** Runs `work` for a thread unless it was refused before; when it is refused now, that is reported. */
  const unlessRefused = (
    threadId: string,
    work: Effect.Effect<boolean, Trouble>
  ): Effect.Effect<boolean, Exclude<Trouble, Refused>> =>
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

  const advance = (followed: Followed) => unlessRefused(followed.state.threadId, step(followed))

  const advanceCurrent = Effect.suspend(() => (current === undefined ? Effect.succeed(false) : advance(current)))

  /** Entries of an earlier start may wait, too. */
  let mayWait = true
  const sendWaiting = Effect.gen(function* () {
    if (!mayWait) return
    mayWait = false
    for (const waiting of yield* Effect.orElseSucceed(store.waiting, () => [])) {
      const sent = Effect.as(send(waiting.threadId, [waiting.entry]), true)
      if (yield* unlessRefused(waiting.threadId, sent)) yield* Effect.ignore(store.remove(waiting))
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
      if (other === undefined) return
      // One that cannot be read is left to the next start, and holds up nobody.
      const left = Effect.catchTag(advance(other), "Unreadable", () => Effect.succeed(false))
      if (!(yield* left)) others = others.filter((one) => one !== other)
    }
  })

  const backoff = Duration.toMillis(Duration.fromInputUnsafe(options.backoff ?? "500 millis"))
  const longest = Duration.toMillis(Duration.fromInputUnsafe(options.longestBackoff ?? "30 seconds"))
  const pause = Effect.flatMap(Random.next, (random) =>
    Effect.sleep(Math.min(longest, backoff * 2 ** (failures - 1)) * (0.75 + random / 2))
  )

  const work = Effect.gen(function* () {
    yield* failures === 0 ? Queue.take(wake) : Effect.raceFirst(pause, Queue.take(urgent))
    const waiting = flushes.splice(0)
    const result = yield* Effect.result(pass)
    failures = Result.isSuccess(result) ? 0 : failures + 1
    if (Result.isFailure(result)) {
      chunks.drop()
      if (failures === WARN_AFTER) {
        yield* report("warning", `${result.failure.message}. It is tried again; the session file keeps what is missing`)
      }
    }
    const arrived = Result.isSuccess(result) && refused.size === 0
    for (const flush of waiting) yield* Deferred.succeed(flush, arrived)
  })
  // A defect would end the mirroring without a word; the next poke begins anew.
  yield* Effect.forkScoped(
    Effect.forever(
      Effect.catchDefect(work, (defect) =>
        Effect.andThen(report("error", `the mirror failed: ${String(defect)}`), pause)
      )
    )
  )

  const interval = Duration.toMillis(Duration.fromInputUnsafe(options.interval ?? "500 millis"))
  yield* Effect.acquireRelease(
    Effect.sync(() => {
      let ticks = 0
      // A timer of Effect's would keep Pi from ending.
      const timer = setInterval(() => {
        if (!chunks.isEmpty || ++ticks % 2 === 0) Queue.offerUnsafe(wake, undefined)
      }, interval / 2)
      return timer.unref()
    }),
    (timer) => Effect.sync(() => clearInterval(timer))
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
    const opened = yield* followedFrom(record, session.fresh ? yield* sizeOf(file) : 0)
    // A session whose first line never arrives is found by its record at the next start.
    if (own === undefined) yield* save(opened)
    for (const record of records) {
      const { file } = record.state
      if (file === opened.state.file || others.some(({ state }) => state.file === file)) continue
      if ((yield* sizeOf(file)) !== record.state.byteOffset) others.push(yield* followedFrom(record, 0))
    }
    current = opened
    yield* Queue.offer(wake, undefined)
    return threadId
  })

  const requestContext = Effect.fnUntraced(function* (context: RequestContext) {
    const followed = current
    if (followed === undefined) return
    const { sessionId, threadId } = followed.state
    const told = { sessionId, systemPrompt: context.systemPrompt, tools: context.tools }
    const sha256 = createHash("sha256").update(JSON.stringify(told)).digest("hex")
    if (sha256 === followed.contextSha256) return
    followed.contextSha256 = sha256
    const { afterEntryId } = context
    const at = afterEntryId ?? "start"
    const entry: JsonObject = {
      id: `${threadId}:pi:context:${sessionId}:${at}:${sha256.slice(0, 16)}`,
      threadId,
      type: "pi.request_context",
      createdAt: DateTime.formatIso(yield* DateTime.now),
      payload: { ...told, sha256, ...(afterEntryId === undefined ? {} : { afterEntryId }) }
    }
    // Where it cannot be kept it is sent at once, or not at all.
    yield* store.keep(entry).pipe(Effect.catch(() => Effect.ignore(sink.append(threadId, [entry]))))
    mayWait = true
    yield* save(followed)
    yield* Queue.offer(wake, undefined)
  })

  const flush = (limit: Duration.Input) =>
    Effect.gen(function* () {
      const done = yield* Deferred.make<boolean>()
      flushes.push(done)
      yield* Queue.offer(wake, undefined)
      yield* Queue.offer(urgent, undefined)
      return Option.getOrElse(yield* Effect.timeoutOption(Deferred.await(done), limit), () => false)
    })

  return Mirror.of({
    open,
    poke: Effect.sync(() => {
      Queue.offerUnsafe(wake, undefined)
    }),
    delta: (messageId, delta) =>
      Effect.sync(() => {
        if (failures === 0 && current !== undefined) chunks.push(messageId, delta)
      }),
    requestContext,
    flush
  })
})

/** Failures in a row before a person is told that the thread cannot be reached. */
const WARN_AFTER = 3
