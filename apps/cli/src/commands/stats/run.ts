/** Running `stats`: what extract reports of the sessions, then each of them once more, whole, one after another. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as SessionDiscovery from "@pi-sessions/catalog/SessionDiscovery"
import type * as GasTown from "@pi-sessions/core/GasTown"
import { stringAt } from "@pi-sessions/core/Json"
import type * as Session from "@pi-sessions/core/Session"
import { Extract, type SurveyOptions } from "@pi-sessions/extract/Extract"
import { type ReportRow } from "@pi-sessions/extract/ExtractReport"
import { type FormatName } from "@pi-sessions/formats/FormatName"
import * as SessionStatistics from "@pi-sessions/report/SessionStatistics"
import * as StatsReport from "@pi-sessions/report/StatsReport"
import * as TerminalText from "@pi-sessions/report/TerminalText"
import { SessionSource } from "@pi-sessions/session-file/SessionSource"
import { CommandFailed, UsageError, emptyFlag } from "../../Exit.ts"
import * as Interruption from "../../Interruption.ts"
import { Invocation } from "../../Invocation.ts"
import * as PointInTime from "../../flags/PointInTime.ts"
import * as ResultPrinter from "../../print/ResultPrinter.ts"
import * as Workers from "../extract/workers.ts"
import * as StoredSessions from "../../StoredSessions.ts"
import { reasoningOf } from "../extract/chosenOptions.ts"
import * as NamedModel from "../../flags/NamedModel.ts"
import { redactionOf } from "../../flags/Redaction.ts"
import * as Warnings from "../extract/sessionWarnings.ts"
import * as StatsMarkdown from "../../print/StatsMarkdown.ts"
import * as StatsText from "../../print/StatsText.ts"

export interface Input {
  readonly sessions: ReadonlyArray<string>
  readonly rig: ReadonlyArray<string>
  readonly role: ReadonlyArray<GasTown.Role>
  readonly since: Option.Option<string>
  readonly until: Option.Option<string>
  readonly model: ReadonlyArray<string>
  readonly by: Option.Option<StatsReport.GroupName>
  readonly format: FormatName
  readonly branches: "active" | "all"
  readonly maxTokens: Option.Option<number>
  readonly tokenizer: Option.Option<string>
  readonly noRedact: boolean
  readonly width: Option.Option<number>
  readonly json: boolean
  readonly md: boolean
}

const checked = (input: Input): UsageError | undefined => {
  const { format, json, maxTokens, md, model, rig, sessions, tokenizer } = input
  if (sessions.includes("")) {
    return new UsageError({ text: "--sessions is empty; give a session file or a directory" })
  }
  const empty = emptyFlag({ "--rig": rig, "--model": model }, "leave it out, or give one")
  if (empty !== undefined) return empty
  if (json && md) return new UsageError({ text: "--json and --md are two forms of one result; give one of them" })
  if (Option.isSome(maxTokens) && maxTokens.value < 1) return new UsageError({ text: "--max-tokens must be 1 or more" })
  if (format === "tokens" && Option.isNone(tokenizer)) {
    return new UsageError({ text: "--format tokens needs --tokenizer DIR, the directory of a local model" })
  }
  return undefined
}

/** ISO 8601, from what a person gives. */
const date = (flag: string, given: string) =>
  Effect.map(PointInTime.fromFlag(flag, given), (ms) => new Date(ms).toISOString())

/** What extract is asked for, by the same defaults as its command. */
const surveyOptions = Effect.fnUntraced(function* (input: Input) {
  const { branches, format, maxTokens, model, noRedact, rig, role, since, tokenizer, until } = input
  return {
    rigs: rig,
    roles: role,
    models: model,
    format,
    branches,
    reasoning: reasoningOf(format, Option.none()),
    lengths: true,
    ...(Option.isSome(maxTokens) ? { maxTokens: maxTokens.value } : {}),
    ...(Option.isSome(tokenizer) ? { tokenizer: yield* NamedModel.directory("--tokenizer", tokenizer.value) } : {}),
    redaction: yield* redactionOf({ noRedact, redactionKey: Option.none(), secret: [], secretsFrom: [] }),
    ...(Option.isSome(since) ? { since: yield* date("--since", since.value) } : {}),
    ...(Option.isSome(until) ? { until: yield* date("--until", until.value) } : {})
  } satisfies SurveyOptions
})

const count = Effect.fnUntraced(function* (input: Input) {
  const invocation = yield* Invocation
  const source = yield* SessionSource
  const options = yield* surveyOptions(input)
  const report = yield* Effect.flatMap(Extract, (service) =>
    service.survey({
      ...options,
      onProgress: ({ done, total }) => invocation.progress(`${done} of ${total} sessions`)
    })
  )
  const refs = new Map((yield* source.list).sessions.map((ref) => [ref.path, ref]))
  const tally = new StatsReport.StatsTally(input.model)
  const rows = report.rows.filter(StatsReport.isCounted)
  const found = new Map<string, number>()
  let taken = 0
  for (const [at, row] of rows.entries()) {
    const ref = refs.get(row.path)
    if (ref === undefined) continue
    yield* invocation.progress(`${at} of ${rows.length} sessions counted`)
    const read = yield* Effect.result(source.read(ref))
    if (Result.isFailure(read)) yield* invocation.note(`warning: ${row.path}: ${read.failure.message}`)
    else {
      const one = countedOf(row, read.success)
      for (const model of answering(one)) found.set(model, (found.get(model) ?? 0) + 1)
      if (isOfModels(one, input.model)) {
        tally.add(one)
        taken++
      }
    }
    yield* Interruption.point
  }
  for (const { path, reason } of report.skipped) yield* invocation.note(`warning: ${path}: ${reason}`)
  yield* Warnings.print(report.rows)
  if (input.model.length > 0 && taken === 0) return yield* noModel(input.model, rows.length, found)
  const counted = tally.report(report, {
    ...(Option.isSome(input.maxTokens) ? { maxTokens: input.maxTokens.value } : {}),
    isEstimate: Option.isNone(input.tokenizer)
  })
  return { report: counted, rows: report.rows }
})

const noModel = (asked: ReadonlyArray<string>, sessions: number, found: ReadonlyMap<string, number>): UsageError => {
  const names = [...found]
    .sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
    .map(([model, count]) => `${TerminalText.line(model)} (${count})`)
  const flags = asked.map((model) => `--model ${model}`).join(" ")
  return new UsageError({
    text: `none of ${sessions} sessions has an answer of ${flags}; models found: ${names.length === 0 ? "none" : names.join(", ")}`
  })
}

const countedOf = (row: ReportRow, session: Session.Session): StatsReport.CountedSession => {
  const header = session.header?.decode() ?? {}
  return {
    row,
    statistics: SessionStatistics.of(session),
    timestamp: stringAt(header, "timestamp") ?? "",
    cwd: stringAt(header, "cwd") ?? "",
    isFork: stringAt(header, "parentSession") !== undefined,
    isDamaged: session.diagnostics.length > 0
  }
}

/** The models that answered in a session. */
const answering = ({ statistics }: StatsReport.CountedSession): ReadonlyArray<string> =>
  [...statistics.models].flatMap(([model, { answers }]) => (answers > 0 ? [model] : []))

const isOfModels = (session: StatsReport.CountedSession, models: ReadonlyArray<string>): boolean =>
  models.length === 0 || answering(session).some((model) => models.includes(model))

export const run = Effect.fnUntraced(function* (input: Input) {
  const wrong = checked(input)
  if (wrong !== undefined) return yield* wrong
  const invocation = yield* Invocation
  const { missing, roots } = yield* SessionDiscovery.discover({ sessions: input.sessions, cwd: invocation.cwd })
  for (const { path, why } of [...roots, ...missing]) {
    if (why !== "--sessions") yield* invocation.note(`sessions: ${path} (${why})`)
  }
  const sources = StoredSessions.layerPaths(roots.map(({ path }) => path))
  const { report, rows } = yield* count(input).pipe(
    Effect.ensuring(invocation.progress("")),
    Effect.provide(Layer.provideMerge(Layer.provide(Extract.layerWith, Workers.layer()), sources)),
    Effect.mapError((error) => {
      if (error._tag === "UsageError" || error._tag === "CommandFailed") return error
      const text = error.message
      return error._tag === "NothingMatched" ? new UsageError({ text }) : new CommandFailed({ text })
    })
  )
  const by = Option.getOrUndefined(input.by)
  if (input.json) yield* ResultPrinter.lines([ResultPrinter.json(report, 2)])
  else if (input.md) yield* ResultPrinter.lines(StatsMarkdown.render(report, by))
  else {
    const layout = yield* ResultPrinter.layout(Option.getOrUndefined(input.width))
    yield* ResultPrinter.lines(StatsText.render(report, by, layout))
  }
  yield* Warnings.failIfStopped(rows)
})
