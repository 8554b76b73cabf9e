/**
 * Runs a mirror's work in one fiber: when poked and every half second, because Pi 0.78 has no events for labels, names
 * and custom entries. After a failure it tries again, with growing pauses, until its scope closes.
 */
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Random from "effect/Random"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import { type Report } from "./RefusedThreads.ts"

export interface WorkerPace {
  /** How often the session file is read without a poke. Default: 500 ms. */
  readonly interval?: Duration.Input | undefined
  /** The first pause after a failure; each next one is twice as long, plus or minus a quarter. Default: 500 ms. */
  readonly backoff?: Duration.Input | undefined
  /** Default: 30 s. */
  readonly longestBackoff?: Duration.Input | undefined
}

export interface Job {
  /** Brings all threads up to date; false when a thread refused entries. */
  readonly pass: Effect.Effect<boolean, { readonly message: string }>
  /** Whether to work at half the interval. */
  readonly urgent: () => boolean
  /** Runs after a failed pass. */
  readonly failed: () => void
  readonly report: Report
}

export interface MirrorWorker {
  /** Starts a pass soon. */
  readonly poke: Effect.Effect<void>
  /** Whether the last pass failed. */
  readonly failing: () => boolean
  /** Makes a pass now; false when it failed or the time limit passed. */
  readonly flush: (limit: Duration.Input) => Effect.Effect<boolean>
}

/** Failures in a row before the user is warned. */
const WARN_AFTER = 3

export const make = Effect.fnUntraced(function* (
  job: Job,
  pace: WorkerPace
): Effect.fn.Return<MirrorWorker, never, Scope.Scope> {
  const wake = yield* Queue.sliding<void>(1)
  const hurry = yield* Queue.sliding<void>(1)
  const flushes: Array<Deferred.Deferred<boolean>> = []
  let failures = 0

  const backoff = Duration.toMillis(Duration.fromInputUnsafe(pace.backoff ?? "500 millis"))
  const longest = Duration.toMillis(Duration.fromInputUnsafe(pace.longestBackoff ?? "30 seconds"))
  const pause = Effect.flatMap(Random.next, (random) =>
    Effect.sleep(Math.min(longest, backoff * 2 ** (failures - 1)) * (0.75 + random / 2))
  )

  const work = Effect.gen(function* () {
    yield* failures === 0 ? Queue.take(wake) : Effect.raceFirst(pause, Queue.take(hurry))
    const waiting = flushes.splice(0)
    const result = yield* Effect.result(job.pass)
    failures = Result.isSuccess(result) ? 0 : failures + 1
    if (Result.isFailure(result)) {
      job.failed()
      if (failures === WARN_AFTER) {
        const { message } = result.failure
        yield* job.report("warning", `${message}. It is tried again; the session file keeps what is missing`)
      }
    }
    const arrived = Result.isSuccess(result) && result.success
    for (const flush of waiting) yield* Deferred.succeed(flush, arrived)
  })
  // A defect must not end the fiber silently; it is reported, and the next poke starts a new pass.
  yield* Effect.forkScoped(
    Effect.forever(
      Effect.catchDefect(work, (defect) =>
        Effect.andThen(job.report("error", `the mirror failed: ${String(defect)}`), pause)
      )
    )
  )

  const interval = Duration.toMillis(Duration.fromInputUnsafe(pace.interval ?? "500 millis"))
  yield* Effect.acquireRelease(
    Effect.sync(() => {
      let ticks = 0
      // Effect's timers would keep Pi's process alive.
      const timer = setInterval(() => {
        if (job.urgent() || ++ticks % 2 === 0) Queue.offerUnsafe(wake, undefined)
      }, interval / 2)
      return timer.unref()
    }),
    (timer) => Effect.sync(() => clearInterval(timer))
  )

  const poke = Effect.sync(() => {
    Queue.offerUnsafe(wake, undefined)
  })

  return {
    poke,
    failing: () => failures > 0,
    flush: (limit) =>
      Effect.gen(function* () {
        const done = yield* Deferred.make<boolean>()
        flushes.push(done)
        yield* poke
        yield* Queue.offer(hurry, undefined)
        return Option.getOrElse(yield* Effect.timeoutOption(Deferred.await(done), limit), () => false)
      })
  }
})
