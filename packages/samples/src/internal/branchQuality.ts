/** Computes the quality predicates of the branches of runs. */
import { type JsonObject, objectAt } from "@pi-sessions/core/Json"
import { type SessionEntry } from "@pi-sessions/core/SessionLine"
import { type LongTexts } from "@pi-sessions/core/SessionOutline"
import { type SessionTree } from "@pi-sessions/core/SessionTree"
import { type QualityPredicate } from "../QualityPredicate.ts"
import { factsOf, predicatesOf } from "../SessionQuality.ts"
import { type SessionBudget } from "@pi-sessions/core/SessionBudget"
import { type TargetRun } from "../TargetRuns.ts"
import { OPENING_UNITS } from "./corrections.ts"

export interface QualityOptions {
  /** The share of errors above which `error_rate` holds. Default: `MAX_ERROR_RATE`. */
  readonly maxErrorRate?: number | undefined
  /** The long texts of the session, if it is an outline. */
  readonly texts?: LongTexts
  readonly budget?: SessionBudget
}

/**
 * Returns the predicates of a run: those of the whole active branch if the run is on it, else those of its branch up to the
 * last target. Reuses the messages that the runs have decoded.
 */
export const branchQuality = (
  tree: SessionTree,
  runs: ReadonlyArray<TargetRun>,
  { budget, maxErrorRate, texts }: QualityOptions
): ((run: TargetRun) => ReadonlyArray<QualityPredicate>) => {
  const known = new Map<SessionEntry, JsonObject>()
  for (const { messages } of runs) for (const { of } of messages) if (of !== undefined) known.set(of.entry, of.message)
  // Context edits change the messages of runs, but not what was said.
  for (const entry of tree.getEntries()) {
    if (entry.type === "context_edit") known.clear()
  }
  const read =
    texts === undefined
      ? undefined
      : {
          whole: (text: string) => texts.restore(text),
          start: (text: string) => texts.restoreStart(text, OPENING_UNITS)
        }
  const holding = (branch: ReadonlyArray<SessionEntry>) =>
    predicatesOf(
      factsOf(branch, (entry) => known.get(entry) ?? objectAt(entry.decode(), "message"), read, budget),
      maxErrorRate
    )
  const active = tree.getBranch()
  const onActive = new Set(active)
  let ofActive: ReadonlyArray<QualityPredicate> | undefined
  return ({ branch }) => {
    const end = branch.at(-1)
    return end !== undefined && onActive.has(end) ? (ofActive ??= holding(active)) : holding(branch)
  }
}
