/** `pi-sessions merge`: the shards of a planned dataset become the dataset. */
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import { lazily } from "../lazily.ts"
import * as FlagKinds from "../flags/FlagKinds.ts"
import { datasetFlags } from "./extract.ts"

const flags = {
  ...datasetFlags,
  shards: Argument.String("SHARD").pipe(Argument.withDescription("The directories of all shards"), Argument.atLeast(1)),
  plan: FlagKinds.text("plan", "FILE", "Plan that extract --plan wrote; required")
}

export type Input = Command.Command.Config.Infer<typeof flags>

export const merge = Command.make(
  "merge",
  flags,
  lazily(() => import("./merge/run.ts"))
).pipe(
  Command.withDescription("Join the shards of a planned dataset, with the flags of the extract that planned it"),
  Command.withExamples([
    {
      command: "pi-sessions merge --plan plan.json --out dataset shards/1 shards/2 shards/3",
      description: "The same bytes as from one extract"
    }
  ])
)
