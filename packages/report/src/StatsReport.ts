/**
 * The numbers of many sessions: what they hold, in groups, and what `extract` would make of them. Of the words of a session it
 * holds working directories and the names of rigs and models. It has no time of its own, so the same sessions give the same
 * report.
 *
 * Two counts stand side by side. `sessions` and `groups` are over every entry of every session that was asked for and could
 * be read, also of those that extraction leaves out; `extract` is over what it takes of the same sessions, and equals
 * the report of such a run number for number.
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

/** Sessions of a rig, a role or a project, or the entries of a day or a week. */
export const SessionGroup = Schema.Struct({ name: Schema.String, ...SessionStatistics.SessionCounts.fields })
export type SessionGroup = typeof SessionGroup.Type

/** What each model did, and what was spent on it. A session counts for every model that answered in it. */
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
  /**
   * Sorted by tokens, days and weeks by time. All members add up to those of `sessions`, but for `sessions` itself in the
   * groups of models, days and weeks: a session is in each group that it has a part in.
   */
  groups: Schema.Struct({
    rig: Schema.Array(SessionGroup),
    role: Schema.Array(SessionGroup),
    /** By working directory. */
    project: Schema.Array(SessionGroup),
    model: Schema.Array(ModelGroup),
    /** ISO 8601 weeks and dates in UTC; each entry counts where it was written. */
    week: Schema.Array(SessionGroup),
    day: Schema.Array(SessionGroup)
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
  /** The header's working directory; empty when there is none. */
  readonly cwd: string
  readonly isFork: boolean
  readonly isDamaged: boolean
}

/** The outcomes of sessions that nobody asked for, or that could not be read. */
const NOT_COUNTED: ReadonlySet<ReportRow["outcome"]> = new Set<ReportRow["outcome"]>([
  "not_selected",
  "out_of_time",
  "over_limit",
  "not_a_session",
  "timed_out",
  "out_of_memory",
  "unreadable"
])

/** Whether the session of a row is one to count. */
export const isCounted = ({ outcome, stage }: ReportRow): boolean => !NOT_COUNTED.has(outcome) && stage === undefined

/** How the samples of a run were counted. */
export interface Counting {
  /** None: any number. */
  readonly maxTokens?: number
  /** True unless told. */
  readonly isEstimate?: boolean
}

type Groups = Map<string, SessionStatistics.SessionCounts>

const noGroups = (): Groups => new Map()

const addTo = (groups: Groups, name: string, counts: SessionStatistics.SessionCounts): void => {
  const group = groups.get(name)
  groups.set(name, group === undefined ? counts : SessionStatistics.sumSessions([group, counts]))
}

/** Puts sessions and what `extract` reports of them together, one session after another. */
export class StatsTally {
  readonly #models: ReadonlySet<string>
  readonly #groups = { rig: noGroups(), role: noGroups(), project: noGroups(), week: noGroups(), day: noGroups() }
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
    // A session with entries on several days of a week is one session of that week.
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
