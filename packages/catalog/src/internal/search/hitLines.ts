/** Selects the lines of a text to show for its matches. */
import type { HitLine } from "../../SearchHit.ts"
import type { TextRange } from "../../SearchPattern.ts"

/** Number of lines before and after each match. */
export interface ContextLines {
  readonly before: number
  readonly after: number
}

/** The lines with matches and those around them, each once. `matches` are in order and do not overlap. */
export const hitLines = (
  text: string,
  matches: ReadonlyArray<TextRange>,
  { before, after }: ContextLines
): ReadonlyArray<HitLine> => {
  const starts = [0]
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1)
  const endOf = (line: number): number => {
    const next = starts[line + 1]
    if (next === undefined) return text.length
    return text.charCodeAt(next - 2) === 0x0d && next - 2 >= starts[line]! ? next - 2 : next - 1
  }

  const lines: Array<HitLine> = []
  let line = 0
  let done = 0
  for (const { start, end } of matches) {
    while (starts[line + 1] !== undefined && starts[line + 1]! <= start) line++
    let last = line
    while (starts[last + 1] !== undefined && starts[last + 1]! < end) last++
    const to = Math.min(last + after, starts.length - 1)
    for (let shown = Math.max(done, line - before); shown <= to; shown++) {
      lines.push({ line: shown + 1, offset: starts[shown]!, text: text.slice(starts[shown], endOf(shown)) })
      done = shown + 1
    }
  }
  return lines
}
