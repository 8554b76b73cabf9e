/**
 * Preference pairs: two answers to the same context, where the user went back and asked again. The answer on the active
 * branch is the chosen one.
 *
 * Both answers are complete: neither failed, was aborted or reached a limit. Contexts are equal if the model read the same
 * text, so a prompt typed again counts as the same.
 */
import { TextHash } from "./TextHash.ts"
import { type TrainingSample, answerCounts } from "./TrainingSample.ts"
import { type Turn } from "./Turn.ts"
import { addSpoken } from "./SpokenText.ts"

interface Candidate {
  readonly sample: TrainingSample
  readonly at: number
  readonly turn: Turn
  readonly digest: string
}

const COMPLETE = new Set(["stop", "toolUse"])

const digestOf = (turn: Turn): string => {
  const hash = new TextHash()
  addSpoken(hash, turn)
  return hash.digest()
}

/**
 * Finds the pairs in the samples of one session, which must be cut from all branches. Returns samples that end with the
 * chosen answer and have the rejected one in `rejected`.
 */
export const of = (samples: ReadonlyArray<TrainingSample>): ReadonlyArray<TrainingSample> => {
  const byContext = new Map<string, Array<Candidate>>()
  for (const sample of samples) {
    const context = new TextHash()
    for (const [at, turn] of sample.turns.entries()) {
      if (turn.role === "assistant" && at >= sample.first_target && COMPLETE.has(turn.metadata.stop_reason ?? "")) {
        const key = context.digest()
        const known = byContext.get(key)
        const candidate = { sample, at, turn, digest: digestOf(turn) }
        if (known === undefined) byContext.set(key, [candidate])
        else known.push(candidate)
      }
      addSpoken(context, turn)
    }
  }
  return [...byContext.values()].flatMap(pairsOf)
}

const pairsOf = (candidates: ReadonlyArray<Candidate>): ReadonlyArray<TrainingSample> => {
  const chosen = candidates.find(({ sample }) => sample.metadata.active)
  if (chosen === undefined) return []
  const seen = new Set([chosen.digest])
  return candidates.flatMap((candidate) => {
    if (candidate.sample.metadata.active || seen.has(candidate.digest)) return []
    seen.add(candidate.digest)
    return [pairOf(chosen, candidate.turn)]
  })
}

const pairOf = ({ at, sample }: Candidate, rejected: Turn): TrainingSample => {
  const turns = sample.turns.slice(0, at + 1)
  return { ...sample, turns, first_target: at, rejected, metadata: { ...sample.metadata, ...answerCounts(turns, at) } }
}
