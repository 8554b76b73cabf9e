/**
 * Assigns sessions to splits. A family is in one split, each role has the same share of validation, and earlier assignments
 * stay when a dataset grows. A new session that belongs to families of two splits is left out.
 */
import { createHash } from "node:crypto"
import { type Split } from "@pi-sessions/formats/Split"

/** A share of the families for validation, from 0 to below 1, or a time. */
export type SplitRule =
  | { readonly _tag: "Share"; readonly validation: number }
  /** Sessions begun at `from` (ISO 8601) or later are validation. */
  | { readonly _tag: "Time"; readonly from: string }

export interface SplitSession {
  readonly path: string
  readonly sessionId: string
  readonly role: string
  /** The header's, ISO 8601. */
  readonly timestamp: string
  readonly family: string
}

/** The key of a session in `splits.json`: a hash, because a dataset that is shared must not reveal ids. */
export const keyOf = (sessionId: string): string => createHash("sha256").update(sessionId).digest("hex").slice(0, 32)

/** Earlier assignments, by `keyOf` of the session id. */
export type Recorded = ReadonlyMap<string, Split>

export interface Assigned {
  /** By path, without the sessions that are left out. */
  readonly splitOf: ReadonlyMap<string, Split>
  /** Paths of sessions that belong to families of two splits. */
  readonly bridging: ReadonlySet<string>
  /** Number of sessions of the largest family. */
  readonly largestFamily: number
}

export const assign = (
  sessions: ReadonlyArray<SplitSession>,
  rule: SplitRule,
  recorded: Recorded = new Map()
): Assigned => {
  const families = new Map<string, Array<SplitSession>>()
  for (const session of sessions) {
    const family = families.get(session.family)
    if (family === undefined) families.set(session.family, [session])
    else family.push(session)
  }
  const splitOf = new Map<string, Split>()
  const bridging = new Set<string>()
  const fresh: Array<ReadonlyArray<SplitSession>> = []
  for (const family of families.values()) {
    const earlier = new Set(family.flatMap(({ sessionId }) => recorded.get(keyOf(sessionId)) ?? []))
    const [only, second] = earlier
    if (only === undefined && rule._tag === "Share") fresh.push(family)
    for (const session of family) {
      const was = recorded.get(keyOf(session.sessionId))
      if (was !== undefined) splitOf.set(session.path, was)
      else if (second !== undefined) bridging.add(session.path)
      else if (only !== undefined) splitOf.set(session.path, only)
    }
    if (only === undefined && rule._tag === "Time") byTime(family, rule.from, splitOf, bridging)
  }
  if (rule._tag === "Share") byShare(fresh, families.values(), rule.validation, splitOf)
  return { splitOf, bridging, largestFamily: Math.max(0, ...[...families.values()].map(({ length }) => length)) }
}

/** A family that begins before `from` is training data; its later sessions would leak into validation. */
const byTime = (
  family: ReadonlyArray<SplitSession>,
  from: string,
  splitOf: Map<string, Split>,
  bridging: Set<string>
): void => {
  const limit = Date.parse(from)
  const isLate = ({ timestamp }: SplitSession): boolean => Date.parse(timestamp) >= limit
  const isEarlyFamily = family.some((session) => !isLate(session))
  for (const session of family) {
    if (!isLate(session)) splitOf.set(session.path, "train")
    else if (isEarlyFamily) bridging.add(session.path)
    else splitOf.set(session.path, "validation")
  }
}

/** The most frequent role of a family; of equal ones the first in alphabetical order. */
const roleOf = (family: ReadonlyArray<SplitSession>): string => {
  const counts = new Map<string, number>()
  for (const { role } of family) counts.set(role, (counts.get(role) ?? 0) + 1)
  const [first] = [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
  return first?.[0] ?? ""
}

/** A pseudo-random order that depends only on the family's first session id. */
const placeOf = (family: ReadonlyArray<SplitSession>): string =>
  createHash("sha256")
    .update(family.map(({ sessionId }) => sessionId).sort()[0] ?? "")
    .digest("hex")

/** Adds new families to validation, in order of hash, until each role has its share. */
const byShare = (
  fresh: ReadonlyArray<ReadonlyArray<SplitSession>>,
  all: Iterable<ReadonlyArray<SplitSession>>,
  share: number,
  splitOf: Map<string, Split>
): void => {
  const roles = new Map<string, { families: number; validation: number }>()
  const countOf = (role: string) => {
    const count = roles.get(role) ?? { families: 0, validation: 0 }
    roles.set(role, count)
    return count
  }
  for (const family of all) {
    const count = countOf(roleOf(family))
    count.families++
    if (family.some(({ path }) => splitOf.get(path) === "validation")) count.validation++
  }
  const inOrder = fresh.map((family) => [placeOf(family), family] as const).sort(([a], [b]) => (a < b ? -1 : 1))
  for (const [, family] of inOrder) {
    const count = countOf(roleOf(family))
    const isValidation = count.validation < Math.floor(count.families * share)
    if (isValidation) count.validation++
    for (const { path } of family) splitOf.set(path, isValidation ? "validation" : "train")
  }
}
