/**
 * The status of a thread in shared memory. The watching thread can read it while the other loops endlessly, and after
 * it ended.
 */
import * as process from "node:process"
import { Stage } from "@pi-sessions/core/SessionBudget"
import { type WorkSign } from "./WorkerPool.ts"

/** Indexes of the words: the session in its request, the stage, the request. */
const SESSION = 0
const STAGE = 1
const REQUEST = 2
const WORDS = 4
const BYTES = WORDS * Int32Array.BYTES_PER_ELEMENT + Float64Array.BYTES_PER_ELEMENT
const NONE = -1

/** Milliseconds of a monotonic clock that all threads share. */
const now = (): number => Number(process.hrtime.bigint() / 1_000_000n)

export interface Sighting {
  /** The number of the request. */
  readonly request: number
  /** Index of the session in the request. Undefined: no session is worked on. */
  readonly at: number | undefined
  readonly stage: Stage | undefined
  /** Time since the work on the session began. */
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
    this.#begun = new Float64Array(this.buffer, this.#words.byteLength, 1)
    if (buffer === undefined) this.end()
  }

  /** Work begins on a request. */
  take(request: number): void {
    Atomics.store(this.#words, REQUEST, request)
  }

  begin = (at: number): void => {
    this.#begun[0] = now()
    Atomics.store(this.#words, STAGE, NONE)
    Atomics.store(this.#words, SESSION, at)
  }

  stage = (stage: Stage): void => {
    Atomics.store(this.#words, STAGE, Stage.literals.indexOf(stage))
  }

  /** No session is worked on. */
  end = (): void => {
    Atomics.store(this.#words, SESSION, NONE)
  }

  read(): Sighting {
    const at = Atomics.load(this.#words, SESSION)
    const stage = Stage.literals[Atomics.load(this.#words, STAGE)]
    return {
      request: Atomics.load(this.#words, REQUEST),
      at: at === NONE ? undefined : at,
      stage,
      elapsedMs: now() - (this.#begun[0] ?? 0)
    }
  }
}
