/** Runs `merge`. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { Extract } from "@pi-sessions/extract/Extract"
import { UsageError, usage } from "../../Exit.ts"
import { Invocation } from "../../Invocation.ts"
import { printReport } from "../extract/printReport.ts"
import * as RunOptions from "../extract/runOptions.ts"
import { type Input } from "../merge.ts"

export const run = Effect.fnUntraced(function* (input: Input) {
  const invocation = yield* Invocation
  if (Option.isNone(input.plan)) return yield* new UsageError({ text: "merge needs --plan FILE" })
  const file = invocation.resolve(input.plan.value)
  const options = yield* RunOptions.options(input)
  const layer = yield* RunOptions.services(input.sessions, { threads: 1 })
  const report = yield* Effect.flatMap(Extract, (extract) =>
    extract.merge(options, file, input.shards.map(invocation.resolve))
  ).pipe(Effect.ensuring(invocation.progress("")), Effect.provide(layer), usage("PlanMismatch"))
  yield* printReport(report, input, options.out)
})
