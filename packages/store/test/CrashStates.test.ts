/**
 * A power cut at any call of creating, appending, sealing, indexing and checkpointing: every disk that may be left is
 * opened, read, verified and written on. What a state must satisfy stands in `support/crashSession.ts`.
 */
import { describe } from "@effect/vitest"
import * as crash from "./support/crashSession.ts"
import { powerCuts } from "./support/crashSuite.ts"
import * as workloads from "./support/crashWorkloads.ts"

const image = crash.imageOf()

describe("a power cut while a store is written", () => {
  powerCuts({
    programs: [
      { name: "appending", workload: workloads.appending, image },
      { name: "sealing", workload: workloads.sealing, image },
      { name: "checkpointing", workload: workloads.checkpointing, image }
    ],
    random: (seed) => ({ name: `random ${seed}`, workload: workloads.random(seed, false), image }),
    states: 4000,
    killEvery: 3
  })
})
