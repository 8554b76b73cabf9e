/** Finds the newest context of a branch that has an answer, in the time of a few passes over the branch. */
import * as EntryId from "@pi-sessions/core/EntryId"
import { type JsonObject, isObject } from "@pi-sessions/core/Json"
import { type PiProfile } from "@pi-sessions/core/PiProfile"
import * as SessionContext from "@pi-sessions/core/SessionContext"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import { type BranchContext } from "../SessionFacts.ts"
import { RangeMinimum } from "./rangeMinimum.ts"

/**
 * Returns the context at the end of the branch. If it has no answer, returns the context before the newest compaction that
 * leaves one, or the first context if there is none.
 */
export const answeredContext = (whole: ReadonlyArray<SessionEntry>, profile: PiProfile): BranchContext => {
  const items = SessionContext.project(whole, profile)
  if (items.some(({ message }) => isAnswer(message))) return { branch: whole, items }
  const end = answeredEnd(whole, profile)
  if (end === undefined) return { branch: whole, items }
  const branch = whole.slice(0, end)
  return { branch, items: SessionContext.project(branch, profile) }
}

const isAnswer = ({ role, stopReason }: JsonObject): boolean =>
  role === "assistant" && stopReason !== "error" && stopReason !== "aborted"

/**
 * The index of the newest compaction before which the context has an answer.
 *
 * The context at a compaction is the range from the entry that the previous compaction kept first, as far as edits leave
 * it. Projecting each range takes quadratic time, so one pass keeps the visible answers.
 */
const answeredEnd = (branch: ReadonlyArray<SessionEntry>, profile: PiProfile): number | undefined => {
  const answers = new VisibleAnswers(branch.length)
  const firstById = new Map<string, number>()
  let found: number | undefined
  let start = 0
  for (const [at, entry] of branch.entries()) {
    if (entry.type === "compaction") {
      if (answers.isAnyFrom(start, at)) found = at
      const kept = EntryId.read(entry.decode()["firstKeptEntryId"])
      start = (kept === null ? undefined : firstById.get(kept)) ?? at
    } else if (entry.type === "context_edit" && profile === "1.5") answers.edit(at, entry)
    if (entry.type === "message" && SessionContext.entryMessages(entry, profile).some(isAnswer)) answers.add(at, entry)
    if (entry.id !== null && !firstById.has(entry.id)) firstById.set(entry.id, at)
  }
  return found
}

/** The answers of a branch, and which of them an edit took out. An edit counts only if it is in the context too. */
class VisibleAnswers {
  /** By index of an answer: the index of the edit that took it out, -1 for none. Infinity: no answer. */
  readonly #takenOutBy: RangeMinimum
  readonly #byId = new Map<string, Array<number>>()
  readonly #edits = new Map<string, number>()

  constructor(length: number) {
    this.#takenOutBy = new RangeMinimum(length)
  }

  add(at: number, { id }: SessionEntry): void {
    this.#takenOutBy.set(at, (id === null ? undefined : this.#edits.get(id)) ?? -1)
    if (id === null) return
    const known = this.#byId.get(id)
    if (known === undefined) this.#byId.set(id, [at])
    else known.push(at)
  }

  edit(at: number, entry: SessionEntry): void {
    const { replacement, targetId } = entry.decode()
    const target = EntryId.read(targetId)
    if (target === null || (replacement !== null && !isObject(replacement))) return
    const by = replacement === null ? at : -1
    this.#edits.set(target, by)
    for (const answer of this.#byId.get(target) ?? []) this.#takenOutBy.set(answer, by)
  }

  isAnyFrom(start: number, end: number): boolean {
    return this.#takenOutBy.of(start, end) < start
  }
}
