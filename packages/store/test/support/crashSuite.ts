/** The tests of power cuts, for given programs. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as FaultyFileSystem from "@pi-sessions/testing/disk/FaultyFileSystem"
import { type Program, type Workload, explore, run } from "./crashExploring.ts"
import * as crash from "./crashSession.ts"
import * as settings from "./settings.ts"
import * as workloads from "./crashWorkloads.ts"

interface Suite {
  readonly programs: ReadonlyArray<Program>
  /** The random program of a seed. */
  readonly random: (seed: number) => Program
}

const seed = settings.firstSeed

const say = (
  name: string,
  found: { readonly operations: number; readonly boundaries: number; readonly states: number }
) =>
  settings.note(
    `${name}: ${found.states} disks after a power cut at ${found.boundaries} boundaries of ${found.operations} calls, seed ${seed}`
  )

/** Power cuts at the calls of the given programs and of random ones. */
export const powerCuts = ({ programs, random }: Suite): void => {
  for (const program of programs) {
    it.effect(`${program.name}: nothing acknowledged is lost`, () =>
      Effect.gen(function* () {
        const budget = settings.crashStates({ test: 120, campaign: 6000 })
        const found = yield* explore(program, { seed, budget, goesOnEvery: 20, sectorBytes: 128, byteCuts: 6 })
        say(program.name, found)
        assert.isAtLeast(found.states, Math.min(budget, 3 * found.boundaries))
      })
    )
  }

  it.effect("random programs: nothing acknowledged is lost", () =>
    Effect.gen(function* () {
      const total = { operations: 0, boundaries: 0, states: 0 }
      const states = settings.crashStates({ test: 200, campaign: 8000 })
      let at = seed
      for (; total.states < states; at++) {
        const options = { goesOnEvery: 20, sectorBytes: 256, byteCuts: 4, statesPerBoundary: 24 }
        // A tenth of the states for each program, so that a small dose has several.
        const found = yield* explore(random(at), { seed: at, budget: Math.max(20, states / 10), ...options })
        total.operations += found.operations
        total.boundaries += found.boundaries
        total.states += found.states
      }
      say(`${at - seed} random programs`, total)
    })
  )

  it.effect("a power cut during the recovery from a power cut: the next recovery gives the same session", () =>
    Effect.gen(function* () {
      const states = settings.crashStates({ test: 10, campaign: 6000 })
      const total = { recoveries: 0, states: 0 }
      for (const program of programs) yield* cutRecoveries(program, states, total)
      settings.note(
        `recovery: ${total.states} disks after a power cut during ${total.recoveries} recoveries, seed ${seed}`
      )
      assert.isAbove(total.recoveries, 0)
      assert.isAtLeast(total.states, total.recoveries)
    })
  )

  it.effect("a kill, a second process, then a power cut: what the second process acknowledged is not lost", () =>
    Effect.gen(function* () {
      const total = { kills: 0, states: 0 }
      for (const program of programs) yield* killAndCut(program, total)
      settings.note(`kill, then power cut: ${total.states} disks after ${total.kills} kills, seed ${seed}`)
      assert.isAbove(total.kills, 0)
      assert.isAtLeast(total.states, total.kills)
    })
  )
}

const cutRecoveries = Effect.fnUntraced(function* (
  program: Program,
  states: number,
  total: { recoveries: number; states: number }
) {
  const use = Effect.fnUntraced(function* (image: Program["image"], known: crash.Known) {
    const recovering: Workload = (ledger) => {
      for (const one of known.attempted) ledger.attempt(one)
      for (const one of known.acknowledged) ledger.acknowledge(one)
      ledger.attempt({ step: "recovery", settles: false })
      return crash.open
    }
    const inner = yield* explore(
      { name: "recovery", workload: recovering, image, source: program.source },
      { seed: seed + total.recoveries, budget: Math.min(20, states) }
    )
    total.recoveries += 1
    total.states += inner.states
  })
  const every = settings.isCampaign ? 9 : 2
  yield* explore(program, { seed, budget: states, statesPerBoundary: 12, sample: { every, use } })
})

/** Kills a program at some of its calls, continues in a second process, and cuts that one's power. */
const killAndCut = Effect.fnUntraced(function* (program: Program, total: { kills: number; states: number }) {
  const { machine } = yield* run(program, {}, FaultyFileSystem.make)
  const calls = machine.operations.filter(({ changes }) => changes)
  // Between a rename and its sync another process sees what a power cut takes back.
  const renames = calls.filter(({ call }) => call === "rename")
  const others = calls.filter(({ call }) => call !== "rename")
  const chosen = [
    ...settings.spread(renames, settings.crashStates({ test: 4, campaign: 1000 })),
    ...settings.spread(others, settings.crashStates({ test: 3, campaign: 100 }))
  ]
  for (const { index } of chosen) {
    const killed = yield* run(program, { haltAfter: index }, FaultyFileSystem.make)
    const resuming = workloads.resuming(killed.known)
    const found = yield* explore(
      { name: "resuming", workload: resuming, image: program.image, source: program.source },
      {
        seed: seed + index,
        budget: settings.crashStates({ test: 5, campaign: 16 }),
        fileSystem: { disk: killed.machine.disk }
      }
    )
    total.kills += 1
    total.states += found.states
  }
})
