/** The numbers of `stats` as text with small bars. Control characters are escaped. */
import { type GroupName, type StatsReport } from "@pi-sessions/report/StatsReport"
import * as TerminalText from "@pi-sessions/report/TerminalText"
import { type Layout, USUAL_COLUMNS, paint } from "./ResultPrinter.ts"
import * as StatsColumn from "./StatsColumn.ts"

const NAME_COLUMNS = 24
const BAR_COLUMNS = 20
/** Shortest bar that is drawn. */
const BAR_LEAST = 4
const GAP = "  "

const EIGHTHS = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"]

/** A bar for a share. A share above 0 is always visible. */
export const bar = (share: number, columns: number): string => {
  const eighths = Math.round(Math.min(1, Math.max(0, share)) * columns * 8)
  const drawn = share > 0 ? Math.max(1, eighths) : 0
  return "█".repeat(Math.floor(drawn / 8)) + (EIGHTHS[drawn % 8] ?? "")
}

export function* render(report: StatsReport, by: GroupName | undefined, layout: Layout): Generator<string> {
  const columns = layout.columns ?? USUAL_COLUMNS
  yield heading("what the sessions hold, every entry of every branch counted", layout, columns)
  yield* facts(StatsColumn.factsOf(report), columns)
  for (const group of StatsColumn.groupsOf(report, by)) {
    yield ""
    yield* table(report, group, layout, columns)
  }
  yield ""
  yield heading(`what extract makes of the same sessions, as ${report.extract.format}`, layout, columns)
  yield* funnel(report, layout, columns)
  yield ""
  yield* facts(StatsColumn.samplesOf(report), columns)
  yield ""
  yield heading(`how long the samples are, in ${StatsColumn.tokenWords(report)}`, layout, columns)
  yield* histogram(report, layout, columns)
}

const heading = (text: string, layout: Layout, columns: number): string =>
  paint(layout, "bold", TerminalText.cut(text, columns))

const FACT_COLUMNS = 12

function* facts(all: ReadonlyArray<readonly [name: string, value: string]>, columns: number): Generator<string> {
  for (const [name, value] of all) {
    let before = name.padEnd(FACT_COLUMNS)
    for (const line of TerminalText.wrap(TerminalText.line(value), columns - FACT_COLUMNS)) {
      yield `${before}${line}`
      before = " ".repeat(FACT_COLUMNS)
    }
  }
}

/** The cells of a row, the first one to the left, the others to the right. */
const lineOf = (cells: ReadonlyArray<string>, widths: ReadonlyArray<number>): string =>
  cells
    .map((cell, at) => {
      const space = " ".repeat(Math.max(0, (widths[at] ?? 0) - TerminalText.width(cell)))
      return at === 0 ? cell + space : space + cell
    })
    .join(GAP)

const widthsOf = (rows: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<number> =>
  (rows[0] ?? []).map((_, at) => rows.reduce((most, row) => Math.max(most, TerminalText.width(row[at] ?? "")), 0))

const totalOf = (widths: ReadonlyArray<number>): number =>
  widths.reduce((sum, width) => sum + width + GAP.length, -GAP.length)

/** A name that fits. Of a path the end is kept. */
const nameCell = (by: GroupName, name: string): string =>
  by === "project"
    ? TerminalText.cutFront(TerminalText.line(name), NAME_COLUMNS)
    : TerminalText.line(name, NAME_COLUMNS)

function* table(report: StatsReport, by: GroupName, layout: Layout, columns: number): Generator<string> {
  const rows = StatsColumn.rowsOf(report, by)
  let shown = StatsColumn.columnsOf(by)
  const cellsOf = () => [
    [`by ${by}`, ...shown.map(({ title }) => title)],
    ...rows.map((row) => [nameCell(by, row.name), ...shown.map(({ of }) => of(row))])
  ]
  for (const column of StatsColumn.OPTIONAL) {
    if (totalOf(widthsOf(cellsOf())) + GAP.length + BAR_LEAST <= columns) break
    shown = shown.filter((one) => one !== column)
  }
  const [head = [], ...body] = cellsOf()
  const widths = widthsOf([head, ...body])
  const room = Math.min(BAR_COLUMNS, columns - totalOf(widths) - GAP.length)
  const most = Math.max(...rows.map(({ usage }) => usage.total))
  yield paint(layout, "bold", TerminalText.cut(lineOf(head, widths), columns))
  for (const [at, cells] of body.entries()) {
    const drawn = room < BAR_LEAST || most === 0 ? "" : bar((rows[at]?.usage.total ?? 0) / most, room)
    const line = TerminalText.cut(lineOf(cells, widths), columns)
    yield drawn === "" ? line.trimEnd() : `${line}${GAP}${paint(layout, "cyan", drawn)}`
  }
}

/** Names, numbers and bars. */
function* bars(
  rows: ReadonlyArray<{ readonly name: string; readonly count: number; readonly share: number }>,
  layout: Layout,
  columns: number
): Generator<string> {
  const cells = rows.map(({ count, name }) => [TerminalText.line(name), StatsColumn.number(count)])
  const widths = widthsOf(cells)
  const room = Math.min(BAR_COLUMNS, columns - totalOf(widths) - GAP.length)
  for (const [at, row] of cells.entries()) {
    const drawn = room < BAR_LEAST ? "" : bar(rows[at]?.share ?? 0, room)
    const line = TerminalText.cut(lineOf(row, widths), columns)
    yield drawn === "" ? line : `${line}${GAP}${paint(layout, "cyan", drawn)}`
  }
}

function* funnel(report: StatsReport, layout: Layout, columns: number): Generator<string> {
  const steps = StatsColumn.funnelOf(report).map(({ count, name, of }) =>
    of === undefined
      ? { name, count, share: count === 0 ? 0 : 1 }
      : { name: `└ ${name}`, count, share: count / Math.max(1, of) }
  )
  yield* bars(steps, layout, columns)
}

function* histogram(report: StatsReport, layout: Layout, columns: number): Generator<string> {
  const { histogram } = report.lengths
  for (const line of TerminalText.wrap(StatsColumn.lengthWords(report), columns)) yield line
  const most = Math.max(1, ...histogram.map(({ samples }) => samples))
  const rows = histogram.map(({ samples, up_to }) => ({
    name: `up to ${StatsColumn.number(up_to).padStart(StatsColumn.number(histogram.at(-1)?.up_to).length)}`,
    count: samples,
    share: samples / most
  }))
  yield* bars(rows, layout, columns)
}
