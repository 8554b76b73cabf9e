/** Plain text tables: columns as wide as their widest cell, numbers to the right, also where some are left out. */

export type Cell = string | number

const isNumeric = (rows: ReadonlyArray<ReadonlyArray<Cell>>, column: number): boolean =>
  rows.every((row) => typeof row[column] === "number" || row[column] === "")

const shown = (cell: Cell | undefined): string =>
  typeof cell === "number" ? cell.toLocaleString("en-US", { maximumFractionDigits: 4 }) : (cell ?? "")

/** The lines of a table; empty without rows. */
export const render = (
  head: ReadonlyArray<string>,
  rows: ReadonlyArray<ReadonlyArray<Cell>>
): ReadonlyArray<string> => {
  if (rows.length === 0) return []
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => shown(row[column]).length)))
  const line = (cells: ReadonlyArray<Cell>): string =>
    widths
      .map((width, column) =>
        isNumeric(rows, column) ? shown(cells[column]).padStart(width) : shown(cells[column]).padEnd(width)
      )
      .join("  ")
      .trimEnd()
  return [line(head), ...rows.map(line)]
}
