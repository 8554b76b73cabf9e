/** Running `merge`. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { Extract } from "@pi-sessions/extract/Extract"
import { CommandFailed, UsageError } from "../../Exit.ts"
import { Invocation } from "../../Invocation.ts"
import { type MergeInput } from "../merge.ts"
import { printReport } from "../extract/printReport.ts"
import * as RunOptions from "../extract/runOptions.ts"

export const run = Effect.fnUntraced(function* (input: MergeInput) {
  const invocation = yield* Invocation
  if (Option.isNone(input.plan)) return yield* new UsageError({ text: "merge needs --plan FILE" })
  const file = invocation.resolve(input.plan.value)
  const options = yield* RunOptions.options(input)
  const layer = yield* RunOptions.services(input.sessions, { threads: 1 })
  const report = yield* Effect.flatMap(Extract, (extract) =>
    extract.merge(options, file, input.shards.map(invocation.resolve))
  ).pipe(
    Effect.ensuring(invocation.progress("")),
    Effect.provide(layer),
    Effect.mapError((error) =>
      error._tag === "PlanMismatch"
        ? new UsageError({ text: error.message })
        : new CommandFailed({ text: error.message })
    )
  )
  yield* printReport(report, input, options.out)
})
