/**
 * The run: every session that a source lists, through the pipeline, into a directory.
 *
 *     list -> whose is it? -> selected? -> plan: families, near-duplicates, splits
 *          -> read -> cut -> distinct -> project -> validate -> write
 *
 * Whose a session is, is told by its first lines, so those that nobody asked for are not read. Files that are no
 * sessions or cannot be read are rows of the report, not failures. Samples are written in the order in which the sessions
 * were begun (then of paths), whatever order the reads end in: the same sessions give the same bytes, and forks come after
 * what they were forked from.
 */
import { randomBytes } from "node:crypto"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import type * as Path from "effect/Path"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import * as SessionRole from "@pi-sessions/catalog/SessionRole"
import * as GasTown from "@pi-sessions/core/GasTown"
import { stringAt } from "@pi-sessions/core/Json"
import { type SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import { type SessionRef, SessionSource } from "@pi-sessions/session-file/SessionSource"
import * as DatasetCard from "./DatasetCard.ts"
import * as DatasetDirectory from "./DatasetDirectory.ts"
import * as DatasetManifest from "./DatasetManifest.ts"
import * as DatasetPlan from "./DatasetPlan.ts"
import { DistinctTargets } from "./DistinctTargets.ts"
import { NothingMatched, type OutputNotOurs } from "./ExtractError.ts"
import { type ExtractOptions } from "./ExtractOptions.ts"
import { type ExtractReport, type ReportRow } from "./ExtractReport.ts"
import { FORMATS } from "./Formats.ts"
import { Placeholders } from "./Placeholders.ts"
import * as PublicReport from "./PublicReport.ts"
import { Redactor } from "./Redaction.ts"
import { SessionEvidence } from "./SessionEvidence.ts"
import { type DataFile, type DatasetFile, type Sidecar } from "./Sample.ts"
import { type Split, type SplitRule } from "./Splits.ts"
import * as ToldContexts from "./ToldContexts.ts"
import * as ReportTally from "./internal/reportTally.ts"
import {
  type CutSession,
  type KnownLines,
  type Selected,
  cutSession,
  nothingOf,
  rowOf,
  toLines
} from "./internal/sessionLines.ts"

export type { ExtractOptions, Selection } from "./ExtractOptions.ts"

export class Extract extends Context.Service<
  Extract,
  {
    /** Extracts the sessions of the source and writes samples and report. */
    readonly run: (
      options: ExtractOptions
    ) => Effect.Effect<ExtractReport, NothingMatched | OutputNotOurs | SessionFileError>
  }
>()("@pi-sessions/extract/Extract") {
  /** Reads from the `SessionSource` in its context. */
  static readonly layer = Layer.suspend(() => Layer.effect(Extract, make))
}

const OPENINGS_AT_ONCE = 8
/** Whole sessions in memory. */
const SESSIONS_AT_ONCE = 2

/** Of the families of each role. */
const SPLIT: SplitRule = { _tag: "Share", validation: 0.05 }

const isRow = (one: ReportRow | Selected): one is ReportRow => "outcome" in one

const make = Effect.gen(function* () {
  const source = yield* SessionSource
  const services = yield* Effect.context<FileSystem.FileSystem | Path.Path>()

  /** Reads no more of the file than it takes to know whose it is. */
  const open = Effect.fnUntraced(function* (ref: SessionRef) {
    const opening = new SessionRole.Opening()
    yield* Stream.runForEachWhile(source.lines(ref), (line) =>
      Effect.sync(() => {
        opening.push(line)
        return !opening.complete
      })
    )
    return opening
  })

  const identify = Effect.fnUntraced(function* (
    ref: SessionRef,
    options: ExtractOptions
  ): Effect.fn.Return<ReportRow | Selected> {
    const opened = yield* Effect.result(open(ref))
    if (Result.isFailure(opened)) {
      return { path: ref.path, outcome: "unreadable", detail: opened.failure.reason }
    }
    const header = opened.success.header?.decode()
    if (header === undefined) return { path: ref.path, outcome: "not_a_session" }
    const town = options.town === undefined ? {} : { town: options.town }
    const role = SessionRole.detect(opened.success, { path: ref.path, ...town })
    const sessionId = stringAt(header, "id")
    const timestamp = stringAt(header, "timestamp") ?? ""
    if (!isSelected(role, options)) return { ...rowOf(ref, role, sessionId), outcome: "not_selected" }
    if (!isInTime(timestamp, options)) return { ...rowOf(ref, role, sessionId), outcome: "out_of_time" }
    return { ref, role, sessionId: sessionId ?? "", timestamp }
  })

  /** What ties a session to others. Reads no more of it than that takes. */
  const gather = Effect.fnUntraced(function* (
    { ref, role }: Selected,
    withSignature: boolean
  ): Effect.fn.Return<DatasetPlan.PlannedSession | ReportRow> {
    const evidence = new SessionEvidence({ withSignature })
    const failed = yield* Stream.runForEachWhile(source.lines(ref), (line) =>
      Effect.sync(() => {
        evidence.push(line)
        return !evidence.complete
      })
    ).pipe(
      Effect.as(undefined),
      Effect.catch((error) => Effect.succeed(error.reason)),
      Effect.catchDefect((defect) => Effect.succeed(String(defect)))
    )
    if (failed !== undefined) return { path: ref.path, outcome: "unreadable", detail: failed }
    const found = evidence.of(ref.path)
    return found === undefined ? { path: ref.path, outcome: "not_a_session" } : { evidence: found, role: role.role }
  })

  /** Reads the selected sessions for what ties them together. */
  const plan = Effect.fnUntraced(function* (selected: ReadonlyArray<Selected>, options: ExtractOptions) {
    const { includeNearDuplicates = false, split = SPLIT } = options
    const recorded = yield* DatasetDirectory.readSplits(options.out)
    const rows: Array<ReportRow> = []
    const sessions: Array<DatasetPlan.PlannedSession> = []
    yield* Stream.fromIterable(selected).pipe(
      Stream.mapEffect((one) => gather(one, !includeNearDuplicates), { concurrency: SESSIONS_AT_ONCE }),
      Stream.runForEach((one) => Effect.sync(() => ("outcome" in one ? rows.push(one) : sessions.push(one))))
    )
    return { rows, plan: DatasetPlan.make(sessions, recorded, { split, includeNearDuplicates }) }
  })

  const extract = Effect.fnUntraced(function* (
    selected: Selected,
    options: ExtractOptions,
    told: ToldContexts.ToldContexts
  ): Effect.fn.Return<CutSession> {
    const read = yield* Effect.result(source.read(selected.ref))
    const { path } = selected.ref
    if (Result.isSuccess(read)) {
      // One file that breaks us (values nested beyond the stack, say) must not end the run for all others.
      return yield* Effect.sync(() => cutSession(read.success, selected, options, told)).pipe(
        Effect.catchDefect((defect) =>
          Effect.succeed(nothingOf({ path, outcome: "unreadable", detail: String(defect) }))
        )
      )
    }
    return nothingOf(
      read.failure._tag === "NotASession"
        ? { path, outcome: "not_a_session" }
        : { path, outcome: "unreadable", detail: read.failure.reason }
    )
  })

  const run = Effect.fn("Extract.run")(function* (
    options: ExtractOptions
  ): Effect.fn.Return<
    ExtractReport,
    NothingMatched | OutputNotOurs | SessionFileError,
    FileSystem.FileSystem | Path.Path
  > {
    yield* DatasetDirectory.check(options.out)
    const told = yield* ToldContexts.read(options.threads ?? [])
    const listing = yield* source.list
    const total = listing.sessions.length
    let done = 0
    const progress = (): Effect.Effect<void> => options.onProgress?.(++done, total) ?? Effect.void

    const found = yield* Effect.forEach(
      listing.sessions,
      (ref) => Effect.tap(identify(ref, options), (one) => (isRow(one) ? progress() : Effect.void)),
      { concurrency: OPENINGS_AT_ONCE }
    )
    const ordered = found.flatMap((one) => (isRow(one) ? [] : [one])).sort(inOrderOfTime)
    const rows = found.filter(isRow)
    if (ordered.length === 0) return yield* nothingMatched(options, rows, listing.skipped)
    const selected = ordered.slice(0, options.limit)
    const leave = (row: ReportRow): Effect.Effect<void> =>
      Effect.andThen(
        Effect.sync(() => rows.push(row)),
        progress()
      )
    for (const { ref, role, sessionId } of ordered.slice(selected.length)) {
      yield* leave({ ...rowOf(ref, role, sessionId), outcome: "over_limit" })
    }

    const planned = yield* plan(selected, options)
    for (const row of planned.rows) yield* leave(row)
    const { families, fates, recorded } = planned.plan
    const taken: Array<Selected> = []
    for (const one of selected) {
      const fate = fates.get(one.ref.path)
      if (fate?._tag === "Taken") taken.push(one)
      else if (fate !== undefined) {
        const { detail, reason } = fate
        const row = { ...rowOf(one.ref, one.role, one.sessionId), outcome: reason }
        yield* leave(detail === undefined ? row : { ...row, detail })
      }
    }

    const format = FORMATS[options.format]
    const filesOf = (split: Split, file: DatasetFile, role: GasTown.Role): ReadonlyArray<DatasetDirectory.TargetFile> =>
      (format.fileNames?.({ split, role }) ?? [DatasetDirectory.fileName(split, file)]).map((name) => {
        return { name, split, file }
      })
    const sessionLines: Array<string> = []
    const sidecars = (files: ReadonlyArray<DataFile>): ReadonlyArray<Sidecar> => [
      ...(format.sidecars?.(files) ?? []),
      ...(format.sessions === undefined
        ? []
        : [{ name: format.sessions.fileName, text: sessionLines.map((line) => `${line}\n`).join("") }])
    ]
    const [train = { name: "train.jsonl", split: "train", file: "train" } as const] = filesOf(
      "train",
      "train",
      "unknown"
    )
    const redactor = redactorOf(options)
    const known: KnownLines = { distinct: new DistinctTargets(), redactor, fingerprints: new Set() }
    const { outputs } = yield* DatasetDirectory.writeSamples(options.out, { train, sidecars }, (write) =>
      Stream.fromIterable(taken).pipe(
        Stream.mapEffect((one) => extract(one, options, told), { concurrency: SESSIONS_AT_ONCE }),
        Stream.runForEach((session) =>
          Effect.gen(function* () {
            const { lines, row, sessionLine } = toLines(session, known, options)
            const fate = fates.get(row.path)
            const split = fate?._tag === "Taken" ? fate.split : "train"
            for (const { file, line } of lines) {
              for (const target of filesOf(split, file, row.role ?? "unknown")) yield* write(target, line)
            }
            if (sessionLine !== undefined) sessionLines.push(sessionLine)
            yield* leave(lines.length === 0 ? row : { ...row, split })
          })
        )
      )
    )
    yield* DatasetDirectory.writeSplits(options.out, recorded)
    const isRedacted = redactor !== undefined
    const report = ReportTally.report(options, listing.skipped, rows, { outputs, families, is_redacted: isRedacted })
    yield* DatasetDirectory.writeText(options.out, DatasetManifest.MANIFEST_FILE, DatasetManifest.make(options, report))
    yield* DatasetDirectory.writeText(options.out, DatasetCard.CARD_FILE, DatasetCard.make(report), DatasetCard.MARK)
    const shown = redactor === undefined ? report : PublicReport.of(report, redactor)
    yield* DatasetDirectory.writeReport(options.out, shown)
    return report
  })

  return Extract.of({ run: (options) => Effect.provide(run(options), services) })
})

/** With a key of this run alone where none is given. */
const redactorOf = ({ redaction }: ExtractOptions): Redactor | undefined => {
  if (redaction === "off") return undefined
  const { exact = [], key = randomBytes(32).toString("hex") } = redaction ?? {}
  return new Redactor({ placeholders: new Placeholders(key), exact })
}

const inOrderOfTime = (a: Selected, b: Selected): number => {
  if (a.timestamp !== b.timestamp) return a.timestamp < b.timestamp ? -1 : 1
  return a.ref.path < b.ref.path ? -1 : 1
}

const isSelected = (role: GasTown.RoleDetection, options: ExtractOptions): boolean => {
  const { includeDogs = false, rigs, roles } = options
  return (
    (rigs.length === 0 || rigs.some((rig) => GasTown.matchesRig(role, rig, { includeDogs }))) &&
    (roles.length === 0 || roles.includes(role.role))
  )
}

/** A session without a time is in no span of time. */
const isInTime = (timestamp: string, { since, until }: ExtractOptions): boolean => {
  const time = Date.parse(timestamp)
  return (since === undefined || time >= Date.parse(since)) && (until === undefined || time < Date.parse(until))
}

const PROBLEMS: { readonly [outcome: string]: string } = {
  not_a_session: "not a Pi session: it has no header",
  unreadable: "cannot be read"
}

const nothingMatched = (
  { rigs, roles }: ExtractOptions,
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
