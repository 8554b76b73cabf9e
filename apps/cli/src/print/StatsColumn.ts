/** The facts and columns of `stats`, for text and Markdown. */
import { type ModelCounts, type SessionCounts } from "@pi-sessions/report/SessionStatistics"
import { type GroupName, type StatsReport } from "@pi-sessions/report/StatsReport"
import { counted, tally, words } from "./Words.ts"

/** A row of a group; rows of models have no counts of sessions. */
export type Row = ModelCounts & Partial<SessionCounts> & { readonly name: string }

export const rowsOf = (report: StatsReport, by: GroupName): ReadonlyArray<Row> => report.groups[by]

export interface Column {
  readonly title: string
  readonly of: (row: Row) => string
}

export const number = (value: number | undefined): string => (value === undefined ? "" : value.toLocaleString("en-US"))

/** Dollars with cents; below one dollar with four decimals. */
export const dollars = (value: number): string => {
  const digits = value === 0 || value >= 1 ? 2 : 4
  return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

/** A share as a percentage; empty if the whole is 0. */
export const percent = (part: number, of: number): string => (of === 0 ? "" : `${((100 * part) / of).toFixed(1)} %`)

const COLUMNS = {
  sessions: { title: "sessions", of: (row) => number(row.sessions) },
  turns: { title: "turns", of: (row) => number(row.turns) },
  answers: { title: "answers", of: (row) => number(row.answers) },
  failed: { title: "failed", of: (row) => number(row.failed_answers) },
  calls: { title: "tool calls", of: (row) => number(row.tool_calls) },
  errors: { title: "errors", of: (row) => percent(row.tool_errors, row.tool_results) },
  branches: { title: "branches", of: (row) => number(row.branches) },
  compactions: { title: "compactions", of: (row) => number(row.compactions) },
  cost: { title: "cost $", of: (row) => dollars(row.usage.cost) },
  tokens: { title: "tokens", of: (row) => number(row.usage.total) }
} satisfies { readonly [name: string]: Column }

const { answers, branches, calls, compactions, cost, errors, failed, sessions, tokens, turns } = COLUMNS

const OF_SESSIONS: ReadonlyArray<Column> = [sessions, turns, calls, errors, branches, compactions, cost, tokens]
const OF_MODELS: ReadonlyArray<Column> = [sessions, answers, failed, calls, errors, cost, tokens]

export const columnsOf = (by: GroupName): ReadonlyArray<Column> => (by === "model" ? OF_MODELS : OF_SESSIONS)

/** Columns to leave out if there is little room, in this order. */
export const OPTIONAL: ReadonlyArray<Column> = [compactions, branches, failed, errors, turns, calls, answers, cost]

/** The groups to print. Days are many and projects are paths, so both are printed only on request. */
export const groupsOf = (report: StatsReport, by: GroupName | undefined): ReadonlyArray<GroupName> =>
  by !== undefined ? [by] : (["rig", "role", "model", "week"] as const).filter((one) => report.groups[one].length > 1)

/** Facts about the sessions, each with its name. */
export const factsOf = ({ sessions }: StatsReport): ReadonlyArray<readonly [name: string, value: string]> => {
  const { copied, copied_cost, damaged, first, forks, last, usage } = sessions
  const day = (time: string): string => time.slice(0, 10)
  const begun =
    first === undefined || last === undefined
      ? ""
      : day(first) === day(last)
        ? `, begun ${day(first)}`
        : `, begun ${day(first)} to ${day(last)}`
  const results = sessions.turns - sessions.user_messages - sessions.answers
  const failed = sessions.failed_answers === 0 ? "" : ` (${number(sessions.failed_answers)} failed)`
  return [
    [
      "sessions",
      [
        `${number(sessions.sessions)}${begun}`,
        ...(forks === 0 ? [] : [counted(forks, "fork")]),
        ...(damaged === 0 ? [] : [`${number(damaged)} damaged`])
      ].join(", ")
    ],
    [
      "entries",
      `${number(sessions.entries)} on ${counted(sessions.branches, "branch", "branches")}, ${counted(sessions.compactions, "compaction")} among them`
    ],
    [
      "turns",
      `${number(sessions.turns)}: ${number(sessions.user_messages)} of users, ${counted(sessions.answers, "answer")}${failed}, ${number(results)} of tool results`
    ],
    [
      "tool calls",
      `${number(sessions.tool_calls)}; of ${counted(sessions.tool_results, "result")} ${counted(sessions.tool_errors, "error")}${sessions.tool_results === 0 ? "" : ` (${percent(sessions.tool_errors, sessions.tool_results)})`}`
    ],
    [
      "tokens",
      `${number(usage.total)}: input ${number(usage.input)}, output ${number(usage.output)}, cache read ${number(usage.cache_read)}, cache write ${number(usage.cache_write)}`
    ],
    ["cost", `$ ${dollars(usage.cost)}`],
    ...(copied === 0
      ? []
      : [
          [
            "copied",
            `${number(copied)} entries that forks copied count in both sessions, and $ ${dollars(copied_cost)} of the cost with them`
          ] as const
        ])
  ]
}

/** A step of the funnel from what was found to what was kept. */
export interface Step {
  readonly name: string
  readonly count: number
  /** The whole that the count is a part of; undefined for the whole. */
  readonly of: number | undefined
}

export const funnelOf = ({ extract }: StatsReport): ReadonlyArray<Step> =>
  [["sessions", extract.sessions] as const, ["samples", extract.samples] as const].flatMap(([what, one]) => [
    { name: `${what} found`, count: one.found, of: undefined },
    { name: "kept", count: one.kept, of: one.found },
    ...Object.entries(one.dropped).map(([reason, count]) => ({ name: words(reason), count, of: one.found }))
  ])

/** Facts about the kept samples, each with its name. */
export const samplesOf = ({ extract }: StatsReport): ReadonlyArray<readonly [name: string, value: string]> => {
  const { families, files, is_redacted, skipped, splits, total } = extract
  const split = tally(splits)
  const dropped = tally(total.dropped)
  const tools = tally(total.tools ?? {})
  const unread = files.unreadable + skipped.length
  return [
    [
      "samples",
      `${number(total.samples)} kept${split === "" ? "" : ` (${split})`}, ${number(total.exact)} with exact context`
    ],
    [
      "to learn",
      `${number(total.targets)} answers of ${number(total.turns)} turns, ${number(total.tool_calls)} tool calls`
    ],
    ...(tools === "" ? [] : [["tools", tools] as const]),
    ["families", `${number(families.found)} of sessions; the largest has ${number(families.largest)}`],
    ...(dropped === "" ? [] : [["left out", `of kept sessions: ${dropped}`] as const]),
    ["redacted", is_redacted ? tally(total.redacted) || "no secrets or names found" : "not redacted (--no-redact)"],
    ...(files.not_a_session + unread === 0
      ? []
      : [["files", `${number(files.not_a_session)} not a session, ${number(unread)} not readable`] as const])
  ]
}

export const tokenWords = ({ lengths }: StatsReport): string =>
  lengths.is_estimate ? "estimated tokens" : "tokens of the model that was given"

/** The lengths of samples as a sentence. */
export const lengthWords = ({ lengths }: StatsReport): string => {
  const { budget, longest, median, nine_tenths, samples } = lengths
  if (samples === 0) return "no samples"
  const fit =
    budget === undefined
      ? ""
      : `; into ${number(budget.max_tokens)} fit ${number(budget.fit)} of them whole (${percent(budget.fit, samples)})`
  return `${number(samples)} ${samples === 1 ? "sample" : "samples"}: half up to ${number(median)}, nine of ten up to ${number(nine_tenths)}, the longest ${number(longest)}${fit}`
}
