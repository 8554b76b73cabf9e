/** The report of `extract` as tables: what was found, kept and dropped, and why. */
import { type DropCounts } from "@pi-sessions/samples/DropCounts"
import { QualityPredicate } from "@pi-sessions/samples/QualityPredicate"
import { type ExtractReport, type ReportRow } from "@pi-sessions/extract/ExtractReport"
import * as Table from "./Table.ts"
import { words } from "./Words.ts"

const REASONS: { readonly [reason: string]: string } = {
  not_selected: "of another rig or role",
  hydrated: "hydrated: its text was not a model's output",
  no_assistant_turn: "without an assistant turn",
  no_pair: "without two answers to one context",
  context_answers: "whose context answers this format would also train on",
  duplicate_targets: "whose answers are targets of other sessions",
  near_duplicate: "that nearly repeat another session",
  bridges_splits: "that connect families of two splits",
  out_of_time: "begun at another time",
  over_limit: "beyond --limit",
  other_model: "of another model",
  too_short: "of too few turns",
  over_budget: "of too many tokens, or of too much work (then a warning names them)",
  timed_out: "that took too long: the next run tries them again",
  out_of_memory: "that ran out of memory: the next run tries them again",
  template_refused: "that the chat template refuses",
  changed_context: "whose context the chat template changes after an answer",
  lost_reasoning: "whose thinking the chat template leaves out later",
  lost_answer: "of which an answer is not found in the rendered text",
  control_token: "that contain a control token of the tokenizer",
  ...Object.fromEntries(
    QualityPredicate.literals.flatMap((name) => [
      [`quality_${name}`, `of which ${name} holds (--refuse)`],
      [`without_${name}`, `of which ${name} does not hold (--require)`]
    ])
  ),
  invalid_sample: "broke the format's rules (a bug: please report it)"
}

const agentOf = (row: ReportRow): string => row.address ?? row.role ?? "unknown"

const byAgent = (report: ExtractReport): ReadonlyArray<ReadonlyArray<Table.Cell>> => {
  const agents = new Map<string, { found: number; rows: Array<ReportRow> }>()
  for (const row of report.rows) {
    if (row.outcome === "not_a_session" || row.outcome === "unreadable") continue
    const agent = agents.get(agentOf(row)) ?? { found: 0, rows: [] }
    agent.found++
    if (row.outcome === "kept") agent.rows.push(row)
    agents.set(agentOf(row), agent)
  }
  return [...agents]
    .sort(([a, m], [b, n]) => n.rows.length - m.rows.length || (a < b ? -1 : 1))
    .map(([agent, { found, rows }]) => {
      const total = (of: (volume: NonNullable<ReportRow["volume"]>) => number): number =>
        rows.reduce((sum, { volume }) => sum + (volume === undefined ? 0 : of(volume)), 0)
      return [
        agent,
        found,
        rows.length,
        total((volume) => volume.samples),
        total((volume) => volume.exact),
        total((volume) => volume.targets),
        total((volume) => volume.turns),
        total((volume) => volume.tool_calls),
        total((volume) => volume.tokens.total),
        total((volume) => volume.cost)
      ]
    })
}

const toolLine = (tools: DropCounts): ReadonlyArray<string> => {
  const counts = Object.entries(tools).map(([source, count]) => `${source} ${count}`)
  return counts.length === 0 ? [] : [`tools of the samples: ${counts.join(", ")}`]
}

/** The table as lines of text. */
export const render = (report: ExtractReport): ReadonlyArray<string> => {
  const { families, sessions, files, samples, total, skipped } = report
  const why = (counts: DropCounts) =>
    Object.entries(counts).map(([reason, count]) => [count, REASONS[reason] ?? reason])
  const lost = why(samples.dropped)
  const left = Object.entries(total.dropped).map(([reason, count]) => [count, words(reason)])
  const taken = Object.entries(total.redacted).map(([rule, count]) => [count, rule])
  return [
    ...Table.render(
      ["agent", "found", "kept", "samples", "exact", "targets", "turns", "tool calls", "tokens", "cost $"],
      byAgent(report)
    ),
    "",
    `sessions: ${sessions.found} found, ${sessions.kept} kept`,
    ...Table.render(["dropped", "why"], why(sessions.dropped)),
    ...(families.largest < 2
      ? []
      : ["", `families of sessions: ${families.found}; the largest has ${families.largest} sessions`]),
    "",
    `samples: ${samples.found} found, ${samples.kept} kept, ${total.exact} of them with exact context`,
    ...toolLine(total.tools ?? {}),
    ...(lost.length === 0 ? [] : Table.render(["dropped", "why"], lost)),
    ...(left.length === 0 ? [] : ["", "left out of the kept sessions:"]),
    ...Table.render(["parts", "what"], left),
    ...(taken.length === 0 ? [] : ["", "taken out as secrets and names:"]),
    ...Table.render(["places", "rule"], taken),
    ...(files.not_a_session === 0 ? [] : ["", `files that are no sessions: ${files.not_a_session}`]),
    ...(files.unreadable + skipped.length === 0
      ? []
      : ["", `files and directories that could not be read: ${files.unreadable + skipped.length}`])
  ]
}
