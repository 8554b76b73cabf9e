/** Findings: ranges of a text that redaction replaces. */

/** A range to replace, in UTF-16 units. */
export interface Finding {
  readonly start: number
  readonly end: number
  readonly rule: string
  /** Lower ranks are more specific. */
  readonly rank: number
  /** The number of the placeholder is computed from this. */
  readonly value: string
}

/** Finds something at keywords, which are as those of a rule. `start` is where the keyword begins. */
export interface KeywordFinder {
  readonly keywords: ReadonlyArray<string>
  readonly find: (text: string, start: number) => Finding | undefined
}

/** Sorts findings and merges overlapping ones; the rule with the lowest rank names the result. */
export const merged = (findings: Array<Finding>): ReadonlyArray<Finding> => {
  findings.sort((a, b) => a.start - b.start || b.end - a.end || a.rank - b.rank)
  const all: Array<Finding> = []
  for (const finding of findings) {
    const last = all.at(-1)
    if (last === undefined || finding.start >= last.end) {
      all.push(finding)
      continue
    }
    const { rank, rule, value } = finding.rank < last.rank ? finding : last
    all[all.length - 1] = { start: last.start, end: Math.max(last.end, finding.end), rule, rank, value }
  }
  return all
}
