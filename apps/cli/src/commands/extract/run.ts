/** Runs `extract`: a dataset, its plan, or one shard of a planned dataset. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { type DatasetPlan } from "@pi-sessions/extract/plan/DatasetPlan"
import { type ShardNumber } from "@pi-sessions/extract/parts/DatasetShard"
import { Extract } from "@pi-sessions/extract/Extract"
import { type ExtractOptions } from "@pi-sessions/extract/ExtractOptions"
import { UsageError, usage } from "../../Exit.ts"
import { Invocation } from "../../Invocation.ts"
import * as FlagCheck from "../../flags/FlagCheck.ts"
import { type Input } from "../extract.ts"
import { collectLater } from "./garbageCollection.ts"
import { printReport } from "./printReport.ts"
import * as RunOptions from "./runOptions.ts"
import * as Warnings from "./sessionWarnings.ts"

/** I/N, with I from 1 to N. */
const shardNumber = (text: string): Effect.Effect<ShardNumber, UsageError> => {
  const [, shard, of] = /^(\d{1,6})\/(\d{1,6})$/.exec(text)?.map(Number) ?? []
  return shard !== undefined && of !== undefined && shard >= 1 && shard <= of
    ? Effect.succeed({ shard, of })
    : Effect.fail(new UsageError({ text: `--shard ${text}: give I/N, with I from 1 to N` }))
}

/** What the call writes: the dataset, a plan, or a shard. */
type Goal =
  | { readonly _tag: "Dataset" }
  | { readonly _tag: "Plan"; readonly file: string }
  | { readonly _tag: "Shard"; readonly file: string; readonly number: ShardNumber }

const goalOf = Effect.fnUntraced(function* ({ noRedact, out, plan, redactionKey, shard }: Input) {
  const invocation = yield* Invocation
  if (Option.isNone(plan)) {
    if (Option.isNone(shard)) return { _tag: "Dataset" } satisfies Goal
    return yield* new UsageError({ text: "--shard needs --plan FILE, the plan that it is a part of" })
  }
  const file = invocation.resolve(plan.value)
  if (Option.isSome(shard)) {
    const number = yield* shardNumber(shard.value)
    if (Option.isSome(out)) return { _tag: "Shard", file, number } satisfies Goal
    return yield* new UsageError({ text: "--shard needs --out DIR, a directory for this shard alone" })
  }
  // With a key of their own, other machines would number placeholders differently.
  if (!noRedact && Option.isNone(redactionKey)) {
    yield* invocation.note(
      "the shards must have this machine's redaction key: give all of them the same --redaction-key"
    )
  }
  return { _tag: "Plan", file } satisfies Goal
})

const makeDataset = Effect.fnUntraced(function* (options: ExtractOptions, input: Input) {
  const { progress } = yield* Invocation
  const extract = yield* Extract
  const report = yield* Effect.ensuring(extract.run(options), progress(""))
  yield* printReport(report, input, options.out)
})

const makePlan = Effect.fnUntraced(function* (options: ExtractOptions, file: string, json: boolean) {
  const { progress } = yield* Invocation
  const extract = yield* Extract
  const planned = yield* Effect.ensuring(extract.plan(options, file), progress(""))
  yield* printPlan(planned, file, json)
  yield* Warnings.print(planned.left)
  yield* Warnings.failIfStopped(planned.left)
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

const makeShard = Effect.fnUntraced(function* (
  options: ExtractOptions,
  file: string,
  number: ShardNumber,
  json: boolean
) {
  const invocation = yield* Invocation
  const extract = yield* Extract
  const rows = yield* Effect.ensuring(extract.shard(options, file, number), invocation.progress(""))
  const { of, shard } = number
  const { out } = options
  yield* invocation.note(`wrote ${out}: shard ${shard} of ${of}, ${rows.length} sessions`)
  yield* invocation.result(json ? JSON.stringify({ out, shard, of, sessions: rows.length }, undefined, 2) : out)
  yield* Warnings.print(rows)
  yield* Warnings.failIfStopped(rows)
})

export const run = Effect.fnUntraced(function* (input: Input) {
  collectLater()
  const { json, sessionTimeout, workers } = input
  yield* FlagCheck.all(FlagCheck.tooSmall({ "--workers": workers, "--session-timeout": sessionTimeout }, 1))
  const goal = yield* goalOf(input)
  const options = { ...(yield* RunOptions.options(input)), fresh: input.fresh }
  const layer = yield* RunOptions.services(input.sessions, {
    threads: Option.getOrUndefined(workers),
    sessionSeconds: Option.getOrUndefined(sessionTimeout)
  })
  const work = Effect.gen(function* () {
    if (goal._tag === "Dataset") return yield* makeDataset(options, input)
    if (goal._tag === "Plan") return yield* makePlan(options, goal.file, json)
    return yield* makeShard(options, goal.file, goal.number, json)
  })
  yield* work.pipe(Effect.provide(layer), usage("NothingMatched", "PlanMismatch"))
})
