/** The table of `list`, in the columns of a terminal: names may be in any script. */
import * as TerminalText from "@pi-sessions/report/TerminalText"
import { type ColumnName } from "../commands/list/ColumnName.ts"
import { type ListedSession } from "../commands/list/ListedSession.ts"
import * as PointInTime from "../flags/PointInTime.ts"
import { type Layout, pathText } from "./ResultPrinter.ts"

const GAP = "  "
/** Columns are not cut to less. */
const NARROWEST = 8

/** What may be cut where lines must fit, in the order in which it is: from the front where the end says more. */
const CUTS: ReadonlyArray<{ readonly column: ColumnName; readonly keeps: "beginning" | "end" }> = [
  { column: "path", keeps: "end" },
  { column: "parent", keeps: "end" },
  { column: "cwd", keeps: "end" },
  { column: "name", keeps: "beginning" }
]

const TO_THE_RIGHT: ReadonlySet<string> = new Set(["size", "messages", "version"])

const UNITS = ["B", "kB", "MB", "GB", "TB"]

/** Three digits at the most. */
export const sizeOf = (bytes: number): string => {
  let value = bytes
  let unit = 0
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000
    unit++
  }
  return `${unit === 0 || value >= 9.95 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`
}

/** The text in a cell; "" for what is not known. */
export const cellOf = (column: ColumnName, listed: ListedSession, ids: ReadonlyMap<string, string>): string => {
  const { messages, name, role, session } = listed
  switch (column) {
    case "id":
      return ids.get(session.id) ?? session.id
    case "modified":
      return PointInTime.show(session.modifiedMs)
    case "started": {
      const started = new Date(session.timestamp).getTime()
      return Number.isNaN(started) ? session.timestamp : PointInTime.show(started)
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

/** A file's path is what `find` would print; directories that headers name stay as they are but for what steers a terminal. */
const shown = (name: string | undefined, cell: string, layout: Layout): string =>
  name === "path"
    ? pathText(layout, cell)
    : name === "cwd" || name === "parent"
      ? TerminalText.exact(cell)
      : TerminalText.line(cell)

/** The lines of the table. They are made to fit into the layout's columns, as far as columns can be cut. */
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
