/**
 * Limits on the work that one session may take: steps and bytes. Both are counted, not measured, so a session exceeds them
 * on every machine or on none, and shards, threads and repeated runs give the same dataset. A session that exceeds a limit
 * is reported as `over_budget`; all others are extracted.
 *
 * A step is about the work of handling one byte once. Code that handles a text charges its length, and code that handles
 * an entry or a turn charges a constant: once for each text or entry, so that counting costs nothing.
 *
 * Bytes are those that the session holds in memory: its file, its turns, its images, its lines. V8 does not limit buffers
 * and WebAssembly memory, so a session that holds too much must be stopped here.
 */
import * as Schema from "effect/Schema"

/** What is done with a session, in order. */
export const Stage = Schema.Literals([
  /** Its file is read. */
  "read",
  /** Its lines are compared with those of other sessions. */
  "survey",
  /** Its requests to the model are put together again. */
  "requests",
  /** Facts are read off its tool calls. */
  "quality",
  /** Its messages become turns. */
  "turns",
  /** Its images are decoded. */
  "images",
  /** Targets that other samples have are looked up. */
  "targets",
  /** Secrets and names are taken out. */
  "redaction",
  /** Tokens are counted. */
  "tokens",
  /** Samples become lines of the format. */
  "lines"
])
export type Stage = typeof Stage.Type

/** Absolute limits. Those that are not given grow with the session's file. */
export interface SessionLimits {
  readonly maxSteps?: number
  readonly maxBytes?: number
}

/** Default limit of steps: 5,000,000,000 and 500 for each byte of the file. Ordinary sessions take 13 for each byte. */
const STEPS = 5e9
const STEPS_PER_BYTE = 500
/** Default limit of bytes: 1 GB and 8 for each byte of the file. */
const BYTES = 1e9
const BYTES_PER_BYTE = 8

/** Steps of handling an entry or a turn, apart from its texts. */
export const ENTRY_STEPS = 200
/** Bytes of the objects that an entry or a turn takes, apart from its texts. */
export const ENTRY_BYTES = 500

/** A session exceeded a limit. */
export class OverBudget extends Schema.TaggedError<OverBudget>()("OverBudget", {
  stage: Stage,
  unit: Schema.Literals(["steps", "bytes"]),
  limit: Schema.Number
}) {
  override get message(): string {
    return `it took more than ${this.limit} ${this.unit} (${this.stage})`
  }
}

/** What one session has taken so far. */
export class SessionBudget {
  readonly maxSteps: number
  readonly maxBytes: number
  readonly #onStage: ((stage: Stage) => void) | undefined
  #stage: Stage | undefined
  #steps = 0
  #bytes = 0

  /** `onStage` is called when another stage begins. */
  constructor(limits: { readonly maxSteps: number; readonly maxBytes: number }, onStage?: (stage: Stage) => void) {
    this.maxSteps = limits.maxSteps
    this.maxBytes = limits.maxBytes
    this.#onStage = onStage
  }

  get steps(): number {
    return this.#steps
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Adds to what was taken, before the work is done. Throws `OverBudget` when that exceeds a limit. */
  charge(stage: Stage, steps: number, bytes = 0): void {
    if (stage !== this.#stage) {
      this.#stage = stage
      this.#onStage?.(stage)
    }
    this.#steps += steps
    this.#bytes += bytes
    if (this.#steps > this.maxSteps) throw new OverBudget({ stage, unit: "steps", limit: this.maxSteps })
    if (this.#bytes > this.maxBytes) throw new OverBudget({ stage, unit: "bytes", limit: this.maxBytes })
  }
}

/** The budget of a session whose file has `sizeBytes`. */
export const of = (
  { maxBytes, maxSteps }: SessionLimits,
  sizeBytes: number,
  onStage?: (stage: Stage) => void
): SessionBudget =>
  new SessionBudget(
    {
      maxSteps: maxSteps ?? STEPS + STEPS_PER_BYTE * sizeBytes,
      maxBytes: maxBytes ?? BYTES + BYTES_PER_BYTE * sizeBytes
    },
    onStage
  )

/** A budget that nothing exceeds. */
export const unlimited = (): SessionBudget => new SessionBudget({ maxSteps: Infinity, maxBytes: Infinity })
