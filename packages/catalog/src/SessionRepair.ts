/**
 * A copy of a session that the real Pis open with the history a person would expect. The session itself is not touched.
 *
 * Lines that are sound keep their bytes and their order. Entries that were found on damaged lines get lines of their
 * own; bytes that are no entry are left out, for the original keeps them. How links are closed stands in `relink`. A
 * tool's result that has lost its call stays as it is on a branch of its own, so that no request holds it; where the
 * session ended with one, an entry of type custom (`pi-sessions.repaired`) is added, from which Pi goes on.
 *
 * Repairing a repaired session changes nothing. What needs no mending is not mended: a sound session comes out as it is.
 */
import { type Json, type JsonObject } from "@pi-sessions/core/Json"
import * as EntryId from "@pi-sessions/core/EntryId"
import * as Session from "@pi-sessions/core/Session"
import { HeaderLine, SessionEntry, type SessionLine, isSameLine } from "@pi-sessions/core/SessionLine"
import * as SessionMigration from "@pi-sessions/core/SessionMigration"
import { type Change } from "./RepairChange.ts"
import { Forest, ROOT } from "./internal/doctor/Forest.ts"
import { KeptPairs } from "./internal/doctor/KeptPairs.ts"
import { asTree, formOf, sessionIdOf } from "./internal/doctor/SessionForm.ts"
import { type ToolLinks, match } from "./internal/doctor/ToolLinks.ts"
import { compactionFault } from "./internal/doctor/compactionFault.ts"
import { mendable, mended, withRole } from "./internal/repair/mendedEntry.ts"
import { type MessageFacts, type RoleOf, isRole, look, roleAmong } from "./internal/doctor/messageFacts.ts"
import { type CallIds, callIds, withCallIds } from "./internal/repair/callIds.ts"
import { REFERENCE, type Relinked, relink } from "./internal/repair/relink.ts"
import { mendedHeader } from "./internal/doctor/headerFindings.ts"
import { repairLines } from "./internal/repair/repairLines.ts"

export interface Repaired {
  readonly session: Session.Session
  /** Empty when nothing had to be mended: then the session is the original. */
  readonly changes: ReadonlyArray<Change>
}

/** Type of the custom entry that is added where a repaired session would end with something set aside. */
export const REPAIRED_ENTRY_TYPE = "pi-sessions.repaired"

/** A session without header and entries is no session, and comes back as it is. */
export const repair = (session: Session.Session): Repaired => {
  const changes: Array<Change> = []
  // Before anything is left out: version 1 counts the lines that Pi can read.
  const migrated = migrate(withSoundHeader(session, changes), changes)
  const whole = repairLines(migrated, changes)
  if (whole === undefined) return { session, changes: [] }
  const current = SessionMigration.toCurrent(whole)
  const lines = withRoles(withoutRepeats(current.lines, changes), changes)
  const repaired = Session.fromLines(repairEntries(lines, sessionIdOf(current), changes))
  changes.sort((a, b) => a.byteOffset - b.byteOffset)
  // Pi migrates old sessions itself: that alone is nothing to mend.
  return changes.length === 0 ? { session, changes } : { session: repaired, changes }
}

/** A repaired session that goes by an id of its own. */
export interface Copy {
  readonly id: string
  readonly session: Session.Session
}

/**
 * The repaired session as a file beside its original, to be told from it: with an id of its own, derived from the
 * original's and from the file's name, and with the path of the original where a fork has that of its source.
 */
export const asCopy = (repaired: Session.Session, original: string, name: string): Copy => {
  const { header, lines } = repaired
  const id = EntryId.deriveSessionId("doctor", sessionIdOf(repaired), name)
  if (header === undefined) return { id, session: repaired }
  const own = HeaderLine.make({ ...header.decode(), id, parentSession: original }, header)
  return { id, session: Session.fromLines(lines.map((line) => (line === header ? own : line))) }
}

const withSoundHeader = (session: Session.Session, changes: Array<Change>): Session.Session => {
  const { header, lines } = session
  if (header === undefined) return session
  const said = header.decode()
  const mendedSaid = mendedHeader(said)
  if (mendedSaid === said) return session
  const sound = HeaderLine.make(mendedSaid, header)
  changes.push({ ...at(header), what: "the header's version or directory is mended" })
  return Session.withLines(
    session,
    lines.map((line) => (line === header ? sound : line))
  )
}

const migrate = (session: Session.Session, changes: Array<Change>): Session.Session => {
  const { header, lines } = session
  const isUnversionedTree = formOf(session)?.isUnversionedTree === true
  if (isUnversionedTree && header !== undefined) changes.push({ ...at(header), what: "the header says version 3" })
  const migrated = SessionMigration.toCurrent(isUnversionedTree ? asTree(session) : session)
  if (migrated === session) return session
  // An entry that is written anew has a line of its own by that.
  for (const [index, line] of lines.entries()) {
    if (line instanceof HeaderLine || migrated.lines[index] === line) continue
    if (line instanceof SessionEntry && line.recovered)
      changes.push({ ...at(line), what: "the entry gets a line of its own" })
    else if (!line.terminated) changes.push({ ...at(line), what: "a newline at its end" })
  }
  return migrated
}

/** A line that was written twice is one entry. */
const withoutRepeats = (lines: ReadonlyArray<SessionLine>, changes: Array<Change>): ReadonlyArray<SessionLine> => {
  const texts = new Map<string, SessionEntry>()
  return lines.filter((line) => {
    if (!(line instanceof SessionEntry) || line.id === null) return true
    const earlier = texts.get(line.id)
    if (earlier === undefined) texts.set(line.id, line)
    else if (isSameLine(earlier, line)) {
      changes.push({ ...at(line), what: "the line stands twice; the repetition is left out" })
      return false
    }
    return true
  })
}

/** Messages whose role Pi does not know get one first, since calls and results are told by it. */
const withRoles = (lines: ReadonlyArray<SessionLine>, changes: Array<Change>): ReadonlyArray<SessionLine> =>
  lines.map((line) => {
    if (!(line instanceof SessionEntry) || line.type !== "message" || isRole(line.role)) return line
    const payload = line.decode()
    const given = payload["message"]
    const message = given === undefined || given === null ? undefined : withRole(given)
    if (message === undefined) return line
    changes.push({ ...at(line), what: `the message gets the role ${JSON.stringify(message["role"])}` })
    return line.rewrite({ ...payload, message })
  })

const at = ({ line, byteOffset }: SessionLine): Pick<Change, "line" | "byteOffset"> => ({ line, byteOffset })

const repairEntries = (
  lines: ReadonlyArray<SessionLine>,
  sessionId: string,
  changes: Array<Change>
): ReadonlyArray<SessionLine> => {
  const entries = lines.filter((line) => line instanceof SessionEntry)
  const links = relink(entries, sessionId)
  const byId = new Map(entries.map((entry) => [entry.id, entry]))
  const roleOf = roleAmong((id) => byId.get(id))
  const facts = entries.map((entry) => look(entry, roleOf))
  const forest = new Forest(links.parents)
  const tools = match(
    facts.map((fact) => (fact === undefined ? fact : { ...fact, calls: fact.mendedCalls })),
    forest
  )
  const parents = passingOrphans(links.parents, tools)
  const calls = callIds(facts, tools, sessionId)
  const reattached = new Forest(parents)
  const pairs = new KeptPairs(reattached, tools)
  const plan: Plan = { entries, links, facts, parents, tools, calls, roleOf, reattached, pairs }

  let index = 0
  const out = lines.map((line) => (line instanceof SessionEntry ? rewrite(index++, plan, changes) : line))
  const last = entries.length - 1
  const lastEntry = entries[last]
  if (lastEntry !== undefined && tools.orphans.has(last)) {
    const parentId = idValueAt(plan, parents[last]!)
    const id = EntryId.derive(new Set(links.ids), "doctor", sessionId, "leaf", links.ids[last]!)
    const timestamp = lastEntry.timestamp
    const data = { setAside: links.ids[last]! }
    out.push(SessionEntry.make({ type: "custom", customType: REPAIRED_ENTRY_TYPE, data, id, parentId, timestamp }))
    changes.push({
      ...at(lastEntry),
      entryId: id,
      what: "an entry is added, to go on from instead of a result without a call"
    })
  }
  return out
}

interface Plan {
  readonly entries: ReadonlyArray<SessionEntry>
  readonly links: Relinked
  readonly facts: ReadonlyArray<MessageFacts | undefined>
  /** Results without calls passed over. */
  readonly parents: Int32Array
  readonly tools: ToolLinks
  readonly calls: CallIds
  readonly roleOf: RoleOf
  readonly reattached: Forest
  readonly pairs: KeptPairs
}

/** Each entry's nearest ancestor that is no orphaned result. */
const passingOrphans = (parents: Int32Array, tools: ToolLinks): Int32Array => {
  if (tools.orphans.size === 0) return parents
  const above = parents.slice()
  for (const start of above.keys()) {
    let found = above[start]!
    while (found !== ROOT && tools.orphans.has(found)) found = above[found]!
    // What was passed on the way leads there at once from now on.
    for (let index = start; index !== ROOT && (index === start || tools.orphans.has(index));) {
      const next = above[index]!
      above[index] = found
      index = next === found ? ROOT : next
    }
  }
  return above
}

const idAt = (ids: ReadonlyArray<string>, index: number): string | null =>
  index === ROOT ? null : (ids[index] ?? null)

/** The id of an entry as others write it. */
const idValueAt = ({ entries, links }: Pick<Plan, "entries" | "links">, index: number): Json | undefined => {
  const id = idAt(links.ids, index)
  return id !== null && entries[index]?.id === id ? entries[index]?.idValue : id
}

/** The entry at an index as it should be: itself where nothing is to be mended. */
const rewrite = (index: number, plan: Plan, changes: Array<Change>): SessionEntry => {
  const { links, parents, facts, tools } = plan
  const entry = plan.entries[index]!
  const id = links.ids[index]!
  const what: Array<string> = []
  let payload: JsonObject | undefined
  const set = (members: JsonObject, why: string): void => {
    payload = { ...(payload ?? entry.decode()), ...members }
    what.push(why)
  }

  if (id !== entry.id)
    set({ id }, entry.id === null || entry.id === "" ? `it gets the id ${id}` : `its id was taken: it is ${id} now`)
  const parentId = idAt(links.ids, parents[index]!)
  if (parentId !== (entry.parentId === "" ? null : entry.parentId)) {
    const why = links.why.get(index)
    const passed = tools.orphans.has(links.parents[index]!)
      ? "the result before it is set aside"
      : "its parent has another id"
    set(
      { parentId: idValueAt(plan, parents[index]!) },
      `it follows ${parentId === null ? "nothing" : `entry ${JSON.stringify(parentId)}`}: ${why ?? passed}`
    )
  }
  const reference = REFERENCE[entry.type]
  const target = links.targets.get(index)
  if (reference !== undefined && target !== undefined) {
    const named = links.ids[target]!
    // Only where the target has another id now.
    if (plan.entries[target]?.id !== named) set({ [reference]: named }, `its ${reference} is ${JSON.stringify(named)}`)
  }
  const faults = mendable(facts[index])
  let isSetAside = false
  if (faults.length > 0) {
    ;({ payload, isSetAside } = mended(payload ?? entry.decode(), faults, plan.roleOf))
    what.push(`mended: ${faults.join(", ")}`)
  }
  if (entry.type === "compaction" && !isSetAside) keepWhole(index, id, plan, set)
  if (plan.calls.calls.has(index) || plan.calls.results.has(index)) {
    payload = withCallIds(index, payload ?? entry.decode(), plan.calls)
    what.push("mended: missing-call-id")
  }
  if (payload === undefined) return entry
  changes.push({ ...at(entry), entryId: id, what: what.join("; ") })
  return isSetAside ? SessionEntry.make({ ...payload, type: "custom" }, entry) : entry.rewrite(payload)
}

/** What a compaction keeps, where it cannot be told or lacks a call. */
const keepWhole = (
  index: number,
  id: string,
  { entries, links, pairs, tools, reattached }: Plan,
  set: (members: JsonObject, why: string) => void
): void => {
  const named = links.targets.get(index)
  const target = named === undefined || !tools.orphans.has(named) ? named : keptAfter(named, index, reattached)
  if (target !== undefined && target !== named) {
    set({ firstKeptEntryId: idValueAt({ entries, links }, target) }, "what it kept first is set aside")
  }
  const lookup = { entries, indexOf: () => target }
  const fault = compactionFault(entries[index]!, index, lookup, pairs)
  if (fault === undefined) return
  const isItself = fault.keepFrom === ROOT
  const keepFrom = isItself ? id : links.ids[fault.keepFrom]!
  set(
    { firstKeptEntryId: isItself ? id : idValueAt({ entries, links }, fault.keepFrom) },
    `it keeps what is from entry ${JSON.stringify(keepFrom)} on`
  )
}

/** Where what a compaction kept begins without the orphaned result that was the first of it. */
const keptAfter = (orphan: number, index: number, reattached: Forest): number => {
  let first = index
  for (const at of reattached.up(reattached.parents[index]!)) {
    if (at === reattached.parents[orphan]) break
    first = at
  }
  return first
}
