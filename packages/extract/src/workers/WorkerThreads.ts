/**
 * The layer of `WorkerPool` that works in threads: several for much data, one so that a session that takes too long or too
 * much memory can be stopped. Such a session is reported, and all others are processed.
 */
import * as Os from "node:os"
import { type ResourceLimits } from "node:worker_threads"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import { SessionSource } from "@pi-sessions/session-file/SessionSource"
import { type ReportRow } from "../ExtractReport.ts"
import { Look, rowOf } from "../plan/SessionSurvey.ts"
import { type Request } from "./ExtractThread.ts"
import { ThreadPool } from "./ThreadPool.ts"
import { type Kin, WorkerPool, type WorkSettings, type Workers, local } from "./WorkerPool.ts"
import { type Answer, type Job, type ThreadStopped } from "./WorkerThread.ts"

export interface ThreadOptions {
  /** The module that a thread runs. It serves `ExtractThread` with its `ThreadData`. */
  readonly entry: URL
  /** Default: by the size of the sessions and the number of cores. */
  readonly threads?: number | undefined
  /** How long one session may be worked on. When it is given, a thread is used for small data too. Default: 600. */
  readonly sessionSeconds?: number | undefined
  /** Of each thread. Default: those of V8. */
  readonly resourceLimits?: ResourceLimits
}

/** A session of 1 GB takes 50 s of CPU time. */
export const SESSION_SECONDS = 600

/** Bytes of sessions from which several threads are faster than one. */
const WORTH_THREADS = 64e6
/** The same where a model's tokens are counted. */
const WORTH_THREADS_WITH_MODEL = 3e6
/**
 * Bytes of sessions from which one thread is used, so that it can be stopped. A thread costs 0.3 s of CPU time and 40 MB of
 * memory; so many bytes take 1 s. Smaller data is guarded by the limit of steps alone.
 */
const WORTH_WATCHING = 16e6
const THREADS_MAX = 8
/** Groups of kin that are processed ahead of the one that is written, for each thread. */
const AHEAD = 8

/** Works in the calling thread on small data. Requires a `SessionSource`. */
export const layer = (options: ThreadOptions) =>
  Layer.effect(
    WorkerPool,
    Effect.map(SessionSource, (source) =>
      WorkerPool.of({
        open: (settings, bytes) => {
          const { sessionSeconds, threads } = options
          const worth = settings.model === undefined ? WORTH_THREADS : WORTH_THREADS_WITH_MODEL
          const count = threads ?? (bytes < worth ? 1 : Math.min(Os.availableParallelism(), THREADS_MAX))
          const isLocal = count <= 1 && bytes < WORTH_WATCHING && sessionSeconds === undefined
          return isLocal ? local(source, settings) : open(options, settings, Math.max(1, count))
        }
      })
    )
  )

const open = Effect.fn("WorkerThreads.open")(function* (options: ThreadOptions, settings: WorkSettings, count: number) {
  const { entry, resourceLimits, sessionSeconds = SESSION_SECONDS } = options
  const pool = yield* Effect.acquireRelease(
    Effect.sync(() => new ThreadPool({ entry, settings, sessionMs: sessionSeconds * 1000, resourceLimits }, count)),
    (pool) => Effect.promise(() => pool.end())
  )
  const ask = (request: Request, bytes: number) =>
    Effect.callback<Answer, SessionFileError | ThreadStopped>((resume) => {
      const job: Job = { request, bytes, done: resume }
      pool.submit(job)
      return Effect.sync(() => pool.cancel(job))
    })

  const look: Workers["look"] = (ref, question) =>
    ask({ _tag: "Look", ref, question }, question.evidence === "none" ? 0 : ref.sizeBytes).pipe(
      Effect.flatMap((reply) => (reply._tag === "Look" ? Effect.succeed(reply.look) : Effect.die(UNEXPECTED))),
      Effect.catchTag("ThreadStopped", (stopped) => {
        if (stopped.at === undefined) return Effect.fail(unexplained(stopped))
        return Effect.succeed(Look.cases.Row.make({ row: { path: ref.path, ...outcomeOf(stopped, sessionSeconds) } }))
      })
    )

  /** A session that stops its thread gets a row, and the group is processed again without it. */
  const parts = (kin: Kin, folder: string): ReturnType<Workers["parts"]> =>
    Stream.unwrap(
      ask({ _tag: "Parts", kin, folder }, bytesOf(kin)).pipe(
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

const bytesOf = ({ sessions }: Kin): number => sessions.reduce((sum, { ref }) => sum + ref.sizeBytes, 0)

const UNEXPECTED = "a worker thread sent another reply than was requested"

/** The outcome of the session that a stopped thread worked on. */
const outcomeOf = (
  { reason, stage, why }: ThreadStopped,
  seconds: number
): Pick<ReportRow, "outcome" | "detail" | "stage"> => {
  const facts = stage === undefined ? {} : { stage }
  const at = stage === undefined ? "" : ` (${stage})`
  switch (why) {
    case "time":
      return { outcome: "timed_out", ...facts, detail: `it took more than ${seconds} s${at}` }
    case "memory":
      return { outcome: "out_of_memory", ...facts, detail: `the memory of its thread did not suffice${at}` }
    case "end":
      return { outcome: "unreadable", ...facts, detail: `its thread ended${at}: ${reason}` }
  }
}

/** For a thread that ended while it worked on no session. */
const unexplained = ({ reason }: ThreadStopped): SessionFileError =>
  new SessionFileError({ path: "a worker thread", operation: "read", reason: `it ended: ${reason}` })
