/** Histograms with bins of equal width in the logarithm, because lengths of samples span orders of magnitude. */
import { type Histogram } from "../ViewModel.ts"

const BINS = 24

export const histogram = (values: ReadonlyArray<number>): Histogram => {
  const ordered = values.toSorted((a, b) => a - b)
  const least = Math.max(1, ordered[0] ?? 1)
  const most = ordered.at(-1) ?? 1
  const bins = most > least ? BINS : 1
  const step = Math.log((most + 1) / least) / bins
  const borders = Array.from({ length: bins + 1 }, (_, at) => least * Math.exp(step * at))
  const counts = Array.from({ length: bins }, () => 0)
  for (const value of ordered) {
    const at = Math.min(bins - 1, Math.max(0, Math.floor(Math.log(Math.max(least, value) / least) / step)))
    counts[at] = (counts[at] ?? 0) + 1
  }
  return { borders, counts, median: ordered[Math.floor(ordered.length / 2)] ?? 0, most }
}
