/** `pi-sessions merge`: shards of a planned dataset become the dataset. Its code is loaded when it runs. */
import * as Effect from "effect/Effect"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import { flags } from "./extract.ts"

const { fresh: _fresh, plan: _plan, sessionTimeout: _sessionTimeout, shard: _shard, workers: _workers, ...same } = flags

const input = {
  ...same,
  shards: Argument.String("SHARD").pipe(Argument.withDescription("The directories of all shards"), Argument.atLeast(1)),
  plan: flags.plan
}

export type MergeInput = Command.Command.Config.Infer<typeof input>

export const merge = Command.make("merge", input, (given) =>
  Effect.flatMap(
    Effect.promise(() => import("./merge/run.ts")),
    (command) => command.run(given)
  )
).pipe(
  Command.withDescription("Join the shards of a planned dataset; flags as for the extract that planned it"),
  Command.withExamples([
    {
      command: "pi-sessions merge --plan plan.json --out dataset shards/1 shards/2 shards/3",
      description: "The same dataset, byte for byte, as that of one extract"
    }
  ])
)
