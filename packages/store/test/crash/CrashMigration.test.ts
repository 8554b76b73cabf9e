/**
 * A power cut at any call of a migration, of a rollback to the unchanged source, of a rollback that exports appended
 * entries, and of a second migration. The session is readable from the active store, and no byte of the source changes.
 */
import { describe } from "@effect/vitest"
import * as crash from "../support/crashSession.ts"
import { powerCuts } from "../support/crashSuite.ts"
import * as workloads from "../support/crashWorkloads.ts"

const { source } = workloads
const image = crash.imageOf({ [source.path]: source.bytes })

describe("a power cut while a session moves between stores", () => {
  powerCuts({
    programs: [
      { name: "migrating", workload: workloads.migrating, image, source },
      { name: "rolling back", workload: workloads.rollingBack, image, source },
      { name: "exporting", workload: workloads.exporting, image, source }
    ],
    random: (seed) => ({ name: `random ${seed}`, workload: workloads.random(seed, true), image, source })
  })
})
