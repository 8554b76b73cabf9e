/**
 * Turns the samples of a session into lines. Each sample is filtered, made distinct, redacted and fitted into the token
 * limit, which gives pieces; each piece is projected by the format and validated.
 */
import * as Result from "effect/Result"
import { ENTRY_STEPS, type SessionBudget } from "@pi-sessions/core/SessionBudget"
import type * as SessionOutline from "@pi-sessions/core/SessionOutline"
import { imagesOf } from "@pi-sessions/formats/chat/ChatMessages"
import { FORMATS } from "@pi-sessions/formats/Formats"
import { countOf, fitExactly } from "@pi-sessions/formats/model/ExactBudget"
import { type LocalModel } from "@pi-sessions/formats/model/LocalModel"
import { type DatasetFile } from "@pi-sessions/formats/SampleFormat"
import { type Redactor } from "@pi-sessions/redaction/Redactor"
import { type DistinctTargets } from "@pi-sessions/samples/DistinctTargets"
import { type DropCounts, sum } from "@pi-sessions/samples/DropCounts"
import { fit } from "@pi-sessions/samples/Overflow"
import { refusalOf } from "@pi-sessions/samples/QualityPredicate"
import { restored } from "@pi-sessions/samples/RestoredTexts"
import { redact } from "@pi-sessions/samples/SampleRedaction"
import { type SessionImages } from "@pi-sessions/samples/SessionImages"
import { estimate, ofSample } from "@pi-sessions/samples/TokenCount"
import { type TrainingSample } from "@pi-sessions/samples/TrainingSample"
import { type SampleOptions } from "../ExtractOptions.ts"
import { type SampleDropReason, type Volume } from "../ExtractReport.ts"
import { type LooseFile } from "../files/LooseFile.ts"
import * as ReportTally from "../publish/reportTally.ts"
import { type CutSession } from "./cutSession.ts"
import { type MadePart, type PartLine } from "./DatasetPart.ts"

/** What the lines of a session depend on beside its samples. */
export interface KnownLines {
  /** Targets of earlier samples. */
  readonly distinct: DistinctTargets
  /** Undefined: redaction is off. */
  readonly redactor: Redactor | undefined
  /** Of earlier lines of this session, for formats with rules against duplicates. */
  readonly fingerprints: Set<string>
  /** The model whose tokens are counted or written. */
  readonly model?: LocalModel
  /** Of the session. */
  readonly budget?: SessionBudget
}

/** The result for a sample, or for a piece of one. */
export type Piece = Line | Refused

interface Line {
  readonly _tag: "Line"
  readonly file: DatasetFile
  /** Without its newline. */
  readonly line: Uint8Array
  readonly volume: Volume
  readonly sample: TrainingSample
  readonly fingerprint?: string
}

interface Refused {
  readonly _tag: "Refused"
  readonly reason: SampleDropReason
  readonly detail?: string
  /** As it was when it was refused. */
  readonly sample: TrainingSample
}

const refused = (reason: SampleDropReason, sample: TrainingSample): Refused => ({ _tag: "Refused", reason, sample })

/** The lines and the row of a session. Calls `onPiece` with each piece, in order. */
export const toLines = (
  session: CutSession,
  known: KnownLines,
  options: SampleOptions,
  onPiece?: (piece: Piece) => void
): Omit<MadePart, "held"> => {
  const { images, row, samples, texts } = session
  if (row.outcome !== "kept") return { row, lines: [] }
  const redacted: Array<DropCounts> = []
  const lengths: Array<number> = []
  const made: Array<Line> = []
  const refusals: Array<Refused> = []
  const pieces = samples.flatMap((sample) => piecesOf(sample, texts, known, options, redacted, lengths))
  for (const [at, one] of pieces.entries()) {
    known.budget?.charge("lines", ENTRY_STEPS)
    const piece = "_tag" in one ? one : toLine(one, at, passesTexts(options) ? texts : undefined, known, options)
    onPiece?.(piece)
    if (piece._tag === "Refused") refusals.push(piece)
    else {
      known.budget?.charge("lines", piece.line.length * LINE_STEPS, piece.line.length)
      made.push(piece)
    }
  }
  const detail = refusals.find((refusal) => refusal.detail !== undefined)?.detail
  const facts = {
    ...row,
    ...(detail === undefined ? {} : { detail }),
    ...(lengths.length === 0 ? {} : { lengths }),
    ...(refusals.length === 0 ? {} : { samples_dropped: ReportTally.count(refusals.map(({ reason }) => reason)) })
  }
  const [refusal] = refusals
  if (made.length === 0 && refusal !== undefined) return { row: { ...facts, outcome: refusal.reason }, lines: [] }
  const { diagnostics, dropped } = session
  const total = ReportTally.sumVolumes(made.map(({ volume }) => volume))
  const volume = { ...total, redacted: sum(redacted), dropped: sum([total.dropped, dropped]), diagnostics }
  const taken = made.map(({ sample }) => sample)
  const [first, ...others] = taken
  const sessionLine = first === undefined ? undefined : FORMATS[options.format].sessions?.lineOf([first, ...others])
  return {
    row: { ...facts, volume },
    lines: made.map(partLine),
    ...(images === undefined ? {} : { files: filesOf(images, taken) }),
    ...(sessionLine === undefined ? {} : { sessionLine })
  }
}

const partLine = ({ file, fingerprint, line, volume }: Line): PartLine => ({
  file,
  line,
  ...(fingerprint === undefined ? {} : { fingerprint, volume })
})

/** The images that the samples name, once each. */
const filesOf = (images: SessionImages, samples: ReadonlyArray<TrainingSample>): ReadonlyArray<LooseFile> =>
  [...new Set(samples.flatMap(imagesOf))].sort().flatMap((name) => {
    const bytes = images.bytesOf(name)
    return bytes === undefined ? [] : [{ name, bytes }]
  })

/** Whether lines are made while long texts are set aside. */
const passesTexts = ({ format, lengths, maxTokens }: SampleOptions): boolean =>
  FORMATS[format].passesTexts === true && maxTokens === undefined && lengths !== true

/** The pieces of a sample. Adds to `redacted` and `lengths`. */
const piecesOf = (
  cut: TrainingSample,
  texts: SessionOutline.LongTexts | undefined,
  known: KnownLines,
  options: SampleOptions,
  redacted: Array<DropCounts>,
  lengths: Array<number>
): ReadonlyArray<TrainingSample | Refused> => {
  const { budget, distinct, model, redactor } = known
  const { divide } = FORMATS[options.format]
  const { maxTokens, minTurns = 0, models = [], overflow = "window" } = options
  if (models.length > 0 && !models.includes(cut.metadata.model ?? "")) return [refused("other_model", cut)]
  if (cut.turns.length < minTurns) return [refused("too_short", cut)]
  const quality = refusalOf(cut.metadata.quality, options)
  if (quality !== undefined) return [refused(quality, cut)]
  const taken = distinct.take(cut, texts, budget)
  if (taken === undefined) return [refused("duplicate_targets", cut)]
  const { counts, sample: clean } =
    redactor === undefined ? { counts: {}, sample: taken } : redact(taken, redactor, texts, budget)
  redacted.push(counts)
  const sample = texts === undefined || passesTexts(options) ? clean : restored(clean, texts)
  const isWhole = texts === undefined || !passesTexts(options)
  if (budget !== undefined && isWhole) chargeTexts(sample, budget, texts !== undefined)
  if (options.lengths === true) lengths.push(model === undefined ? ofSample(sample, estimate) : countOf(sample, model))
  const room = maxTokens === undefined ? undefined : { maxTokens, overflow, count: estimate }
  const fitting =
    room === undefined ? [sample] : model === undefined ? fit(sample, room) : fitExactly(sample, room, model)
  const fittingTargets = fitting.reduce((sum, { metadata }) => sum + metadata.targets, 0)
  const [first, ...others] = fitting
  if (first === undefined) return [refused("over_budget", sample)]
  const pieces = [withLost(first, sample.metadata.targets - fittingTargets), ...others]
  return divide === undefined ? pieces : pieces.flatMap((piece) => divide(piece, model === undefined ? {} : { model }))
}

/** Texts are counted, cut and projected. Restored texts take memory of their own. */
const chargeTexts = ({ turns }: TrainingSample, budget: SessionBudget, isRestored: boolean): void => {
  for (const { content, metadata, tool_results } of turns) {
    let { length } = content
    length += metadata.reasoning?.length ?? 0
    for (const result of tool_results) length += result.content.length
    budget.charge("tokens", ENTRY_STEPS + length * TOKEN_STEPS, isRestored ? length : 0)
  }
}

/** For each character. */
const TOKEN_STEPS = 4
/** For each byte of a line, which is made, checked and copied. */
const LINE_STEPS = 4

/** Counts the targets that were lost to the token limit. */
const withLost = (sample: TrainingSample, targets: number): TrainingSample => {
  if (targets === 0) return sample
  const dropped = sum([sample.metadata.dropped, { target_over_budget: targets }])
  return { ...sample, metadata: { ...sample.metadata, dropped } }
}

const toLine = (
  sample: TrainingSample,
  piece: number,
  texts: SessionOutline.LongTexts | undefined,
  known: KnownLines,
  options: SampleOptions
): Piece => {
  const { fingerprints, model } = known
  const format = FORMATS[options.format]
  const form = {
    ...(options.arguments === undefined ? {} : { arguments: options.arguments }),
    ...(options.images === true ? { images: true } : {})
  }
  const projection = format.project(sample, { piece, ...form, ...(model === undefined ? {} : { model }) })
  if (projection._tag === "None") return refused(projection.reason, sample)
  const { fingerprint } = projection
  if (fingerprint !== undefined && fingerprints.has(fingerprint)) return refused("duplicate_line", sample)
  const line = JSON.stringify(projection.sample)
  const checked = format.validate(line)
  if (Result.isFailure(checked)) {
    return { _tag: "Refused", reason: "invalid_sample", detail: checked.failure.message, sample }
  }
  if (fingerprint !== undefined) fingerprints.add(fingerprint)
  return {
    _tag: "Line",
    file: projection.file,
    line: texts?.toBytes(line) ?? Buffer.from(line),
    volume: ReportTally.volume(sample, projection.dropped, {}),
    sample,
    ...(fingerprint === undefined ? {} : { fingerprint })
  }
}
