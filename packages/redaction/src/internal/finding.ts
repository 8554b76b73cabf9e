/** A place in a text that must go. */
export interface Finding {
  readonly start: number
  readonly end: number
  readonly rule: string
  /** The lower, the more it knows. */
  readonly rank: number
  /** What the placeholder's number is made of. */
  readonly value: string
}

/** Looks where a keyword stands; keywords are as those of a rule. */
export interface KeywordFinder {
  readonly keywords: ReadonlyArray<string>
  readonly find: (text: string, start: number) => Finding | undefined
}

/** Findings in order, those that overlap made into one that covers all of them, under the name that knows the most. */
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
