/**
 * The run: every session that a source lists, through the pipeline, into a directory.
 *
 *     list -> whose is it? -> selected? -> read -> cut -> distinct -> project -> validate -> write
 *
 * Whose a session is, is told by its first lines, so those that nobody asked for are not read. Files that are no
 * sessions or cannot be read are rows of the report, not failures. Samples are written in the order in which the sessions
 * were begun (then of paths), whatever order the reads end in: the same sessions give the same bytes, and forks come after
 * what they were forked from.
 */
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
import type * as Session from "@pi-sessions/core/Session"
import { type SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import { type SessionRef, SessionSource } from "@pi-sessions/session-file/SessionSource"
import * as DatasetDirectory from "./DatasetDirectory.ts"
import { DistinctTargets } from "./DistinctTargets.ts"
import { type DropCounts, sum } from "./DropCounts.ts"
import { NothingMatched, type OutputNotOurs } from "./ExtractError.ts"
import { type ExtractReport, type ReportRow, type SessionDropReason, type Volume } from "./ExtractReport.ts"
import { FORMATS } from "./Formats.ts"
import * as ReportTally from "./internal/reportTally.ts"
import { type DatasetFile, type FormatName } from "./Sample.ts"
import { type Reasoning, withReasoning } from "./Reasoning.ts"
import * as SampleCut from "./SampleCut.ts"
import { type TrainingSample } from "./TrainingSample.ts"

export interface ExtractOptions {
  /** Selectors of `GasTown.matchesRig`; a session that one of them takes is selected. None: every rig. */
  readonly rigs: ReadonlyArray<string>
  /** Roles by name. None: every role. */
  readonly roles: ReadonlyArray<string>
  readonly format: FormatName
  /** The directory to write to. */
  readonly out: string
  /** The town's root directory, where paths do not show it. */
  readonly town?: string
  /** `--rig deacon` takes boot and the dogs too. */
  readonly includeDogs?: boolean
  /** The active branch of each session, or all of them. */
  readonly branches?: "active" | "all"
  /** What becomes of the model's thinking. `last-query`: kept behind the last user turn, as templates like Qwen3's do. */
  readonly reasoning?: Reasoning
  /** Take hydrated sessions too, although no model produced their text in this form. */
  readonly includeHydrated?: boolean
  /** Called when a file is done with: how many are, of how many. */
  readonly onProgress?: (done: number, total: number) => Effect.Effect<void>
}

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

/** A session that was asked for. */
interface Selected {
  readonly ref: SessionRef
  /** The header's. */
  readonly timestamp: string
  readonly role: GasTown.RoleDetection
}

const isRow = (one: ReportRow | Selected): one is ReportRow => "outcome" in one

/** A session that was read and cut, or a row that says why not. */
interface CutSession {
  readonly row: ReportRow
  readonly samples: ReadonlyArray<TrainingSample>
  readonly dropped: DropCounts
  readonly diagnostics: number
}

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
    if (isSelected(role, options)) return { ref, role, timestamp: stringAt(header, "timestamp") ?? "" }
    return { ...rowOf(ref, role, stringAt(header, "id")), outcome: "not_selected" }
  })

  const extract = Effect.fnUntraced(function* (
    selected: Selected,
    options: ExtractOptions
  ): Effect.fn.Return<CutSession> {
    const read = yield* Effect.result(source.read(selected.ref))
    const path = selected.ref.path
    if (Result.isSuccess(read)) {
      // One file that breaks us (values nested beyond the stack, say) must not end the run for all others.
      return yield* Effect.sync(() => cutSession(read.success, selected, options)).pipe(
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
    const listing = yield* source.list
    const total = listing.sessions.length
    let done = 0
    const progress = (): Effect.Effect<void> => options.onProgress?.(++done, total) ?? Effect.void

    const found = yield* Effect.forEach(
      listing.sessions,
      (ref) => Effect.tap(identify(ref, options), (one) => (isRow(one) ? progress() : Effect.void)),
      { concurrency: OPENINGS_AT_ONCE }
    )
    const selected = found.flatMap((one) => (isRow(one) ? [] : [one])).sort(inOrderOfTime)
    const rows = found.filter(isRow)
    if (selected.length === 0) return yield* nothingMatched(options, rows, listing.skipped)

    const distinct = new DistinctTargets()
    const { outputs } = yield* DatasetDirectory.writeSamples(options.out, (write) =>
      Stream.fromIterable(selected).pipe(
        Stream.mapEffect((one) => extract(one, options), { concurrency: SESSIONS_AT_ONCE }),
        Stream.runForEach((session) =>
          Effect.gen(function* () {
            const { lines, row } = toLines(session, distinct, options)
            rows.push(row)
            for (const { file, line } of lines) yield* write(file, line)
            yield* progress()
          })
        )
      )
    )
    const report = ReportTally.report(options, listing.skipped, rows, outputs)
    yield* DatasetDirectory.writeReport(report)
    return report
  })

  return Extract.of({ run: (options) => Effect.provide(run(options), services) })
})

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

const rowOf = (ref: SessionRef, role: GasTown.RoleDetection, sessionId: string | undefined) => ({
  path: ref.path,
  ...(sessionId === undefined ? {} : { session_id: sessionId }),
  role: role.role,
  ...(role.rig === undefined ? {} : { rig: role.rig }),
  ...(role.address === undefined ? {} : { address: role.address }),
  role_source: role.roleSource
})

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

const nothingOf = (row: ReportRow): CutSession => ({ row, samples: [], dropped: {}, diagnostics: 0 })

/**
 * A session's way to its samples.
 *
 * What works on a sample (redaction of secrets and names) belongs between this function and `toLines`, where every
 * format sees its result.
 */
const cutSession = (session: Session.Session, { ref, role }: Selected, options: ExtractOptions): CutSession => {
  const header = session.header?.decode() ?? {}
  const row = rowOf(ref, role, stringAt(header, "id"))
  const { branches = "active", includeHydrated, reasoning = "all" } = options
  const { dropped, samples } = SampleCut.cut(session, { sourcePath: ref.path, role, branches })
  if (samples.length === 0) return nothingOf({ ...row, outcome: "no_assistant_turn" })
  if (samples.some(({ metadata }) => metadata.hydrated) && includeHydrated !== true) {
    return nothingOf({ ...row, outcome: "hydrated" })
  }
  return {
    row: { ...row, outcome: "kept" },
    samples: samples.map((sample) => withReasoning(sample, reasoning)),
    dropped,
    diagnostics: session.diagnostics.length
  }
}

interface Lines {
  readonly row: ReportRow
  readonly lines: ReadonlyArray<{ readonly file: DatasetFile; readonly line: string }>
}

/** The lines that a session's samples give, and what the report says of it. */
const toLines = (session: CutSession, distinct: DistinctTargets, options: ExtractOptions): Lines => {
  const { row, samples } = session
  if (row.outcome !== "kept") return { row, lines: [] }
  const format = FORMATS[options.format]
  const lines: Array<Lines["lines"][number]> = []
  const volumes: Array<Volume> = []
  const refused: Array<SessionDropReason> = []
  let detail: string | undefined
  for (const cut of samples) {
    const sample = distinct.take(cut)
    if (sample === undefined) {
      refused.push("duplicate_targets")
      continue
    }
    const projection = format.project(sample)
    if (projection._tag === "None") {
      refused.push(projection.reason)
      continue
    }
    const line = JSON.stringify(projection.sample)
    const checked = format.validate(line)
    if (Result.isFailure(checked)) {
      refused.push("invalid_sample")
      detail ??= checked.failure.message
      continue
    }
    lines.push({ file: projection.file, line })
    volumes.push(ReportTally.volume(sample, projection.dropped))
  }
  const told = {
    ...(detail === undefined ? {} : { detail }),
    ...(refused.length === 0 ? {} : { samples_dropped: ReportTally.count(refused) })
  }
  const [reason] = refused
  if (lines.length === 0 && reason !== undefined) return { row: { ...row, ...told, outcome: reason }, lines }
  const { diagnostics, dropped } = session
  const total = ReportTally.sumVolumes(volumes)
  const volume = { ...total, dropped: sum([total.dropped, dropped]), diagnostics }
  return { row: { ...row, ...told, volume }, lines }
}
