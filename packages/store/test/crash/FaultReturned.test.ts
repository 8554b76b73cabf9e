/**
 * Errors that the file system returns at any call of a program that uses a store. The program retries what failed, with
 * the same writer where it has one, and looks only at the error's tag.
 *
 * Each fault is reported as an I/O error, never as a defect, and nothing hangs. After the fault everything is
 * acknowledged and is in the session once, in order, also after a power cut: a failed fsync makes nothing durable.
 */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit } from "effect"
import * as CrashState from "@pi-sessions/testing/disk/CrashState"
import * as FaultyFileSystem from "@pi-sessions/testing/disk/FaultyFileSystem"
import { type Program, run } from "../support/crashExploring.ts"
import * as crash from "../support/crashSession.ts"
import * as settings from "../support/settings.ts"
import * as workloads from "../support/crashWorkloads.ts"

const { source } = workloads
const withSource = crash.imageOf({ [source.path]: source.bytes })

const programs: ReadonlyArray<Program> = [
  { name: "appending", workload: workloads.appending, image: crash.imageOf() },
  { name: "sealing", workload: workloads.sealing, image: crash.imageOf() },
  { name: "checkpointing", workload: workloads.checkpointing, image: crash.imageOf() },
  { name: "reopening", workload: workloads.reopening, image: crash.imageOf() },
  { name: "giving up", workload: workloads.givingUp, image: crash.imageOf() },
  { name: "migrating", workload: workloads.migrating, image: withSource, source },
  { name: "rolling back", workload: workloads.rollingBack, image: withSource, source },
  { name: "exporting", workload: workloads.exporting, image: withSource, source }
]

type Operation = FaultyFileSystem.Operation

interface Kind {
  readonly name: string
  /** Whether the fault is possible at a call. */
  readonly at: (call: Operation) => boolean
  /** The fault of a call; `behind` counts the calls since the chosen one. */
  readonly fault: (call: Operation, behind: number) => FaultyFileSystem.Fault | undefined
  /** The fault lasts so long that the store cannot cut off what a failed fsync left; its index may lag behind then. */
  readonly lasting?: true
}

const { error, short } = FaultyFileSystem

const KINDS: ReadonlyArray<Kind> = [
  { name: "EIO", at: () => true, fault: (_, behind) => (behind === 0 ? error("EIO") : undefined) },
  {
    name: "ENOSPC",
    at: ({ call, changes }) => changes && call !== "sync",
    fault: (_, behind) => (behind === 0 ? error("ENOSPC") : undefined)
  },
  {
    name: "EIO for seven calls",
    at: ({ changes }) => changes,
    fault: (_, behind) => (behind < 7 ? error("EIO") : undefined),
    lasting: true
  },
  {
    name: "a short count",
    at: ({ call }) => call === "write" || call === "read",
    fault: ({ length }, behind) => (behind === 0 ? short(Math.max(1, (length ?? 0) >> 1)) : undefined)
  },
  {
    name: "a short write, then ENOSPC",
    at: ({ call }) => call === "write",
    fault: ({ length }, behind) =>
      behind === 0 ? short(Math.max(1, (length ?? 0) - 5)) : behind === 1 ? error("ENOSPC") : undefined
  }
]

/** The problem after a program met a fault; undefined when there is none. */
const problem = Effect.fnUntraced(function* (
  { machine, exit, known }: Effect.Success<ReturnType<typeof run>>,
  expected: crash.Known,
  lasting: boolean
) {
  if (Exit.isFailure(exit)) return { why: Cause.pretty(exit.cause).split("\n")[0] ?? "", states: 0 }
  if (known.acknowledged.length !== expected.acknowledged.length) return { why: "not all was acknowledged", states: 0 }
  const settled = lasting ? { ...known, attempted: [...known.attempted, { step: "after", settles: false }] } : known
  let states = 0
  for (const state of CrashState.enumerate(machine.disk.snapshot(), { limit: 4 })) {
    states += 1
    const booted = FaultyFileSystem.boot(state.image)
    const checked = yield* Effect.exit(crash.check(settled, booted).pipe(Effect.provide(crash.over(booted))))
    if (Exit.isFailure(checked)) {
      return { why: `${Cause.pretty(checked.cause).split("\n")[0]} (${state.description})`, states }
    }
  }
  return { why: undefined, states }
})

describe("a fault at any call", () => {
  for (const program of programs) {
    it.effect(`of ${program.name} is reported and has no other effect`, () =>
      Effect.gen(function* () {
        const plain = yield* run(program, {}, FaultyFileSystem.make)
        assert.isTrue(Exit.isSuccess(plain.exit))
        const problems: Array<string> = []
        for (const kind of KINDS) {
          let runs = 0
          let states = 0
          const calls = plain.machine.operations.filter(kind.at)
          for (const call of settings.spread(calls, settings.faults({ test: 7, campaign: 2000 }))) {
            const fault = (now: Operation) =>
              now.index < call.index ? undefined : kind.fault(now, now.index - call.index)
            // Far more calls than the program needs: stops a program that loops.
            const halt = { haltAfter: 4 * plain.machine.operations.length }
            const found = yield* run(program, { fault, ...halt }, FaultyFileSystem.make)
            const { why, states: tried } = yield* problem(found, plain.known, kind.lasting === true)
            runs += 1
            states += tried
            if (why !== undefined) problems.push(`${kind.name} at ${FaultyFileSystem.describe(call)}: ${why}`)
          }
          settings.note(
            `${program.name}: ${kind.name} at ${runs} of ${calls.length} calls, ${states} disks after a power cut`
          )
        }
        assert.deepStrictEqual(problems, [])
      })
    )
  }
})

describe("a full disk", () => {
  it.effect("refuses writes at any size: when there is space again the same program continues", () =>
    Effect.gen(function* () {
      let runs = 0
      let refusals = 0
      const problems: Array<string> = []
      for (const program of programs) {
        const plain = yield* run(program, {}, FaultyFileSystem.make)
        const used = plain.machine.disk.usedBytes
        const sizes = settings.faults({ test: 3, campaign: 150 })
        const step = Math.max(1, Math.ceil(used / sizes))
        for (let capacity = source.bytes.length; capacity < used; capacity += step) {
          let refused = 0
          const machine = FaultyFileSystem.make({
            interleave: true,
            image: program.image,
            capacityBytes: capacity,
            haltAfter: 4 * plain.machine.operations.length,
            onOperation: (when, { result }) => {
              // Space comes back after a few writes that had none.
              if (when === "after" && result === "ENOSPC" && ++refused > 3) machine.setCapacity(undefined)
            }
          })
          const found = yield* run(program, {}, () => machine)
          const { why } = yield* problem(found, plain.known, true)
          runs += 1
          refusals += refused
          if (why !== undefined) problems.push(`${program.name} on ${capacity} bytes: ${why}`)
        }
      }
      settings.note(`full disk: ${runs} sizes, ${refusals} refused writes`)
      assert.deepStrictEqual(problems, [])
      assert.isAbove(refusals, runs)
    })
  )
})
