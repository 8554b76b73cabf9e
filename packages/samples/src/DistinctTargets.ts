/**
 * Each pair of context and answer is a target once in a dataset, however many branches, forks and copies of sessions
 * hold it. Elsewhere it is context. An answer that was copied into a fork counts as the same one also where the fork
 * lost what stood before it, as those of Pi 0.78 may: nobody ever sent that shorter context.
 */
import { type LongTexts } from "@pi-sessions/core/SessionOutline"
import { ENTRY_STEPS, type SessionBudget } from "@pi-sessions/core/SessionBudget"
import { TextHash } from "./TextHash.ts"
import { type TrainingSample } from "./TrainingSample.ts"
import { addSpoken } from "./SpokenText.ts"

/** The targets that a dataset holds so far. Forks must come after what they were forked from. */
export class DistinctTargets {
  /** Hashes of a target and all that stands before it, and of a target with the id of its entry. */
  readonly #held: Set<string>
  #newKeys: Array<string> = []

  /** Also those that were told before, by their keys. */
  constructor(held: Iterable<string> = []) {
    this.#held = new Set(held)
  }

  /** Keys of the targets that were taken since this was asked last. */
  newKeys(): ReadonlyArray<string> {
    const keys = this.#newKeys
    this.#newKeys = []
    return keys
  }

  /** Gives up the targets that were taken since `newKeys` was asked last: their session is not in the dataset. */
  forget(): void {
    for (const key of this.#newKeys) this.#held.delete(key)
    this.#newKeys = []
  }

  /**
   * The sample with its targets that are new, which are held from now on; undefined when there is none. `texts` are those
   * that are set aside in it.
   */
  take(sample: TrainingSample, texts?: LongTexts, budget?: SessionBudget): TrainingSample | undefined {
    const { first_target, metadata, turns } = sample
    const hash = new TextHash()
    /** Of new targets, by place. */
    const fresh: Array<readonly [at: number, keys: ReadonlyArray<string>]> = []
    let afterHeld = first_target
    budget?.charge("targets", turns.length * ENTRY_STEPS)
    for (const [at, turn] of turns.entries()) {
      const spoken = new TextHash()
      addSpoken(spoken, turn, texts)
      budget?.charge("targets", spoken.length)
      hash.addAll(spoken)
      // A pair is another one with another answer beside it.
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
    // What stands before a target that is held was a target there too, or may not be one.
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
