/**
 * Statistics of many sessions, in groups, and what `extract` would make of the sessions. From the sessions' content it has
 * only working directories and names of rigs and models. It has no creation time: equal sessions give equal reports.
 *
 * There are two counts. `sessions` and `groups` count every entry of every selected, readable session, including sessions
 * that `extract` skips. `extract` equals the report of a run of `extract` on the same sessions.
 */
import * as Schema from "effect/Schema"
import { DropCounts } from "@pi-sessions/samples/DropCounts"
import { ExtractReport, type ReportRow } from "@pi-sessions/extract/ExtractReport"
import * as Calendar from "./Calendar.ts"
import { NONE } from "./Calendar.ts"
import * as SessionStatistics from "./SessionStatistics.ts"

export const STATS_KIND = "pi-sessions/stats/1"

export const GroupName = Schema.Literals(["rig", "role", "project", "model", "week", "day"])
export type GroupName = typeof GroupName.Type

/** Counts of a rig, role, project, day or week. */
export const SessionGroup = Schema.Struct({ name: Schema.String, ...SessionStatistics.SessionCounts.fields })
export type SessionGroup = typeof SessionGroup.Type

/** Counts of a model. A session counts for every model that answered in it. */
export const ModelGroup = Schema.Struct({ name: Schema.String, ...SessionStatistics.ModelCounts.fields })
export type ModelGroup = typeof ModelGroup.Type

export const Lengths = Schema.Struct({
  /** Samples before a token budget splits them. */
  samples: Schema.Int,
  /** Whether tokens are estimated; false: counted by a model's tokenizer. */
  is_estimate: Schema.Boolean,
  /** Tokens, like the members below. */
  total: Schema.Int,
  median: Schema.Int,
  /** 90th percentile. */
  nine_tenths: Schema.Int,
  longest: Schema.Int,
  /** By powers of two, from the shortest sample to the longest; the first bin has all shorter ones too. */
  histogram: Schema.Array(Schema.Struct({ up_to: Schema.Int, samples: Schema.Int })),
  /** With a budget: the number of samples that fit whole. */
  budget: Schema.optionalKey(Schema.Struct({ max_tokens: Schema.Int, fit: Schema.Int }))
})
export type Lengths = typeof Lengths.Type

export const StatsReport = Schema.Struct({
  kind: Schema.Literal(STATS_KIND),
  /** Over every entry of the selected, readable sessions. */
  sessions: Schema.Struct({
    ...SessionStatistics.SessionCounts.fields,
    /** First and last start of a session, ISO 8601; absent if no session has one. */
    first: Schema.optionalKey(Schema.String),
    last: Schema.optionalKey(Schema.String),
    /** Sessions that are forks. */
    forks: Schema.Int,
    /** Sessions with diagnostics. */
    damaged: Schema.Int
  }),
  /**
   * Sorted by tokens; days and weeks by time. The groups add up to `sessions`, except the number of sessions in the groups
   * of models, days and weeks: one session can be in several of those.
   */
  groups: Schema.Struct({
    rig: Schema.Array(SessionGroup),
    role: Schema.Array(SessionGroup),
    /** By working directory. */
    project: Schema.Array(SessionGroup),
    model: Schema.Array(ModelGroup),
    /** ISO 8601 weeks and dates in UTC; each entry counts at its own time. */
    week: Schema.Array(SessionGroup),
    day: Schema.Array(SessionGroup)
  }),
  lengths: Lengths,
  /** The report of `extract` on the same sessions, without its rows and files. */
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

/** A session that was read, and its row of the extract report. */
export interface CountedSession {
  readonly row: ReportRow
  readonly statistics: SessionStatistics.SessionStatistics
  /** The header's time, ISO 8601; "" if there is none. */
  readonly timestamp: string
  /** The header's working directory; "" if there is none. */
  readonly cwd: string
  readonly isFork: boolean
  readonly isDamaged: boolean
}

/** Outcomes of sessions that were not selected or could not be read. */
const NOT_COUNTED: ReadonlySet<ReportRow["outcome"]> = new Set<ReportRow["outcome"]>([
  "not_selected",
  "out_of_time",
  "over_limit",
  "not_a_session",
  "timed_out",
  "out_of_memory",
  "unreadable"
])

/** Whether the row's session is counted. */
export const isCounted = ({ outcome, stage }: ReportRow): boolean => !NOT_COUNTED.has(outcome) && stage === undefined

/** How tokens of samples were counted. */
export interface Counting {
  /** Default: no budget. */
  readonly maxTokens?: number
  /** Default: true. */
  readonly isEstimate?: boolean
}

type Groups = Map<string, SessionStatistics.SessionCounts>

const noGroups = (): Groups => new Map()

const addTo = (groups: Groups, name: string, counts: SessionStatistics.SessionCounts): void => {
  const group = groups.get(name)
  groups.set(name, group === undefined ? counts : SessionStatistics.sumSessions([group, counts]))
}

/** Adds up sessions one by one, then makes the report. */
export class StatsTally {
  readonly #models: ReadonlySet<string>
  readonly #groups = { rig: noGroups(), role: noGroups(), project: noGroups(), week: noGroups(), day: noGroups() }
  readonly #byModel = new Map<string, SessionStatistics.ModelCounts>()
  #total = SessionStatistics.sumSessions([])
  #first: string | undefined
  #last: string | undefined
  #forks = 0
  #damaged = 0

  /** Models to make groups of. Default: all. */
  constructor(models: ReadonlyArray<string> = []) {
    this.#models = new Set(models)
  }

  add({ cwd, isDamaged, isFork, row, statistics, timestamp }: CountedSession): void {
    const { counts, days, models } = statistics
    this.#total = SessionStatistics.sumSessions([this.#total, counts])
    addTo(this.#groups.rig, row.rig ?? NONE, counts)
    addTo(this.#groups.role, row.role ?? "unknown", counts)
    addTo(this.#groups.project, cwd, counts)
    const weeks = noGroups()
    for (const [day, one] of days) {
      addTo(this.#groups.day, day, one)
      addTo(weeks, Calendar.weekOf(day), one)
    }
    // Entries on several days of a week are still one session of that week.
    for (const [week, one] of weeks) addTo(this.#groups.week, week, { ...one, sessions: 1 })
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

  /** `counting` describes the run that made `extract`. */
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
        project: byTokens(this.#groups.project),
        model: byTokens(this.#byModel),
        week: byName(this.#groups.week),
        day: byName(this.#groups.day)
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

/** Upper end of the histogram's first bin, at least. */
const SHORTEST = 256

export const lengthsOf = (lengths: ReadonlyArray<number>, { isEstimate = true, maxTokens }: Counting = {}): Lengths => {
  const sorted = lengths.toSorted((a, b) => a - b)
  /** The quantile: the smallest length that this share of the samples does not exceed. */
  const quantile = (share: number): number => sorted[Math.ceil(sorted.length * share) - 1] ?? 0
  const counts = new Map<number, number>()
  const longest = quantile(1)
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
    median: quantile(0.5),
    nine_tenths: quantile(0.9),
    longest,
    histogram: [...counts].map(([up_to, samples]) => ({ up_to, samples })),
    ...(maxTokens === undefined
      ? {}
      : { budget: { max_tokens: maxTokens, fit: sorted.filter((length) => length <= maxTokens).length } })
  }
}
