/**
 * Which split a session goes to. Families stay together, roles are spread over the splits alike, and what was assigned
 * once stays: a dataset that grows moves nothing. A new session that ties families of two splits together is left out.
 */
import { createHash } from "node:crypto"
import { type Split } from "@pi-sessions/formats/Split"

/** How to split: a share of the families for validation, or by time. */
export type SplitRule =
  | { readonly _tag: "Share"; readonly validation: number }
  /** Sessions begun at `from` (ISO 8601) or later are for validation. */
  | { readonly _tag: "Time"; readonly from: string }

export interface SplitSession {
  readonly path: string
  readonly sessionId: string
  readonly role: string
  /** The header's, ISO 8601. */
  readonly timestamp: string
  readonly family: string
}

/** What a session is recorded under: a dataset that is shared does not tell its id. */
export const keyOf = (sessionId: string): string => createHash("sha256").update(sessionId).digest("hex").slice(0, 32)

/** Earlier assignments by `keyOf` of the session id, as a dataset records them. */
export type Recorded = ReadonlyMap<string, Split>

export interface Assigned {
  /** By path. Sessions that are left out are not here. */
  readonly splitOf: ReadonlyMap<string, Split>
  /** Paths of sessions that tie two splits together. */
  readonly bridging: ReadonlySet<string>
  /** How many sessions the largest family has. */
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
    const told = new Set(family.flatMap(({ sessionId }) => recorded.get(keyOf(sessionId)) ?? []))
    const [only, second] = told
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

/** A family that was begun before `from` is trained on, and what it has of later leaks. */
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

/** The role that most of a family has; the first in the alphabet of several. */
const roleOf = (family: ReadonlyArray<SplitSession>): string => {
  const counts = new Map<string, number>()
  for (const { role } of family) counts.set(role, (counts.get(role) ?? 0) + 1)
  const [first] = [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
  return first?.[0] ?? ""
}

/** A place that depends on nothing but the family's first session. */
const placeOf = (family: ReadonlyArray<SplitSession>): string =>
  createHash("sha256")
    .update(family.map(({ sessionId }) => sessionId).sort()[0] ?? "")
    .digest("hex")

/** In each role as many new families for validation as its share of all families lacks, by hash. */
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
