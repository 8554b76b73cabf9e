/**
 * A branch of a session as a timeline: one item for the header and one for each entry, from the root to a leaf.
 *
 * Entries are decoded when their items are requested. Payloads are not validated, so damaged entries and unknown types
 * appear like any other.
 */
import { stringAt } from "@pi-sessions/core/Json"
import type * as Session from "@pi-sessions/core/Session"
import { type SessionDiagnostic } from "@pi-sessions/core/SessionDiagnostic"
import { versionOf } from "@pi-sessions/core/SessionHeader"
import { type SessionEntry, type SessionLine } from "@pi-sessions/core/SessionLine"
import * as SessionMigration from "@pi-sessions/core/SessionMigration"
import { counted, numberText } from "./Counted.ts"
import { type Depth, reaches } from "./TimelineDepth.ts"
import { type TimelineItem, atDepth } from "./TimelineItem.ts"
import { describe } from "./EntryDescription.ts"
import { leastDepth } from "./internal/leastDepth.ts"
import { shownJson } from "./ShownJson.ts"

export interface Timeline {
  /** The session as read. */
  readonly source: Session.Session
  /** The session in the current version; `source` itself if that is current. */
  readonly session: Session.Session
  /** Id of the branch's last entry; null if there is none, or it has no id. */
  readonly leafId: string | null
  /** From the root to the leaf. */
  readonly branch: ReadonlyArray<SessionEntry>
  readonly damageByLine: ReadonlyMap<number, ReadonlyArray<SessionDiagnostic>>
}

/** The timeline of the branch that ends at `leafId`; undefined if there is no such entry. Default: the session's leaf. */
export const make = (source: Session.Session, leafId?: string): Timeline | undefined => {
  const session = SessionMigration.toCurrent(source)
  const tree = session.tree
  if (leafId !== undefined && tree.getEntry(leafId) === undefined) return undefined
  const damageByLine = Map.groupBy(session.diagnostics, ({ line }) => line)
  return { source, session, leafId: leafId ?? tree.leafId, branch: tree.getBranch(leafId), damageByLine }
}

/** The branch's lines in the source, in the order of the branch. */
export const originals = ({ branch, session, source }: Timeline): ReadonlyArray<SessionLine> => {
  if (source === session) return branch
  const current = session.tree.getEntries()
  const before = source.tree.getEntries()
  // A migration rewrites each entry and keeps their order.
  const originalOf = new Map(current.map((entry, at) => [entry, before[at]]))
  return branch.flatMap((entry) => originalOf.get(entry) ?? [])
}

/** The item of the header: the session's name, directory, origin and size. */
export const header = ({ branch, damageByLine, session, source }: Timeline): TimelineItem => {
  const line = source.header
  const fields = line?.decode() ?? {}
  const { tree } = session
  const leaves = tree.leaves().length
  const entries = tree.getEntries().length
  const facts: Array<readonly [name: string, value: string]> = []
  const fact = (name: string, value: string | undefined): void => {
    if (value !== undefined && value !== "") facts.push([name, value])
  }
  fact("name", tree.name())
  fact("cwd", stringAt(fields, "cwd"))
  fact("forked from", stringAt(fields, "parentSession"))
  if (versionOf(fields) !== versionOf(session.header?.decode() ?? {})) fact("version", String(versionOf(fields)))
  if (fields["hydratedFrom"] !== undefined) fact("hydrated from", shownJson(fields["hydratedFrom"]))
  fact("written by", stringAt(fields, "harness"))
  fact("entries", `${numberText(branch.length)} on this branch, ${numberText(entries)} in all`)
  if (leaves > 1) fact("branches", numberText(leaves))
  const damage = source.diagnostics.length
  if (damage > 0) fact("damage", `${counted(damage, "finding")}; see the command doctor`)
  return {
    kind: "session",
    depth: "session",
    entryId: null,
    type: "session",
    line: line?.line ?? 0,
    time: stringAt(fields, "timestamp"),
    about: stringAt(fields, "id") ?? "",
    failed: false,
    label: undefined,
    branches: others(tree.roots(), branch[0]),
    damage: line === undefined ? [] : (damageByLine.get(line.line) ?? []),
    parts: [{ part: "facts", depth: "session", facts }]
  }
}

const others = (entries: ReadonlyArray<SessionEntry>, but: SessionEntry | undefined): ReadonlyArray<string> =>
  entries.flatMap((entry) => (entry === but || entry.id === null ? [] : [entry.id]))

/** The item of the entry at `index` of the branch, with all its parts. */
export const item = (timeline: Timeline, index: number): TimelineItem | undefined => {
  const entry = timeline.branch[index]
  if (entry === undefined) return undefined
  const { tree } = timeline.session
  const payload = entry.decode()
  const { id, line, type } = entry
  const { about, depth, failed, kind, parts, time } = describe(entry, payload)
  return {
    kind,
    depth,
    entryId: id,
    type,
    line,
    time,
    about,
    failed,
    label: id === null ? undefined : tree.label(id),
    branches: id === null ? [] : others(tree.children(id), timeline.branch[index + 1]),
    damage: timeline.damageByLine.get(line) ?? [],
    parts
  }
}

/** The items of header and branch at a depth, in order, each made on request. Default: `full`. */
export function* items(timeline: Timeline, depth: Depth = "full"): Generator<TimelineItem> {
  yield header(timeline)
  for (let index = 0; index < timeline.branch.length; index++) {
    const entry = timeline.branch[index]
    // Entries that cannot appear at this depth are not decoded.
    if (entry === undefined || !reaches(depth, leastDepth(entry))) continue
    const whole = item(timeline, index)
    const shown = whole === undefined ? undefined : atDepth(whole, depth)
    if (shown !== undefined) yield shown
  }
}
