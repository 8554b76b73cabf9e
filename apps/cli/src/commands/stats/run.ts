/** Runs `stats`: surveys the sessions as extract does, then reads each session once more to count it. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import { stringAt } from "@pi-sessions/core/Json"
import type * as Session from "@pi-sessions/core/Session"
import { Extract, type SurveyOptions } from "@pi-sessions/extract/Extract"
import { type ExtractReport, type ReportRow } from "@pi-sessions/extract/ExtractReport"
import * as SessionStatistics from "@pi-sessions/report/SessionStatistics"
import * as StatsReport from "@pi-sessions/report/StatsReport"
import * as TerminalText from "@pi-sessions/report/TerminalText"
import { SessionSource } from "@pi-sessions/session-file/SessionSource"
import { UsageError, usage } from "../../Exit.ts"
import * as Interruption from "../../Interruption.ts"
import { Invocation } from "../../Invocation.ts"
import * as FlagCheck from "../../flags/FlagCheck.ts"
import { needsTokenizer } from "../../flags/TokenizerCheck.ts"
import * as NamedSources from "../../flags/NamedSources.ts"
import * as PointInTime from "../../flags/PointInTime.ts"
import * as ResultPrinter from "../../print/ResultPrinter.ts"
import * as Workers from "../extract/workers.ts"
import { reasoningOf } from "../extract/chosenOptions.ts"
import * as NamedModel from "../../flags/NamedModel.ts"
import * as NamedRedaction from "../../flags/NamedRedaction.ts"
import * as Warnings from "../extract/sessionWarnings.ts"
import * as StatsMarkdown from "../../print/StatsMarkdown.ts"
import * as StatsText from "../../print/StatsText.ts"
import { type Input } from "../stats.ts"

const check = ({ format, json, maxTokens, md, model, rig, sessions, tokenizer }: Input) =>
  FlagCheck.all(
    FlagCheck.emptySessions(sessions),
    FlagCheck.empty({ "--rig": rig, "--model": model }),
    FlagCheck.exclusive({ "--json": json, "--md": md }),
    FlagCheck.tooSmall({ "--max-tokens": maxTokens }, 1),
    needsTokenizer("--format", format, tokenizer)
  )

/** The options of the survey, with the defaults of the command `extract`. */
const surveyOptions = Effect.fnUntraced(function* (input: Input) {
  const { branches, format, maxTokens, model, noRedact, rig, role, tokenizer } = input
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
    redaction: yield* NamedRedaction.byDefault(noRedact),
    ...(yield* PointInTime.isoPeriod(input))
  } satisfies SurveyOptions
})

/** Reads the sessions of the report again, and counts those with answers of `models`, or all. */
const countSessions = Effect.fnUntraced(function* (report: ExtractReport, models: ReadonlyArray<string>) {
  const invocation = yield* Invocation
  const source = yield* SessionSource
  const refs = new Map((yield* source.list).sessions.map((ref) => [ref.path, ref]))
  const tally = new StatsReport.StatsTally(models)
  const rows = report.rows.filter(StatsReport.isCounted)
  const answers = new Map<string, number>()
  let counted = 0
  for (const [at, row] of rows.entries()) {
    const ref = refs.get(row.path)
    if (ref === undefined) continue
    yield* invocation.progress(`${at} of ${rows.length} sessions counted`)
    const read = yield* Effect.result(source.read(ref))
    if (Result.isFailure(read)) yield* invocation.note(`warning: ${row.path}: ${read.failure.message}`)
    else {
      const one = countedOf(row, read.success)
      for (const model of answering(one)) answers.set(model, (answers.get(model) ?? 0) + 1)
      if (isOfModels(one, models)) {
        tally.add(one)
        counted++
      }
    }
    yield* Interruption.point
  }
  return { tally, answers, counted, found: rows.length }
})

const count = Effect.fnUntraced(function* (input: Input) {
  const invocation = yield* Invocation
  const options = yield* surveyOptions(input)
  const report = yield* Effect.flatMap(Extract, (service) =>
    service.survey({
      ...options,
      onProgress: ({ done, total }) => invocation.progress(`${done} of ${total} sessions`)
    })
  )
  const { answers, counted, found, tally } = yield* countSessions(report, input.model)
  for (const { path, reason } of report.skipped) yield* invocation.note(`warning: ${path}: ${reason}`)
  yield* Warnings.print(report.rows)
  if (input.model.length > 0 && counted === 0) return yield* noModel(input.model, found, answers)
  const stats = tally.report(report, {
    ...(Option.isSome(input.maxTokens) ? { maxTokens: input.maxTokens.value } : {}),
    isEstimate: Option.isNone(input.tokenizer)
  })
  return { report: stats, rows: report.rows }
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
  yield* check(input)
  const { progress } = yield* Invocation
  const sources = yield* NamedSources.layer(input.sessions)
  const { report, rows } = yield* count(input).pipe(
    Effect.ensuring(progress("")),
    Effect.provide(Layer.provideMerge(Layer.provide(Extract.layerWith, Workers.layer()), sources)),
    usage("NothingMatched")
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
