/** The numbers of `stats` as Markdown, for a dataset card. */
import { type GroupName, type StatsReport } from "@pi-sessions/report/StatsReport"
import * as TerminalText from "@pi-sessions/report/TerminalText"
import * as StatsColumn from "./StatsColumn.ts"

/** Text without markup. */
const cell = (text: string): string => TerminalText.line(text).replace(/[\\`*_{}[\]<>#|~&]/gu, "\\$&")

function* table(head: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>): Generator<string> {
  yield `| ${head.map(cell).join(" | ")} |`
  yield `| --- |${" ---: |".repeat(head.length - 1)}`
  for (const row of rows) yield `| ${row.map(cell).join(" | ")} |`
  yield ""
}

function* facts(all: ReadonlyArray<readonly [name: string, value: string]>): Generator<string> {
  for (const [name, value] of all) yield `- ${name}: ${cell(value)}`
  yield ""
}

export function* render(report: StatsReport, by: GroupName | undefined): Generator<string> {
  yield "## The sessions"
  yield ""
  yield "Every entry of every branch counted, also of sessions that gave no samples."
  yield ""
  yield* facts(StatsColumn.factsOf(report))
  for (const group of StatsColumn.groupsOf(report, by)) {
    const columns = StatsColumn.columnsOf(group)
    const rows = StatsColumn.rowsOf(report, group).map((row) => [row.name, ...columns.map(({ of }) => of(row))])
    yield* table([group, ...columns.map(({ title }) => title)], rows)
  }
  yield "## The samples"
  yield ""
  yield* table(
    [`as ${report.extract.format}`, "count"],
    StatsColumn.funnelOf(report).map(({ count, name, of }) => [
      of === undefined ? name : `– ${name}`,
      StatsColumn.number(count)
    ])
  )
  yield* facts(StatsColumn.samplesOf(report))
  yield "## Lengths"
  yield ""
  yield `In ${StatsColumn.tokenWords(report)}: ${StatsColumn.lengthWords(report)}.`
  yield ""
  yield* table(
    ["up to", "samples"],
    report.lengths.histogram.map(({ samples, up_to }) => [StatsColumn.number(up_to), StatsColumn.number(samples)])
  )
}
