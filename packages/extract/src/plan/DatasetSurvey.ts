/**
 * The first step: looks at every listed file. Finds which sessions are selected, and what ties each to others. The first
 * lines show whose session it is, so the rest of a session that is not selected is not read.
 */
import * as Effect from "effect/Effect"
import { type SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import { type SessionListing, type SessionRef } from "@pi-sessions/session-file/SessionSource"
import { NothingMatched } from "../ExtractError.ts"
import { type SurveyOptions } from "../ExtractOptions.ts"
import { type ReportRow, isLasting, isStopped } from "../ExtractReport.ts"
import { type Workers } from "../workers/WorkerPool.ts"
import * as ReportTally from "../publish/reportTally.ts"
import { type FamilyEvidence } from "./Families.ts"
import { identity, keyOf } from "./identity.ts"
import { type Look, type Question, type Selected, inOrderOfTime, rowOf } from "./SessionSurvey.ts"

export interface DatasetSurvey {
  /** The selected sessions. */
  readonly candidates: ReadonlyArray<Candidate>
  /** A row for each other file. */
  readonly left: ReadonlyArray<ReportRow>
  /** Directories and files that could not be listed. */
  readonly skipped: Listing["skipped"]
  /** What each file turned out to be, by key, for the next run. */
  readonly looks: ReadonlyMap<string, Look>
}

/** A selected session, with what ties it to others. */
export interface Candidate {
  readonly session: Selected
  readonly evidence: FamilyEvidence
}

export type Listing = Pick<SessionListing, "sessions" | "skipped">

export interface SurveyWork {
  readonly workers: Workers
  /** Hash of the settings. */
  readonly settings: string
  /** Looks of an earlier run, by key. */
  readonly known: ReadonlyMap<string, Look>
  /** Called with the path of a file that has a row. */
  readonly onRow: (path: string) => Effect.Effect<void>
}

/** Files of which only the beginning is read that are open at a time. */
const OPENINGS_AT_ONCE = 8

/** Fails when no session is selected, unless the report says why one could not be surveyed. */
export const of = Effect.fn("DatasetSurvey.of")(function* (
  { sessions, skipped }: Listing,
  options: SurveyOptions,
  work: SurveyWork
): Effect.fn.Return<DatasetSurvey, NothingMatched | SessionFileError> {
  const { limit } = options
  const evidence = options.includeNearDuplicates === true ? "kin" : "all"
  const looks = new Map<string, Look>()
  const question = questionOf(options)
  const lookAt = (ref: SessionRef, asked: Question["evidence"]) =>
    look(ref, { ...question, evidence: asked }, work, looks)

  // With a limit only the sessions within it are read whole, in the second pass.
  const first = limit === undefined ? evidence : "none"
  const seen = yield* Effect.forEach(
    sessions,
    (ref) => Effect.tap(lookAt(ref, first), (found) => (found._tag === "Row" ? work.onRow(ref.path) : Effect.void)),
    { concurrency: concurrencyOf(first, work.workers) }
  )
  const left = seen.flatMap((found) => (found._tag === "Row" ? [found.row] : []))
  const selected = seen
    .flatMap((found) => (found._tag === "Session" ? [found] : []))
    .sort((a, b) => inOrderOfTime(a.session, b.session))
  const isExplained = left.some((row) => row.outcome === "over_budget" || isStopped(row))
  if (selected.length === 0 && !isExplained) return yield* nothingMatched(options, left, skipped)

  for (const { session } of selected.slice(limit ?? selected.length)) {
    left.push({ ...rowOf(session.ref, session.role, session.sessionId), outcome: "over_limit" })
  }
  const candidates: Array<Candidate> = []
  for (const found of selected.slice(0, limit)) {
    const { session } = found
    const whole = found.evidence === undefined ? yield* lookAt(session.ref, evidence) : found
    if (whole._tag === "Row") left.push(whole.row)
    else if (whole.evidence === undefined) left.push({ path: session.ref.path, outcome: "not_a_session" })
    else candidates.push({ session, evidence: whole.evidence })
  }
  return { candidates, left, skipped, looks }
})

/** Whole sessions in this thread: one is worked on while the next one is read. */
const concurrencyOf = (evidence: Question["evidence"], { width }: Workers): number =>
  evidence !== "none" && width === 1 ? 2 : Math.max(OPENINGS_AT_ONCE, 2 * width)

/** Looks at a file, unless an earlier run did. Adds the look to `looks`. */
const look = (
  ref: SessionRef,
  question: Question,
  { known, settings, workers }: SurveyWork,
  looks: Map<string, Look>
) => {
  const key = keyOf(settings, question.evidence, identity(ref))
  const before = known.get(key)
  return Effect.tap(before === undefined ? workers.look(ref, question) : Effect.succeed(before), (found) =>
    Effect.sync(() => {
      if (found._tag === "Session" || isLasting(found.row)) looks.set(key, found)
    })
  )
}

const questionOf = ({ includeDogs, marks, rigs, roles, since, town, until }: SurveyOptions) => ({
  rigs,
  roles,
  ...(includeDogs === undefined ? {} : { includeDogs }),
  ...(marks === undefined ? {} : { marks }),
  ...(since === undefined ? {} : { since }),
  ...(town === undefined ? {} : { town }),
  ...(until === undefined ? {} : { until })
})

const PROBLEMS: { readonly [outcome: string]: string } = {
  not_a_session: "not a Pi session: it has no header",
  unreadable: "cannot be read"
}

const nothingMatched = (
  { rigs, roles }: SurveyOptions,
  rows: ReadonlyArray<ReportRow>,
  skipped: Listing["skipped"]
): NothingMatched => {
  const problems = rows.flatMap(({ path, outcome, detail }) => {
    const problem = PROBLEMS[outcome]
    return problem === undefined ? [] : [{ path, reason: detail ?? problem }]
  })
  const sessions = rows.filter(({ outcome }) => PROBLEMS[outcome] === undefined)
  return new NothingMatched({
    rigs,
    roles,
    sessions: sessions.length,
    otherwiseExcluded: sessions.filter(({ outcome }) => outcome !== "not_selected").length,
    problems: [...skipped, ...problems],
    foundRigs: ReportTally.count(sessions.flatMap((row) => row.rig ?? [])),
    foundRoles: ReportTally.count(sessions.flatMap((row) => row.role ?? []))
  })
}
