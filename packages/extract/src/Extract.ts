/**
 * The service that makes datasets. This file is the pipeline, in the order in which data goes through it:
 *
 *     list -> survey -> plan (families, near-duplicates, splits)
 *          -> parts (read, cut, distinct, redact, project, validate) -> files -> card, manifest, report -> publish
 *
 * The same sessions and settings give the same bytes: in one process or many, in one run or several. A file that is no
 * session or cannot be read becomes a row of the report, not a failure.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import type * as Scope from "effect/Scope"
import { type SessionFileError, fromPlatform } from "@pi-sessions/session-file/SessionFileError"
import { SessionSource } from "@pi-sessions/session-file/SessionSource"
import { type NothingMatched, type OutputNotOurs, type PlanMismatch } from "./ExtractError.ts"
import { type ExtractOptions, type SurveyOptions } from "./ExtractOptions.ts"
import { type ExtractReport, type ReportRow } from "./ExtractReport.ts"
import * as ExtractSettings from "./ExtractSettings.ts"
import * as ProgressCount from "./ProgressCount.ts"
import * as DatasetFiles from "./files/DatasetFiles.ts"
import * as DatasetLayout from "./files/DatasetLayout.ts"
import * as RecordedSplits from "./files/RecordedSplits.ts"
import * as RunFolder from "./files/RunFolder.ts"
import * as StagedDataset from "./files/StagedDataset.ts"
import * as DatasetAssembly from "./parts/DatasetAssembly.ts"
import { type StoredPart } from "./parts/DatasetPart.ts"
import * as DatasetShard from "./parts/DatasetShard.ts"
import { WorkerPool, type Workers, noWorkers } from "./workers/WorkerPool.ts"
import * as DatasetPlan from "./plan/DatasetPlan.ts"
import * as DatasetSurvey from "./plan/DatasetSurvey.ts"
import * as PlanFile from "./plan/PlanFile.ts"
import * as DatasetLedger from "./publish/DatasetLedger.ts"
import * as DatasetTexts from "./publish/DatasetTexts.ts"
import * as Publication from "./publish/Publication.ts"
import * as ReportTally from "./publish/reportTally.ts"

export type { ExtractOptions, Selection, SurveyOptions } from "./ExtractOptions.ts"

export class Extract extends Context.Service<
  Extract,
  {
    /** Makes a dataset of the sessions of the source, in the directory `out`. */
    readonly run: (
      options: ExtractOptions
    ) => Effect.Effect<ExtractReport, NothingMatched | OutputNotOurs | SessionFileError>
    /** The report that `run` would give, without hashes and paths. Writes nothing. */
    readonly survey: (options: SurveyOptions) => Effect.Effect<ExtractReport, NothingMatched | SessionFileError>
    /** Surveys all sessions and writes the plan of the dataset to `file`. */
    readonly plan: (
      options: ExtractOptions,
      file: string
    ) => Effect.Effect<DatasetPlan.DatasetPlan, NothingMatched | PlanMismatch | SessionFileError>
    /**
     * Makes one shard of a planned dataset in the directory `out`. Does nothing when the shard is there and complete.
     * Succeeds with the rows of its sessions.
     */
    readonly shard: (
      options: ExtractOptions,
      plan: string,
      number: DatasetShard.ShardNumber
    ) => Effect.Effect<ReadonlyArray<ReportRow>, PlanMismatch | OutputNotOurs | SessionFileError>
    /** Joins all shards of a planned dataset. Gives the same files as `run`. */
    readonly merge: (
      options: ExtractOptions,
      plan: string,
      shards: ReadonlyArray<string>
    ) => Effect.Effect<ExtractReport, PlanMismatch | OutputNotOurs | SessionFileError>
  }
>()("@pi-sessions/extract/Extract") {
  /** Requires a `SessionSource` and a `WorkerPool`. */
  static readonly layerWith = Layer.suspend(() => Layer.effect(Extract, make))
  /** Requires a `SessionSource`. Works in the calling thread. */
  static readonly layer = Layer.suspend(() => Layer.provide(Extract.layerWith, WorkerPool.layer))
}

const run = Effect.fn("Extract.run")(function* (options: ExtractOptions) {
  yield* Publication.check(options.out)
  const settings = yield* ExtractSettings.of(options)
  const listing = yield* (yield* SessionSource).list
  const progress = ProgressCount.make(options, listing.sessions)
  const earlier = yield* DatasetLedger.open(options, settings.hash, listing)
  if (earlier.unchanged !== undefined) {
    yield* RunFolder.sweep(options.out)
    yield* progress.all
    yield* options.onUnchanged ?? Effect.void
    return earlier.unchanged
  }
  const workers = yield* (yield* WorkerPool).open(settings.work, progress.bytes)
  const { looks, plan } = yield* surveyAndPlan(listing, options, {
    workers,
    settings: settings.hash,
    known: earlier.looks,
    onRow: progress.done
  })
  const { parts, report } = yield* build(plan, options, settings, {
    workers,
    stored: (key) => earlier.parts.get(key),
    onRow: progress.done
  })
  yield* DatasetLedger.remember(options, { run: earlier.run, report, looks, parts })
  return report
})

const survey = Effect.fn("Extract.survey")(function* (options: SurveyOptions) {
  const { plan, progress, settings, workers } = yield* planned(options)
  const folder = yield* (yield* FileSystem.FileSystem)
    .makeTempDirectoryScoped()
    .pipe(Effect.mapError(fromPlatform("a temporary directory", "write")))
  const { files, outputs } = DatasetFiles.counted()
  const rows = [...plan.left]
  yield* DatasetAssembly.assemble(plan.kin, {
    workers,
    settings: settings.hash,
    folder,
    stored: () => undefined,
    filesOf: DatasetLayout.of(options).filesOf,
    files,
    isDistinct: true,
    onPart: ({ row }) =>
      Effect.andThen(
        Effect.sync(() => rows.push(row)),
        progress.done(row.path)
      )
  })
  return ReportTally.report(options, plan, rows, { outputs: outputs(), is_redacted: settings.redactor !== undefined })
})

const plan = Effect.fn("Extract.plan")(function* (options: ExtractOptions, file: string) {
  yield* PlanFile.checkPlace(file)
  const { plan, settings } = yield* planned(options)
  yield* PlanFile.write(file, plan, settings.hash)
  return plan
})

const shard = Effect.fn("Extract.shard")(function* (
  options: ExtractOptions,
  file: string,
  number: DatasetShard.ShardNumber
) {
  const { out } = options
  const settings = yield* ExtractSettings.of(options)
  const { plan, sha256 } = yield* PlanFile.read(file, settings.hash)
  const earlier = yield* DatasetShard.earlier(options, sha256, number)
  if (earlier.isComplete) {
    yield* RunFolder.sweep(out)
    return earlier.rows
  }
  if (!(yield* DatasetShard.isOne(out))) yield* Publication.check(out)
  const kin = DatasetShard.kinOf(plan, number)
  const refs = kin.flat().map(({ session }) => session.ref)
  yield* PlanFile.checkUnchanged(refs, yield* (yield* SessionSource).list)
  const progress = ProgressCount.make(options, refs)
  const workers = yield* (yield* WorkerPool).open(settings.work, progress.bytes)
  const folder = yield* openFolder(options)
  const parts = new Map<string, StoredPart>()
  const layout = DatasetLayout.ofShard(options)
  const { staged } = yield* StagedDataset.stage(out, folder, layout, (files) =>
    DatasetAssembly.assemble(kin, {
      workers,
      settings: settings.hash,
      folder: folder.path,
      stored: (key) => folder.earlier.get(key) ?? earlier.parts.get(key),
      filesOf: layout.filesOf,
      files,
      isDistinct: false,
      onPart: Effect.fnUntraced(function* ({ isLasting, key, part, row }) {
        parts.set(key, part)
        if (isLasting) yield* folder.record({ key, part })
        yield* progress.done(row.path)
      })
    })
  )
  const text = DatasetShard.textOf(yield* Path.Path, { plan: sha256, ...number, parts })
  yield* Publication.publish(out, folder, { ...staged, texts: [text] })
  return [...parts.values()].map(({ row }) => row)
})

const merge = Effect.fn("Extract.merge")(function* (
  options: ExtractOptions,
  file: string,
  directories: ReadonlyArray<string>
) {
  yield* Publication.check(options.out)
  const settings = yield* ExtractSettings.of(options)
  const { plan, sha256 } = yield* PlanFile.read(file, settings.hash)
  const parts = yield* DatasetShard.readAll(directories, file, sha256)
  yield* RecordedSplits.check(options.out, plan.recorded, file)
  const refs = plan.kin.flat().map(({ session }) => session.ref)
  const progress = ProgressCount.make(options, refs)
  const { report } = yield* build(plan, options, settings, {
    workers: noWorkers,
    stored: (key) => parts.get(key),
    onRow: progress.done
  })
  return report
})

/** The steps up to the plan, of operations that keep no ledger. */
const planned = Effect.fnUntraced(function* (options: SurveyOptions & { readonly out?: string }) {
  const settings = yield* ExtractSettings.of(options)
  const listing = yield* (yield* SessionSource).list
  const progress = ProgressCount.make(options, listing.sessions)
  const workers = yield* (yield* WorkerPool).open(settings.work, progress.bytes)
  const work = { workers, settings: settings.hash, known: new Map(), onRow: progress.done }
  const { plan } = yield* surveyAndPlan(listing, options, work)
  return { settings, progress, workers, plan }
})

const surveyAndPlan = Effect.fnUntraced(function* (
  listing: DatasetSurvey.Listing,
  options: SurveyOptions & { readonly out?: string },
  work: DatasetSurvey.SurveyWork
) {
  const survey = yield* DatasetSurvey.of(listing, options, work)
  const recorded = options.out === undefined ? new Map() : yield* RecordedSplits.read(options.out)
  const plan = DatasetPlan.make(survey, recorded, options)
  yield* Effect.forEach(plan.left, ({ path }) => work.onRow(path), { discard: true })
  return { plan, looks: survey.looks }
})

interface PartSources {
  readonly workers: Workers
  /** Parts that were made before, by key. */
  readonly stored: (key: string) => StoredPart | undefined
  readonly onRow: (path: string) => Effect.Effect<void>
}

/** The steps after the plan. Succeeds with the report, and the parts that a later run may reuse. */
const build = Effect.fnUntraced(function* (
  plan: DatasetPlan.DatasetPlan,
  options: ExtractOptions,
  settings: ExtractSettings.ExtractSettings,
  { onRow, stored, workers }: PartSources
) {
  const { out } = options
  const folder = yield* openFolder(options)
  const rows = [...plan.left]
  const sessionLines: Array<string> = []
  const parts = new Map<string, StoredPart>()
  const layout = DatasetLayout.of(options)
  const withSidecars = { ...layout, sidecars: (files: DatasetLayout.Files) => layout.sidecars(files, sessionLines) }
  const { outputs, staged } = yield* StagedDataset.stage(out, folder, withSidecars, (files) =>
    DatasetAssembly.assemble(plan.kin, {
      workers,
      settings: settings.hash,
      folder: folder.path,
      stored: (key) => stored(key) ?? folder.earlier.get(key),
      filesOf: layout.filesOf,
      files,
      isDistinct: true,
      onPart: Effect.fnUntraced(function* ({ isLasting, key, part, row, sessionLine }) {
        rows.push(row)
        if (sessionLine !== undefined) sessionLines.push(sessionLine)
        if (isLasting) {
          parts.set(key, part)
          yield* folder.record({ key, part })
        }
        yield* onRow(row.path)
      })
    })
  )
  const report = ReportTally.report(options, plan, rows, { outputs, is_redacted: settings.redactor !== undefined })
  const texts = [...staged.texts, ...DatasetTexts.of(report, plan, options, settings)]
  yield* Publication.publish(out, folder, { ...staged, texts })
  return { report, parts }
})

const openFolder = Effect.fnUntraced(function* ({ fresh, out }: ExtractOptions) {
  const fs = yield* FileSystem.FileSystem
  yield* fs.makeDirectory(out, { recursive: true }).pipe(Effect.mapError(fromPlatform(out, "write")))
  return yield* RunFolder.open(out, fresh)
})

type Services = FileSystem.FileSystem | Path.Path | SessionSource | WorkerPool

const make = Effect.gen(function* () {
  const services = yield* Effect.context<Services>()
  const provided = <A, E>(effect: Effect.Effect<A, E, Services | Scope.Scope>) =>
    Effect.scoped(
      Effect.provideContext(effect, Context.pick(FileSystem.FileSystem, Path.Path, SessionSource, WorkerPool)(services))
    )
  return Extract.of({
    run: (options) => provided(run(options)),
    survey: (options) => provided(survey(options)),
    plan: (options, file) => provided(plan(options, file)),
    shard: (options, file, number) => provided(shard(options, file, number)),
    merge: (options, file, shards) => provided(merge(options, file, shards))
  })
})
