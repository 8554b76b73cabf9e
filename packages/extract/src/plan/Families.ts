/**
 * Finds families and kin: forks, copies, sessions that share lines, and sessions that say nearly the same. Sessions of one
 * family must be in one split.
 */
import * as Schema from "effect/Schema"
import * as MinHash from "./MinHash.ts"
import { nameOf } from "@pi-sessions/core/FileName"

/** Facts about a session that may tie it to others. */
export const FamilyEvidence = Schema.Struct({
  /** Absolute. */
  path: Schema.String,
  sessionId: Schema.String,
  /** The header's, ISO 8601. */
  timestamp: Schema.String,
  /** Path of the session that it was forked from, as in the header. */
  parentSession: Schema.optionalKey(Schema.String),
  /** Hashes of the first message lines. A fork has the lines of its parent, byte for byte. */
  lines: Schema.Array(Schema.String),
  /** Hashes of conversations up to and including their first answer, and of summaries of compactions. */
  openings: Schema.Array(Schema.String),
  /** Of the text of users and models, see MinHash.ts. Absent when there is too little text. */
  signature: Schema.optionalKey(Schema.Array(Schema.Int))
})
export type FamilyEvidence = typeof FamilyEvidence.Type

/** Sessions at least so similar are near-duplicates. */
export const NEAR_DUPLICATE_SIMILARITY = 0.9

/** Sessions at least so similar are of one family. Lower, because a leak between splits is worse than a large family. */
export const FAMILY_SIMILARITY = 0.7

export interface Families {
  /** The family of each session, named by the path of its first member in order of time. */
  readonly familyOf: ReadonlyMap<string, string>
  /** The same for kin: forks, copies, and sessions that begin alike. Only kin can share a target. */
  readonly kinOf: ReadonlyMap<string, string>
  /** For a near-duplicate: the path of the earlier session, which is not kin. */
  readonly nearDuplicateOf: ReadonlyMap<string, string>
}

/** By time, then by path. */
const inOrderOfTime = (a: FamilyEvidence, b: FamilyEvidence): number =>
  a.timestamp === b.timestamp ? (a.path < b.path ? -1 : 1) : a.timestamp < b.timestamp ? -1 : 1

export const find = (sessions: ReadonlyArray<FamilyEvidence>): Families => {
  const ordered = sessions.toSorted(inOrderOfTime)
  const kin = new Groups(ordered.length)
  joinParents(ordered, kin)
  joinByKey(ordered, kin, ({ lines }) => lines)
  joinByKey(ordered, kin, ({ openings }) => openings)
  const groups = kin.copy()
  const nearDuplicateOf = new Map<string, string>()
  for (const { at, isNearDuplicate, of } of alike(ordered, kin)) {
    groups.join(at, of)
    if (isNearDuplicate) nearDuplicateOf.set(ordered[at]?.path ?? "", ordered[of]?.path ?? "")
  }
  const firstOf = (of: Groups): ReadonlyMap<string, string> =>
    new Map(ordered.map(({ path }, at) => [path, ordered[of.rootOf(at)]?.path ?? path]))
  return { familyOf: firstOf(groups), kinOf: firstOf(kin), nearDuplicateOf }
}

/** Groups of indexes (union-find). The root of a group is its smallest index. */
class Groups {
  readonly #parent: Int32Array

  constructor(size: number, parent = Int32Array.from({ length: size }, (_, at) => at)) {
    this.#parent = parent
  }

  copy(): Groups {
    return new Groups(this.#parent.length, this.#parent.slice())
  }

  rootOf(at: number): number {
    let root = at
    while (this.#parent[root] !== root) root = this.#parent[root] ?? root
    for (let step = at; step !== root;) {
      const next = this.#parent[step] ?? root
      this.#parent[step] = root
      step = next
    }
    return root
  }

  join(a: number, b: number): void {
    const [first, second] = [this.rootOf(a), this.rootOf(b)]
    if (first !== second) this.#parent[Math.max(first, second)] = Math.min(first, second)
  }
}

/** A header has its parent's path. On another machine only the file name is the same, which holds the id. */
const joinParents = (sessions: ReadonlyArray<FamilyEvidence>, groups: Groups): void => {
  const byPath = new Map<string, number>()
  const byName = new Map<string, number>()
  for (const [at, { path }] of sessions.entries()) {
    byPath.set(path, at)
    byName.set(nameOf(path), at)
  }
  for (const [at, { parentSession }] of sessions.entries()) {
    if (parentSession === undefined) continue
    const parent = byPath.get(parentSession) ?? byName.get(nameOf(parentSession))
    if (parent !== undefined) groups.join(at, parent)
  }
  // Forks of one parent are kin, even when the parent is missing.
  joinByKey(sessions, groups, ({ parentSession }) => (parentSession === undefined ? [] : [nameOf(parentSession)]))
  // So are copies of one session.
  joinByKey(sessions, groups, ({ sessionId }) => (sessionId === "" ? [] : [sessionId]))
}

const joinByKey = (
  sessions: ReadonlyArray<FamilyEvidence>,
  groups: Groups,
  keysOf: (session: FamilyEvidence) => ReadonlyArray<string>
): void => {
  const first = new Map<string, number>()
  for (const [at, session] of sessions.entries()) {
    for (const key of keysOf(session)) {
      const other = first.get(key)
      if (other === undefined) first.set(key, at)
      else groups.join(at, other)
    }
  }
}

/** Sessions of one band that are compared at most. Thousands of patrols can say the same. */
const CANDIDATES = 64

/** A session and a similar earlier one, by index. */
interface Alike {
  readonly at: number
  readonly of: number
  /** Whether it is a near-duplicate. */
  readonly isNearDuplicate: boolean
}

/** Similar sessions that are not kin. Kin share their beginnings, so they are not compared. */
const alike = (sessions: ReadonlyArray<FamilyEvidence>, kin: Groups): ReadonlyArray<Alike> => {
  const found: Array<Alike> = []
  const bands = new Map<string, Array<number>>()
  for (const [at, { signature }] of sessions.entries()) {
    if (signature === undefined) continue
    const keys = MinHash.bandsOf(signature)
    const candidates = new Set(keys.flatMap((key) => bands.get(key) ?? []))
    let isNearDuplicate = false
    for (const of of [...candidates].sort((a, b) => a - b)) {
      const theirs = sessions[of]?.signature
      if (theirs === undefined || kin.rootOf(of) === kin.rootOf(at)) continue
      const similarity = MinHash.similarity(signature, theirs)
      if (similarity < FAMILY_SIMILARITY) continue
      isNearDuplicate = similarity >= NEAR_DUPLICATE_SIMILARITY
      found.push({ at, of, isNearDuplicate })
      if (isNearDuplicate) break
    }
    // Later sessions are compared with the original of a near-duplicate.
    if (isNearDuplicate) continue
    for (const key of keys) {
      const band = bands.get(key)
      if (band === undefined) bands.set(key, [at])
      else if (band.length < CANDIDATES) band.push(at)
    }
  }
  return found
}
