/** Groups consecutive turns of one side, for formats in which the sides alternate. */
import { type DropTally } from "@pi-sessions/samples/DropCounts"
import { type TrainingSample } from "@pi-sessions/samples/TrainingSample"
import { type ToolCall, type Turn } from "@pi-sessions/samples/Turn"

/** Consecutive turns of one side. Of assistant turns, all are targets or none is. */
export interface TurnGroup {
  readonly role: "user" | "assistant"
  /** True of assistant turns only. */
  readonly isTarget: boolean
  readonly turns: Array<Turn>
}

/** The turns in groups, without the system turn. */
export const groupsOf = ({ first_target, turns }: TrainingSample): Array<TurnGroup> => {
  const groups: Array<TurnGroup> = []
  for (const [at, turn] of turns.entries()) {
    if (turn.role === "system") continue
    const isTarget = turn.role === "assistant" && at >= first_target
    const last = groups.at(-1)
    if (last?.role === turn.role && last.isTarget === isTarget) last.turns.push(turn)
    else groups.push({ role: turn.role, isTarget, turns: [turn] })
  }
  return groups
}

export const resultsOf = (group: TurnGroup) => group.turns.flatMap((turn) => turn.tool_results)
export const callsOf = (group: TurnGroup) => group.turns.flatMap((turn) => turn.tool_calls)
export const textsOf = (group: TurnGroup) =>
  group.turns.flatMap((turn) => (turn.content.trim() === "" ? [] : [turn.content]))

/** The results in a group, in the order of their calls. */
export const answersTo = (calls: ReadonlyArray<ToolCall>, group: TurnGroup) => {
  const results = resultsOf(group)
  return calls.flatMap((call) => results.filter((result) => result.tool_call_id === call.id))
}

/** Removes the groups after the last answer and counts them. */
export const dropTrailing = (groups: Array<TurnGroup>, dropped: DropTally): void => {
  const last = groups.at(-1)
  if (last?.role !== "user") return
  groups.pop()
  dropped.add("trailing_message", resultsOf(last).length + textsOf(last).length)
}

const MARKS = /<\/?(?:think|tool_call)>/u

/** Whether a text contains the marks of thinking or calls. */
export const holdsMarks = (text: string): boolean => MARKS.test(text)

/** The thinking of a group as LLaMA-Factory and ms-swift expect it before the text; empty if there is none. */
export const thinkingOf = (group: TurnGroup, dropped: DropTally): string => {
  const thoughts = group.turns.flatMap((turn) => turn.metadata.reasoning ?? [])
  const kept = thoughts.filter((thought) => !holdsMarks(thought))
  dropped.add("reasoning_with_marks", thoughts.length - kept.length)
  return kept.length === 0 ? "" : `<think>\n${kept.join("\n\n")}\n</think>\n\n`
}

/** JSON with the `<` of such marks escaped. */
export const withoutMarks = (json: string): string => json.replaceAll(/<(?=\/?(?:think|tool_call)>)/gu, "\\u003c")
