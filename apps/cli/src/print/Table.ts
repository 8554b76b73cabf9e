/** Tables as plain text: columns fit their widest cell, and numbers are aligned right. Control characters are escaped. */
import * as TerminalText from "@pi-sessions/report/TerminalText"

export type Cell = string | number

const isNumeric = (rows: ReadonlyArray<ReadonlyArray<Cell>>, column: number): boolean =>
  rows.every((row) => typeof row[column] === "number" || row[column] === "")

const shown = (cell: Cell | undefined): string =>
  typeof cell === "number" ? cell.toLocaleString("en-US", { maximumFractionDigits: 4 }) : TerminalText.exact(cell ?? "")

/** The lines of a table; none without rows. */
export const render = (
  head: ReadonlyArray<string>,
  rows: ReadonlyArray<ReadonlyArray<Cell>>
): ReadonlyArray<string> => {
  if (rows.length === 0) return []
  const columns = head.map((title, column) => {
    const cells = [title, ...rows.map((row) => shown(row[column]))]
    const widths = cells.map(TerminalText.width)
    const most = Math.max(...widths)
    const blanks = widths.map((width) => " ".repeat(most - width))
    return isNumeric(rows, column)
      ? cells.map((cell, at) => `${blanks[at] ?? ""}${cell}`)
      : cells.map((cell, at) => `${cell}${blanks[at] ?? ""}`)
  })
  return Array.from({ length: rows.length + 1 }, (_, at) =>
    columns
      .map((column) => column[at] ?? "")
      .join("  ")
      .trimEnd()
  )
}
