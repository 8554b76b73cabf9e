/**
 * The plan of a dataset: what only all its sessions together can tell. Families, near-duplicates, and the split that each
 * session goes to.
 */
import * as Families from "./Families.ts"
import * as Splits from "./Splits.ts"

/** A session that was asked for, with what ties it to others. */
export interface PlannedSession {
  readonly evidence: Families.FamilyEvidence
  readonly role: string
}

export interface PlanOptions {
  readonly split: Splits.SplitRule
  readonly includeNearDuplicates: boolean
}

/** What becomes of a session. */
export type Fate =
  | { readonly _tag: "Taken"; readonly split: Splits.Split }
  | { readonly _tag: "LeftOut"; readonly reason: "near_duplicate" | "bridges_splits"; readonly detail?: string }

export interface DatasetPlan {
  /** By path. */
  readonly fates: ReadonlyMap<string, Fate>
  readonly families: { readonly found: number; readonly largest: number }
  /** The splits of these sessions and of all that were recorded before, by session id. */
  readonly recorded: Splits.Recorded
}

export const make = (
  sessions: ReadonlyArray<PlannedSession>,
  recorded: Splits.Recorded,
  options: PlanOptions
): DatasetPlan => {
  const families = Families.find(sessions.map(({ evidence }) => evidence))
  const repeats = (path: string): string | undefined =>
    options.includeNearDuplicates ? undefined : families.nearDuplicateOf.get(path)
  const fates = new Map<string, Fate>()
  const taken = sessions.flatMap(({ evidence: { path, sessionId, timestamp }, role }) => {
    const original = repeats(path)
    if (original === undefined) return { path, sessionId, timestamp, role, family: families.familyOf.get(path) ?? path }
    fates.set(path, { _tag: "LeftOut", reason: "near_duplicate", detail: `as ${original}` })
    return []
  })
  const assigned = Splits.assign(taken, options.split, recorded)
  const record = new Map(recorded)
  for (const { path, sessionId } of taken) {
    const split = assigned.splitOf.get(path)
    fates.set(path, split === undefined ? { _tag: "LeftOut", reason: "bridges_splits" } : { _tag: "Taken", split })
    if (split !== undefined) record.set(sessionId, split)
  }
  const sizes = new Map<string, number>()
  for (const family of families.familyOf.values()) sizes.set(family, (sizes.get(family) ?? 0) + 1)
  return {
    fates,
    families: { found: sizes.size, largest: Math.max(0, ...sizes.values()) },
    recorded: record
  }
}
