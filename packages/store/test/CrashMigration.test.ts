/**
 * A power cut at any call of a migration, of a rollback to the unchanged source, of one that exports what was appended,
 * and of migrating again. The session is readable from whichever store is active, and no byte of the source changes.
 */
import { describe } from "@effect/vitest"
import * as crash from "./support/crashSession.ts"
import { powerCuts } from "./support/crashSuite.ts"
import * as workloads from "./support/crashWorkloads.ts"

const { source } = workloads
const image = crash.imageOf({ [source.path]: source.bytes })

describe("a power cut while a session moves between stores", () => {
  powerCuts({
    programs: [
      { name: "migrating", workload: workloads.migrating, image, source },
      { name: "rolling back", workload: workloads.rollingBack, image, source },
      { name: "exporting", workload: workloads.exporting, image, source }
    ],
    random: (seed) => ({ name: `random ${seed}`, workload: workloads.random(seed, true), image, source }),
    states: 4000,
    killEvery: 8
  })
})
