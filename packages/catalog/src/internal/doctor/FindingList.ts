/** Collects findings. Keeps the first 1,000 of each kind and counts the others, since every line may have one. */
import type { Finding } from "../../SessionFinding.ts"

/** Number of findings of one kind that are kept. */
export const KEPT = 1000

interface Group {
  readonly kept: Array<{ readonly finding: Finding; readonly order: number }>
  more: number
  lastLine: number
}

export class FindingList {
  #order = 0
  /** By code, severity, and whether a repair exists, as reports count them. */
  readonly #groups = new Map<string, Group>()

  push(finding: Finding): void {
    const { code, line, mend, severity } = finding
    const kind = `${code} ${severity} ${mend === null}`
    const group = this.#groups.get(kind)
    if (group === undefined)
      this.#groups.set(kind, { kept: [{ finding, order: this.#order++ }], more: 0, lastLine: line })
    else if (group.kept.length < KEPT) group.kept.push({ finding, order: this.#order++ })
    else {
      group.more++
      group.lastLine = Math.max(group.lastLine, line)
    }
  }

  /** The kept findings in file order. */
  inFileOrder(): ReadonlyArray<Finding> {
    const all: Array<Group["kept"][number]> = []
    for (const { kept, lastLine, more } of this.#groups.values()) {
      for (const [at, { finding, order }] of kept.entries()) {
        const isLast = more > 0 && at === kept.length - 1
        all.push({ finding: isLast ? { ...finding, more: { count: more, lastLine } } : finding, order })
      }
    }
    all.sort((a, b) => a.finding.byteOffset - b.finding.byteOffset || a.order - b.order)
    return all.map(({ finding }) => finding)
  }
}
