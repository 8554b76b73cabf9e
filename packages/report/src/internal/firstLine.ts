/** The first line that is not blank, and the number of lines after it; trailing blank lines do not count. */
export const firstLine = (text: string): { readonly line: string; readonly moreLines: number } => {
  const whole = text.trim()
  const end = whole.indexOf("\n")
  if (end < 0) return { line: whole, moreLines: 0 }
  let moreLines = 0
  for (let at = end; at >= 0; at = whole.indexOf("\n", at + 1)) moreLines++
  return { line: whole.slice(0, end).trimEnd(), moreLines }
}
