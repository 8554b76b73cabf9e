/**
 * The second step of a repair: makes ids unique and lets all parents lead to a root.
 *
 * An id refers to the nearest entry before with this id, else to the nearest after. Entries whose parent is lost follow
 * the entry before the first of them, because the lost entry was there. A cycle is cut at its earliest entry, which
 * then follows the entry before it.
 */
import * as EntryType from "@pi-sessions/core/EntryType"
import * as EntryId from "@pi-sessions/core/EntryId"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import { ROOT } from "../doctor/Forest.ts"

export interface Relinked {
  readonly ids: ReadonlyArray<string>
  readonly parents: Int32Array
  /** Index of the entry that an entry refers to, by index. */
  readonly targets: ReadonlyMap<number, number>
  /** Why an entry gets a new parent, by index. */
  readonly why: ReadonlyMap<number, string>
}

export const relink = (entries: ReadonlyArray<SessionEntry>, sessionId: string): Relinked => {
  const first = new Map<string, number>()
  for (const [index, { id }] of entries.entries()) if (id !== null && !first.has(id)) first.set(id, index)
  const taken = new Set(first.keys())
  const ids: Array<string> = []
  const parents = new Int32Array(entries.length).fill(ROOT)
  const targets = new Map<number, number>()
  const why = new Map<number, string>()
  const latest = new Map<string, number>()
  const substitutes = new Map<string, number>()

  for (const [index, entry] of entries.entries()) {
    const { id, parentId } = entry
    const before = (wanted: string): number | undefined => latest.get(wanted) ?? first.get(wanted)
    const parent = parentId === null ? undefined : before(parentId)
    if (parent !== undefined) parents[index] = parent
    else if (parentId !== null && parentId !== "") {
      const substitute = substitutes.get(parentId) ?? index - 1
      substitutes.set(parentId, substitute)
      parents[index] = substitute
      why.set(index, `its parent ${JSON.stringify(parentId)} is not there`)
    } else if (index > 0 && entries[index - 1]?.id === null && !("parentId" in entry.decode())) {
      // Pi appends such entries after one without an id.
      parents[index] = index - 1
      why.set(index, "it was written after an entry without an id")
    }
    const { reference } = EntryType.of(entry.type)
    const named = reference === undefined ? null : EntryId.read(entry.decode()[reference])
    const target = named === null ? undefined : before(named)
    if (target !== undefined) targets.set(index, target)

    if (id !== null && id !== "" && !latest.has(id)) ids.push(id)
    else {
      const made = EntryId.derive(taken, "doctor", sessionId, id ?? "", String(index), entry.bytes)
      taken.add(made)
      ids.push(made)
    }
    if (id !== null) latest.set(id, index)
  }
  cutCycles(parents, why)
  return { ids, parents, targets, why }
}

const cutCycles = (parents: Int32Array, why: Map<number, string>): void => {
  const walks = new Int32Array(parents.length)
  const cut: Array<number> = []
  for (let start = 0; start < parents.length; start++) {
    let index = start
    while (index !== ROOT && walks[index] === 0) {
      walks[index] = start + 1
      index = parents[index]!
    }
    if (index === ROOT || walks[index] !== start + 1) continue
    let earliest = index
    for (let at = parents[index]!; at !== index; at = parents[at]!) if (at < earliest) earliest = at
    parents[earliest] = ROOT
    cut.push(earliest)
  }
  for (const index of cut) {
    why.set(index, "its parents led back to it")
    let above = index - 1
    while (above !== ROOT && above !== index) above = parents[above]!
    if (above === ROOT) parents[index] = index - 1
  }
}
