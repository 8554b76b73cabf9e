/**
 * The run: every session that a source lists, through the pipeline, into a directory.
 *
 *     list -> look: whose is it? selected? -> plan: families, near-duplicates, splits, kin
 *          -> read -> cut -> distinct -> redact -> project -> validate -> write
 *
 * Whose a session is, is told by its first lines, so those that nobody asked for are not read. Files that are no
 * sessions or cannot be read are rows of the report, not failures. The plan fixes the order of the dataset: kin stand
 * together, forks after what they were forked from. The same sessions and settings give the same bytes, whether one
 * process makes them or many, at once or over several runs.
 */
import { createHash } from "node:crypto"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { SessionFileError, fromPlatform } from "@pi-sessions/session-file/SessionFileError"
import { type SessionListing, type SessionRef, SessionSource } from "@pi-sessions/session-file/SessionSource"
import * as DatasetAssembly from "./parts/DatasetAssembly.ts"
import * as DatasetCard from "./publish/DatasetCard.ts"
import * as DatasetDirectory from "./files/DatasetDirectory.ts"
import * as DatasetLayout from "./files/DatasetLayout.ts"
import * as DatasetLedger from "./publish/DatasetLedger.ts"
import * as DatasetManifest from "./publish/DatasetManifest.ts"
import * as DatasetPart from "./parts/DatasetPart.ts"
import { type StoredPart } from "./parts/DatasetPart.ts"
import * as DatasetPlan from "./plan/DatasetPlan.ts"
import * as DatasetShard from "./parts/DatasetShard.ts"
import { NothingMatched, type OutputNotOurs, PlanMismatch } from "./ExtractError.ts"
import { type ExtractOptions } from "./ExtractOptions.ts"
import { type ExtractReport, type ReportRow, isLasting, isStopped } from "./ExtractReport.ts"
import * as ExtractSettings from "./ExtractSettings.ts"
import { type LinesRange } from "./files/LinesFile.ts"
import * as PlanFile from "./plan/PlanFile.ts"
import * as Publication from "./publish/Publication.ts"
import * as PublicReport from "./publish/PublicReport.ts"
import * as RunFolder from "./files/RunFolder.ts"
import { type Look, type Question, type Selected, inOrderOfTime, rowOf } from "./plan/SessionSurvey.ts"
import { type SplitRule } from "./plan/Splits.ts"
import { WorkerPool, type Workers, redactorOf } from "./parts/WorkerPool.ts"
import * as ReportTally from "./publish/reportTally.ts"

export type { ExtractOptions, Selection } from "./ExtractOptions.ts"

/** What a survey is asked for: all that a run is, but where to write. */
export type SurveyOptions = Omit<ExtractOptions, "out" | "ledger">

export class Extract extends Context.Service<
  Extract,
  {
    /** Extracts the sessions of the source and writes samples and report. */
    readonly run: (
      options: ExtractOptions
    ) => Effect.Effect<ExtractReport, NothingMatched | OutputNotOurs | SessionFileError>
    /** The report of a run, without its files: what it would find, keep and drop. Writes nothing. */
    readonly survey: (options: SurveyOptions) => Effect.Effect<ExtractReport, NothingMatched | SessionFileError>
    /** The part of a run that needs all sessions, but little of each: writes the plan of the dataset to a file. */
    readonly plan: (
      options: ExtractOptions,
      file: string
    ) => Effect.Effect<DatasetPlan.DatasetPlan, NothingMatched | PlanMismatch | SessionFileError>
    /**
     * One of N parts of a planned dataset, written to the directory `out`; does nothing where it stands there whole.
     * Gives the rows of its sessions.
     */
    readonly shard: (
      options: ExtractOptions,
      plan: string,
      number: DatasetShard.ShardNumber
    ) => Effect.Effect<ReadonlyArray<ReportRow>, PlanMismatch | OutputNotOurs | SessionFileError>
    /** Joins all shards of a planned dataset: the same files as those of a run in one process. */
    readonly merge: (
      options: ExtractOptions,
      plan: string,
      shards: ReadonlyArray<string>
    ) => Effect.Effect<ExtractReport, PlanMismatch | OutputNotOurs | SessionFileError>
  }
>()("@pi-sessions/extract/Extract") {
  /** Reads from the `SessionSource` in its context, with workers of a `WorkerPool`. */
  static readonly layerWith = Layer.suspend(() => Layer.effect(Extract, make))
  /** Reads from the `SessionSource` in its context, in this thread. */
  static readonly layer = Layer.suspend(() => Layer.provide(Extract.layerWith, WorkerPool.layer))
}

/** Files that this thread looks into at once, where it reads no more than their beginning. */
const OPENINGS_AT_ONCE = 8

/** Of the families of each role. */
const SPLIT: SplitRule = { _tag: "Share", validation: 0.05 }

const make = Effect.gen(function* () {
  const source = yield* SessionSource
  const pool = yield* WorkerPool
  const services = yield* Effect.context<FileSystem.FileSystem | Path.Path>()
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path

  /** What all files are, what is selected of them, and how it hangs together. */
  const planOf = Effect.fnUntraced(function* (
    listing: SessionListing,
    workers: Workers,
    options: SurveyOptions & { readonly out?: string },
    known: { readonly settings: string; readonly looks: ReadonlyMap<string, Look> },
    onRow: (path: string) => Effect.Effect<void>
  ) {
    const { includeNearDuplicates = false, limit, split = SPLIT } = options
    const evidence = includeNearDuplicates ? "kin" : "all"
    const looks = new Map<string, Look>()
    const lookAt = (ref: SessionRef, question: Question) => {
      const key = keyOf(known.settings, question.evidence, DatasetAssembly.identity(ref))
      const before = known.looks.get(key)
      return Effect.tap(before === undefined ? workers.look(ref, question) : Effect.succeed(before), (look) =>
        Effect.sync(() => {
          if (look._tag === "Session" || isLasting(look.row)) looks.set(key, look)
        })
      )
    }
    const first = limit === undefined ? evidence : "none"
    const isWhole = first !== "none" && workers.width === 1
    const seen = yield* Effect.forEach(
      listing.sessions,
      (ref) =>
        Effect.tap(lookAt(ref, { ...selectionOf(options), evidence: first }), (look) =>
          look._tag === "Row" ? onRow(ref.path) : Effect.void
        ),
      // Whole sessions: one is worked on while the next one is read.
      { concurrency: isWhole ? 2 : Math.max(OPENINGS_AT_ONCE, 2 * workers.width) }
    )
    const left = seen.flatMap((look) => (look._tag === "Row" ? [look.row] : []))
    const found = seen
      .flatMap((look) => (look._tag === "Row" ? [] : [look]))
      .sort((a, b) => inOrderOfTime(a.session, b.session))
    // Sessions that were asked for and gave nothing are in the report.
    const isReported = left.some((row) => row.outcome === "over_budget" || isStopped(row))
    if (found.length === 0 && !isReported) return yield* nothingMatched(options, left, listing.skipped)
    for (const { session } of found.slice(limit ?? found.length)) {
      left.push({ ...rowOf(session.ref, session.role, session.sessionId), outcome: "over_limit" })
      yield* onRow(session.ref.path)
    }
    const candidates: Array<DatasetPlan.Candidate> = []
    for (const look of found.slice(0, limit)) {
      const { session } = look
      const again =
        look.evidence === undefined ? yield* lookAt(session.ref, { ...selectionOf(options), evidence }) : look
      if (again._tag === "Row") left.push(again.row)
      else if (again.evidence === undefined) left.push({ path: session.ref.path, outcome: "not_a_session" })
      else candidates.push({ session, evidence: again.evidence })
      if (again._tag === "Row" || again.evidence === undefined) yield* onRow(session.ref.path)
    }
    const recorded = options.out === undefined ? new Map() : yield* DatasetDirectory.readSplits(options.out)
    const planned = DatasetPlan.make(candidates, recorded, { split, includeNearDuplicates })
    yield* Effect.forEach(planned.left, ({ path }) => onRow(path), { discard: true })
    return { plan: { ...planned, left: [...left, ...planned.left], skipped: listing.skipped }, looks }
  })

  /** The files of the dataset from its parts, and what is said of it. */
  const build = Effect.fnUntraced(function* (
    plan: DatasetPlan.DatasetPlan,
    options: ExtractOptions,
    settings: ExtractSettings.ExtractSettings,
    made: {
      readonly workers: Workers
      readonly stored: (key: string) => StoredPart | undefined
      readonly onRow: (path: string) => Effect.Effect<void>
    }
  ) {
    const { out } = options
    yield* makeDirectory(out)
    const folder = yield* RunFolder.open(out, options.fresh)
    const rows = [...plan.left]
    const sessionLines: Array<string> = []
    const parts = new Map<string, StoredPart>()
    const layout = DatasetLayout.of(options)
    const { outputs, staged } = yield* DatasetDirectory.stage(
      out,
      folder,
      { ...layout, sidecars: (files) => layout.sidecars(files, sessionLines) },
      (files) =>
        DatasetAssembly.assemble(plan.kin, {
          ...made,
          settings: settings.hash,
          folder: folder.path,
          stored: (key) => made.stored(key) ?? folder.earlier.get(key),
          mayBeTorn: true,
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
            yield* made.onRow(row.path)
          })
        })
    )
    const redactor = redactorOf(settings.work)
    const { families, skipped } = plan
    const report = ReportTally.report(options, skipped, rows, {
      outputs,
      families,
      is_redacted: redactor !== undefined
    })
    const shown = redactor === undefined ? report : PublicReport.of(report, redactor)
    yield* Publication.publish(out, folder, {
      ...staged,
      texts: [
        ...staged.texts,
        DatasetDirectory.splitsText(plan.recorded),
        {
          name: DatasetManifest.MANIFEST_FILE,
          text: DatasetManifest.make(options, shown, {
            model: settings.work.model?.fingerprint,
            shown: redactor === undefined ? undefined : (text) => redactor.scope([]).text(text)
          })
        },
        { name: DatasetCard.CARD_FILE, text: DatasetCard.make(report), mark: DatasetCard.MARK },
        { name: Publication.REPORT_FILE, text: `${JSON.stringify(shown, undefined, 2)}\n` }
      ]
    })
    return { report, parts }
  })

  const run = Effect.fn("Extract.run")(function* (options: ExtractOptions) {
    const { ledger: ledgerFile, out } = options
    yield* Publication.check(out)
    const settings = yield* ExtractSettings.of(options)
    const listing = yield* source.list
    const isLedgerRead = ledgerFile !== undefined && options.fresh !== true
    const ledger = isLedgerRead ? yield* DatasetLedger.read(ledgerFile) : undefined
    const progress = progressOf(options, listing)
    const identity = keyOf(
      settings.hash,
      ...listing.sessions.map(DatasetAssembly.identity),
      ...listing.skipped.flatMap(({ path, reason }) => [path, reason])
    )
    // What could not be read may be read now, and what was stopped is tried again.
    const isSame = ledger?.run === identity && ledger.report.rows.every(isLasting)
    if (isSame && (yield* DatasetLedger.isIntact(ledger))) {
      yield* RunFolder.sweep(out)
      yield* progress.all
      yield* options.onUnchanged ?? Effect.void
      return ledger.report
    }
    const workers = yield* pool.open(settings.work, progress.bytes)
    const known = { settings: settings.hash, looks: ledger?.looks ?? new Map() }
    const { looks, plan } = yield* planOf(listing, workers, options, known, progress.one)
    const stored = (key: string) => ledger?.parts.get(key)
    const { parts, report } = yield* build(plan, options, settings, { workers, stored, onRow: progress.one })
    if (ledgerFile !== undefined) {
      const { files: written, loose = [], sidecars = [] } = report.outputs
      const left = [...written, ...loose].map((file) => path.resolve(out, file.path)).concat(sidecars)
      const beside = [report.outputs.report, ...DatasetDirectory.BESIDE.map((name) => path.resolve(out, name))]
      const card = path.resolve(out, DatasetCard.CARD_FILE)
      // A person's own card may change.
      const isOurs = (yield* Effect.orElseSucceed(fs.readFileString(card), () => "")).includes(DatasetCard.MARK)
      const files = yield* Effect.forEach([...left, ...beside, ...(isOurs ? [card] : [])], DatasetLedger.lookAt)
      const linesAt = (at: string) => path.resolve(out, path.basename(at))
      const fileAt = ({ placed }: { readonly placed: string }) => path.resolve(out, placed)
      const inOut = new Map([...parts].map(([key, part]) => [key, DatasetPart.relocated(part, linesAt, fileAt)]))
      yield* DatasetLedger.write(ledgerFile, { run: identity, files, report, looks, parts: inOut })
    }
    return report
  })

  const survey = Effect.fn("Extract.survey")(function* (options: SurveyOptions) {
    const settings = yield* ExtractSettings.of(options)
    const listing = yield* source.list
    const progress = progressOf(options, listing)
    const workers = yield* pool.open(settings.work, progress.bytes)
    const known = { settings: settings.hash, looks: new Map() }
    const { plan } = yield* planOf(listing, workers, options, known, progress.one)
    const folder = yield* fs
      .makeTempDirectoryScoped()
      .pipe(Effect.mapError(fromPlatform("a temporary directory", "write")))
    const rows = [...plan.left]
    const files = new Map<string, { target: DatasetDirectory.TargetFile; samples: number }>()
    const count = (target: DatasetDirectory.TargetFile, lines: number): Effect.Effect<LinesRange> =>
      Effect.sync(() => {
        const file = files.get(target.name) ?? { target, samples: 0 }
        files.set(target.name, { target, samples: file.samples + lines })
        return { path: "", offset: 0, bytes: 0, lines, crc32: 0 }
      })
    yield* DatasetAssembly.assemble(plan.kin, {
      workers,
      settings: settings.hash,
      folder,
      stored: () => undefined,
      mayBeTorn: false,
      filesOf: DatasetLayout.of(options).filesOf,
      files: {
        append: (to, lines) => count(to, lines.length),
        copy: (to, range) => count(to, range.lines),
        keep: ({ name }) => Effect.succeed({ name, placed: name, path: "", sha256: "" })
      },
      isDistinct: true,
      onPart: ({ row }) =>
        Effect.andThen(
          Effect.sync(() => rows.push(row)),
          progress.one(row.path)
        )
    })
    const outputs = {
      train: "",
      files: [...files.values()].map(({ samples, target: { file, split } }) => {
        return { path: "", samples, split, file, sha256: "" }
      }),
      report: ""
    }
    const { families, skipped } = plan
    const is_redacted = redactorOf(settings.work) !== undefined
    return ReportTally.report(options, skipped, rows, { outputs, families, is_redacted })
  })

  const plan = Effect.fn("Extract.plan")(function* (options: ExtractOptions, file: string) {
    yield* PlanFile.checkPlace(file)
    const settings = yield* ExtractSettings.of(options)
    const listing = yield* source.list
    const progress = progressOf(options, listing)
    const workers = yield* pool.open(settings.work, progress.bytes)
    const known = { settings: settings.hash, looks: new Map() }
    const planned = yield* planOf(listing, workers, options, known, progress.one)
    yield* PlanFile.write(file, planned.plan, settings.hash)
    return planned.plan
  })

  const shard = Effect.fn("Extract.shard")(function* (
    options: ExtractOptions,
    file: string,
    { of, shard: number }: DatasetShard.ShardNumber
  ) {
    const { out } = options
    const settings = yield* ExtractSettings.of(options)
    const planned = yield* PlanFile.read(file, settings.hash)
    const kin = planned.plan.kin.filter((_, at) => at % of === number - 1)
    const sessions = kin.flat().map(({ session }) => session)
    const before = yield* Effect.orElseSucceed(DatasetShard.read(out), () => undefined)
    const isSame = before?.plan === planned.sha256 && before.shard === number && before.of === of
    const again = isSame && options.fresh !== true ? before : undefined
    const partsBefore = [...(again?.parts ?? [])]
    const isDone = again !== undefined && !partsBefore.some(([, { row }]) => isStopped(row))
    if (isDone && (yield* DatasetShard.isWhole(again))) {
      yield* RunFolder.sweep(out)
      return partsBefore.map(([, { row }]) => row)
    }
    if (!(yield* DatasetShard.isOne(out))) yield* Publication.check(out)
    yield* unchanged(sessions)
    yield* makeDirectory(out)
    const progress = progressOf(options, { sessions: sessions.map(({ ref }) => ref) })
    const workers = yield* pool.open(settings.work, progress.bytes)
    const folder = yield* RunFolder.open(out, options.fresh)
    // Shards are joined line by line, so a container comes after.
    const { container: _, ...layout } = DatasetLayout.of(options)
    const lasting = new Map(partsBefore.filter(([, { row }]) => isLasting(row)))
    const parts = new Map<string, StoredPart>()
    const { staged } = yield* DatasetDirectory.stage(out, folder, { ...layout, sidecars: () => [] }, (files) =>
      DatasetAssembly.assemble(kin, {
        workers,
        settings: settings.hash,
        folder: folder.path,
        stored: (key) => folder.earlier.get(key) ?? lasting.get(key),
        mayBeTorn: true,
        filesOf: (...of) => layout.filesOf(...of).slice(0, 1),
        files,
        isDistinct: false,
        onPart: Effect.fnUntraced(function* ({ isLasting, key, part, row }) {
          parts.set(key, part)
          if (isLasting) yield* folder.record({ key, part })
          yield* progress.one(row.path)
        })
      })
    )
    const text = DatasetShard.textOf(path, { plan: planned.sha256, shard: number, of, parts })
    yield* Publication.publish(out, folder, { ...staged, texts: [text] })
    return [...parts.values()].map(({ row }) => row)
  })

  /** A session that has grown since is another one than the plan knows. */
  const unchanged = Effect.fnUntraced(function* (sessions: ReadonlyArray<Selected>) {
    const now = new Map((yield* source.list).sessions.map((ref) => [ref.path, ref]))
    for (const { ref } of sessions) {
      const found = now.get(ref.path)
      if (found !== undefined && DatasetAssembly.identity(found) === DatasetAssembly.identity(ref)) continue
      const issue = found === undefined ? "it is no longer there" : "it was changed"
      return yield* new PlanMismatch({ path: ref.path, issue: `${issue} since the plan was made; make the plan anew` })
    }
  })

  const merge = Effect.fn("Extract.merge")(function* (
    options: ExtractOptions,
    file: string,
    directories: ReadonlyArray<string>
  ) {
    const { out } = options
    yield* Publication.check(out)
    const settings = yield* ExtractSettings.of(options)
    const planned = yield* PlanFile.read(file, settings.hash)
    const parts = yield* DatasetShard.readAll(directories, file, planned.sha256)
    // A plan that did not know what was assigned before would move sessions from one split to the other.
    const { recorded } = planned.plan
    for (const [key, split] of yield* DatasetDirectory.readSplits(out)) {
      if (recorded[key] === split) continue
      const issue = `the plan does not know what ${out} records of splits; make it anew with --out ${out}`
      return yield* new PlanMismatch({ path: file, issue })
    }
    const refs = planned.plan.kin.flat().map(({ session }) => session.ref)
    const progress = progressOf(options, { sessions: refs })
    const stored = (key: string) => parts.get(key)
    const { report } = yield* build(planned.plan, options, settings, { workers: NOBODY, stored, onRow: progress.one })
    return report
  })

  const makeDirectory = (directory: string) =>
    fs.makeDirectory(directory, { recursive: true }).pipe(Effect.mapError(fromPlatform(directory, "write")))

  const provided = <A, E>(effect: Effect.Effect<A, E, FileSystem.FileSystem | Path.Path | Scope.Scope>) =>
    Effect.scoped(Effect.provideContext(effect, Context.pick(FileSystem.FileSystem, Path.Path)(services)))
  return Extract.of({
    run: (options) => provided(run(options)),
    survey: (options) => provided(survey(options)),
    plan: (options, file) => provided(plan(options, file)),
    shard: (options, file, number) => provided(shard(options, file, number)),
    merge: (options, file, shards) => provided(merge(options, file, shards))
  })
})

/** Where all parts must be there. */
const NOBODY: Workers = {
  width: 1,
  look: () => Effect.die("nothing is looked at when shards are joined"),
  parts: ({ sessions }) =>
    Stream.fail(
      new SessionFileError({
        path: sessions[0]?.ref.path ?? "",
        operation: "read",
        reason: "its lines are not in the shards as they were written; make its shard anew"
      })
    )
}

const keyOf = (...told: ReadonlyArray<string>): string => {
  const hash = createHash("sha256")
  for (const one of told) hash.update(one).update("\0")
  return hash.digest("hex").slice(0, 32)
}

const selectionOf = ({ includeDogs, marks, rigs, roles, since, town, until }: SurveyOptions) => ({
  rigs,
  roles,
  ...(includeDogs === undefined ? {} : { includeDogs }),
  ...(marks === undefined ? {} : { marks }),
  ...(since === undefined ? {} : { since }),
  ...(town === undefined ? {} : { town }),
  ...(until === undefined ? {} : { until })
})

/** Tells how many files are done with. */
const progressOf = ({ onProgress }: SurveyOptions, { sessions }: Pick<SessionListing, "sessions">) => {
  const sizes = new Map(sessions.map(({ path, sizeBytes }) => [path, sizeBytes]))
  const totalBytes = sessions.reduce((bytes, { sizeBytes }) => bytes + sizeBytes, 0)
  const total = sessions.length
  let done = 0
  let doneBytes = 0
  return {
    bytes: totalBytes,
    one: (path: string): Effect.Effect<void> => {
      done++
      doneBytes += sizes.get(path) ?? 0
      return onProgress?.({ done, total, doneBytes, totalBytes }) ?? Effect.void
    },
    all: Effect.suspend(() => onProgress?.({ done: total, total, doneBytes: totalBytes, totalBytes }) ?? Effect.void)
  }
}

const PROBLEMS: { readonly [outcome: string]: string } = {
  not_a_session: "not a Pi session: it has no header",
  unreadable: "cannot be read"
}

const nothingMatched = (
  { rigs, roles }: SurveyOptions,
  rows: ReadonlyArray<ReportRow>,
  skipped: ReadonlyArray<{ readonly path: string; readonly reason: string }>
): NothingMatched => {
  const problems = rows.flatMap(({ path, outcome, detail }) => {
    const problem = PROBLEMS[outcome]
    return problem === undefined ? [] : [{ path, reason: detail ?? problem }]
  })
  const sessions = rows.filter((row) => row.outcome === "not_selected")
  return new NothingMatched({
    rigs,
    roles,
    sessions: sessions.length,
    problems: [...skipped, ...problems],
    foundRigs: ReportTally.count(sessions.flatMap((row) => row.rig ?? [])),
    foundRoles: ReportTally.count(sessions.flatMap((row) => row.role ?? []))
  })
}
