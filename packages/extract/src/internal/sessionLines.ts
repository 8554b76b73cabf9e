/** One session's way through the pipeline: cut, and then line by line into a format. */
import { createHash } from "node:crypto"
import * as Result from "effect/Result"
import type * as GasTown from "@pi-sessions/core/GasTown"
import { stringAt } from "@pi-sessions/core/Json"
import * as Session from "@pi-sessions/core/Session"
import { type SessionRef } from "@pi-sessions/session-file/SessionSource"
import { type DistinctTargets } from "../DistinctTargets.ts"
import { type DropCounts, sum } from "../DropCounts.ts"
import { type ExtractOptions } from "../ExtractOptions.ts"
import { type ReportRow, type SampleDropReason, type Volume } from "../ExtractReport.ts"
import { FORMATS } from "../Formats.ts"
import { complete } from "../GivenContext.ts"
import { fit } from "../Overflow.ts"
import * as PreferencePairs from "../PreferencePairs.ts"
import { withReasoning } from "../Reasoning.ts"
import { type Redactor, redact } from "../Redaction.ts"
import { type DatasetFile } from "../Sample.ts"
import * as SampleCut from "../SampleCut.ts"
import { type ToldContexts } from "../ToldContexts.ts"
import { estimate } from "../TokenCount.ts"
import { type TrainingSample } from "../TrainingSample.ts"
import * as ReportTally from "./reportTally.ts"

/** A session that was asked for. */
export interface Selected {
  readonly ref: SessionRef
  readonly sessionId: string
  /** The header's. */
  readonly timestamp: string
  readonly role: GasTown.RoleDetection
}

/** A session that was read and cut, or a row that says why not. */
export interface CutSession {
  readonly row: ReportRow
  readonly samples: ReadonlyArray<TrainingSample>
  readonly dropped: DropCounts
  readonly diagnostics: number
}

/** What the report says of a session in any case. */
export const rowOf = (ref: SessionRef, role: GasTown.RoleDetection, sessionId: string | undefined) => ({
  path: ref.path,
  ...(sessionId === undefined ? {} : { session_id: sessionId }),
  role: role.role,
  ...(role.rig === undefined ? {} : { rig: role.rig }),
  ...(role.address === undefined ? {} : { address: role.address }),
  role_source: role.roleSource
})

export const nothingOf = (row: ReportRow): CutSession => ({ row, samples: [], dropped: {}, diagnostics: 0 })

const sha256Of = (session: Session.Session): string => {
  const hash = createHash("sha256")
  for (const piece of Session.print(session.lines)) hash.update(piece)
  return hash.digest("hex")
}

/** A session's way to its samples. */
export const cutSession = (
  session: Session.Session,
  { ref, role }: Selected,
  options: ExtractOptions,
  told: ToldContexts
): CutSession => {
  const header = session.header?.decode() ?? {}
  const row = rowOf(ref, role, stringAt(header, "id"))
  const { given, includeHydrated, reasoning = "all" } = options
  const isPairs = options.format === "dpo"
  const branches = isPairs ? "all" : (options.branches ?? "active")
  const { dropped, samples: cut } = SampleCut.cut(session, { sourcePath: ref.path, role, branches, told })
  if (cut.length === 0) return nothingOf({ ...row, outcome: "no_assistant_turn" })
  const samples = isPairs ? PreferencePairs.of(cut) : cut
  if (samples.length === 0) return nothingOf({ ...row, outcome: "no_pair" })
  if (samples.some(({ metadata }) => metadata.hydrated) && includeHydrated !== true) {
    return nothingOf({ ...row, outcome: "hydrated" })
  }
  return {
    row: { ...row, sha256: sha256Of(session), outcome: "kept" },
    samples: samples.map((sample) => withReasoning(given === undefined ? sample : complete(sample, given), reasoning)),
    dropped,
    diagnostics: session.diagnostics.length
  }
}

export interface Lines {
  readonly row: ReportRow
  readonly lines: ReadonlyArray<{ readonly file: DatasetFile; readonly line: string }>
  /** The session in a line, where the format has such a file and the session gave samples. */
  readonly sessionLine?: string
}

/** The lines that a session's samples give, and what the report says of it. */
export const toLines = (session: CutSession, known: KnownLines, options: ExtractOptions): Lines => {
  const { row, samples } = session
  const { sessions } = FORMATS[options.format]
  if (row.outcome !== "kept") return { row, lines: [] }
  const lines: Array<Lines["lines"][number]> = []
  const volumes: Array<Volume> = []
  const refused: Array<SampleDropReason> = []
  const taken: Array<TrainingSample> = []
  let detail: string | undefined
  const redacted: Array<DropCounts> = []
  const pieces = samples.flatMap((sample) => piecesOf(sample, known, options, redacted))
  for (const [at, piece] of pieces.entries()) {
    const made = "_tag" in piece ? piece : toLine(piece, at, known, options)
    if (made._tag === "Refused") {
      refused.push(made.reason)
      detail ??= made.detail
    } else {
      lines.push({ file: made.file, line: made.line })
      volumes.push(made.volume)
      taken.push(made.sample)
    }
  }
  const told = {
    ...(detail === undefined ? {} : { detail }),
    ...(refused.length === 0 ? {} : { samples_dropped: ReportTally.count(refused) })
  }
  const [reason] = refused
  if (lines.length === 0 && reason !== undefined) return { row: { ...row, ...told, outcome: reason }, lines }
  const { diagnostics, dropped } = session
  const total = ReportTally.sumVolumes(volumes)
  const volume = { ...total, redacted: sum(redacted), dropped: sum([total.dropped, dropped]), diagnostics }
  const [first, ...others] = taken
  const sessionLine = first === undefined ? undefined : sessions?.lineOf([first, ...others])
  return { row: { ...row, ...told, volume }, lines, ...(sessionLine === undefined ? {} : { sessionLine }) }
}

type Made =
  | {
      readonly _tag: "Line"
      readonly file: DatasetFile
      readonly line: string
      readonly volume: Volume
      readonly sample: TrainingSample
    }
  | Refused

interface Refused {
  readonly _tag: "Refused"
  readonly reason: SampleDropReason
  readonly detail?: string
}

const refused = (reason: SampleDropReason): Refused => ({ _tag: "Refused", reason })

/** What stands in the dataset already. */
export interface KnownLines {
  readonly distinct: DistinctTargets
  /** Undefined where nothing is to be taken out. */
  readonly redactor: Redactor | undefined
  /** Of lines, where the format has rules of its own against duplicates. */
  readonly fingerprints: Set<string>
}

const piecesOf = (
  cut: TrainingSample,
  { distinct, redactor }: KnownLines,
  options: ExtractOptions,
  redacted: Array<DropCounts>
): ReadonlyArray<TrainingSample | Refused> => {
  const { divide } = FORMATS[options.format]
  const { maxTokens, minTurns = 0, models = [], overflow = "window" } = options
  if (models.length > 0 && !models.includes(cut.metadata.model ?? "")) return [refused("other_model")]
  if (cut.turns.length < minTurns) return [refused("too_short")]
  const whole = distinct.take(cut)
  if (whole === undefined) return [refused("duplicate_targets")]
  const { counts, sample } = redactor === undefined ? { counts: {}, sample: whole } : redact(whole, redactor)
  redacted.push(counts)
  const fitting = maxTokens === undefined ? [sample] : fit(sample, { maxTokens, overflow, count: estimate })
  const fittingTargets = fitting.reduce((sum, { metadata }) => sum + metadata.targets, 0)
  const [first, ...others] = fitting
  if (first === undefined) return [refused("over_budget")]
  const pieces = [withLost(first, sample.metadata.targets - fittingTargets), ...others]
  return divide === undefined ? pieces : pieces.flatMap(divide)
}

/** The sample, with the count of targets that the budget took from what it was made of. */
const withLost = (sample: TrainingSample, targets: number): TrainingSample => {
  if (targets === 0) return sample
  const dropped = sum([sample.metadata.dropped, { target_over_budget: targets }])
  return { ...sample, metadata: { ...sample.metadata, dropped } }
}

const toLine = (sample: TrainingSample, piece: number, { fingerprints }: KnownLines, options: ExtractOptions): Made => {
  const format = FORMATS[options.format]
  const form = options.arguments === undefined ? {} : { arguments: options.arguments }
  const projection = format.project(sample, { piece, ...form })
  if (projection._tag === "None") return refused(projection.reason)
  const { fingerprint } = projection
  if (fingerprint !== undefined && fingerprints.has(fingerprint)) return refused("duplicate_line")
  const line = JSON.stringify(projection.sample)
  const checked = format.validate(line)
  if (Result.isFailure(checked)) {
    return { _tag: "Refused", reason: "invalid_sample", detail: checked.failure.message }
  }
  if (fingerprint !== undefined) fingerprints.add(fingerprint)
  return {
    _tag: "Line",
    file: projection.file,
    line,
    volume: ReportTally.volume(sample, projection.dropped, {}),
    sample
  }
}
