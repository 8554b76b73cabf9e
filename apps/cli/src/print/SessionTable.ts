/** The table of `list`. Widths are those of terminal columns, for names in any script. */
import * as TerminalText from "@pi-sessions/report/TerminalText"
import { type ColumnName } from "../commands/list/ColumnName.ts"
import { type ListedSession } from "../commands/list/ListedSession.ts"
import * as LocalTime from "./LocalTime.ts"
import { type Layout, pathText } from "./ResultPrinter.ts"

const GAP = "  "
/** Smallest width of a column that is cut. */
const NARROWEST = 8

/** Columns to cut if lines must fit, in this order. Of paths the end is kept. */
const CUTS: ReadonlyArray<{ readonly column: ColumnName; readonly keeps: "beginning" | "end" }> = [
  { column: "path", keeps: "end" },
  { column: "parent", keeps: "end" },
  { column: "cwd", keeps: "end" },
  { column: "name", keeps: "beginning" }
]

const TO_THE_RIGHT: ReadonlySet<string> = new Set(["size", "messages", "version"])

const UNITS = ["B", "kB", "MB", "GB", "TB"]

/** A size with at most three digits. */
export const sizeOf = (bytes: number): string => {
  let value = bytes
  let unit = 0
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000
    unit++
  }
  return `${unit === 0 || value >= 9.95 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`
}

/** The text of a cell; "" if the fact is unknown. */
export const cellOf = (column: ColumnName, listed: ListedSession, ids: ReadonlyMap<string, string>): string => {
  const { messages, name, role, session } = listed
  switch (column) {
    case "id":
      return ids.get(session.id) ?? session.id
    case "modified":
      return LocalTime.minutes(session.modifiedMs)
    case "started": {
      const started = new Date(session.timestamp).getTime()
      return Number.isNaN(started) ? session.timestamp : LocalTime.minutes(started)
    }
    case "size":
      return sizeOf(session.sizeBytes)
    case "messages":
      return messages === undefined ? "" : String(messages)
    case "name":
      return name ?? ""
    case "cwd":
      return session.cwd
    case "rig":
      return role?.rig ?? ""
    case "role":
      return role === undefined || role.role === "unknown" ? "" : [role.role, role.name].filter(Boolean).join(" ")
    case "format":
      return session.format
    case "version":
      return session.version === undefined ? "" : String(session.version)
    case "parent":
      return session.parentSession ?? ""
    case "path":
      return session.path
  }
}

const cut = (text: string, columns: number, keeps: "beginning" | "end"): string =>
  keeps === "end" ? TerminalText.cutFront(text, columns) : TerminalText.cut(text, columns)

/** The path of a file is unchanged in a pipe; in other cells control characters are always escaped. */
const shown = (name: string | undefined, cell: string, layout: Layout): string =>
  name === "path"
    ? pathText(layout, cell)
    : name === "cwd" || name === "parent"
      ? TerminalText.exact(cell)
      : TerminalText.line(cell)

/** The lines of the table, cut to the layout's width where possible. */
export const render = (
  names: ReadonlyArray<string>,
  rows: ReadonlyArray<ReadonlyArray<string>>,
  layout: Layout
): ReadonlyArray<string> => {
  const { columns } = layout
  const cells = rows.map((row) => row.map((cell, at) => shown(names[at], cell, layout)))
  const widths = names.map((name, at) =>
    cells.reduce((widest, row) => Math.max(widest, TerminalText.width(row[at] ?? "")), name.length)
  )
  const keeps = new Map<number, "beginning" | "end">()
  let over = columns === undefined ? 0 : widths.reduce((sum, one) => sum + one + GAP.length, -GAP.length) - columns
  for (const { column, keeps: part } of CUTS) {
    const at = names.indexOf(column)
    const wide = widths[at]
    if (wide === undefined || over <= 0) continue
    const left = Math.max(Math.min(NARROWEST, wide), wide - over)
    over -= wide - left
    widths[at] = left
    keeps.set(at, part)
  }
  const line = (row: ReadonlyArray<string>): string =>
    names
      .map((name, at) => {
        const part = keeps.get(at)
        const text = part === undefined ? (row[at] ?? "") : cut(row[at] ?? "", widths[at] ?? 0, part)
        const space = " ".repeat(Math.max(0, (widths[at] ?? 0) - TerminalText.width(text)))
        return TO_THE_RIGHT.has(name) ? space + text : text + space
      })
      .join(GAP)
      .trimEnd()
  return [line(names), ...cells.map(line)]
}
