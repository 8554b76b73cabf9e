/** Running `extract`: the whole of it, its plan, or a shard of what was planned. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { type DatasetPlan } from "@pi-sessions/extract/plan/DatasetPlan"
import { type ShardNumber } from "@pi-sessions/extract/parts/DatasetShard"
import { Extract } from "@pi-sessions/extract/Extract"
import { CommandFailed, UsageError, tooSmall } from "../../Exit.ts"
import { Invocation } from "../../Invocation.ts"
import { type Input } from "../extract.ts"
import { collectLater } from "./garbageCollection.ts"
import { printReport } from "./printReport.ts"
import * as RunOptions from "./runOptions.ts"
import * as Warnings from "./sessionWarnings.ts"

/** I/N, from 1 to N. */
const shardNumber = (text: string): Effect.Effect<ShardNumber, UsageError> => {
  const [, shard, of] = /^(\d{1,6})\/(\d{1,6})$/.exec(text)?.map(Number) ?? []
  return shard !== undefined && of !== undefined && shard >= 1 && shard <= of
    ? Effect.succeed({ shard, of })
    : Effect.fail(new UsageError({ text: `--shard ${text}: give I/N, with I from 1 to N` }))
}

export const run = Effect.fnUntraced(function* (input: Input) {
  collectLater()
  const invocation = yield* Invocation
  const { plan, sessionTimeout, shard, workers } = input
  const wrong = tooSmall({ "--workers": workers, "--session-timeout": sessionTimeout }, 1)
  if (wrong !== undefined) return yield* wrong
  if (Option.isSome(shard) && Option.isNone(plan)) {
    return yield* new UsageError({ text: "--shard needs --plan FILE, the plan that it is a part of" })
  }
  const number = Option.isNone(shard) ? undefined : yield* shardNumber(shard.value)
  if (number !== undefined && Option.isNone(input.out)) {
    return yield* new UsageError({ text: "--shard needs --out DIR, a directory for this shard alone" })
  }
  if (Option.isSome(plan) && number === undefined && !input.noRedact) {
    // Placeholders that each machine numbers with a key of its own would differ.
    if (Option.isNone(input.redactionKey)) {
      yield* invocation.note(
        "the shards must have this machine's redaction key: give all of them the same --redaction-key"
      )
    }
  }
  const options = { ...(yield* RunOptions.options(input)), fresh: input.fresh }
  const layer = yield* RunOptions.services(input.sessions, {
    threads: Option.getOrUndefined(workers),
    sessionSeconds: Option.getOrUndefined(sessionTimeout)
  })

  yield* Effect.gen(function* () {
    const extract = yield* Extract
    const cleared = invocation.progress("")
    if (Option.isNone(plan)) {
      const report = yield* Effect.ensuring(extract.run(options), cleared)
      return yield* printReport(report, input, options.out)
    }
    const file = invocation.resolve(plan.value)
    if (number === undefined) {
      const planned = yield* Effect.ensuring(extract.plan(options, file), cleared)
      yield* printPlan(planned, file, input.json)
      yield* Warnings.print(planned.left)
      return yield* Warnings.failIfStopped(planned.left)
    }
    const rows = yield* Effect.ensuring(extract.shard(options, file, number), cleared)
    const sessions = rows.length
    const { of, shard } = number
    yield* invocation.note(`wrote ${options.out}: shard ${shard} of ${of}, ${sessions} sessions`)
    yield* invocation.result(
      input.json ? JSON.stringify({ out: options.out, shard, of, sessions }, undefined, 2) : options.out
    )
    yield* Warnings.print(rows)
    yield* Warnings.failIfStopped(rows)
  }).pipe(
    Effect.provide(layer),
    Effect.mapError((error) =>
      error._tag === "NothingMatched" || error._tag === "PlanMismatch"
        ? new UsageError({ text: error.message })
        : new CommandFailed({ text: error.message })
    )
  )
})

const printPlan = Effect.fnUntraced(function* ({ families, kin, left }: DatasetPlan, file: string, json: boolean) {
  const invocation = yield* Invocation
  const sessions = kin.flat().length
  yield* invocation.note(`wrote ${file}`)
  yield* invocation.result(
    json
      ? JSON.stringify({ plan: file, sessions, groups: kin.length, families, left: left.length }, undefined, 2)
      : `${sessions} sessions in ${kin.length} groups of kin and ${families.found} families; ${left.length} files left out\nshards: any number up to ${kin.length}`
  )
})
