/** Which result answers which call, along the branches of a session. */
import { type Forest } from "./Forest.ts"
import { type MessageFacts } from "./messageFacts.ts"

/** In `callOf`: no call. */
export const NO_CALL = -1

export interface ToolLinks {
  /** By index of the result's entry: index of the assistant's entry whose call it answers. */
  readonly callOf: Int32Array
  /** Results that Pi would send without a call. */
  readonly orphans: ReadonlyMap<number, "orphan-result" | "failed-turn-result">
  /** Calls that no result answers on any branch, by the assistant's entry. */
  readonly unanswered: ReadonlyMap<number, ReadonlyArray<string>>
}

export const match = (facts: ReadonlyArray<MessageFacts | undefined>, forest: Forest): ToolLinks => {
  const callers = new Map<string, Array<number>>()
  const unanswered = new Map<number, Array<string>>()
  for (const [index, fact] of facts.entries()) {
    if (fact === undefined || fact.calls.length === 0) continue
    for (const id of fact.calls) {
      const known = callers.get(id)
      if (known === undefined) callers.set(id, [index])
      else if (known.at(-1) !== index) known.push(index)
    }
    if (!fact.failed) unanswered.set(index, [...fact.calls])
  }
  const callOf = new Int32Array(facts.length).fill(NO_CALL)
  const orphans = new Map<number, "orphan-result" | "failed-turn-result">()
  for (const [index, fact] of facts.entries()) {
    if (fact?.resultOf === undefined) continue
    const id = fact.resultOf
    const above = id === null ? undefined : nearest(callers.get(id) ?? [], index, forest)
    if (id === null || above === undefined) {
      orphans.set(index, "orphan-result")
      continue
    }
    callOf[index] = above
    if (facts[above]?.failed === true) orphans.set(index, "failed-turn-result")
    const open = unanswered.get(above)
    const at = open?.indexOf(id) ?? -1
    if (open === undefined || at < 0) continue
    open.splice(at, 1)
    if (open.length === 0) unanswered.delete(above)
  }
  return { callOf, orphans, unanswered }
}

/** The last of the callers, in file order, that stands above an entry; most often it is the one before it. */
const nearest = (callers: ReadonlyArray<number>, below: number, forest: Forest): number | undefined => {
  let low = 0
  for (let high = callers.length; low < high;) {
    const middle = (low + high) >>> 1
    if (callers[middle]! < below) low = middle + 1
    else high = middle
  }
  for (let at = low - 1; at >= 0; at--) if (forest.isAncestor(callers[at]!, below)) return callers[at]
  for (let at = low; at < callers.length; at++) if (forest.isAncestor(callers[at]!, below)) return callers[at]
  return undefined
}
