/**
 * The plan of a dataset: what only all its sessions together can tell. Families, near-duplicates, the split that each
 * session goes to, and who may have targets in common; from here on every group of kin can be worked on for itself, here
 * or on another machine.
 */
import * as Schema from "effect/Schema"
import { ExtractReport, ReportRow } from "../ExtractReport.ts"
import * as Families from "./Families.ts"
import * as SessionSurvey from "./SessionSurvey.ts"
import { Selected } from "./SessionSurvey.ts"
import * as Splits from "./Splits.ts"
import { Split } from "@pi-sessions/formats/Split"

/** A session of the dataset. */
export const PlannedSession = Schema.Struct({ session: Selected, split: Split })
export type PlannedSession = typeof PlannedSession.Type

/** Those that may have targets in common, in the order in which they were begun. */
export const PlannedKin = Schema.NonEmptyArray(PlannedSession)
export type PlannedKin = typeof PlannedKin.Type

export const DatasetPlan = Schema.Struct({
  /** In the order in which the first of each were begun: the order of the dataset. */
  kin: Schema.Array(PlannedKin),
  /** What is not in the dataset, and why. */
  left: Schema.Array(ReportRow),
  families: ExtractReport.fields.families,
  /** Directories and files that could not be looked into. */
  skipped: ExtractReport.fields.skipped,
  /** The splits of these sessions and of all that were recorded before, by `Splits.keyOf` of their ids. */
  recorded: Schema.Record(Schema.String, Split)
})
export type DatasetPlan = typeof DatasetPlan.Type

/** A session that was asked for, with what ties it to others. */
export interface Candidate {
  readonly session: Selected
  readonly evidence: Families.FamilyEvidence
}

export interface PlanOptions {
  readonly split: Splits.SplitRule
  readonly includeNearDuplicates: boolean
}

export const make = (
  candidates: ReadonlyArray<Candidate>,
  recorded: Splits.Recorded,
  options: PlanOptions
): Omit<DatasetPlan, "skipped"> => {
  const sessions = candidates.toSorted((a, b) => SessionSurvey.inOrderOfTime(a.session, b.session))
  const families = Families.find(sessions.map(({ evidence }) => evidence))
  const left: Array<ReportRow> = []
  const leave = ({ ref, role, sessionId }: Selected, outcome: ReportRow["outcome"], detail?: string): void => {
    const row = { ...SessionSurvey.rowOf(ref, role, sessionId), outcome }
    left.push(detail === undefined ? row : { ...row, detail })
  }
  const taken: Array<Selected> = []
  for (const { session } of sessions) {
    const original = options.includeNearDuplicates ? undefined : families.nearDuplicateOf.get(session.ref.path)
    if (original === undefined) taken.push(session)
    else leave(session, "near_duplicate", `as ${original}`)
  }
  const { splitOf } = Splits.assign(
    taken.map(({ ref: { path }, role: { role }, sessionId, timestamp }) => {
      return { path, sessionId, timestamp, role, family: families.familyOf.get(path) ?? path }
    }),
    options.split,
    recorded
  )
  const record = new Map(recorded)
  const kin = new Map<string, [PlannedSession, ...Array<PlannedSession>]>()
  for (const session of taken) {
    const { path } = session.ref
    const split = splitOf.get(path)
    if (split === undefined) {
      leave(session, "bridges_splits")
      continue
    }
    record.set(Splits.keyOf(session.sessionId), split)
    const first = families.kinOf.get(path) ?? path
    const group = kin.get(first)
    if (group === undefined) kin.set(first, [{ session, split }])
    else group.push({ session, split })
  }
  const sizes = new Map<string, number>()
  for (const family of families.familyOf.values()) sizes.set(family, (sizes.get(family) ?? 0) + 1)
  return {
    kin: [...kin.values()],
    left,
    families: { found: sizes.size, largest: Math.max(0, ...sizes.values()) },
    recorded: Object.fromEntries([...record].sort(([a], [b]) => (a < b ? -1 : 1)))
  }
}
