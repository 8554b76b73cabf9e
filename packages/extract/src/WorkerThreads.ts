/** The layer of `WorkerPool` that spreads the work over threads, where there is enough of it. */
import * as Os from "node:os"
import { Worker } from "node:worker_threads"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import { SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import { SessionSource } from "@pi-sessions/session-file/SessionSource"
import { type Reply, type Request } from "./ExtractThread.ts"
import { WorkerPool, type WorkSettings, type Workers, here } from "./WorkerPool.ts"

export interface ThreadOptions {
  /** The module that a thread runs: it serves `ExtractThread` with the `ThreadData` that it is given. */
  readonly entry: URL
  /** How many threads; told by the size of the sessions and the machine's cores where it is not given. 1: none. */
  readonly threads?: number | undefined
}

/** What a thread begins with. */
export interface ThreadData {
  readonly name: string
  readonly settings: WorkSettings
}

/** In bytes of sessions: below it starting threads costs more than they win. */
const WORTH_THREADS = 64e6
/** The same where a model's tokens are counted, which takes far longer. */
const WORTH_THREADS_WITH_MODEL = 3e6
const THREADS_MAX = 8
/** Groups of kin that are asked for ahead of the one that is written, for each thread. */
const AHEAD = 8

/** Reads small amounts in this thread, from the `SessionSource` in its context. */
export const layer = ({ entry, threads }: ThreadOptions) =>
  Layer.effect(
    WorkerPool,
    Effect.map(SessionSource, (source) =>
      WorkerPool.of({
        open: (settings, bytes) => {
          const worth = settings.model === undefined ? WORTH_THREADS : WORTH_THREADS_WITH_MODEL
          const count = threads ?? (bytes < worth ? 1 : Math.min(Os.availableParallelism(), THREADS_MAX))
          return count <= 1 ? Effect.succeed(here(source, settings)) : open(entry, settings, count)
        }
      })
    )
  )

const open = Effect.fn("WorkerThreads.open")(function* (entry: URL, settings: WorkSettings, count: number) {
  const idle = yield* Queue.unbounded<Thread>()
  for (let at = 0; at < count; at++) {
    const workerData: ThreadData = { name: String(at), settings }
    const thread = yield* Effect.acquireRelease(
      Effect.sync(() => new Thread(new Worker(entry, { workerData }))),
      (thread) => Effect.promise(() => thread.worker.terminate())
    )
    yield* Queue.offer(idle, thread)
  }
  const ask = (request: Request) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(restore(Queue.take(idle)), (thread) =>
        restore(thread.ask(request)).pipe(
          // Who was interrupted leaves a thread that still answers; nobody asks it again.
          Effect.onExit((exit) => (Exit.hasInterrupts(exit) ? Effect.void : Queue.offer(idle, thread)))
        )
      )
    )
  const workers: Workers = {
    width: AHEAD * count,
    look: (ref, question) =>
      ask({ _tag: "Look", ref, question }).pipe(
        Effect.flatMap((reply) => (reply._tag === "Look" ? Effect.succeed(reply.look) : Effect.die(UNEXPECTED)))
      ),
    parts: (kin, folder) =>
      Stream.unwrap(
        Effect.flatMap(ask({ _tag: "Parts", kin, folder }), (reply) =>
          reply._tag === "Parts" ? Effect.succeed(Stream.fromIterable(reply.parts)) : Effect.die(UNEXPECTED)
        )
      )
  }
  return workers
})

const UNEXPECTED = "a worker thread answered something else than it was asked"

/** A thread, which does one thing at a time. */
class Thread {
  readonly worker: Worker
  #asked: Deferred.Deferred<Exclude<Reply, { _tag: "Failed" }>, SessionFileError> | undefined
  /** Why it is no more. */
  #ended: SessionFileError | undefined

  constructor(worker: Worker) {
    this.worker = worker
    worker.on("message", (reply: Reply) =>
      this.#answer(reply._tag === "Failed" ? Exit.fail(new SessionFileError(reply.error)) : Exit.succeed(reply))
    )
    worker.on("error", (error) => this.#end(error instanceof Error ? error.message : String(error)))
    worker.on("exit", (code) => this.#end(`exit status ${code}`))
  }

  ask(request: Request) {
    return Effect.suspend(() => {
      if (this.#ended !== undefined) return Effect.fail(this.#ended)
      const asked = Deferred.makeUnsafe<Exclude<Reply, { _tag: "Failed" }>, SessionFileError>()
      this.#asked = asked
      this.worker.postMessage(request)
      return Deferred.await(asked)
    })
  }

  #answer(exit: Exit.Exit<Exclude<Reply, { _tag: "Failed" }>, SessionFileError>): void {
    const asked = this.#asked
    // Before it is told, since who waits may ask again at once.
    this.#asked = undefined
    if (asked !== undefined) Deferred.doneUnsafe(asked, exit)
  }

  #end(reason: string): void {
    this.#ended ??= new SessionFileError({
      path: "a worker thread",
      operation: "read",
      reason: `it ended (${reason}); try --workers 1`
    })
    this.#answer(Exit.fail(this.#ended))
  }
}
