/** The sums of a report. */
import * as Schema from "effect/Schema"
import { type DropCounts, sum } from "@pi-sessions/samples/DropCounts"
import { type ExtractReport, REPORT_KIND, ReportRow, type Tokens, type Volume } from "../ExtractReport.ts"
import { type FormatName } from "@pi-sessions/formats/FormatName"
import { type TrainingSample } from "@pi-sessions/samples/TrainingSample"
import { costOf, tokensOf } from "@pi-sessions/samples/Turn"

/** How often each name occurs, by name. */
export const count = (names: ReadonlyArray<string>): DropCounts => sum(names.map((name) => ({ [name]: 1 })))

const NO_TOKENS: Tokens = { input: 0, output: 0, cache_read: 0, cache_write: 0, total: 0 }

const addTokens = (a: Tokens, b: Tokens): Tokens => ({
  input: a.input + b.input,
  output: a.output + b.output,
  cache_read: a.cache_read + b.cache_read,
  cache_write: a.cache_write + b.cache_write,
  total: a.total + b.total
})

/** The volume of one sample, without the damage of its session. */
export const volume = (sample: TrainingSample, dropped: DropCounts, redacted: DropCounts): Volume => {
  const { first_target, metadata, turns } = sample
  const usages = turns.slice(first_target).flatMap((turn) => turn.metadata.usage ?? [])
  return {
    samples: 1,
    exact: metadata.context === "exact" ? 1 : 0,
    tools: { [metadata.tools_source]: 1 },
    targets: metadata.targets,
    turns: turns.length,
    tool_calls: turns.reduce((calls, turn) => calls + turn.tool_calls.length, 0),
    tokens: usages
      .map((usage) => ({
        input: usage.input ?? 0,
        output: usage.output ?? 0,
        cache_read: usage.cache_read ?? 0,
        cache_write: usage.cache_write ?? 0,
        total: tokensOf(usage)
      }))
      .reduce(addTokens, NO_TOKENS),
    cost: usages.reduce((cost, usage) => cost + costOf(usage), 0),
    redacted,
    dropped,
    diagnostics: 0
  }
}

/** The sum of volumes. */
export const sumVolumes = (volumes: ReadonlyArray<Volume>): Volume => {
  const total = (number: (volume: Volume) => number): number => volumes.reduce((all, one) => all + number(one), 0)
  return {
    samples: total((one) => one.samples),
    exact: total((one) => one.exact),
    tools: sum(volumes.map((one) => one.tools ?? {})),
    targets: total((one) => one.targets),
    turns: total((one) => one.turns),
    tool_calls: total((one) => one.tool_calls),
    tokens: volumes.map((one) => one.tokens).reduce(addTokens, NO_TOKENS),
    cost: total((one) => one.cost),
    redacted: sum(volumes.map((one) => one.redacted)),
    dropped: sum(volumes.map((one) => one.dropped)),
    diagnostics: total((one) => one.diagnostics)
  }
}

const inOrder = Schema.decodeSync(ReportRow)

const NO_SESSION = new Set<ReportRow["outcome"]>(["not_a_session", "unreadable"])

/** The report of an operation, from its rows in any order. */
export const report = (
  run: { readonly format: FormatName; readonly rigs: ReadonlyArray<string>; readonly roles: ReadonlyArray<string> },
  { families, skipped }: Pick<ExtractReport, "families" | "skipped">,
  rows: ReadonlyArray<ReportRow>,
  { is_redacted, outputs }: Pick<ExtractReport, "outputs" | "is_redacted">
): ExtractReport => {
  const outcomes = rows.map((row) => row.outcome)
  const sessions = outcomes.filter((outcome) => !NO_SESSION.has(outcome))
  const kept = sessions.filter((outcome) => outcome === "kept")
  const total = sumVolumes(rows.flatMap((row) => row.volume ?? []))
  const samplesDropped = sum(rows.map((row) => row.samples_dropped ?? {}))
  const droppedCount = Object.values(samplesDropped).reduce((all, one) => all + one, 0)
  return {
    kind: REPORT_KIND,
    format: run.format,
    rigs: run.rigs,
    roles: run.roles,
    sessions: {
      found: sessions.length,
      kept: kept.length,
      dropped: count(sessions.filter((outcome) => outcome !== "kept"))
    },
    files: {
      not_a_session: outcomes.filter((outcome) => outcome === "not_a_session").length,
      unreadable: outcomes.filter((outcome) => outcome === "unreadable").length
    },
    families,
    is_redacted,
    samples: { found: total.samples + droppedCount, kept: total.samples, dropped: samplesDropped },
    skipped,
    total,
    outputs,
    // Rows from files have their fields in another order than new ones.
    rows: rows.map((row) => inOrder(row)).sort((a, b) => (a.path < b.path ? -1 : 1))
  }
}
