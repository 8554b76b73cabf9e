/**
 * Cuts the power at every call of a program, boots every disk that can result, and checks it.
 *
 * The program runs once on a simulated disk. A boundary is after each call that changes what a power cut leaves, and
 * before the next call if something was acknowledged in between. Its crash states are those of `CrashState`. The
 * program must be deterministic (TestClock, no random names), so that a finding can be repeated.
 *
 * A check can run the program's own recovery, and can `explore` that again with the crashed image as its `image`.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import type * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as CrashState from "./CrashState.ts"
import type * as DiskImage from "./DiskImage.ts"
import * as FaultyFileSystem from "./FaultyFileSystem.ts"
import * as SeededRandom from "../SeededRandom.ts"
import type { DiskSnapshot } from "./DiskSnapshot.ts"

/** Records what a program promised. Plain functions, called at the moment of the promise. */
export interface Ledger<A> {
  /** The program begins this operation: after a crash it can be present or absent. */
  readonly attempt: (value: A) => void
  /** The program reported this operation as done: after a crash it must be present. */
  readonly acknowledge: (value: A) => void
}

/** The moment of a crash. */
export interface CrashContext<A> {
  readonly boundary: number
  /** The last call before the crash; undefined before the first. */
  readonly operation: FaultyFileSystem.Operation | undefined
  /** Acknowledged operations, in order. */
  readonly acknowledged: ReadonlyArray<A>
  /** Attempted operations, in order. */
  readonly attempted: ReadonlyArray<A>
  /** What the power cut did. */
  readonly description: string
  /** The machine that the check runs on. Its operations show what the check changed. */
  readonly machine: FaultyFileSystem.FaultyFileSystem
}

/** What to run, what to check, and how much of it. */
export interface ExploreOptions<A, E> extends Pick<CrashState.CrashStateOptions, "sectorBytes" | "byteCuts"> {
  /** The disk at the start. Default: empty. */
  readonly image?: DiskImage.DiskImage | undefined
  /** More options for the workload's file system: faults, a capacity, a halt. */
  readonly fileSystem?: Omit<FaultyFileSystem.Options, "image" | "onOperation"> | undefined
  /** The program. A halted workload counts as one that ended there. */
  readonly workload: (ledger: Ledger<A>) => Effect.Effect<unknown, E, FileSystem.FileSystem | Path.Path>
  /** Fails or dies if a disk is wrong. Runs on a machine booted from that disk. */
  readonly check: (
    image: DiskImage.DiskImage,
    context: CrashContext<A>
  ) => Effect.Effect<void, unknown, FileSystem.FileSystem | Path.Path>
  readonly seed: number
  /** Maximum number of states. Default: no limit. Shared among boundaries; the seed selects the states. */
  readonly budget?: number | undefined
  /** Maximum number of states for a boundary. Default: 256. */
  readonly statesPerBoundary?: number | undefined
  /** Checks one state only, to repeat a finding. */
  readonly only?: { readonly boundary: number; readonly state: number } | undefined
}

/** What was explored. */
export interface Exploration {
  readonly seed: number
  /** System calls of the workload. */
  readonly operations: number
  readonly boundaries: number
  /** States that were booted and checked. */
  readonly states: number
}

/** A crash that the program does not survive. */
export class CrashFinding extends Schema.TaggedError<CrashFinding>()("CrashFinding", {
  seed: Schema.Int,
  boundary: Schema.Int,
  boundaries: Schema.Int,
  state: Schema.Int,
  statesPerBoundary: Schema.Int,
  operation: Schema.String,
  description: Schema.String,
  acknowledged: Schema.Int,
  attempted: Schema.Int,
  reason: Schema.String,
  cause: Schema.Defect()
}) {
  override get message(): string {
    const { seed, boundary, state, statesPerBoundary } = this
    return [
      this.reason,
      `after a crash at boundary ${boundary} of ${this.boundaries}, ${this.operation}`,
      `  state ${state}: ${this.description}`,
      `  ${this.attempted} attempted, ${this.acknowledged} acknowledged`,
      `again: explore({ ..., seed: ${seed}, statesPerBoundary: ${statesPerBoundary}, ` +
        `only: { boundary: ${boundary}, state: ${state} } })`
    ].join("\n")
  }
}

interface Boundary {
  readonly snapshot: DiskSnapshot
  readonly operation: FaultyFileSystem.Operation | undefined
  readonly acknowledged: number
  readonly attempted: number
}

/** Runs the workload once and keeps the disk at each boundary. */
const record = Effect.fnUntraced(function* <A, E>(options: ExploreOptions<A, E>) {
  const acknowledged: Array<A> = []
  const attempted: Array<A> = []
  const boundaries: Array<Boundary> = []
  let last: FaultyFileSystem.Operation | undefined
  const add = () => {
    boundaries.push({
      snapshot: machine.disk.snapshot(),
      operation: last,
      acknowledged: acknowledged.length,
      attempted: attempted.length
    })
  }
  const addIfAcknowledged = () => {
    if (boundaries.at(-1)?.acknowledged !== acknowledged.length) add()
  }
  const machine = FaultyFileSystem.make({
    ...options.fileSystem,
    image: options.image,
    onOperation: (when, operation) => {
      if (when === "after") last = operation
      if (!operation.changes) return
      if (when === "after") add()
      else addIfAcknowledged()
    }
  })
  const ledger: Ledger<A> = {
    attempt: (value) => void attempted.push(value),
    acknowledge: (value) => void acknowledged.push(value)
  }
  const workload = options.workload(ledger).pipe(Effect.provide(machine.layer))
  yield* Effect.catchCause(workload, (cause) =>
    cause.reasons.some((reason) => Cause.isDieReason(reason) && reason.defect instanceof FaultyFileSystem.Halted)
      ? Effect.void
      : Effect.failCause(cause)
  )
  addIfAcknowledged()
  return { boundaries, acknowledged, attempted, operations: machine.operations.length }
})

/** Shares a budget among boundaries with these numbers of states, as evenly as possible. */
const share = (counts: ReadonlyArray<number>, budget: number, random: SeededRandom.SeededRandom) => {
  const order = counts
    .map((count, at) => ({ count, at, chance: random.next() }))
    .sort((a, b) => a.count - b.count || a.chance - b.chance)
  // With fewer than one state for each boundary, chance decides.
  if (budget < counts.length) order.sort((a, b) => a.chance - b.chance)
  const shares = counts.map(() => 0)
  let left = budget
  for (const [done, { count, at }] of order.entries()) {
    const fair = budget < counts.length ? 1 : Math.floor(left / (order.length - done))
    shares[at] = Math.min(count, fair, left)
    left -= shares[at] ?? 0
  }
  return shares
}

/** Explores all crashes of a program. Fails at the first state that fails its check. */
export const explore = Effect.fnUntraced(function* <A, E>(
  options: ExploreOptions<A, E>
): Effect.fn.Return<Exploration, E | CrashFinding> {
  const { seed, only } = options
  const limit = options.statesPerBoundary ?? 256
  const { boundaries, acknowledged, attempted, operations } = yield* record(options)
  const statesOf = (boundary: Boundary, at: number) =>
    CrashState.enumerate(boundary.snapshot, {
      seed: seed + at * 7919,
      limit,
      sectorBytes: options.sectorBytes,
      byteCuts: options.byteCuts
    })
  const budget = options.budget ?? Infinity
  const counted = budget < boundaries.length * limit ? boundaries.map((one, at) => [...statesOf(one, at)].length) : []
  const shares = share(counted, budget, SeededRandom.make(seed))
  let states = 0

  const checkState = (boundary: Boundary, at: number, state: CrashState.CrashState) =>
    Effect.suspend(() => {
      const { image, description } = state
      const machine = FaultyFileSystem.boot(image)
      const context: CrashContext<A> = {
        boundary: at,
        operation: boundary.operation,
        acknowledged: acknowledged.slice(0, boundary.acknowledged),
        attempted: attempted.slice(0, boundary.attempted),
        description,
        machine
      }
      return options.check(image, context).pipe(
        Effect.provide(machine.layer),
        Effect.catchCause((cause) => {
          if (Cause.hasInterruptsOnly(cause)) return Effect.interrupt
          const found = Cause.squash(cause)
          return Effect.fail(
            new CrashFinding({
              seed,
              boundary: at,
              boundaries: boundaries.length,
              state: state.index,
              statesPerBoundary: limit,
              operation:
                boundary.operation === undefined
                  ? "before the first call"
                  : `after ${FaultyFileSystem.describe(boundary.operation)}`,
              description,
              acknowledged: boundary.acknowledged,
              attempted: boundary.attempted,
              reason: found instanceof Error ? found.message : String(found),
              cause: found
            })
          )
        })
      )
    })

  for (const [at, boundary] of boundaries.entries()) {
    if (only !== undefined && only.boundary !== at) continue
    const most = only === undefined ? (shares[at] ?? limit) : limit
    for (const state of statesOf(boundary, at)) {
      if (state.index >= most) break
      if (only !== undefined && only.state !== state.index) continue
      states += 1
      yield* checkState(boundary, at, state)
    }
  }
  return { seed, operations, boundaries: boundaries.length, states }
})
