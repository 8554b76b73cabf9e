/**
 * The samples of one session: the lines that `extract` writes for it alone, the entries of which each is made, and what
 * became of every other entry. Facts about several sessions (near-duplicates, shared answers, splits) are ignored.
 */
import type * as GasTown from "@pi-sessions/core/GasTown"
import { stringAt } from "@pi-sessions/core/Json"
import type * as Session from "@pi-sessions/core/Session"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import { type SessionRef } from "@pi-sessions/session-file/SessionSource"
import { DistinctTargets } from "@pi-sessions/samples/DistinctTargets"
import { type DropReason } from "@pi-sessions/samples/DropCounts"
import * as EntryFates from "@pi-sessions/samples/EntryFates"
import { type SampleOptions } from "./ExtractOptions.ts"
import { type ReportRow, type SampleDropReason } from "./ExtractReport.ts"
import { type LocalModel } from "@pi-sessions/formats/model/LocalModel"
import { FORMATS } from "@pi-sessions/formats/Formats"
import { type DatasetFile } from "@pi-sessions/formats/SampleFormat"
import type * as SampleCut from "@pi-sessions/samples/SampleCut"
import * as SessionBudget from "@pi-sessions/core/SessionBudget"
import { OverBudget } from "@pi-sessions/core/SessionBudget"
import { failedRow } from "./plan/SessionSurvey.ts"
import { type RequestContexts } from "@pi-sessions/samples/RequestContexts"
import { type TrainingSample } from "@pi-sessions/samples/TrainingSample"
import { type Turn } from "@pi-sessions/samples/Turn"
import { branchesOf, cutOf, ofCut } from "./parts/cutSession.ts"
import { redactionOf, redactorOf } from "./parts/redactorOf.ts"
import { type KnownLines, type Piece, toLines } from "./parts/sessionLines.ts"
import * as TurnOrigin from "@pi-sessions/samples/TurnOrigin"

/** A turn of a sample, and the entries of which it is made. */
export interface TracedTurn {
  readonly turn: Turn
  readonly as: EntryFates.Telling
  /** Empty when it is not from the session: a prompt from a file, or a result that Pi generates. */
  readonly entries: ReadonlyArray<SessionEntry>
}

/** A sample with a line. */
export interface KeptSample {
  readonly _tag: "Kept"
  /** From 1, in the order of the lines. */
  readonly number: number
  readonly file: DatasetFile
  /** Without its newline. */
  readonly line: string
  /** As the format received it: redacted, and fitted into the token limit. */
  readonly sample: TrainingSample
  readonly turns: ReadonlyArray<TracedTurn>
  /** What it lost, in the format too. */
  readonly dropped: ReportRow["samples_dropped"] & {}
}

/** A sample without a line. */
export interface RefusedSample {
  readonly _tag: "Refused"
  readonly reason: SampleDropReason
  readonly detail?: string
  readonly sample: TrainingSample
  readonly turns: ReadonlyArray<TracedTurn>
}

export interface SessionSamples {
  /** The session's row of the report, without split and hash. */
  readonly row: ReportRow
  readonly samples: ReadonlyArray<KeptSample | RefusedSample>
  /** The session's line, for formats with a file of such. */
  readonly sessionLine?: string
  /** In file order. */
  readonly fates: ReadonlyArray<EntryFates.EntryFate>
}

export interface SessionOrigin {
  readonly ref: SessionRef
  /** Whose session it is; see SessionRole.ts of the catalog. */
  readonly role: GasTown.RoleDetection
  /** System prompts and tools that the mirror recorded. */
  readonly told?: RequestContexts
  /** The model whose tokens are counted or written. */
  readonly model?: LocalModel
}

/**
 * Reads sessions of any version. As in `extract`, a session with too deeply nested values is `unreadable`, and one that
 * exceeds `options.limits` is `over_budget`; `detail` says why.
 */
export const of = (source: Session.Session, origin: SessionOrigin, options: SampleOptions): SessionSamples => {
  try {
    return made(source, origin, options)
  } catch (error) {
    if (!(error instanceof RangeError) && !(error instanceof OverBudget)) throw error
    const { ref, role } = origin
    const header = source.header?.decode() ?? {}
    return {
      row: failedRow({ ref, role, sessionId: stringAt(header, "id") ?? "", timestamp: "" }, error),
      samples: [],
      fates: []
    }
  }
}

const made = (
  source: Session.Session,
  { model, ref, role, told = new Map() }: SessionOrigin,
  options: SampleOptions
): SessionSamples => {
  const selected = { ref, role, sessionId: "", timestamp: "" }
  const budget = SessionBudget.of(options.limits ?? {}, ref.sizeBytes)
  const cut = cutOf(source, selected, options, told, { budget })
  const traced = cut.samples.map((sample, at): TurnOrigin.TracedSample => {
    const run = cut.runs[at]
    return run === undefined ? { sample, unsaid: new Map(), lost: new Map() } : TurnOrigin.trace(sample, run)
  })
  const { dropped } = cut
  const session = ofCut(source, { dropped, samples: traced.map(({ sample }) => sample) }, selected, options)
  const known: KnownLines = {
    distinct: new DistinctTargets(),
    redactor: redactorOf(redactionOf(options.redaction)),
    budget,
    fingerprints: new Set(),
    ...(model === undefined ? {} : { model })
  }
  const samples: Array<KeptSample | RefusedSample> = []
  let kept = 0
  const { row, sessionLine } = toLines(session, known, options, (piece) => {
    samples.push(piece._tag === "Line" ? keptSample(piece, ++kept) : { ...piece, turns: turnsOf(piece.sample) })
  })
  const fates = fatesOf({ cut, traced, branches: branchesOf(options), samples, row, options })
  return { row, samples, fates, ...(sessionLine === undefined ? {} : { sessionLine }) }
}

const keptSample = (
  { file, line, sample, volume }: Extract<Piece, { readonly _tag: "Line" }>,
  number: number
): KeptSample => ({
  _tag: "Kept",
  number,
  file,
  line: new TextDecoder().decode(line),
  sample,
  turns: turnsOf(sample),
  dropped: volume.dropped
})

const turnsOf = ({ first_target, rejected, turns }: TrainingSample): ReadonlyArray<TracedTurn> => {
  const traced = turns.map((turn, at): TracedTurn => {
    const as = turn.role === "assistant" && at >= first_target ? "target" : "context"
    return { turn, as, entries: turn.entries ?? [] }
  })
  if (rejected === undefined) return traced
  return [...traced, { turn: rejected, as: "rejected", entries: rejected.entries ?? [] }]
}

interface Outcome {
  readonly cut: SampleCut.Cut
  readonly traced: ReadonlyArray<TurnOrigin.TracedSample>
  readonly branches: "active" | "all"
  readonly samples: SessionSamples["samples"]
  readonly row: ReportRow
  readonly options: SampleOptions
}

const fatesOf = (outcome: Outcome): ReadonlyArray<EntryFates.EntryFate> => {
  const { branches, cut, row, traced } = outcome
  const told = tellingsOf(outcome)
  const leftOut = EntryFates.leftOut(cut.session, cut.runs, branches)
  const unsaid = new Map(traced.flatMap((one) => [...one.unsaid]))
  const unkept = unkeptOf(outcome)
  const parts = lostOf(traced)
  return cut.session.tree.getEntries().flatMap((entry): ReadonlyArray<EntryFates.EntryFate> => {
    const places = told.get(entry)
    if (places !== undefined) return [{ entry, told: places, reason: undefined, lost: [...(parts.get(entry) ?? [])] }]
    const left = leftOut.get(entry)
    // A hydrated session has no targets. "hydrated" explains its messages better than "after the last answer".
    const isHydrated = left === "trailing_message" && row.outcome === "hydrated"
    const reason = isHydrated ? row.outcome : (left ?? unsaid.get(entry) ?? unkept.get(entry))
    return reason === undefined ? [] : [{ entry, told: [], reason, lost: [] }]
  })
}

/** The parts that entries lost, over all samples. */
const lostOf = (traced: Outcome["traced"]): ReadonlyMap<SessionEntry, ReadonlySet<DropReason>> => {
  const parts = new Map<SessionEntry, Set<DropReason>>()
  for (const [entry, reasons] of traced.flatMap(({ lost }) => [...lost])) {
    const known = parts.get(entry) ?? new Set()
    for (const reason of reasons) known.add(reason)
    parts.set(entry, known)
  }
  return parts
}

type Tellings = Array<EntryFates.EntryFate["told"][number]>

const tellingsOf = ({ cut, samples }: Outcome): ReadonlyMap<SessionEntry, Tellings> => {
  const told = new Map<SessionEntry, Tellings>()
  const tell = (entry: SessionEntry, sample: number, as: EntryFates.Telling): void => {
    const places = told.get(entry)
    if (places === undefined) told.set(entry, [{ sample, as }])
    else if (!isTold(places, sample, as)) places.push({ sample, as })
  }
  for (const sample of samples) {
    if (sample._tag === "Refused") continue
    for (const { as, entries } of sample.turns) for (const entry of entries) tell(entry, sample.number, as)
    // A system message that only declares tools is part of the sample, but in none of its turns.
    const run = cut.runs[sample.sample.metadata.sample]
    for (const { of } of run?.systemMessages ?? []) {
      if (of !== undefined) tell(of.entry, sample.number, "context")
    }
  }
  return told
}

/** Searches from the end, because samples come in order and one entry may be in many. */
const isTold = (places: Tellings, sample: number, as: EntryFates.Telling): boolean => {
  for (let at = places.length - 1; places[at]?.sample === sample; at--) if (places[at]?.as === as) return true
  return false
}

/** Why entries of cut samples are in no line. */
const unkeptOf = ({
  cut,
  options,
  row,
  samples
}: Outcome): ReadonlyMap<SessionEntry, EntryFates.EntryFate["reason"]> => {
  const reasons = new Map<SessionEntry, EntryFates.EntryFate["reason"]>()
  const taken = new Set<number>()
  const refusals = new Map<number, SampleDropReason>()
  for (const one of samples) {
    const at = one.sample.metadata.sample
    if (one._tag === "Kept") taken.add(at)
    else if (!refusals.has(at)) refusals.set(at, one.reason)
  }
  for (const [at, run] of cut.runs.entries()) {
    const refusal = refusals.get(at)
    const targets = new Set(run.targets)
    for (const entry of [...run.systemMessages, ...run.messages].flatMap(({ of }) => of?.entry ?? [])) {
      if (reasons.has(entry)) continue
      if (row.outcome !== "kept" && samples.length === 0) reasons.set(entry, row.outcome)
      else if (!taken.has(at) && refusal !== undefined) reasons.set(entry, refusal)
      else if (FORMATS[options.format].isPairs === true) reasons.set(entry, "no_pair")
      else reasons.set(entry, cutAway(targets.has(entry), options))
    }
  }
  return reasons
}

/** Why a part of a sample is in none of its pieces. */
const cutAway = (isTarget: boolean, { maxTokens }: SampleOptions): DropReason | SampleDropReason => {
  if (maxTokens === undefined) return "earlier_turn"
  return isTarget ? "target_over_budget" : "over_budget"
}
