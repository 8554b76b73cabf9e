/** The first line that is not blank, and how many come after it; blank lines at the end are none. */
export const firstLine = (text: string): { readonly line: string; readonly moreLines: number } => {
  const whole = text.trim()
  const end = whole.indexOf("\n")
  if (end < 0) return { line: whole, moreLines: 0 }
  let moreLines = 0
  for (let at = end; at >= 0; at = whole.indexOf("\n", at + 1)) moreLines++
  return { line: whole.slice(0, end).trimEnd(), moreLines }
}
