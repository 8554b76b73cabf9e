/** The overview of a dataset: facts and funnel of the report, counts of its lines, its files and sessions. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Stream from "effect/Stream"
import { nameOf } from "@pi-sessions/core/FileName"
import { type ExtractReport, type ReportRow } from "@pi-sessions/extract/ExtractReport"
import { numberText } from "@pi-sessions/report/Counted"
import { type DatasetPage } from "../ViewModel.ts"
import { LineCounts } from "./LineCounts.ts"
import { type ListedSessions, type Redact } from "./ListedSessions.ts"
import { linesOf, readReport } from "./datasetFiles.ts"
import { histogram } from "./histogram.ts"

/** Reads all lines of the dataset. */
export const datasetPage = Effect.fnUntraced(function* (listed: ListedSessions, directory: string) {
  const path = yield* Path.Path
  const report = yield* readReport(directory)
  const text = listed.redact(directory, ...report.rows.map((row) => row.path))
  const files = yield* Effect.forEach(report.outputs.files, (file) => fileOf(directory, file))
  const { lines, problems } = yield* countLines(files.map(({ name }) => path.join(directory, name)))
  const redacted = (counts: ReadonlyMap<string, number>) => sorted(counts).map(([name, n]) => [text(name), n] as const)
  return {
    name: path.basename(directory),
    facts: factsOf(report, text),
    files,
    funnel: funnelOf(report),
    tokens: histogram(lines.tokens),
    tools: redacted(lines.tools),
    roles: redacted(lines.roles),
    models: redacted(lines.models),
    days: [...lines.days].sort(([a], [b]) => (a < b ? -1 : 1)),
    redacted: sorted(report.total.redacted),
    dropped: sorted(report.total.dropped),
    sessions: report.rows.map((row) => sessionOf(row, text)),
    problems: [
      ...report.skipped.map(({ path, reason }) => `${path}: ${reason}`),
      ...problems,
      ...(lines.broken > 0 ? [`${lines.broken} lines are no JSON`] : [])
    ].map(text)
  } satisfies DatasetPage
})

/** The report may have absolute paths; the files are in the directory. */
const fileOf = Effect.fnUntraced(function* (directory: string, file: ExtractReport["outputs"]["files"][number]) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const name = nameOf(file.path)
  const size = yield* Effect.option(fs.stat(path.join(directory, name)))
  return {
    name,
    split: file.split,
    samples: file.samples,
    sizeBytes: size._tag === "Some" ? Number(size.value.size) : 0
  }
})

/** Also returns the messages of errors. */
const countLines = Effect.fnUntraced(function* (files: ReadonlyArray<string>) {
  const lines = new LineCounts()
  const problems: Array<string> = []
  for (const file of files) {
    yield* Stream.runForEach(yield* linesOf(file), (line) =>
      Effect.sync(() => (line === "" ? undefined : lines.push(line)))
    ).pipe(Effect.catch((error) => Effect.sync(() => problems.push(error.message))))
  }
  return { lines, problems }
})

const sorted = (counts: ReadonlyMap<string, number> | { readonly [name: string]: number }): Array<[string, number]> =>
  [...(counts instanceof Map ? counts : Object.entries(counts))].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))

/** Samples by the source of their tools. */
const toolsText = (tools: { readonly [source: string]: number }): string =>
  Object.entries(tools)
    .map(([source, count]) => `${source} ${numberText(count)}`)
    .join(", ") || "not told"

const factsOf = (report: ExtractReport, text: Redact): DatasetPage["facts"] => {
  const { total } = report
  return [
    ["format", report.format],
    ...(report.rigs.length === 0 ? [] : ([["rigs", report.rigs.map(text).join(", ")]] as const)),
    ...(report.roles.length === 0 ? [] : ([["roles", report.roles.join(", ")]] as const)),
    ["samples", numberText(total.samples)],
    ["exact contexts", numberText(total.exact)],
    ["tools", toolsText(total.tools ?? {})],
    ["targets", numberText(total.targets)],
    ["turns", numberText(total.turns)],
    ["tool calls", numberText(total.tool_calls)],
    ["tokens the model took", numberText(total.tokens.total)],
    ["cost", `${total.cost.toFixed(2)} US dollars`],
    ["families", `${numberText(report.families.found)}, the largest of ${numberText(report.families.largest)}`],
    ["redacted", report.is_redacted ? "yes" : "no: secrets and names are in it"]
  ]
}

const funnelOf = ({ files, samples, sessions }: ExtractReport): DatasetPage["funnel"] => [
  {
    name: "files",
    count: sessions.found + files.not_a_session + files.unreadable,
    dropped: sorted(files).filter(([, count]) => count > 0)
  },
  { name: "sessions", count: sessions.found, dropped: sorted(sessions.dropped) },
  { name: "sessions kept", count: sessions.kept, dropped: [] },
  { name: "samples", count: samples.found, dropped: sorted(samples.dropped) },
  { name: "samples kept", count: samples.kept, dropped: [] }
]

const sessionOf = (row: ReportRow, text: Redact): DatasetPage["sessions"][number] => {
  const { outcome, path, rig, role, session_id = "", split, volume } = row
  return {
    id: session_id,
    path: text(path),
    outcome,
    ...(role === undefined ? {} : { role }),
    ...(rig === undefined ? {} : { rig: text(rig) }),
    ...(split === undefined ? {} : { split }),
    samples: volume?.samples ?? 0,
    targets: volume?.targets ?? 0
  }
}
