/**
 * Makes each pair of context and answer a target only once in a dataset, although branches, forks and copies repeat it;
 * elsewhere it is context. An answer copied into a fork is a repetition even if the fork lost entries before it, as forks of
 * Pi 0.78 may, because that shorter context was never sent.
 */
import { type LongTexts } from "@pi-sessions/core/SessionOutline"
import { ENTRY_STEPS, type SessionBudget } from "@pi-sessions/core/SessionBudget"
import { TextHash } from "./TextHash.ts"
import { type TrainingSample } from "./TrainingSample.ts"
import { addSpoken } from "./SpokenText.ts"

/** The targets of a dataset so far. Forks must be added after their originals. */
export class DistinctTargets {
  /** For each target, a hash of it with its context, and a hash of it with its entry id. */
  readonly #held: Set<string>
  #newKeys: Array<string> = []

  /** `held` are keys of earlier targets, from `newKeys`. Default: none. */
  constructor(held: Iterable<string> = []) {
    this.#held = new Set(held)
  }

  /** The keys of targets added since the last call. */
  newKeys(): ReadonlyArray<string> {
    const keys = this.#newKeys
    this.#newKeys = []
    return keys
  }

  /** Removes the targets added since the last `newKeys`, because their session is not in the dataset. */
  forget(): void {
    for (const key of this.#newKeys) this.#held.delete(key)
    this.#newKeys = []
  }

  /**
   * Adds the new targets of a sample and returns it with only these as targets; undefined if there are none. `texts` resolves
   * the long texts of an outline.
   */
  take(sample: TrainingSample, texts?: LongTexts, budget?: SessionBudget): TrainingSample | undefined {
    const { first_target, metadata, turns } = sample
    const hash = new TextHash()
    /** New targets, by index of the turn. */
    const fresh: Array<readonly [at: number, keys: ReadonlyArray<string>]> = []
    let afterHeld = first_target
    budget?.charge("targets", turns.length * ENTRY_STEPS)
    for (const [at, turn] of turns.entries()) {
      const spoken = new TextHash()
      addSpoken(spoken, turn, texts)
      budget?.charge("targets", spoken.length)
      hash.addAll(spoken)
      // The rejected answer is part of a preference pair.
      if (at === turns.length - 1 && sample.rejected !== undefined) addSpoken(hash, sample.rejected, texts)
      if (turn.role !== "assistant" || at < first_target) continue
      const pair = hash.digest()
      const own = new TextHash()
      own.add(turn.uuid)
      own.add(turn.timestamp)
      own.addAll(spoken)
      const entry = own.digest()
      const isCopy = metadata.parent_session !== undefined && sample.rejected === undefined && this.#held.has(entry)
      const keys = [pair, entry]
      if (isCopy || this.#held.has(pair)) afterHeld = at + 1
      else fresh.push([at, keys])
    }
    // Targets before a held one are held too, or may not be targets.
    const taken = fresh.filter(([at]) => at >= afterHeld)
    const [first] = taken
    if (first === undefined) return undefined
    for (const [, keys] of taken) for (const key of keys) this.#hold(key)
    const shared = metadata.targets - taken.length
    if (shared === 0) return sample
    return {
      ...sample,
      first_target: first[0],
      metadata: { ...metadata, targets: taken.length, context_answers: metadata.context_answers + shared }
    }
  }

  #hold(key: string): void {
    if (this.#held.has(key)) return
    this.#held.add(key)
    this.#newKeys.push(key)
  }
}
