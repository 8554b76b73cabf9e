/**
 * The plan of a dataset: families, near-duplicates, splits and kin, which depend on all sessions together. With the plan
 * each group of kin is processed by itself, here or on another machine.
 */
import * as Schema from "effect/Schema"
import { Split } from "@pi-sessions/formats/Split"
import { type SurveyOptions } from "../ExtractOptions.ts"
import { ExtractReport, ReportRow } from "../ExtractReport.ts"
import { type Candidate, type DatasetSurvey } from "./DatasetSurvey.ts"
import * as Families from "./Families.ts"
import * as SessionSurvey from "./SessionSurvey.ts"
import { Selected } from "./SessionSurvey.ts"
import * as Splits from "./Splits.ts"

/** A session of the dataset. */
export const PlannedSession = Schema.Struct({ session: Selected, split: Split })
export type PlannedSession = typeof PlannedSession.Type

/** A group of kin, in order of time. */
export const PlannedKin = Schema.NonEmptyArray(PlannedSession)
export type PlannedKin = typeof PlannedKin.Type

export const DatasetPlan = Schema.Struct({
  /** In order of time of the first sessions: the order of the dataset. */
  kin: Schema.Array(PlannedKin),
  /** A row for each file that is not in the dataset. */
  left: Schema.Array(ReportRow),
  families: ExtractReport.fields.families,
  /** Directories and files that could not be listed. */
  skipped: ExtractReport.fields.skipped,
  /** Splits of these sessions and of all that were recorded earlier, by `Splits.keyOf` of their ids. */
  recorded: Schema.Record(Schema.String, Split)
})
export type DatasetPlan = typeof DatasetPlan.Type

/** Of the families of each role. */
const SPLIT: Splits.SplitRule = { _tag: "Share", validation: 0.05 }

export const make = (
  { candidates, left: surveyed, skipped }: Omit<DatasetSurvey, "looks">,
  recorded: Splits.Recorded,
  { includeNearDuplicates = false, split = SPLIT }: Pick<SurveyOptions, "includeNearDuplicates" | "split">
): DatasetPlan => {
  const sessions = candidates.toSorted((a, b) => SessionSurvey.inOrderOfTime(a.session, b.session))
  const families = Families.find(sessions.map(({ evidence }) => evidence))
  const { duplicates, taken } = withoutDuplicates(
    sessions,
    includeNearDuplicates ? new Map() : families.nearDuplicateOf
  )
  const { splitOf } = Splits.assign(
    taken.map(({ ref: { path }, role: { role }, sessionId, timestamp }) => {
      return { path, sessionId, timestamp, role, family: families.familyOf.get(path) ?? path }
    }),
    split,
    recorded
  )
  const { bridging, kin, planned } = inKin(taken, splitOf, families)
  const sizes = new Map<string, number>()
  for (const family of families.familyOf.values()) sizes.set(family, (sizes.get(family) ?? 0) + 1)
  const splits = new Map(recorded)
  for (const { session, split } of planned) splits.set(Splits.keyOf(session.sessionId), split)
  return {
    kin,
    left: [...surveyed, ...duplicates, ...bridging],
    families: { found: sizes.size, largest: Math.max(0, ...sizes.values()) },
    recorded: Object.fromEntries([...splits].sort(([a], [b]) => (a < b ? -1 : 1))),
    skipped
  }
}

const rowOf = ({ ref, role, sessionId }: Selected, outcome: ReportRow["outcome"]): ReportRow => ({
  ...SessionSurvey.rowOf(ref, role, sessionId),
  outcome
})

const withoutDuplicates = (
  sessions: ReadonlyArray<Candidate>,
  nearDuplicateOf: Families.Families["nearDuplicateOf"]
) => {
  const taken: Array<Selected> = []
  const duplicates: Array<ReportRow> = []
  for (const { session } of sessions) {
    const original = nearDuplicateOf.get(session.ref.path)
    if (original === undefined) taken.push(session)
    else duplicates.push({ ...rowOf(session, "near_duplicate"), detail: `as ${original}` })
  }
  return { taken, duplicates }
}

/** The sessions in their groups of kin; rows for those without a split. */
const inKin = (
  sessions: ReadonlyArray<Selected>,
  splitOf: Splits.Assigned["splitOf"],
  { kinOf }: Families.Families
) => {
  const kin = new Map<string, [PlannedSession, ...Array<PlannedSession>]>()
  const planned: Array<PlannedSession> = []
  const bridging: Array<ReportRow> = []
  for (const session of sessions) {
    const { path } = session.ref
    const split = splitOf.get(path)
    if (split === undefined) {
      bridging.push(rowOf(session, "bridges_splits"))
      continue
    }
    const one = { session, split }
    planned.push(one)
    const first = kinOf.get(path) ?? path
    const group = kin.get(first)
    if (group === undefined) kin.set(first, [one])
    else group.push(one)
  }
  return { kin: [...kin.values()], planned, bridging }
}
