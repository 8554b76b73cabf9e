/** Cuts a session into samples. */
import { createHash } from "node:crypto"
import { stringAt } from "@pi-sessions/core/Json"
import * as Session from "@pi-sessions/core/Session"
import { ENTRY_BYTES, ENTRY_STEPS, type SessionBudget } from "@pi-sessions/core/SessionBudget"
import { CURRENT_VERSION, versionOf } from "@pi-sessions/core/SessionHeader"
import * as SessionOutline from "@pi-sessions/core/SessionOutline"
import { type FormatName } from "@pi-sessions/formats/FormatName"
import { FORMATS } from "@pi-sessions/formats/Formats"
import { type DropCounts } from "@pi-sessions/samples/DropCounts"
import { withSystem } from "@pi-sessions/samples/GivenContext"
import * as Marks from "@pi-sessions/samples/Marks"
import * as PreferencePairs from "@pi-sessions/samples/PreferencePairs"
import { withReasoning } from "@pi-sessions/samples/Reasoning"
import * as SampleCut from "@pi-sessions/samples/SampleCut"
import { isHydrated } from "@pi-sessions/samples/SessionFacts"
import { SessionImages } from "@pi-sessions/samples/SessionImages"
import { type RequestContexts } from "@pi-sessions/samples/RequestContexts"
import { type TrainingSample } from "@pi-sessions/samples/TrainingSample"
import { type SampleOptions } from "../ExtractOptions.ts"
import { type ReportRow } from "../ExtractReport.ts"
import { type Selected, rowOf } from "../plan/SessionSurvey.ts"

/** The samples of a session, or a row that says why it has none. */
export interface CutSession {
  readonly row: ReportRow
  readonly samples: ReadonlyArray<TrainingSample>
  /** Texts that are set aside in the samples. Undefined: the samples are whole. */
  readonly texts?: SessionOutline.LongTexts
  /** Images that the samples name; only with the option `images`. */
  readonly images?: SessionImages
  readonly dropped: DropCounts
  readonly diagnostics: number
}

const nothingOf = (row: ReportRow): CutSession => ({ row, samples: [], dropped: {}, diagnostics: 0 })

const sha256Of = (session: Session.Session): string => {
  const hash = createHash("sha256")
  for (const piece of Session.print(session.lines)) hash.update(piece)
  return hash.digest("hex")
}

/** The branches that samples are cut from. The two answers of a pair are on different branches. */
export const branchesOf = ({ branches = "active", format }: SampleOptions): "active" | "all" =>
  isPairs(format) ? "all" : branches

const isPairs = (format: FormatName): boolean => FORMATS[format].isPairs === true

/** Finds the samples of a session. */
export const cutOf = (
  session: Session.Session,
  { ref, role }: Selected,
  options: SampleOptions,
  requestContexts: RequestContexts,
  { budget, texts }: { readonly budget?: SessionBudget | undefined; readonly texts?: SessionOutline.LongTexts } = {}
): SampleCut.Cut & { readonly images?: SessionImages } => {
  const { maxErrorRate } = options
  const images = options.images === true ? { images: new SessionImages(budget) } : {}
  const cut = SampleCut.cut(session, {
    sourcePath: ref.path,
    role,
    branches: branchesOf(options),
    requestContexts,
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

/** Cuts a session, with its long texts set aside where that is possible. */
export const cutSession = (
  session: Session.Session,
  selected: Selected,
  options: SampleOptions,
  requestContexts: RequestContexts,
  budget?: SessionBudget
): CutSession => {
  budget?.charge("requests", session.lines.length * ENTRY_STEPS, session.lines.length * ENTRY_BYTES)
  // Pairs compare the texts of answers, version 1 makes ids of lines, and images are long texts.
  const isWhole =
    isPairs(options.format) || options.images === true || versionOf(session.header?.decode() ?? {}) < CURRENT_VERSION
  if (isWhole) {
    const cut = cutOf(session, selected, options, requestContexts, { budget })
    const { images } = cut
    return { ...ofCut(session, cut, selected, options), ...(images === undefined ? {} : { images }) }
  }
  const outline = SessionOutline.of(session)
  const cut = cutOf(outline.session, selected, options, requestContexts, { budget, texts: outline.texts })
  return { ...ofCut(session, cut, selected, options), texts: outline.texts }
}

/** Completes samples that were cut: pairs, given system prompt, reasoning. */
export const ofCut = (
  session: Session.Session,
  { dropped, samples: cut }: Pick<SampleCut.Cut, "dropped" | "samples">,
  { ref, role }: Selected,
  options: SampleOptions
): CutSession => {
  const header = session.header?.decode() ?? {}
  const row = rowOf(ref, role, stringAt(header, "id"))
  const { given, includeHydrated, reasoning = "all" } = options
  if (cut.length === 0) {
    const isLeftOut = includeHydrated !== true && isHydrated(header, session)
    const isRejected = options.marks !== undefined && Marks.rejectsIn(options.marks, row.session_id ?? "")
    return nothingOf({ ...row, outcome: isLeftOut ? "hydrated" : isRejected ? "rejected_mark" : "no_assistant_turn" })
  }
  const samples = isPairs(options.format) ? PreferencePairs.of(cut) : cut
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
