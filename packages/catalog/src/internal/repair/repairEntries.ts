/** The third step of a repair: ids, parents, references, messages, tool calls and compactions of all entries. */
import * as EntryType from "@pi-sessions/core/EntryType"
import { type Json, type JsonObject } from "@pi-sessions/core/Json"
import * as EntryId from "@pi-sessions/core/EntryId"
import { SessionEntry, type SessionLine } from "@pi-sessions/core/SessionLine"
import { type Change, positionOf } from "../../RepairChange.ts"
import { Forest, ROOT } from "../doctor/Forest.ts"
import { KeptPairs } from "../doctor/KeptPairs.ts"
import { type ToolLinks, match } from "../doctor/ToolLinks.ts"
import { compactionFault } from "../doctor/compactionFault.ts"
import { type MessageFacts, type RoleOf, factsOf, roleAmong } from "../doctor/messageFacts.ts"
import { type CallIds, callIds, withCallIds } from "./callIds.ts"
import { mendable, mended } from "./mendedEntry.ts"
import { type Relinked, relink } from "./relink.ts"

/** Type of the custom entry that is added after a last result without its call. */
const REPAIRED_ENTRY_TYPE = "pi-sessions.repaired"

/** The lines with repaired entries. Adds to `changes`. */
export const repairEntries = (
  lines: ReadonlyArray<SessionLine>,
  sessionId: string,
  changes: Array<Change>
): ReadonlyArray<SessionLine> => {
  const entries = lines.filter((line) => line instanceof SessionEntry)
  const links = relink(entries, sessionId)
  const byId = new Map(entries.map((entry) => [entry.id, entry]))
  const roleOf = roleAmong((id) => byId.get(id))
  const facts = entries.map((entry) => factsOf(entry, roleOf))
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
      ...positionOf(lastEntry),
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
  /** Parents after results without calls were moved aside. */
  readonly parents: Int32Array
  readonly tools: ToolLinks
  readonly calls: CallIds
  readonly roleOf: RoleOf
  readonly reattached: Forest
  readonly pairs: KeptPairs
}

/** The nearest ancestor of each entry that is not a result without a call. */
const passingOrphans = (parents: Int32Array, tools: ToolLinks): Int32Array => {
  if (tools.orphans.size === 0) return parents
  const above = parents.slice()
  for (const start of above.keys()) {
    let found = above[start]!
    while (found !== ROOT && tools.orphans.has(found)) found = above[found]!
    // Path compression: the skipped entries now point directly to it.
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

/** The id of an entry as other entries write it. */
const idValueAt = ({ entries, links }: Pick<Plan, "entries" | "links">, index: number): Json | undefined => {
  const id = idAt(links.ids, index)
  return id !== null && entries[index]?.id === id ? entries[index]?.idValue : id
}

/** The repaired entry at an index; the same object if it is sound. */
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
  const { reference } = EntryType.of(entry.type)
  const target = links.targets.get(index)
  if (reference !== undefined && target !== undefined) {
    const named = links.ids[target]!
    // Only if the target has a new id.
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
  changes.push({ ...positionOf(entry), entryId: id, what: what.join("; ") })
  return isSetAside ? SessionEntry.make({ ...payload, type: "custom" }, entry) : entry.rewrite(payload)
}

/** Repairs `firstKeptEntryId` if it names no ancestor, or if a kept result would lose its call. */
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

/** The first kept entry of a compaction after the orphaned result that came first was moved aside. */
const keptAfter = (orphan: number, index: number, reattached: Forest): number => {
  let first = index
  for (const at of reattached.up(reattached.parents[index]!)) {
    if (at === reattached.parents[orphan]) break
    first = at
  }
  return first
}
