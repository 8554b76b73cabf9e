/** The nine states of a store and the transitions between them (docs/adr/003-session-store-v2.md). */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

/** State of a store; the manifest has it. */
export const StoreState = Schema.Literals([
  /** Created, without entries. */
  "CLEAN",
  /** Open for appending; the segments may hold more than the manifest counts. */
  "DIRTY",
  /** The last segment is sealed and durable; its index rows may not be. */
  "SEGMENT_SEALED",
  /** Every frame has a durable index row. */
  "INDEXED",
  /** A checkpoint has the head; opening needs no scan. */
  "CHECKPOINTED",
  /** Being built from another store; the other store is the active one. */
  "MIGRATION_STAGING",
  /** Built, verified and made the active store. */
  "MIGRATED",
  /** Another store is the active one again. */
  "ROLLED_BACK",
  /** The store cannot repair itself; a person must decide. */
  "FAILED"
])
export type StoreState = typeof StoreState.Type

/** States in which no frame comes after the manifest's head. */
export const SETTLED: ReadonlySet<StoreState> = new Set([
  "CLEAN",
  "SEGMENT_SEALED",
  "INDEXED",
  "CHECKPOINTED",
  "MIGRATED",
  "ROLLED_BACK"
])

/** The next states that each state allows. */
export const TRANSITIONS: { readonly [from in StoreState]: ReadonlyArray<StoreState> } = {
  CLEAN: ["DIRTY", "MIGRATION_STAGING"],
  DIRTY: ["SEGMENT_SEALED", "FAILED"],
  SEGMENT_SEALED: ["INDEXED", "FAILED"],
  INDEXED: ["CHECKPOINTED", "DIRTY", "FAILED"],
  CHECKPOINTED: ["DIRTY", "MIGRATION_STAGING", "ROLLED_BACK", "FAILED"],
  MIGRATION_STAGING: ["MIGRATED", "ROLLED_BACK", "FAILED"],
  MIGRATED: ["DIRTY", "FAILED"],
  ROLLED_BACK: ["DIRTY", "FAILED"],
  FAILED: ["DIRTY", "ROLLED_BACK"]
}

/** A transition that is not listed. Nothing was changed. */
export class IllegalTransition extends Schema.TaggedError<IllegalTransition>()("IllegalTransition", {
  from: StoreState,
  to: StoreState
}) {
  override get message(): string {
    return `a store may not go from ${this.from} to ${this.to}; from there it may go to ${TRANSITIONS[this.from].join(" or ")}`
  }
}

/** Whether the transition is listed. A state has no transition to itself. */
export const isAllowed = (from: StoreState, to: StoreState): boolean => TRANSITIONS[from].includes(to)

/** `to`, when the transition is listed. */
export const transition = (from: StoreState, to: StoreState): Result.Result<StoreState, IllegalTransition> =>
  isAllowed(from, to) ? Result.succeed(to) : Result.fail(new IllegalTransition({ from, to }))
