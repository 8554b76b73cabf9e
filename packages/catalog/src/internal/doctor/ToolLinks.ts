/** Matches tool results with calls along the branches of a session. */
import { type Forest, ROOT } from "./Forest.ts"
import { type MessageFacts, type ToolCall } from "./messageFacts.ts"

/** Value in `callOf` of an entry that answers no call. */
export const NO_CALL = -1

/** A call: the index of the assistant's entry, and its position among the calls there. */
export interface CallPlace {
  readonly entry: number
  readonly position: number
}

export interface ToolLinks {
  /** By index of a result: index of the assistant's entry with its call. */
  readonly callOf: Int32Array
  /** Results that Pi would send without their call. */
  readonly orphans: ReadonlyMap<number, "orphan-result" | "failed-turn-result">
  /** Ids of calls without a result on any branch, by index of the assistant's entry. */
  readonly unanswered: ReadonlyMap<number, ReadonlyArray<string>>
  /** Results that are matched with a call by position, because one of the two lost its id. */
  readonly byPlace: ReadonlyMap<number, CallPlace>
}

type Facts = ReadonlyArray<MessageFacts | undefined>

export const match = (facts: Facts, forest: Forest): ToolLinks => {
  const order = forest.downwards()
  const { callOf, open, orphans } = matchedById(facts, forest, order)
  const byPlace = placed(facts, forest, order, orphans, open)
  for (const [index, { entry, position }] of byPlace) {
    callOf[index] = entry
    orphans.delete(index)
    const id = facts[entry]?.calls[position]?.id ?? null
    if (id !== null) answer(open, entry, id)
  }
  const unanswered = [...open].sort(([a], [b]) => a - b)
  return {
    callOf,
    orphans,
    unanswered: new Map(
      unanswered.map(([index, counts]) => [
        index,
        [...counts].flatMap(([id, count]) => Array.from({ length: count }, () => id))
      ])
    ),
    byPlace
  }
}

/** By index of the assistant's entry: the number of open calls for each id. */
type OpenCalls = Map<number, Map<string, number>>

const matchedById = (facts: Facts, forest: Forest, order: Int32Array) => {
  /** By call id: the callers above the current entry, and some from branches that the walk has left. */
  const callers = new Map<string, Array<number>>()
  const open: OpenCalls = new Map()
  const callOf = new Int32Array(facts.length).fill(NO_CALL)
  const orphans = new Map<number, "orphan-result" | "failed-turn-result">()
  for (const index of order) {
    const fact = facts[index]
    if (fact === undefined) continue
    if (fact.calls.length > 0) {
      const counts = new Map<string, number>()
      for (const { id } of fact.calls) {
        if (id === null) continue
        counts.set(id, (counts.get(id) ?? 0) + 1)
        const known = callers.get(id)
        if (known === undefined) callers.set(id, [index])
        else if (known.at(-1) !== index) known.push(index)
      }
      if (!fact.failed && counts.size > 0) open.set(index, counts)
    }
    const id = fact.resultOf
    if (id === undefined) continue
    const above = id === null ? undefined : nearest(callers.get(id), index, forest)
    if (id === null || above === undefined) {
      orphans.set(index, "orphan-result")
      continue
    }
    callOf[index] = above
    if (facts[above]?.failed === true) orphans.set(index, "failed-turn-result")
    answer(open, above, id)
  }
  return { callOf, open, orphans }
}

/** State of a walk down a branch: the last assistant's entry, and how many of its calls were matched by position. */
interface LastCaller {
  readonly caller: number
  readonly taken: number
}

/**
 * Matches results without a call with the open calls of the turn before them, in order, if one of the two lacks its id
 * and the tool names do not differ.
 */
const placed = (
  facts: Facts,
  forest: Forest,
  order: Int32Array,
  orphans: ReadonlyMap<number, string>,
  unanswered: OpenCalls
): ReadonlyMap<number, CallPlace> => {
  const found = new Map<number, CallPlace>()
  const isLost = facts.some(
    (fact, index) =>
      fact?.calls.some(({ id }) => id === null) === true || (fact?.resultOf === null && orphans.has(index))
  )
  if (!isLost) return found
  const lastCallers: Array<LastCaller | undefined> = Array.from({ length: facts.length })
  const openOf = new Map<number, ReadonlyArray<number>>()
  for (const index of order) {
    const fact = facts[index]
    const parent = forest.parents[index]!
    const above = parent === ROOT ? undefined : lastCallers[parent]
    if (fact === undefined || (fact.calls.length === 0 && fact.resultOf !== undefined)) lastCallers[index] = above
    else if (fact.calls.length > 0 && !fact.failed) lastCallers[index] = { caller: index, taken: 0 }
    if (!orphans.has(index) || above === undefined || fact === undefined) continue
    const { caller, taken } = above
    const calls = facts[caller]?.calls ?? []
    const open = openOf.get(caller) ?? openCalls(calls, unanswered.get(caller))
    openOf.set(caller, open)
    const position = open[taken]
    const call = position === undefined ? undefined : calls[position]
    if (position === undefined || call === undefined || !isPair(fact, call)) continue
    found.set(index, { entry: caller, position })
    lastCallers[index] = { caller, taken: taken + 1 }
  }
  return found
}

const isPair = ({ resultOf, resultOfTool }: MessageFacts, { id, name }: ToolCall): boolean =>
  (resultOf === null || id === null) && (name === undefined || resultOfTool === undefined || name === resultOfTool)

const openCalls = (
  calls: ReadonlyArray<ToolCall>,
  unanswered: ReadonlyMap<string, number> | undefined
): ReadonlyArray<number> =>
  calls.flatMap(({ id }, position) => (id === null || unanswered?.has(id) === true ? [position] : []))

const answer = (unanswered: OpenCalls, caller: number, id: string): void => {
  const open = unanswered.get(caller)
  const count = open?.get(id)
  if (open === undefined || count === undefined) return
  if (count > 1) open.set(id, count - 1)
  else open.delete(id)
  if (open.size === 0) unanswered.delete(caller)
}

/** The nearest caller above an entry. Removes callers on branches that the walk has left for good. */
const nearest = (callers: Array<number> | undefined, below: number, forest: Forest): number | undefined => {
  if (callers === undefined) return undefined
  while (callers.length > 0 && !forest.isAncestor(callers.at(-1)!, below)) callers.pop()
  return callers.at(-1)
}
