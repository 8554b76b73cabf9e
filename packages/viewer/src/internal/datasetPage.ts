/** A dataset at a glance: its funnel, what is in it, and its lines. */
import { nameOf } from "@pi-sessions/core/FileName"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { type Json, type JsonObject, isArray, isObject, objectAt, stringAt } from "@pi-sessions/core/Json"
import { ExtractReport, type ReportRow } from "@pi-sessions/extract/ExtractReport"
import { type Redactor } from "@pi-sessions/redaction/Redactor"
import { estimate } from "@pi-sessions/samples/TokenCount"
import { SessionFileError, fromPlatform } from "@pi-sessions/session-file/SessionFileError"
import { type DatasetPage, type Histogram, type SampleLines } from "../ViewModel.ts"

const decodeReport = Schema.decodeUnknownEffect(Schema.fromJsonString(ExtractReport))

const readReport = Effect.fnUntraced(function* (directory: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const file = path.join(directory, "report.json")
  const text = yield* fs.readFileString(file).pipe(Effect.mapError(fromPlatform(file, "read")))
  return yield* decodeReport(text).pipe(
    Effect.mapError(
      ({ message }) =>
        new SessionFileError({ path: file, operation: "read", reason: `no report of extract: ${message}` })
    )
  )
})

/** A report beside shared data names files alone, one of this machine absolute paths: the name is what counts. */

/** What the lines tell, gathered line by line. */
class Lines {
  readonly tokens: Array<number> = []
  readonly tools = new Map<string, number>()
  readonly roles = new Map<string, number>()
  readonly models = new Map<string, number>()
  readonly days = new Map<string, number>()
  broken = 0

  push(line: string): void {
    this.tokens.push(estimate(line))
    let value: Json
    try {
      value = JSON.parse(line)
    } catch {
      this.broken++
      return
    }
    if (!isObject(value)) return
    const metadata = objectAt(value, "metadata") ?? {}
    const count = (counts: Map<string, number>, name: string | undefined): void => {
      if (name !== undefined && name !== "") counts.set(name, (counts.get(name) ?? 0) + 1)
    }
    count(this.roles, stringAt(metadata, "role"))
    count(this.models, stringAt(metadata, "model"))
    count(this.days, /^\d{4}-\d{2}-\d{2}/u.exec(stringAt(metadata, "timestamp") ?? "")?.[0])
    for (const name of calledIn(value)) count(this.tools, name)
  }
}

/** Names of tools that a sample calls, whatever its format calls them. */
function* calledIn(value: Json): Generator<string> {
  const left: Array<Json> = [value]
  while (left.length > 0) {
    const next = left.pop()
    if (isArray(next)) for (const one of next) left.push(one)
    if (!isObject(next)) continue
    for (const [key, member] of Object.entries(next)) {
      // Declared tools are not called.
      if (member === undefined || key === "tools" || key === "metadata") continue
      if (key === "tool_calls" && isArray(member)) for (const call of member) yield* nameIn(call)
      else if (isArray(member) || isObject(member)) left.push(member)
    }
  }
}

function* nameIn(call: Json): Generator<string> {
  if (!isObject(call)) return
  const name = stringAt(objectAt(call, "function") ?? call, "name")
  if (name !== undefined) yield name
}

const linesOf = Effect.fnUntraced(function* (file: string) {
  const fs = yield* FileSystem.FileSystem
  return fs
    .stream(file, { chunkSize: 1 << 20 })
    .pipe(Stream.decodeText, Stream.splitLines, Stream.mapError(fromPlatform(file, "read")))
})

const sorted = (counts: ReadonlyMap<string, number> | { readonly [name: string]: number }): Array<[string, number]> =>
  [...(counts instanceof Map ? counts : Object.entries(counts))].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))

export const datasetPage = Effect.fnUntraced(function* (directory: string, redactor: Redactor | undefined) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const report = yield* readReport(directory)
  const texts = redactor?.scope([directory, ...report.rows.map((row) => row.path)])
  const text = (value: string): string => texts?.text(value) ?? value
  const lines = new Lines()
  const problems: Array<string> = report.skipped.map((one) => text(`${one.path}: ${one.reason}`))
  const files: Array<DatasetPage["files"][number]> = []
  for (const file of report.outputs.files) {
    const name = nameOf(file.path)
    const at = path.join(directory, name)
    const size = yield* Effect.option(fs.stat(at))
    files.push({
      name,
      split: file.split,
      samples: file.samples,
      sizeBytes: size._tag === "Some" ? Number(size.value.size) : 0
    })
    const stream = yield* linesOf(at)
    yield* Stream.runForEach(stream, (line) => Effect.sync(() => (line === "" ? undefined : lines.push(line)))).pipe(
      Effect.catch((error) => Effect.sync(() => problems.push(text(error.message))))
    )
  }
  if (lines.broken > 0) problems.push(`${lines.broken} lines are no JSON`)
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
    problems
  } satisfies DatasetPage
})

/** How many samples have their tools from where. */
const toolWords = (tools: { readonly [source: string]: number }): string =>
  Object.entries(tools)
    .map(([source, count]) => `${source} ${count.toLocaleString("en-US")}`)
    .join(", ") || "not told"

const factsOf = (report: ExtractReport, text: (text: string) => string): DatasetPage["facts"] => {
  const number = (value: number): string => value.toLocaleString("en-US")
  const { total } = report
  return [
    ["format", report.format],
    ...(report.rigs.length === 0 ? [] : ([["rigs", report.rigs.map(text).join(", ")]] as const)),
    ...(report.roles.length === 0 ? [] : ([["roles", report.roles.join(", ")]] as const)),
    ["samples", number(total.samples)],
    ["exact contexts", number(total.exact)],
    ["tools", toolWords(total.tools ?? {})],
    ["targets", number(total.targets)],
    ["turns", number(total.turns)],
    ["tool calls", number(total.tool_calls)],
    ["tokens the model took", number(total.tokens.total)],
    ["cost", `${total.cost.toFixed(2)} US dollars`],
    ["families", `${number(report.families.found)}, the largest of ${number(report.families.largest)}`],
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

const sessionOf = (row: ReportRow, text: (text: string) => string): DatasetPage["sessions"][number] => {
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

const BINS = 24

/** Bins of one width in the logarithm: lengths of samples spread over magnitudes. */
export const histogram = (values: ReadonlyArray<number>): Histogram => {
  const ordered = [...values].sort((a, b) => a - b)
  const least = Math.max(1, ordered[0] ?? 1)
  const most = ordered.at(-1) ?? 1
  const bins = most > least ? BINS : 1
  const step = Math.log((most + 1) / least) / bins
  const borders = Array.from({ length: bins + 1 }, (_, at) => least * Math.exp(step * at))
  const counts = Array.from({ length: bins }, () => 0)
  for (const value of ordered) {
    const at = Math.min(bins - 1, Math.max(0, Math.floor(Math.log(Math.max(least, value) / least) / step)))
    counts[at] = (counts[at] ?? 0) + 1
  }
  return { borders, counts, median: ordered[Math.floor(ordered.length / 2)] ?? 0, most }
}

const MOST_LINE = 200_000

/** Lines of a file that the report names; undefined where it names none such. */
export const sampleLines = Effect.fnUntraced(function* (
  directory: string,
  name: string,
  { count, from }: { readonly from: number; readonly count: number },
  redactor: Redactor | undefined
) {
  const path = yield* Path.Path
  const report = yield* readReport(directory)
  const file = report.outputs.files.find((one) => nameOf(one.path) === name)
  if (file === undefined) return undefined
  const lines: Array<SampleLines["lines"][number]> = []
  let number = 0
  const stream = yield* linesOf(path.join(directory, name))
  yield* Stream.runForEachWhile(stream, (line) =>
    Effect.sync(() => {
      number++
      if (number > from && number <= from + count) lines.push({ number, ...shownLine(line, redactor) })
      return number < from + count
    })
  )
  return { total: file.samples, lines } satisfies SampleLines
})

/** A dataset that was written with its secrets is shown without them. */
const shownLine = (line: string, redactor: Redactor | undefined): { readonly json: string; readonly more?: number } => {
  const seen = redactor === undefined ? line : redactedLine(line, redactor)
  return seen.length <= MOST_LINE ? { json: seen } : { json: seen.slice(0, MOST_LINE), more: seen.length - MOST_LINE }
}

const redactedLine = (line: string, redactor: Redactor): string => {
  try {
    const value: JsonObject = JSON.parse(line)
    const metadata = isObject(value) ? (objectAt(value, "metadata") ?? {}) : {}
    const paths = [stringAt(metadata, "cwd") ?? "", stringAt(metadata, "source_path") ?? ""]
    return JSON.stringify(redactor.scope(paths, [line]).json(value))
  } catch {
    return redactor.scope([]).text(line)
  }
}
