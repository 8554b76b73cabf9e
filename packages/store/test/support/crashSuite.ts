/** The tests of crashes, over the programs that a file gives. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as FaultyFileSystem from "@pi-sessions/testing/FaultyFileSystem"
import { type Program, type Workload, explore, run } from "./crashExploring.ts"
import * as crash from "./crashSession.ts"
import * as settings from "./crashSettings.ts"
import * as workloads from "./crashWorkloads.ts"

interface Suite {
  readonly programs: ReadonlyArray<Program>
  /** The random program of a seed. */
  readonly random: (seed: number) => Program
  /** How many states there are in the random programs together, unless the environment says. */
  readonly states: number
  /** Every how many calls the program is killed. */
  readonly killEvery: number
}

/** A power cut at any call of the programs, and of random ones as long as the budget lasts. */
export const powerCuts = ({ programs, random, states: usual, killEvery }: Suite): void => {
  const seed = settings.firstSeed
  const say = (
    name: string,
    found: { readonly operations: number; readonly boundaries: number; readonly states: number }
  ) =>
    settings.note(
      `${name}: ${found.states} disks after a power cut at ${found.boundaries} boundaries of ${found.operations} calls, seed ${seed}`
    )

  for (const program of programs) {
    it.effect(
      `${program.name}: nothing acknowledged is lost`,
      () =>
        Effect.gen(function* () {
          const found = yield* explore(program, { seed, goesOnEvery: 75, sectorBytes: 128, byteCuts: 6 })
          say(program.name, found)
          assert.isAbove(found.states, 3 * found.boundaries)
        }),
      settings.patience
    )
  }

  it.effect(
    "random programs: nothing acknowledged is lost",
    () =>
      Effect.gen(function* () {
        const total = { operations: 0, boundaries: 0, states: 0 }
        let at = seed
        for (; total.states < settings.states(usual); at++) {
          const found = yield* explore(random(at), {
            seed: at,
            goesOnEvery: 100,
            sectorBytes: 256,
            byteCuts: 4,
            statesPerBoundary: 24
          })
          total.operations += found.operations
          total.boundaries += found.boundaries
          total.states += found.states
        }
        say(`${at - seed} random programs`, total)
      }),
    settings.patience
  )

  it.effect(
    "a power cut during the recovery from a power cut: the next recovery ends where the first would have",
    () =>
      Effect.gen(function* () {
        let states = 0
        let recoveries = 0
        for (const program of programs) {
          const use = Effect.fnUntraced(function* (image: Program["image"], known: crash.Known) {
            const recovering: Workload = (ledger) => {
              for (const one of known.attempted) ledger.attempt(one)
              for (const one of known.acknowledged) ledger.acknowledge(one)
              ledger.attempt({ step: "recovery", settles: false })
              return crash.open
            }
            const inner = yield* explore(
              { name: "recovery", workload: recovering, image, source: program.source },
              { seed: seed + recoveries, budget: 20 }
            )
            recoveries += 1
            states += inner.states
          })
          yield* explore(program, { seed, statesPerBoundary: 12, sample: { every: 9, use } })
        }
        settings.note(`recovery: ${states} disks after a power cut during ${recoveries} recoveries, seed ${seed}`)
        assert.isAbove(states, recoveries)
      }),
    settings.patience
  )

  it.effect(
    "killed, opened again, and then the power is cut: what the second process was told is there",
    () =>
      Effect.gen(function* () {
        let states = 0
        let kills = 0
        for (const program of programs) {
          const { machine } = yield* run(program, {}, FaultyFileSystem.make)
          const calls = machine.operations.filter(({ changes }) => changes)
          for (const [at, { index, call }] of calls.entries()) {
            // Between a rename and its sync another process sees what a power cut takes back.
            if (call !== "rename" && (at + seed) % killEvery !== 0) continue
            const killed = yield* run(program, { haltAfter: index }, FaultyFileSystem.make)
            const found = yield* explore(
              {
                name: "resuming",
                workload: workloads.resuming(killed.known),
                image: program.image,
                source: program.source
              },
              { seed: seed + index, budget: 16, fileSystem: { disk: killed.machine.disk } }
            )
            kills += 1
            states += found.states
          }
        }
        settings.note(`kill, then power cut: ${states} disks after ${kills} kills, seed ${seed}`)
        assert.isAbove(states, kills)
      }),
    settings.patience
  )
}
