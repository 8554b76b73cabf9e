/** One session's way through the pipeline: cut, and then line by line into a format. */
import { createHash } from "node:crypto"
import * as Result from "effect/Result"
import { stringAt } from "@pi-sessions/core/Json"
import * as Session from "@pi-sessions/core/Session"
import { CURRENT_VERSION, versionOf } from "@pi-sessions/core/SessionHeader"
import * as SessionOutline from "@pi-sessions/core/SessionOutline"
import { type DistinctTargets } from "@pi-sessions/samples/DistinctTargets"
import { type PartLine } from "./DatasetPart.ts"
import { imagesOf } from "@pi-sessions/formats/chat/ChatMessages"
import { type DropCounts, sum } from "@pi-sessions/samples/DropCounts"
import { type SampleOptions } from "../ExtractOptions.ts"
import { type ReportRow, type SampleDropReason, type Volume } from "../ExtractReport.ts"
import { FORMATS } from "@pi-sessions/formats/Formats"
import { type LooseFile } from "../files/LooseFile.ts"
import { withSystem } from "@pi-sessions/samples/GivenContext"
import { type LocalModel } from "@pi-sessions/formats/model/LocalModel"
import * as Marks from "@pi-sessions/samples/Marks"
import { countOf, fitExactly } from "@pi-sessions/formats/model/ExactBudget"
import { fit } from "@pi-sessions/samples/Overflow"
import * as PreferencePairs from "@pi-sessions/samples/PreferencePairs"
import { refusalOf } from "@pi-sessions/samples/QualityPredicate"
import { withReasoning } from "@pi-sessions/samples/Reasoning"
import { type Redactor } from "@pi-sessions/redaction/Redactor"
import { redact } from "@pi-sessions/samples/SampleRedaction"
import { type DatasetFile } from "@pi-sessions/formats/Sample"
import { ENTRY_BYTES, ENTRY_STEPS, type SessionBudget } from "@pi-sessions/core/SessionBudget"
import * as SampleCut from "@pi-sessions/samples/SampleCut"
import { type RequestContexts } from "@pi-sessions/samples/RequestContexts"
import { estimate, ofSample } from "@pi-sessions/samples/TokenCount"
import { type TrainingSample } from "@pi-sessions/samples/TrainingSample"
import { type Selected, rowOf } from "../plan/SessionSurvey.ts"
import { isHydrated } from "@pi-sessions/samples/SessionFacts"
import * as ReportTally from "../publish/reportTally.ts"
import { restored } from "@pi-sessions/samples/RestoredTexts"
import { SessionImages } from "@pi-sessions/samples/SessionImages"

/** A session that was read and cut, or a row that says why not. */
export interface CutSession {
  readonly row: ReportRow
  readonly samples: ReadonlyArray<TrainingSample>
  /** Those that are set aside in the samples; undefined where the samples are whole. */
  readonly texts?: SessionOutline.LongTexts
  /** Those that samples name; only where they are asked for. */
  readonly images?: SessionImages
  readonly dropped: DropCounts
  readonly diagnostics: number
}

export const nothingOf = (row: ReportRow): CutSession => ({ row, samples: [], dropped: {}, diagnostics: 0 })

const sha256Of = (session: Session.Session): string => {
  const hash = createHash("sha256")
  for (const piece of Session.print(session.lines)) hash.update(piece)
  return hash.digest("hex")
}

/** The branches that samples are cut from. Pairs stand on several. */
export const branchesOf = ({ branches = "active", format }: SampleOptions): "active" | "all" =>
  format === "dpo" ? "all" : branches

/** Where a session is cut. */
export const cutOf = (
  session: Session.Session,
  { ref, role }: Selected,
  options: SampleOptions,
  told: RequestContexts,
  { budget, texts }: { readonly budget?: SessionBudget | undefined; readonly texts?: SessionOutline.LongTexts } = {}
): SampleCut.Cut & { readonly images?: SessionImages } => {
  const { maxErrorRate } = options
  const images = options.images === true ? { images: new SessionImages(budget) } : {}
  const cut = SampleCut.cut(session, {
    sourcePath: ref.path,
    role,
    branches: branchesOf(options),
    requestContexts: told,
    maxErrorRate,
    ...(options.includeHydrated === true ? { includeHydrated: true } : {}),
    ...(options.marks === undefined ? {} : { marks: options.marks }),
    ...(options.given?.tools === undefined ? {} : { tools: options.given.tools }),
    ...(texts === undefined ? {} : { texts }),
    ...(budget === undefined ? {} : { budget }),
    ...images
  })
  return { ...cut, ...images }
}

/** A session's way to its samples. */
export const cutSession = (
  session: Session.Session,
  selected: Selected,
  options: SampleOptions,
  told: RequestContexts,
  budget?: SessionBudget
): CutSession => {
  budget?.charge("requests", session.lines.length * ENTRY_STEPS, session.lines.length * ENTRY_BYTES)
  // Pairs are told by what their answers say, and the ids that version 1 lacks by the lines; images are long texts.
  const isWhole =
    options.format === "dpo" || options.images === true || versionOf(session.header?.decode() ?? {}) < CURRENT_VERSION
  if (isWhole) {
    const cut = cutOf(session, selected, options, told, { budget })
    const { images } = cut
    return { ...ofCut(session, cut, selected, options), ...(images === undefined ? {} : { images }) }
  }
  const outline = SessionOutline.of(session)
  const cut = cutOf(outline.session, selected, options, told, { budget, texts: outline.texts })
  return { ...ofCut(session, cut, selected, options), texts: outline.texts }
}

/** The same from where the session is cut. */
export const ofCut = (
  session: Session.Session,
  { dropped, samples: cut }: Pick<SampleCut.Cut, "dropped" | "samples">,
  { ref, role }: Selected,
  options: SampleOptions
): CutSession => {
  const header = session.header?.decode() ?? {}
  const row = rowOf(ref, role, stringAt(header, "id"))
  const { given, includeHydrated, reasoning = "all" } = options
  const isPairs = options.format === "dpo"
  if (cut.length === 0) {
    const isLeftOut = includeHydrated !== true && isHydrated(header, session)
    const isRejected = options.marks !== undefined && Marks.rejectsIn(options.marks, row.session_id ?? "")
    return nothingOf({ ...row, outcome: isLeftOut ? "hydrated" : isRejected ? "rejected_mark" : "no_assistant_turn" })
  }
  const samples = isPairs ? PreferencePairs.of(cut) : cut
  if (samples.length === 0) return nothingOf({ ...row, outcome: "no_pair" })
  return {
    row: { ...row, sha256: sha256Of(session), outcome: "kept" },
    samples: samples.map((sample) =>
      withReasoning(given === undefined ? sample : withSystem(sample, given), reasoning)
    ),
    dropped,
    diagnostics: session.diagnostics.length
  }
}

export interface Lines {
  readonly row: ReportRow
  /** Each line without its newline. */
  readonly lines: ReadonlyArray<PartLine>
  /** The images that the lines name, once each; only where they are asked for. Equal names have equal bytes. */
  readonly files?: ReadonlyArray<LooseFile>
  /** The session in a line, where the format has such a file and the session gave samples. */
  readonly sessionLine?: string
}

const filesOf = (images: SessionImages, samples: ReadonlyArray<TrainingSample>): ReadonlyArray<LooseFile> =>
  [...new Set(samples.flatMap(imagesOf))].sort().flatMap((name) => {
    const bytes = images.bytesOf(name)
    return bytes === undefined ? [] : [{ name, bytes }]
  })

/** The lines that a session's samples give, and what the report says of it. Who asks is told of each piece in turn. */
export const toLines = (
  session: CutSession,
  known: KnownLines,
  options: SampleOptions,
  onPiece?: (piece: Piece) => void
): Lines => {
  const { images, row, samples, texts } = session
  const { budget } = known
  const { sessions } = FORMATS[options.format]
  if (row.outcome !== "kept") return { row, lines: [] }
  const lines: Array<Lines["lines"][number]> = []
  const volumes: Array<Volume> = []
  const refused: Array<SampleDropReason> = []
  const taken: Array<TrainingSample> = []
  let detail: string | undefined
  const redacted: Array<DropCounts> = []
  const lengths: Array<number> = []
  const left = passesTexts(options) ? texts : undefined
  const pieces = samples.flatMap((sample) => piecesOf(sample, texts, known, options, redacted, lengths))
  for (const [at, piece] of pieces.entries()) {
    budget?.charge("lines", ENTRY_STEPS)
    const made = "_tag" in piece ? piece : toLine(piece, at, left, known, options)
    onPiece?.(made)
    if (made._tag === "Refused") {
      refused.push(made.reason)
      detail ??= made.detail
    } else {
      const { file, fingerprint, line, volume } = made
      budget?.charge("lines", line.length * LINE_STEPS, line.length)
      lines.push({ file, line, ...(fingerprint === undefined ? {} : { fingerprint, volume }) })
      volumes.push(made.volume)
      taken.push(made.sample)
    }
  }
  const told = {
    ...(detail === undefined ? {} : { detail }),
    ...(lengths.length === 0 ? {} : { lengths }),
    ...(refused.length === 0 ? {} : { samples_dropped: ReportTally.count(refused) })
  }
  const [reason] = refused
  if (lines.length === 0 && reason !== undefined) return { row: { ...row, ...told, outcome: reason }, lines }
  const { diagnostics, dropped } = session
  const total = ReportTally.sumVolumes(volumes)
  const volume = { ...total, redacted: sum(redacted), dropped: sum([total.dropped, dropped]), diagnostics }
  const [first, ...others] = taken
  const sessionLine = first === undefined ? undefined : sessions?.lineOf([first, ...others])
  const files = images === undefined ? {} : { files: filesOf(images, taken) }
  return { row: { ...row, ...told, volume }, lines, ...files, ...(sessionLine === undefined ? {} : { sessionLine }) }
}

/** What became of a sample, or of a part that was made of one: a line, or a reason. */
export type Piece =
  | {
      readonly _tag: "Line"
      readonly file: DatasetFile
      /** Without its newline. */
      readonly line: Uint8Array
      readonly volume: Volume
      readonly sample: TrainingSample
      readonly fingerprint?: string
    }
  | Refused

interface Refused {
  readonly _tag: "Refused"
  readonly reason: SampleDropReason
  readonly detail?: string
  /** As it was when it was refused. */
  readonly sample: TrainingSample
}

const refused = (reason: SampleDropReason, sample: TrainingSample): Refused => ({ _tag: "Refused", reason, sample })

/** What stands in the dataset already. */
export interface KnownLines {
  readonly distinct: DistinctTargets
  /** Undefined where nothing is to be taken out. */
  readonly redactor: Redactor | undefined
  /** Of lines of this session, where the format has rules of its own against duplicates. */
  readonly fingerprints: Set<string>
  /** Whose tokens are counted, and written where the format is made of them. */
  readonly model?: LocalModel
  /** Of the session. */
  readonly budget?: SessionBudget
}

/** Whether samples become lines without a look at what long texts say. */
const passesTexts = ({ format, lengths, maxTokens }: SampleOptions): boolean =>
  FORMATS[format].passesTexts === true && maxTokens === undefined && lengths !== true

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

/** Texts are counted, cut and projected; those that were put back take memory of their own. */
const chargeTexts = ({ turns }: TrainingSample, budget: SessionBudget, isRestored: boolean): void => {
  for (const { content, metadata, tool_results } of turns) {
    let { length } = content
    length += metadata.reasoning?.length ?? 0
    for (const result of tool_results) length += result.content.length
    budget.charge("tokens", ENTRY_STEPS + length * TOKEN_STEPS, isRestored ? length : 0)
  }
}

/** Of each character: it is counted about as often. */
const TOKEN_STEPS = 4
/** Of each byte of a line: it is made, checked and copied. */
const LINE_STEPS = 4

/** The sample, with the count of targets that the budget took from what it was made of. */
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
