/**
 * What a run found, kept and dropped: `report.json` beside the samples, with the same names. It marks the directory as a
 * dataset. It holds no text of a session and no time, so the same sessions give the same report.
 */
import * as Schema from "effect/Schema"
import * as GasTown from "@pi-sessions/core/GasTown"
import { DropCounts } from "@pi-sessions/samples/DropCounts"
import { FormatName } from "@pi-sessions/formats/FormatName"
import { DatasetFile, NoLine } from "@pi-sessions/formats/SampleFormat"
import { QUALITY_REFUSALS } from "@pi-sessions/samples/QualityPredicate"
import { Stage } from "@pi-sessions/core/SessionBudget"
import { Split } from "@pi-sessions/formats/Split"

/** The kind of a report. The number grows when its shape changes. */
export const REPORT_KIND = "pi-sessions/extract-report/2"

/** Why a sample is not in the dataset. */
export const SampleDropReason = Schema.Literals([
  /** A predicate of `--refuse` holds, or one of `--require` does not; see SessionQuality.ts. */
  ...QUALITY_REFUSALS,
  /** The format has no line for it. */
  ...NoLine.literals,
  /** The line breaks its format's rules. This is a bug; please report it. */
  "invalid_sample",
  /** Earlier samples have all its targets. */
  "duplicate_targets",
  /** `--model` excludes it. */
  "other_model",
  /** It has fewer turns than `--min-turns`. */
  "too_short",
  /**
   * It has more tokens than `--max-tokens`, and could not be made to fit. In a row with a `stage`: the session exceeded its
   * steps or bytes; see SessionBudget.ts.
   */
  "over_budget",
  /** The format has a rule against duplicates, and an earlier line is equal by it. */
  "duplicate_line"
])
export type SampleDropReason = typeof SampleDropReason.Type

/** Why a session gave no sample. */
export const SessionDropReason = Schema.Union([
  SampleDropReason,
  Schema.Literals([
    /** `--rig` or `--role` excludes it. */
    "not_selected",
    /** Begun before `--since`, or at `--until` and later. */
    "out_of_time",
    /** Beyond `--limit`. */
    "over_limit",
    /** The session, or every answer of it, is marked as rejected. */
    "rejected_mark",
    /** `--marks-only`: neither the session nor an answer of it is marked as accepted. */
    "no_accepting_mark",
    /** A near-duplicate of an earlier session that it was not forked from. */
    "near_duplicate",
    /** It belongs to families of two splits. */
    "bridges_splits",
    /** Made by hydration, so no model wrote it. */
    "hydrated",
    /** The file has no header. */
    "not_a_session",
    /** It took longer than `--session-timeout`. The next run tries it again. */
    "timed_out",
    /** Its thread ran out of memory. The next run tries it again. */
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
 * What the samples of kept sessions hold. Tokens and cost are those of targets alone; `stats` counts all that the sessions
 * used.
 */
export const Volume = Schema.Struct({
  samples: Schema.Int,
  /** Samples whose turns are exactly what the model was sent. */
  exact: Schema.Int,
  /** Samples by where their tools come from (`ToolsSource`). Absent in older reports. */
  tools: Schema.optionalKey(DropCounts),
  /** Assistant turns that the model learns. */
  targets: Schema.Int,
  turns: Schema.Int,
  tool_calls: Schema.Int,
  tokens: Tokens,
  /** US dollars. */
  cost: Schema.Number,
  /** Places where a secret or a name was removed, by rule. */
  redacted: DropCounts,
  /** Parts of kept sessions that are in no sample, by reason. */
  dropped: DropCounts,
  /** Damage that the reader reported. */
  diagnostics: Schema.Int
})
export type Volume = typeof Volume.Type

/** One file that the source listed. */
export const ReportRow = Schema.Struct({
  path: Schema.String,
  outcome: Schema.Union([Schema.Literal("kept"), SessionDropReason]),
  /** Of an unreadable file, an invalid sample, or a session that was stopped: one sentence. */
  detail: Schema.optionalKey(Schema.String),
  /** Where work stopped, at `over_budget`, `timed_out` or `out_of_memory`. */
  stage: Schema.optionalKey(Stage),
  session_id: Schema.optionalKey(Schema.String),
  role: Schema.optionalKey(GasTown.Role),
  rig: Schema.optionalKey(Schema.String),
  address: Schema.optionalKey(Schema.String),
  role_source: Schema.optionalKey(GasTown.RoleSource),
  /** Of the session's bytes, in hex. Only of kept sessions. */
  sha256: Schema.optionalKey(Schema.String),
  /** Only of kept sessions. */
  split: Schema.optionalKey(Split),
  /** Samples that are not in the dataset, by reason. */
  samples_dropped: Schema.optionalKey(DropCounts),
  /** Only of kept sessions. */
  volume: Schema.optionalKey(Volume),
  /** Only with the option `lengths`: tokens of each sample before `maxTokens`. */
  lengths: Schema.optionalKey(Schema.Array(Schema.Int))
})
export type ReportRow = typeof ReportRow.Type

/** Outcomes that depend on the machine and its load. */
const STOPPED = new Set<ReportRow["outcome"]>(["timed_out", "out_of_memory"])

/** Whether work on the session was stopped, and must be tried again. */
export const isStopped = ({ outcome }: Pick<ReportRow, "outcome">): boolean => STOPPED.has(outcome)

/** Whether the row is final for an unchanged session. Unreadable and stopped sessions are tried again. */
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
  /** Directories and files that could not be listed. */
  skipped: Schema.Array(Schema.Struct({ path: Schema.String, reason: Schema.String })),
  total: Volume,
  /** Absolute paths. */
  outputs: Schema.Struct({
    /** The first file of the training split. */
    train: Schema.String,
    /** All files of lines. */
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
    /** Images and whole sessions: paths relative to the directory, with `/` as separator. */
    loose: Schema.optionalKey(Schema.Array(Schema.Struct({ path: Schema.String, sha256: Schema.String }))),
    /** Files of the format beside them. */
    sidecars: Schema.optionalKey(Schema.Array(Schema.String)),
    report: Schema.String
  }),
  /** In order of path. */
  rows: Schema.Array(ReportRow)
})
export type ExtractReport = typeof ExtractReport.Type
