/**
 * Faults that the system returns, in place of a crash: at every call of a program that uses a store. The program tries
 * again what failed, with the same writer where it has one, and does not look at what went wrong but for its tag.
 *
 * Whatever the fault was, it comes back as an error of the disk, never as a defect, and nothing hangs; once it is gone
 * everything is acknowledged, and is there once, in order, also after a power cut: a failed fsync makes nothing durable.
 */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit } from "effect"
import * as CrashState from "@pi-sessions/testing/CrashState"
import * as FaultyFileSystem from "@pi-sessions/testing/FaultyFileSystem"
import { type Program, run } from "./support/crashExploring.ts"
import * as crash from "./support/crashSession.ts"
import * as settings from "./support/crashSettings.ts"
import * as workloads from "./support/crashWorkloads.ts"

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
  /** Whether it can come at a call of the program without faults. */
  readonly at: (call: Operation) => boolean
  /** What happens to a call, which is so many calls behind that one. */
  readonly fault: (call: Operation, behind: number) => FaultyFileSystem.Fault | undefined
  /** The disk does not let the store take back what a failed fsync left; what it can make again may lag behind then. */
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

/** What is wrong after a program that met a fault; undefined when nothing is. */
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
    it.effect(
      `of ${program.name} is told, and is all that happens`,
      () =>
        Effect.gen(function* () {
          const plain = yield* run(program, {}, FaultyFileSystem.make)
          assert.isTrue(Exit.isSuccess(plain.exit))
          // The first half of these is a migration, which is tried at every call.
          const stride = settings.faultStride(program.name === "rolling back" || program.name === "exporting" ? 5 : 1)
          const problems: Array<string> = []
          for (const kind of KINDS) {
            let runs = 0
            let states = 0
            const calls = plain.machine.operations.filter(kind.at)
            for (const [at, call] of calls.entries()) {
              if ((at + settings.firstSeed) % stride !== 0) continue
              const fault = (now: Operation) =>
                now.index < call.index ? undefined : kind.fault(now, now.index - call.index)
              // Far more calls than the program needs: one that goes round in circles is stopped.
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
        }),
      settings.patience
    )
  }
})

describe("a full disk", () => {
  it.effect(
    "is full at every byte once: when there is space again the same program goes on",
    () =>
      Effect.gen(function* () {
        let runs = 0
        let refusals = 0
        const problems: Array<string> = []
        for (const program of programs) {
          const plain = yield* run(program, {}, FaultyFileSystem.make)
          const used = plain.machine.disk.usedBytes
          const step = Math.max(1, Math.ceil(used / (150 / settings.faultStride(5))))
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
      }),
    settings.patience
  )
})
