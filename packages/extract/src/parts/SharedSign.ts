/**
 * What a thread works on, in memory that it shares with the thread that watches it. It can be read while the worker is in a
 * loop that never ends, and after it died.
 */
import * as process from "node:process"
import { Stage } from "@pi-sessions/core/SessionBudget"
import { type WorkSign } from "./WorkerPool.ts"

/** The number of the session among those that were asked for, or NONE; then the number of the stage. */
const WORDS = 2
const TIME_OFFSET = 8
const BYTES = 16
const NONE = -1

/** Milliseconds of a clock that all threads share and that nobody sets. */
const now = (): number => Number(process.hrtime.bigint() / 1_000_000n)

export interface Sighting {
  /** Undefined while no session is worked on. */
  readonly at: number | undefined
  readonly stage: Stage | undefined
  /** For how long the session has been worked on. */
  readonly elapsedMs: number
}

export class SharedSign implements WorkSign {
  readonly buffer: SharedArrayBuffer
  readonly #words: Int32Array
  readonly #begun: Float64Array

  /** On the memory of another thread's sign, or on new memory. */
  constructor(buffer?: SharedArrayBuffer) {
    this.buffer = buffer ?? new SharedArrayBuffer(BYTES)
    this.#words = new Int32Array(this.buffer, 0, WORDS)
    this.#begun = new Float64Array(this.buffer, TIME_OFFSET, 1)
    if (buffer === undefined) this.end()
  }

  begin = (at: number): void => {
    this.#begun[0] = now()
    Atomics.store(this.#words, 1, NONE)
    Atomics.store(this.#words, 0, at)
  }

  stage = (stage: Stage): void => {
    Atomics.store(this.#words, 1, Stage.literals.indexOf(stage))
  }

  /** No session is worked on. */
  end = (): void => {
    Atomics.store(this.#words, 0, NONE)
  }

  read(): Sighting {
    const at = Atomics.load(this.#words, 0)
    const stage = Stage.literals[Atomics.load(this.#words, 1)]
    return { at: at === NONE ? undefined : at, stage, elapsedMs: now() - (this.#begun[0] ?? 0) }
  }
}
