/** Aligns the entries of a session with the turns of a sample. */
import type * as ViewModel from "../../../src/ViewModel.ts"

/** A line of the two columns. */
export interface Line {
  /** Undefined for a turn that does not come from an entry. */
  readonly entry: number | undefined
  /** Undefined for an entry that is not in the sample. */
  readonly turn: ViewModel.SampleTurn | undefined
  readonly fate: ViewModel.EntryFate | undefined
  /** The turn is on an earlier line too. */
  readonly isMore: boolean
}

/** First the turns without entries, then all entries in order. */
export const linesOf = (page: ViewModel.SamplesPage, sample: ViewModel.SampleView | undefined): ReadonlyArray<Line> => {
  const turns = sample?.turns ?? []
  const turnOf = new Map(turns.flatMap((turn) => turn.entries.map((entry) => [entry, turn] as const)))
  const fates = new Map(page.fates.map((fate) => [fate.entry, fate]))
  const lines: Array<Line> = turns
    .filter(({ entries }) => entries.length === 0)
    .map((turn) => ({ entry: undefined, turn, fate: undefined, isMore: false }))
  const seen = new Set<ViewModel.SampleTurn>()
  for (const entry of [...new Set([...fates.keys(), ...turnOf.keys()])].sort((a, b) => a - b)) {
    const turn = turnOf.get(entry)
    lines.push({ entry, turn, fate: fates.get(entry), isMore: turn !== undefined && seen.has(turn) })
    if (turn !== undefined) seen.add(turn)
  }
  return lines
}
