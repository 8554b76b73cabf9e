/**
 * What a run found, kept and dropped. It stands as `report.json` beside the samples, under the same snake_case names, and
 * marks the directory as ours. It holds no text of a session and no time, so the same sessions give the same report.
 */
import * as Schema from "effect/Schema"
import * as GasTown from "@pi-sessions/core/GasTown"
import { DropCounts } from "@pi-sessions/samples/DropCounts"
import { FormatName } from "@pi-sessions/formats/FormatName"
import { Unlearnable } from "@pi-sessions/formats/model/LossMask"
import { DatasetFile } from "@pi-sessions/formats/Sample"
import { QUALITY_REFUSALS } from "@pi-sessions/samples/QualityPredicate"
import { Stage } from "@pi-sessions/core/SessionBudget"
import { Split } from "@pi-sessions/formats/Split"

/** Tells a report of ours from any other `report.json`; the number grows when the shape changes. */
export const REPORT_KIND = "pi-sessions/extract-report/2"

/** Why a sample is not in the dataset. */
export const SampleDropReason = Schema.Literals([
  /** `--refuse` names a predicate that holds, or `--require` one that does not; see SessionQuality.ts. */
  ...QUALITY_REFUSALS,
  /** It broke its format's rules: a bug, please report it. */
  "invalid_sample",
  "no_assistant_turn",
  /** `dpo`: nobody asked for another answer to the same context. */
  "no_pair",
  /** The format has no masks, and would train on answers that are context in it. */
  "context_answers",
  /** All its targets are targets of other sessions too, and stand in the dataset already. */
  "duplicate_targets",
  /** `--model` does not take it. */
  "other_model",
  /** It has fewer turns than `--min-turns`. */
  "too_short",
  /**
   * It has more tokens than `--max-tokens`, and could not be made to fit. Of a session whose row has a `stage`: it took more
   * steps or bytes than a session may; see SessionBudget.ts.
   */
  "over_budget",
  /** A tool has a name that the format's trainer does not take. */
  "tool_name",
  /** `lora-forge`: it begins with a system prompt; nobody knows one, nor whose session it is. */
  "no_system_prompt",
  /** `lora-forge`: too little in it, by the rules of its quality filter. */
  "low_quality",
  /** `tokens`: nobody said whose. */
  "no_tokenizer",
  /** `tokens`: an answer cannot be learnt with the model's template; see LossMask.ts. */
  ...Unlearnable.literals,
  /** The format has a rule of its own against duplicates, and a line like it stands in the dataset already. */
  "duplicate_line"
])
export type SampleDropReason = typeof SampleDropReason.Type

/** Why a session gave no sample. */
export const SessionDropReason = Schema.Union([
  SampleDropReason,
  Schema.Literals([
    /** `--rig` or `--role` does not take it. */
    "not_selected",
    /** Begun before `--since`, or at `--until` and later. */
    "out_of_time",
    /** Beyond `--limit`. */
    "over_limit",
    /** Somebody marked the session, or every answer of it, as not to be learnt from. */
    "rejected_mark",
    /** `--marks-only`: nobody accepted the session or an answer of it. */
    "no_accepting_mark",
    /** It says nearly what an earlier session says that it is no fork of. */
    "near_duplicate",
    /** It ties families of two splits together. */
    "bridges_splits",
    /** Made by hydration, so no model wrote it. */
    "hydrated",
    /** A file without a header. */
    "not_a_session",
    /** It was worked on for longer than `--session-timeout`, and stopped. The next run tries it again. */
    "timed_out",
    /** The memory of its thread did not suffice. The next run tries it again. */
    "out_of_memory",
    "unreadable"
  ])
])
export type SessionDropReason = typeof SessionDropReason.Type

export const Tokens = Schema.Struct({
  input: Schema.Number,
  output: Schema.Number,
  cache_read: Schema.Number,
  cache_write: Schema.Number,
  total: Schema.Number
})
export type Tokens = typeof Tokens.Type

/**
 * What the samples of kept sessions hold: turns, and what the model calls that are targets took. All that the sessions took
 * (also answers that are no targets, tools and summaries) is counted by `stats`.
 */
export const Volume = Schema.Struct({
  samples: Schema.Int,
  /** Samples whose turns are what the model was sent. */
  exact: Schema.Int,
  /** Samples by where their tools come from (`ToolsSource`). Older reports do not say. */
  tools: Schema.optionalKey(DropCounts),
  /** Assistant turns that are trained on. */
  targets: Schema.Int,
  turns: Schema.Int,
  tool_calls: Schema.Int,
  tokens: Tokens,
  /** US dollars. */
  cost: Schema.Number,
  /** What was taken out as a secret or a name, by rule. */
  redacted: DropCounts,
  /** Parts of kept sessions that did not come along. */
  dropped: DropCounts,
  /** Damage that the reader noticed. */
  diagnostics: Schema.Int
})
export type Volume = typeof Volume.Type

/** One file that the source listed. */
export const ReportRow = Schema.Struct({
  path: Schema.String,
  outcome: Schema.Union([Schema.Literal("kept"), SessionDropReason]),
  /** Of an unreadable file, an invalid sample, or a session that was stopped: one sentence. */
  detail: Schema.optionalKey(Schema.String),
  /** What was done with the session when it was stopped: at `over_budget`, `timed_out` or `out_of_memory`. */
  stage: Schema.optionalKey(Stage),
  session_id: Schema.optionalKey(Schema.String),
  role: Schema.optionalKey(GasTown.Role),
  rig: Schema.optionalKey(Schema.String),
  address: Schema.optionalKey(Schema.String),
  role_source: Schema.optionalKey(GasTown.RoleSource),
  /** Of the session's bytes, in hex; only of kept sessions. */
  sha256: Schema.optionalKey(Schema.String),
  /** Only of sessions that were assigned to one. */
  split: Schema.optionalKey(Split),
  /** Samples that did not come along, of a session that gave some; by reason. */
  samples_dropped: Schema.optionalKey(DropCounts),
  /** Only of kept sessions. */
  volume: Schema.optionalKey(Volume),
  /** Only where they were asked for: tokens of each sample with targets of its own, before any budget. */
  lengths: Schema.optionalKey(Schema.Array(Schema.Int))
})
export type ReportRow = typeof ReportRow.Type

/** Outcomes that another run of the same sessions may not have: they depend on the time and on the machine. */
const STOPPED = new Set<ReportRow["outcome"]>(["timed_out", "out_of_memory"])

/** Whether work on the session was stopped, and must be tried again. */
export const isStopped = ({ outcome }: Pick<ReportRow, "outcome">): boolean => STOPPED.has(outcome)

/** Whether another run would make the same of an unchanged session. What could not be read may be read then. */
export const isLasting = (row: Pick<ReportRow, "outcome">): boolean => row.outcome !== "unreadable" && !isStopped(row)

export const ExtractReport = Schema.Struct({
  kind: Schema.Literal(REPORT_KIND),
  format: FormatName,
  rigs: Schema.Array(Schema.String),
  roles: Schema.Array(Schema.String),
  sessions: Schema.Struct({
    /** Files with a header. */
    found: Schema.Int,
    kept: Schema.Int,
    /** By `SessionDropReason`. */
    dropped: DropCounts
  }),
  files: Schema.Struct({ not_a_session: Schema.Int, unreadable: Schema.Int }),
  families: Schema.Struct({
    /** Among the sessions that were selected. */
    found: Schema.Int,
    /** How many of those sessions the largest one has. */
    largest: Schema.Int
  }),
  samples: Schema.Struct({
    /** Cut from the sessions that were selected. */
    found: Schema.Int,
    kept: Schema.Int,
    /** By reason, as those of sessions. */
    dropped: DropCounts
  }),
  /** Whether secrets and names were taken out. */
  is_redacted: Schema.Boolean,
  /** Directories and files that could not be looked into. */
  skipped: Schema.Array(Schema.Struct({ path: Schema.String, reason: Schema.String })),
  total: Volume,
  /** Absolute paths. */
  outputs: Schema.Struct({
    /** The first one of the training split. */
    train: Schema.String,
    /** All files with lines, that one among them even when it has none. */
    files: Schema.Array(
      Schema.Struct({
        path: Schema.String,
        samples: Schema.Int,
        split: Split,
        file: DatasetFile,
        /** Where each role has files of its own. */
        role: Schema.optionalKey(GasTown.Role),
        /** Of its bytes, in hex. */
        sha256: Schema.String
      })
    ),
    /** Images, or sessions that stay sessions: within the directory, with `/` between the parts of their names. */
    loose: Schema.optionalKey(Schema.Array(Schema.Struct({ path: Schema.String, sha256: Schema.String }))),
    /** What the format has beside them. */
    sidecars: Schema.optionalKey(Schema.Array(Schema.String)),
    report: Schema.String
  }),
  /** In order of path. */
  rows: Schema.Array(ReportRow)
})
export type ExtractReport = typeof ExtractReport.Type
