/**
 * A power cut at any call of creating, appending, sealing, indexing and checkpointing. Every possible disk is opened,
 * read, verified and appended to; `support/crashSession.ts` has the conditions.
 */
import { describe } from "@effect/vitest"
import * as crash from "../support/crashSession.ts"
import { powerCuts } from "../support/crashSuite.ts"
import * as workloads from "../support/crashWorkloads.ts"

const image = crash.imageOf()

describe("a power cut while a store is written", () => {
  powerCuts({
    programs: [
      { name: "appending", workload: workloads.appending, image },
      { name: "sealing", workload: workloads.sealing, image },
      { name: "checkpointing", workload: workloads.checkpointing, image }
    ],
    random: (seed) => ({ name: `random ${seed}`, workload: workloads.random(seed, false), image })
  })
})
