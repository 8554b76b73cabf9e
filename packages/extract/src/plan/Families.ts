/**
 * Which sessions belong together: a fork and what it was forked from, copies, sessions that share lines, and sessions
 * that say nearly the same. Who trains on one of a family must not be tested on another.
 */
import * as Schema from "effect/Schema"
import * as MinHash from "./MinHash.ts"
import { nameOf } from "@pi-sessions/core/FileName"

/** What is known of a session that may tie it to others. */
export const FamilyEvidence = Schema.Struct({
  /** Absolute. */
  path: Schema.String,
  sessionId: Schema.String,
  /** The header's, ISO 8601. */
  timestamp: Schema.String,
  /** Path of what it was forked from, as the header has it. */
  parentSession: Schema.optionalKey(Schema.String),
  /** Hashes of entry lines: those of a fork are its parent's, byte for byte. */
  lines: Schema.Array(Schema.String),
  /** Hashes of what was said up to a first answer, that included. */
  openings: Schema.Array(Schema.String),
  /** Of what was said; absent of a session that says nothing. See MinHash.ts. */
  signature: Schema.optionalKey(Schema.Array(Schema.Int))
})
export type FamilyEvidence = typeof FamilyEvidence.Type

/** Sessions at least so similar count as the same said again. */
export const NEAR_DUPLICATE = 0.9

/** Sessions at least so similar are of one family: lower, since an estimate may be wrong, and a leak is worse. */
export const ALIKE = 0.7

export interface Families {
  /** The family of each path: the path of its first member, in the order of time. */
  readonly familyOf: ReadonlyMap<string, string>
  /**
   * The same of its kin: forks, copies, and sessions that begin alike. Only kin can have a target in common, so what each
   * target stands for once can be told group by group.
   */
  readonly kinOf: ReadonlyMap<string, string>
  /** For a session that says nearly what an unrelated earlier one says: the path of that one. */
  readonly nearDuplicateOf: ReadonlyMap<string, string>
}

/** Earlier first, then by path. */
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
  for (const { at, isRepeat, of } of alike(ordered, kin)) {
    groups.join(at, of)
    if (isRepeat) nearDuplicateOf.set(ordered[at]?.path ?? "", ordered[of]?.path ?? "")
  }
  const firstOf = (of: Groups): ReadonlyMap<string, string> =>
    new Map(ordered.map(({ path }, at) => [path, ordered[of.rootOf(at)]?.path ?? path]))
  return { familyOf: firstOf(groups), kinOf: firstOf(kin), nearDuplicateOf }
}

/** Groups of positions; the root of each is its smallest one. */
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

/** A parent is named by its path; on another machine its file name, which holds its id, is what is left of that. */
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
  // Forks of one parent are a family, also where the parent is not there.
  joinByKey(sessions, groups, ({ parentSession }) => (parentSession === undefined ? [] : [nameOf(parentSession)]))
  // So are copies of one session under several paths.
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

/** How many sessions of one band are looked at for a session: patrols that say one thing are many. */
const CANDIDATES = 64

/** A session and an earlier one that says alike; `isRepeat` where it is nearly the same. */
interface Alike {
  readonly at: number
  readonly of: number
  readonly isRepeat: boolean
}

/** Kin are not compared: forks go on from what they share. */
const alike = (sessions: ReadonlyArray<FamilyEvidence>, kin: Groups): ReadonlyArray<Alike> => {
  const found: Array<Alike> = []
  const bands = new Map<string, Array<number>>()
  for (const [at, { signature }] of sessions.entries()) {
    if (signature === undefined) continue
    const keys = MinHash.bandsOf(signature)
    const candidates = new Set(keys.flatMap((key) => bands.get(key) ?? []))
    let isRepeat = false
    for (const of of [...candidates].sort((a, b) => a - b)) {
      const theirs = sessions[of]?.signature
      if (theirs === undefined || kin.rootOf(of) === kin.rootOf(at)) continue
      const similarity = MinHash.similarity(signature, theirs)
      if (similarity < ALIKE) continue
      isRepeat = similarity >= NEAR_DUPLICATE
      found.push({ at, of, isRepeat })
      if (isRepeat) break
    }
    // What a repeat repeats stands for it from here on.
    if (isRepeat) continue
    for (const key of keys) {
      const band = bands.get(key)
      if (band === undefined) bands.set(key, [at])
      else if (band.length < CANDIDATES) band.push(at)
    }
  }
  return found
}
