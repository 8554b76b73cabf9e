/**
 * The nine states of a store and the transitions between them (ADR-SESSION-STORE-V2, "State machine and invariants").
 * The state stands in the manifest; every step of the store goes through `transition`.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

/** A store is in one of them. */
export const StoreState = Schema.Literals([
  /** Made, nothing in it yet. */
  "CLEAN",
  /** Entries are being appended; the manifest may lag behind the segments. */
  "DIRTY",
  /** The last segment is closed and on disk; its index rows may not be. */
  "SEGMENT_SEALED",
  /** Every frame has its index row on disk. */
  "INDEXED",
  /** A checkpoint holds the head; opening needs no scan. */
  "CHECKPOINTED",
  /** Being built from another store; the other store is the active one. */
  "MIGRATION_STAGING",
  /** Built, verified and made the active store. */
  "MIGRATED",
  /** Another store is the active one again. */
  "ROLLED_BACK",
  /** Something is wrong that the store cannot mend by itself. */
  "FAILED"
])
export type StoreState = typeof StoreState.Type

/** States in which no frame lies behind the manifest's head. */
export const SETTLED: ReadonlySet<StoreState> = new Set([
  "CLEAN",
  "SEGMENT_SEALED",
  "INDEXED",
  "CHECKPOINTED",
  "MIGRATED",
  "ROLLED_BACK"
])

/** Where each state may lead. */
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

/** A step that the ADR does not list. Nothing was changed. */
export class IllegalTransition extends Schema.TaggedError<IllegalTransition>()("IllegalTransition", {
  from: StoreState,
  to: StoreState
}) {
  override get message(): string {
    return `a store may not go from ${this.from} to ${this.to}; from there it may go to ${TRANSITIONS[this.from].join(" or ")}`
  }
}

/** Whether the ADR lists the transition. */
export const isAllowed = (from: StoreState, to: StoreState): boolean => TRANSITIONS[from].includes(to)

/** `to`, when the ADR lists the transition. A state is no transition to itself. */
export const transition = (from: StoreState, to: StoreState): Result.Result<StoreState, IllegalTransition> =>
  isAllowed(from, to) ? Result.succeed(to) : Result.fail(new IllegalTransition({ from, to }))
