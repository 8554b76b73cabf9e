/** What holds of the branch that a run of targets stands on. */
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
  /** The share of errors above which `error_rate` holds; see SessionQuality.ts. */
  readonly maxErrorRate?: number | undefined
  /** Those that are set aside in the session. */
  readonly texts?: LongTexts
  readonly budget?: SessionBudget
}

/**
 * The predicates for each run: of the session's branch, whole, where the run stands on it, else of the branch up to the
 * run's last target. What the runs have decoded is not decoded again.
 */
export const branchQuality = (
  tree: SessionTree,
  runs: ReadonlyArray<TargetRun>,
  { budget, maxErrorRate, texts }: QualityOptions
): ((run: TargetRun) => ReadonlyArray<QualityPredicate>) => {
  const known = new Map<SessionEntry, JsonObject>()
  for (const { messages } of runs) for (const { of } of messages) if (of !== undefined) known.set(of.entry, of.message)
  // What an edit changed in the context is another message than the one that was said.
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
