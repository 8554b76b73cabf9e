/**
 * The numbers of many sessions: what they hold, in groups, and what `extract` would make of them. It holds no text of a
 * session and no time of its own, so the same sessions give the same report.
 *
 * Two counts stand side by side. `sessions` and `groups` are over every entry of every session that was asked for and could
 * be read, also of those that extraction leaves out; `extract` is over what it takes of the same sessions, and equals
 * the report of such a run number for number.
 */
import * as Schema from "effect/Schema"
import { DropCounts } from "@pi-sessions/extract/DropCounts"
import { ExtractReport, type ReportRow } from "@pi-sessions/extract/ExtractReport"
import * as SessionStatistics from "./SessionStatistics.ts"

export const STATS_KIND = "pi-sessions/stats/1"

export const GroupName = Schema.Literals(["rig", "role", "model", "week"])
export type GroupName = typeof GroupName.Type

/** Sessions of a rig, of a role, or begun in a week. */
export const SessionGroup = Schema.Struct({ name: Schema.String, ...SessionStatistics.SessionCounts.fields })
export type SessionGroup = typeof SessionGroup.Type

/** A session counts for every model that answered in it. */
export const ModelGroup = Schema.Struct({ name: Schema.String, ...SessionStatistics.ModelCounts.fields })
export type ModelGroup = typeof ModelGroup.Type

export const Lengths = Schema.Struct({
  /** Samples before any budget, which a format or `--max-tokens` may cut into several lines. */
  samples: Schema.Int,
  /** Whether tokens are estimated, or those of a model that was given. */
  is_estimate: Schema.Boolean,
  /** Tokens, as all here. */
  total: Schema.Int,
  median: Schema.Int,
  /** Nine of ten are no longer. */
  nine_tenths: Schema.Int,
  longest: Schema.Int,
  /** By powers of two, from the shortest sample to the longest; the first holds all that are shorter too. */
  histogram: Schema.Array(Schema.Struct({ up_to: Schema.Int, samples: Schema.Int })),
  /** Where a budget was given: how many samples fit into it whole. */
  budget: Schema.optionalKey(Schema.Struct({ max_tokens: Schema.Int, fit: Schema.Int }))
})
export type Lengths = typeof Lengths.Type

export const StatsReport = Schema.Struct({
  kind: Schema.Literal(STATS_KIND),
  /** Over every entry of the sessions that were asked for and could be read. */
  sessions: Schema.Struct({
    ...SessionStatistics.SessionCounts.fields,
    /** The earliest and the latest beginning, ISO 8601; absent where no session has one. */
    first: Schema.optionalKey(Schema.String),
    last: Schema.optionalKey(Schema.String),
    /** How many are forks. */
    forks: Schema.Int,
    /** Sessions with damage that the reader noticed. */
    damaged: Schema.Int
  }),
  /** In the order of their tokens, weeks in that of time. */
  groups: Schema.Struct({
    rig: Schema.Array(SessionGroup),
    role: Schema.Array(SessionGroup),
    model: Schema.Array(ModelGroup),
    week: Schema.Array(SessionGroup)
  }),
  lengths: Lengths,
  /** What `extract` reports of the same sessions, without its rows and files. */
  extract: Schema.Struct({
    format: ExtractReport.fields.format,
    sessions: ExtractReport.fields.sessions,
    files: ExtractReport.fields.files,
    families: ExtractReport.fields.families,
    samples: ExtractReport.fields.samples,
    is_redacted: ExtractReport.fields.is_redacted,
    skipped: ExtractReport.fields.skipped,
    total: ExtractReport.fields.total,
    /** Samples by split. */
    splits: DropCounts
  })
})
export type StatsReport = typeof StatsReport.Type

/** A session that was read, and its row of the report. */
export interface CountedSession {
  readonly row: ReportRow
  readonly statistics: SessionStatistics.SessionStatistics
  /** The header's, ISO 8601; empty when there is none. */
  readonly timestamp: string
  readonly isFork: boolean
  readonly isDamaged: boolean
}

const NONE = "(none)"

const DAY_MS = 86_400_000

/** The week of ISO 8601 that a time is in, in UTC: `2026-W08`. */
export const weekOf = (timestamp: string): string => {
  const ms = Date.parse(timestamp)
  if (Number.isNaN(ms)) return NONE
  // A week belongs to the year that its Thursday is in.
  const day = Math.floor(ms / DAY_MS)
  const thursday = day - ((day + 3) % 7) + 3
  const year = new Date(thursday * DAY_MS).getUTCFullYear()
  const week = Math.floor((thursday - Date.UTC(year, 0, 1) / DAY_MS) / 7) + 1
  return `${year}-W${String(week).padStart(2, "0")}`
}

/** The outcomes of sessions that nobody asked for, or that could not be read. */
const NOT_COUNTED: ReadonlySet<ReportRow["outcome"]> = new Set<ReportRow["outcome"]>([
  "not_selected",
  "out_of_time",
  "over_limit",
  "not_a_session",
  "unreadable"
])

/** Whether the session of a row is one to count. */
export const isCounted = ({ outcome }: ReportRow): boolean => !NOT_COUNTED.has(outcome)

/** How the samples of a run were counted. */
export interface Counting {
  /** None: any number. */
  readonly maxTokens?: number
  /** True unless told. */
  readonly isEstimate?: boolean
}

/** Puts sessions and what `extract` reports of them together, one session after another. */
export class StatsTally {
  readonly #models: ReadonlySet<string>
  readonly #groups = {
    rig: new Map<string, SessionStatistics.SessionCounts>(),
    role: new Map<string, SessionStatistics.SessionCounts>(),
    week: new Map<string, SessionStatistics.SessionCounts>()
  }
  readonly #byModel = new Map<string, SessionStatistics.ModelCounts>()
  #total = SessionStatistics.sumSessions([])
  #first: string | undefined
  #last: string | undefined
  #forks = 0
  #damaged = 0

  /** Of which models groups are made; none: of all. */
  constructor(models: ReadonlyArray<string> = []) {
    this.#models = new Set(models)
  }

  add({ isDamaged, isFork, row, statistics, timestamp }: CountedSession): void {
    const { counts, models } = statistics
    this.#total = SessionStatistics.sumSessions([this.#total, counts])
    const names = { rig: row.rig ?? NONE, role: row.role ?? "unknown", week: weekOf(timestamp) }
    for (const by of ["rig", "role", "week"] as const) {
      const group = this.#groups[by].get(names[by])
      this.#groups[by].set(names[by], SessionStatistics.sumSessions(group === undefined ? [counts] : [group, counts]))
    }
    for (const [name, model] of models) {
      if (this.#models.size > 0 && !this.#models.has(name)) continue
      const group = this.#byModel.get(name)
      this.#byModel.set(name, SessionStatistics.sumModels(group === undefined ? [model] : [group, model]))
    }
    if (timestamp !== "") {
      if (this.#first === undefined || timestamp < this.#first) this.#first = timestamp
      if (this.#last === undefined || timestamp > this.#last) this.#last = timestamp
    }
    if (isFork) this.#forks++
    if (isDamaged) this.#damaged++
  }

  /** With the budget that the run of the report had, and how it counted. */
  report(extract: ExtractReport, counting: Counting = {}): StatsReport {
    const { files, families, format, is_redacted, samples, sessions, skipped, total } = extract
    return {
      kind: STATS_KIND,
      sessions: {
        ...this.#total,
        ...(this.#first === undefined ? {} : { first: this.#first }),
        ...(this.#last === undefined ? {} : { last: this.#last }),
        forks: this.#forks,
        damaged: this.#damaged
      },
      groups: {
        rig: byTokens(this.#groups.rig),
        role: byTokens(this.#groups.role),
        model: byTokens(this.#byModel),
        week: byName(this.#groups.week)
      },
      lengths: lengthsOf(
        extract.rows.flatMap(({ lengths }) => lengths ?? []),
        counting
      ),
      extract: {
        format,
        sessions,
        files,
        families,
        samples,
        is_redacted,
        skipped,
        total,
        splits: splitsOf(extract)
      }
    }
  }
}

const byName = <C extends object>(groups: ReadonlyMap<string, C>): ReadonlyArray<C & { readonly name: string }> =>
  [...groups]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, counts]) => ({ name: name === "" ? NONE : name, ...counts }))

const byTokens = <C extends SessionStatistics.ModelCounts>(groups: ReadonlyMap<string, C>) =>
  byName(groups).toSorted((a, b) => b.usage.total - a.usage.total || b.answers - a.answers)

const splitsOf = ({ rows }: ExtractReport): DropCounts => {
  const splits: { [split: string]: number } = {}
  for (const { split, volume } of rows) {
    if (split !== undefined) splits[split] = (splits[split] ?? 0) + (volume?.samples ?? 0)
  }
  return splits
}

/** Shorter ones are told together. */
const SHORTEST = 256

export const lengthsOf = (lengths: ReadonlyArray<number>, { isEstimate = true, maxTokens }: Counting = {}): Lengths => {
  const sorted = lengths.toSorted((a, b) => a - b)
  /** The smallest length that so great a share of the samples does not exceed. */
  const at = (share: number): number => sorted[Math.ceil(sorted.length * share) - 1] ?? 0
  const counts = new Map<number, number>()
  const longest = at(1)
  const upToOf = (length: number): number => Math.max(SHORTEST, 2 ** Math.ceil(Math.log2(length)))
  for (let upTo = upToOf(sorted[0] ?? 1); sorted.length > 0; upTo *= 2) {
    counts.set(upTo, 0)
    if (upTo >= longest) break
  }
  for (const length of sorted) counts.set(upToOf(length), (counts.get(upToOf(length)) ?? 0) + 1)
  return {
    samples: sorted.length,
    is_estimate: isEstimate,
    total: sorted.reduce((sum, length) => sum + length, 0),
    median: at(0.5),
    nine_tenths: at(0.9),
    longest,
    histogram: [...counts].map(([up_to, samples]) => ({ up_to, samples })),
    ...(maxTokens === undefined
      ? {}
      : { budget: { max_tokens: maxTokens, fit: sorted.filter((length) => length <= maxTokens).length } })
  }
}
