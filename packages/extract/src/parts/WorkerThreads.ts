/**
 * The layer of `WorkerPool` that works in threads: several where there is enough to do, and one so that a session that takes
 * too long, or too much memory, can be stopped. Such a session is reported, and all others are worked on.
 */
import * as Os from "node:os"
import { type ResourceLimits } from "node:worker_threads"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import { SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import { SessionSource } from "@pi-sessions/session-file/SessionSource"
import { type Reply, type Request } from "./ExtractThread.ts"
import { type ReportRow } from "../ExtractReport.ts"
import { Look, rowOf } from "../plan/SessionSurvey.ts"
import { type Kin, WorkerPool, type WorkSettings, type Workers, local } from "./WorkerPool.ts"
import { type ThreadStopped, WorkerThread } from "./WorkerThread.ts"

export interface ThreadOptions {
  /** The module that a thread runs: it serves `ExtractThread` with the `ThreadData` that it is given. */
  readonly entry: URL
  /** Default: by the size of the sessions and the machine's cores. */
  readonly threads?: number | undefined
  /**
   * For how long one session may be worked on. Default: `SESSION_SECONDS`. Given, a thread is started for small amounts of
   * sessions too.
   */
  readonly sessionSeconds?: number | undefined
  /** Of each thread's heap. Default: those of V8. */
  readonly resourceLimits?: ResourceLimits
}

/** Far more than the largest sessions take: one of 1 GB takes 50 s of CPU time. */
export const SESSION_SECONDS = 600

/** In bytes of sessions: below it starting threads costs more than they win. */
const WORTH_THREADS = 64e6
/** The same where a model's tokens are counted, which takes far longer. */
const WORTH_THREADS_WITH_MODEL = 3e6
/**
 * In bytes of sessions: from here on a thread is started so that it can be stopped. Starting one takes 0.3 s of CPU time and
 * 40 MB of memory; extracting so many bytes takes 1 s. Less is guarded by the limit of steps alone.
 */
const WORTH_WATCHING = 16e6
const THREADS_MAX = 8
/** Groups of kin that are asked for ahead of the one that is written, for each thread. */
const AHEAD = 8

/** Reads small amounts in this thread, from the `SessionSource` in its context. */
export const layer = (options: ThreadOptions) =>
  Layer.effect(
    WorkerPool,
    Effect.map(SessionSource, (source) =>
      WorkerPool.of({
        open: (settings, bytes) => {
          const { sessionSeconds, threads } = options
          const worth = settings.model === undefined ? WORTH_THREADS : WORTH_THREADS_WITH_MODEL
          const count = threads ?? (bytes < worth ? 1 : Math.min(Os.availableParallelism(), THREADS_MAX))
          const isHere = count <= 1 && bytes < WORTH_WATCHING && sessionSeconds === undefined
          return isHere ? local(source, settings) : open(options, settings, Math.max(1, count))
        }
      })
    )
  )

const open = Effect.fn("WorkerThreads.open")(function* (options: ThreadOptions, settings: WorkSettings, count: number) {
  const { entry, resourceLimits, sessionSeconds = SESSION_SECONDS } = options
  const idle = yield* Queue.unbounded<WorkerThread>()
  const threads = new Set<WorkerThread>()
  let started = 0
  const start = Effect.sync(() => {
    const thread = new WorkerThread(entry, { name: String(started++), settings }, resourceLimits)
    threads.add(thread)
    Queue.offerUnsafe(idle, thread)
  })
  yield* Effect.acquireRelease(Effect.replicateEffect(start, count), () =>
    Effect.promise(() => Promise.all([...threads].map((thread) => thread.end())))
  )

  /** Another thread takes the place of one that was stopped. */
  const replace = (thread: WorkerThread) =>
    Effect.suspend(() => {
      threads.delete(thread)
      // It may be in a call of the system that cannot be ended: nobody waits for it.
      void thread.end()
      return start
    })
  const ask = (request: Request): Effect.Effect<Reply, SessionFileError | ThreadStopped> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(restore(Queue.take(idle)), (thread) =>
        restore(thread.ask(request, sessionSeconds * 1000)).pipe(
          Effect.tapError((error) => (error._tag === "ThreadStopped" ? replace(thread) : Queue.offer(idle, thread))),
          // A thread whose request was interrupted still answers it; it is not asked again.
          Effect.onExit((exit) => (Exit.isSuccess(exit) ? Queue.offer(idle, thread) : Effect.void))
        )
      )
    )

  const look: Workers["look"] = (ref, question) =>
    ask({ _tag: "Look", ref, question }).pipe(
      Effect.flatMap((reply) => (reply._tag === "Look" ? Effect.succeed(reply.look) : Effect.die(UNEXPECTED))),
      Effect.catchTag("ThreadStopped", (stopped) => {
        if (stopped.at === undefined) return Effect.fail(unexplained(stopped))
        return Effect.succeed(Look.cases.Row.make({ row: { path: ref.path, ...outcomeOf(stopped, sessionSeconds) } }))
      })
    )

  /** Without the sessions that stop a thread; the others are worked on from the beginning. */
  const parts = (kin: Kin, folder: string): ReturnType<Workers["parts"]> =>
    Stream.unwrap(
      ask({ _tag: "Parts", kin, folder }).pipe(
        Effect.flatMap((reply) =>
          reply._tag === "Parts" ? Effect.succeed(Stream.fromIterable(reply.parts)) : Effect.die(UNEXPECTED)
        ),
        Effect.catchTag("ThreadStopped", (stopped) => {
          const selected = kin.sessions[stopped.at ?? -1]
          if (selected === undefined) return Effect.fail(unexplained(stopped))
          const { ref, role, sessionId } = selected
          const row: ReportRow = { ...rowOf(ref, role, sessionId), ...outcomeOf(stopped, sessionSeconds) }
          return Effect.succeed(parts({ ...kin, stopped: new Map([...(kin.stopped ?? []), [ref.path, row]]) }, folder))
        })
      )
    )
  const workers: Workers = { width: AHEAD * count, look, parts }
  return workers
})

const UNEXPECTED = "a worker thread answered something else than it was asked"

/** What is reported of the session that a stopped thread worked on. */
const outcomeOf = (
  { reason, stage, why }: ThreadStopped,
  seconds: number
): Pick<ReportRow, "outcome" | "detail" | "stage"> => {
  const told = stage === undefined ? {} : { stage }
  const at = stage === undefined ? "" : ` (${stage})`
  switch (why) {
    case "time":
      return { outcome: "timed_out", ...told, detail: `it took more than ${seconds} s${at}` }
    case "memory":
      return { outcome: "out_of_memory", ...told, detail: `the memory of its thread did not suffice${at}` }
    case "end":
      return { outcome: "unreadable", ...told, detail: `its thread ended${at}: ${reason}` }
  }
}

/** A thread that ended while it worked on no session. */
const unexplained = ({ reason }: ThreadStopped): SessionFileError =>
  new SessionFileError({ path: "a worker thread", operation: "read", reason: `it ended: ${reason}` })
