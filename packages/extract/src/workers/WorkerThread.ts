/** A thread that answers requests in their order, and is watched while it does. */
import { type ResourceLimits, Worker } from "node:worker_threads"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import { Stage } from "@pi-sessions/core/SessionBudget"
import { SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import { type NumberedRequest, type Reply, type Request } from "./ExtractThread.ts"
import { SharedSign } from "./SharedSign.ts"
import { type WorkSettings } from "./WorkerPool.ts"

/** The `workerData` of a thread. */
export interface ThreadData {
  readonly name: string
  readonly settings: WorkSettings
  /** Of a `SharedSign`. */
  readonly sign: SharedArrayBuffer
}

export type Answer = Exclude<Reply, { readonly _tag: "Failed" }>

/** A thread has ended, or must be ended because it worked on one session for too long. */
export class ThreadStopped extends Schema.TaggedError<ThreadStopped>()("ThreadStopped", {
  why: Schema.Literals(["time", "memory", "end"]),
  reason: Schema.String,
  /** The session that it worked on, by its index in the request. Undefined: none. */
  at: Schema.UndefinedOr(Schema.Int),
  stage: Schema.UndefinedOr(Stage)
}) {}

/** A request on its way. */
export interface Job {
  readonly request: Request
  /** Size in bytes of its sessions. */
  readonly bytes: number
  readonly done: (exit: Exit.Exit<Answer, SessionFileError | ThreadStopped>) => void
}

/** How often a thread is checked. */
const WATCH_MS = 250

/** Further jobs are sent ahead of time, so that the thread does not wait for them, while those before are so small. */
const AHEAD_BYTES = 8 << 20
const AHEAD_JOBS = 4

export interface ThreadStart {
  readonly entry: URL
  readonly settings: WorkSettings
  /** How long one session may be worked on. */
  readonly sessionMs: number
  /** Default: those of V8. */
  readonly resourceLimits?: ResourceLimits | undefined
}

interface ThreadEvents {
  /** A job was answered, so that there may be room for another one. */
  readonly onAnswer: () => void
  /** Called once, with the jobs that the thread has not begun. */
  readonly onStop: (returned: ReadonlyArray<Job>) => void
}

/** Threads of this process, for their names. */
let started = 0

export class WorkerThread {
  readonly #worker: Worker
  readonly #events: ThreadEvents
  readonly #sign = new SharedSign()
  readonly #sessionMs: number
  /** Jobs that are not answered, by number, in their order. */
  readonly #jobs = new Map<number, Job>()
  #bytes = 0
  #sent = 0
  #watch: NodeJS.Timeout | undefined
  #isStopped = false

  constructor({ entry, resourceLimits, sessionMs, settings }: ThreadStart, events: ThreadEvents) {
    this.#events = events
    this.#sessionMs = sessionMs
    const workerData: ThreadData = { name: String(started++), settings, sign: this.#sign.buffer }
    this.#worker = new Worker(entry, { workerData, ...(resourceLimits === undefined ? {} : { resourceLimits }) })
    this.#worker.on("message", (reply: Reply) => this.#answer(reply))
    this.#worker.on("error", (error) => {
      const isMemory = error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY"
      this.#stop(isMemory ? "memory" : "end", error instanceof Error ? error.message : String(error))
    })
    this.#worker.on("exit", (code) => this.#stop("end", `exit status ${code}`))
  }

  /** Jobs that are not answered. */
  get load(): number {
    return this.#jobs.size
  }

  /** Whether it takes another job. */
  get hasRoom(): boolean {
    return this.#jobs.size === 0 || (this.#jobs.size < AHEAD_JOBS && this.#bytes < AHEAD_BYTES)
  }

  send(job: Job): void {
    const number = this.#sent++
    this.#jobs.set(number, job)
    this.#bytes += job.bytes
    const request: NumberedRequest = { number, request: job.request }
    this.#worker.postMessage(request)
    this.#watch ??= setInterval(() => {
      const { at, elapsedMs } = this.#sign.read()
      if (at !== undefined && elapsedMs > this.#sessionMs) this.#stop("time", `it was busy for ${elapsedMs} ms`)
    }, WATCH_MS)
  }

  /** Ends it at once. */
  end(): Promise<unknown> {
    this.#unwatch()
    return this.#worker.terminate()
  }

  #answer(reply: Reply): void {
    const [first] = this.#jobs
    if (first === undefined) return
    const [number, job] = first
    this.#jobs.delete(number)
    this.#bytes -= job.bytes
    if (this.#jobs.size === 0) this.#unwatch()
    job.done(reply._tag === "Failed" ? Exit.fail(new SessionFileError(reply.error)) : Exit.succeed(reply))
    this.#events.onAnswer()
  }

  #stop(why: ThreadStopped["why"], reason: string): void {
    if (this.#isStopped) return
    this.#isStopped = true
    this.#unwatch()
    const { at, request, stage } = this.#sign.read()
    const jobs = [...this.#jobs]
    this.#jobs.clear()
    // The thread may have answered jobs before this one; the answers are lost with it.
    const begun = at === undefined ? jobs[0] : jobs.find(([number]) => number === request)
    this.#events.onStop(jobs.flatMap((one) => (one === begun ? [] : [one[1]])))
    begun?.[1].done(Exit.fail(new ThreadStopped({ why, reason, at, stage })))
  }

  #unwatch(): void {
    clearInterval(this.#watch)
    this.#watch = undefined
  }
}
