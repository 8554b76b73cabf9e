/**
 * Limits on the steps and bytes that extracting one session may take. Both are counted, not measured: a session exceeds
 * them on every machine or on none, so that shards, threads and repeated runs give the same dataset. A session that exceeds
 * a limit is reported as `over_budget`; the others are extracted.
 *
 * A step is about the work of handling one byte once. Code charges the length of each text that it handles, and a constant
 * for each entry or turn. Bytes are those that the session holds in memory: its file, turns, images and lines.
 */
import * as Schema from "effect/Schema"

/** The stages of extracting a session, in order. */
export const Stage = Schema.Literals([
  /** Its file is read. */
  "read",
  /** Its lines are compared with those of other sessions. */
  "survey",
  /** Its requests to the model are rebuilt. */
  "requests",
  /** Its tool calls are assessed. */
  "quality",
  /** Its messages become turns. */
  "turns",
  /** Its images are decoded. */
  "images",
  /** Targets are compared with those of other samples. */
  "targets",
  /** Secrets and names are redacted. */
  "redaction",
  /** Tokens are counted. */
  "tokens",
  /** Samples become lines of the format. */
  "lines"
])
export type Stage = typeof Stage.Type

/** Absolute limits. Default: they grow with the session's file, see `STEPS` and `BYTES`. */
export interface SessionLimits {
  readonly maxSteps?: number
  readonly maxBytes?: number
}

/** Default limit of steps: 5e9, and 500 for each byte of the file. Ordinary sessions take 13 for each byte. */
const STEPS = 5e9
const STEPS_PER_BYTE = 500
/** Default limit of bytes: 1 GB and 8 for each byte of the file. */
const BYTES = 1e9
const BYTES_PER_BYTE = 8

/** Steps for an entry or a turn, without its texts. */
export const ENTRY_STEPS = 200
/** Bytes in memory of an entry or a turn, without its texts. */
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

/** Counts the steps and bytes of one session. */
export class SessionBudget {
  readonly maxSteps: number
  readonly maxBytes: number
  readonly #onStage: ((stage: Stage) => void) | undefined
  #stage: Stage | undefined
  #steps = 0
  #bytes = 0

  /** `onStage` is called at the beginning of each stage. */
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

  /** Counts work; call it before the work is done. Throws `OverBudget` when a limit is exceeded. */
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

/** The budget of a session whose file has `sizeBytes` bytes. */
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

/** A budget without limits. */
export const unlimited = (): SessionBudget => new SessionBudget({ maxSteps: Infinity, maxBytes: Infinity })
