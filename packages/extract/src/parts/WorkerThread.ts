/** A thread that does one thing at a time, and is watched while it does. */
import { type ResourceLimits, Worker } from "node:worker_threads"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import { SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import { type Reply, type Request } from "./ExtractThread.ts"
import { Stage } from "@pi-sessions/core/SessionBudget"
import { SharedSign } from "./SharedSign.ts"
import { type WorkSettings } from "./WorkerPool.ts"

/** What a thread begins with. */
export interface ThreadData {
  readonly name: string
  readonly settings: WorkSettings
  /** Of a `SharedSign`. */
  readonly sign: SharedArrayBuffer
}

type Answer = Exclude<Reply, { readonly _tag: "Failed" }>

/** A thread is no more, or must be ended: it worked on one session for too long. */
export class ThreadStopped extends Schema.TaggedError<ThreadStopped>()("ThreadStopped", {
  why: Schema.Literals(["time", "memory", "end"]),
  reason: Schema.String,
  /** The session that it worked on, by its place in the request, and what it did with it. */
  at: Schema.UndefinedOr(Schema.Int),
  stage: Schema.UndefinedOr(Stage)
}) {}

/** How often a thread is looked at. */
const WATCH_MS = 250

export class WorkerThread {
  readonly #worker: Worker
  readonly #sign = new SharedSign()
  #asked: Deferred.Deferred<Answer, SessionFileError | ThreadStopped> | undefined
  #stopped: ThreadStopped | undefined

  constructor(entry: URL, data: Omit<ThreadData, "sign">, resourceLimits?: ResourceLimits) {
    const workerData: ThreadData = { ...data, sign: this.#sign.buffer }
    this.#worker = new Worker(entry, { workerData, ...(resourceLimits === undefined ? {} : { resourceLimits }) })
    this.#worker.on("message", (reply: Reply) =>
      this.#answer(reply._tag === "Failed" ? Exit.fail(new SessionFileError(reply.error)) : Exit.succeed(reply))
    )
    this.#worker.on("error", (error) => {
      const isMemory = error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY"
      this.#stop(isMemory ? "memory" : "end", error instanceof Error ? error.message : String(error))
    })
    this.#worker.on("exit", (code) => this.#stop("end", `exit status ${code}`))
  }

  /** Fails with `ThreadStopped` when one session takes longer than `sessionMs`; the thread is of no use then. */
  ask(request: Request, sessionMs: number): Effect.Effect<Answer, SessionFileError | ThreadStopped> {
    return Effect.suspend(() => {
      if (this.#stopped !== undefined) return Effect.fail(this.#stopped)
      const asked = Deferred.makeUnsafe<Answer, SessionFileError | ThreadStopped>()
      this.#asked = asked
      this.#worker.postMessage(request)
      const watch = setInterval(() => {
        const { at, elapsedMs } = this.#sign.read()
        if (at !== undefined && elapsedMs > sessionMs) this.#stop("time", `it was busy for ${elapsedMs} ms`)
      }, WATCH_MS)
      return Effect.ensuring(
        Deferred.await(asked),
        Effect.sync(() => clearInterval(watch))
      )
    })
  }

  /** Ends it, whatever it does. */
  end(): Promise<unknown> {
    return this.#worker.terminate()
  }

  #answer(exit: Exit.Exit<Answer, SessionFileError | ThreadStopped>): void {
    const asked = this.#asked
    // First, since the one that waits may ask again at once.
    this.#asked = undefined
    if (asked !== undefined) Deferred.doneUnsafe(asked, exit)
  }

  #stop(why: ThreadStopped["why"], reason: string): void {
    const { at, stage } = this.#sign.read()
    this.#stopped ??= new ThreadStopped({ why, reason, at, stage })
    this.#answer(Exit.fail(this.#stopped))
  }
}
