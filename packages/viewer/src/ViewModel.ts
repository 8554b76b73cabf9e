/**
 * Schemas of the answers of ViewApi. The page imports the types only.
 *
 * Entries are named by their index in file order, from 0: in damaged sessions, entries lack ids or share them.
 */
import * as Schema from "effect/Schema"
import { Kind } from "@pi-sessions/report/TimelineItem"

export const Mark = Schema.Literals(["accept", "reject"])
export type Mark = typeof Mark.Type

/** What the viewer has, and the first page. */
export const Home = Schema.Struct({
  /** The version of pi-sessions. */
  version: Schema.String,
  begin: Schema.Union([
    Schema.Struct({ page: Schema.Literal("sessions") }),
    Schema.Struct({ page: Schema.Literal("session"), key: Schema.String }),
    Schema.Struct({ page: Schema.Literal("dataset") })
  ]),
  /** Number of listed sessions. */
  sessions: Schema.Int,
  /** Why sessions are missing from the list; "" if none are. */
  note: Schema.String,
  hasDataset: Schema.Boolean,
  isRedacted: Schema.Boolean,
  /** The file of marks; null if marks cannot be set. */
  marksFile: Schema.NullOr(Schema.String)
})
export type Home = typeof Home.Type

/** A session in the list, without reading it. */
export const SessionRow = Schema.Struct({
  /** Opaque id for URLs (SessionKey.ts). */
  key: Schema.String,
  id: Schema.String,
  cwd: Schema.String,
  path: Schema.String,
  /** ISO 8601, from the header; "" if it has none. */
  startedAt: Schema.String,
  /** Unix time in milliseconds. */
  modifiedMs: Schema.Number,
  sizeBytes: Schema.Number,
  format: Schema.Literals(["jsonl", "native_v2", "sqlite_v1"]),
  /** From the session index, if its row is current. */
  name: Schema.optionalKey(Schema.String),
  messages: Schema.optionalKey(Schema.Int)
})
export type SessionRow = typeof SessionRow.Type
export const SessionRows = Schema.Array(SessionRow)

/** Facts from reading a session, or the beginning of a large one. */
export const SessionSummary = Schema.Struct({
  key: Schema.String,
  name: Schema.optionalKey(Schema.String),
  messages: Schema.optionalKey(Schema.Int),
  role: Schema.optionalKey(Schema.String),
  rig: Schema.optionalKey(Schema.String),
  /** Excerpt of the first user message. */
  says: Schema.optionalKey(Schema.String),
  /** Why the session cannot be read. */
  problem: Schema.optionalKey(Schema.String)
})
export type SessionSummary = typeof SessionSummary.Type
export const SessionSummaries = Schema.Array(SessionSummary)

/** The end of a branch. */
export const BranchEnd = Schema.Struct({
  entry: Schema.Int,
  id: Schema.NullOr(Schema.String),
  time: Schema.optionalKey(Schema.String),
  /** Number of entries from the root. */
  entries: Schema.Int,
  isActive: Schema.Boolean,
  /** Excerpt of the last entry. */
  says: Schema.String
})
export type BranchEnd = typeof BranchEnd.Type

export const SessionPage = Schema.Struct({
  key: Schema.String,
  id: Schema.String,
  title: Schema.String,
  /** Names and values: the header, and the session's size. */
  facts: Schema.Array(Schema.Tuple([Schema.String, Schema.String])),
  entries: Schema.Int,
  /** The entry that Pi continues from; null in a session without entries. */
  leaf: Schema.NullOr(Schema.Int),
  /** Ends of branches, the active one first; at most 200. */
  branches: Schema.Array(BranchEnd),
  branchCount: Schema.Int,
  labels: Schema.Array(Schema.Struct({ entry: Schema.Int, label: Schema.String })),
  compactions: Schema.Array(Schema.Int),
  /** Why its training samples cannot be shown. */
  sampleProblem: Schema.optionalKey(Schema.String)
})
export type SessionPage = typeof SessionPage.Type

/** Indexes of entries as `[first, count, first, count, ...]` (EntryRanges.ts). */
export const Ranges = Schema.Array(Schema.Int)
export type Ranges = typeof Ranges.Type

const More = {
  /** Number of omitted UTF-16 units; the whole entry has them. */
  more: Schema.optionalKey(Schema.Int)
}

/** A part of an entry. Texts are unescaped: the page makes them safe. */
export const EntryPart = Schema.Union([
  Schema.Struct({ part: Schema.Literal("text"), text: Schema.String, ...More }),
  Schema.Struct({ part: Schema.Literal("thinking"), text: Schema.String, redacted: Schema.Boolean, ...More }),
  Schema.Struct({
    part: Schema.Literal("tool_call"),
    callId: Schema.String,
    name: Schema.String,
    line: Schema.String,
    /** Names and values; values that are not strings are JSON. */
    arguments: Schema.Array(Schema.Tuple([Schema.String, Schema.String])),
    ...More
  }),
  Schema.Struct({
    part: Schema.Literal("output"),
    line: Schema.String,
    moreLines: Schema.Int,
    text: Schema.String,
    ...More
  }),
  /** In the format of Pi's edit tool: each line begins with `+`, `-` or a space, and a line number. */
  Schema.Struct({ part: Schema.Literal("diff"), text: Schema.String, ...More }),
  Schema.Struct({
    part: Schema.Literal("image"),
    mimeType: Schema.String,
    sizeBytes: Schema.Int,
    /** Number among the entry's pictures, from 0; null if it is not shown. */
    picture: Schema.NullOr(Schema.Int)
  }),
  Schema.Struct({ part: Schema.Literal("data"), name: Schema.String, json: Schema.String, ...More })
])
export type EntryPart = typeof EntryPart.Type

export const EntryRow = Schema.Struct({
  entry: Schema.Int,
  id: Schema.NullOr(Schema.String),
  parent: Schema.NullOr(Schema.Int),
  /** Present if there are several. */
  children: Schema.optionalKey(Schema.Array(Schema.Int)),
  kind: Kind,
  type: Schema.String,
  /** Line in the file, from 1. */
  line: Schema.Int,
  time: Schema.optionalKey(Schema.String),
  about: Schema.String,
  failed: Schema.Boolean,
  label: Schema.optionalKey(Schema.String),
  damage: Schema.Array(Schema.String),
  parts: Schema.Array(EntryPart),
  /** Number of omitted parts; the whole entry has them. */
  moreParts: Schema.optionalKey(Schema.Int)
})
export type EntryRow = typeof EntryRow.Type
export const EntryRows = Schema.Array(EntryRow)

/** A row of the tree: an entry, or a run of entries without a branch (report/TreeRows.ts). */
export const TreeRow = Schema.Struct({
  kind: Schema.Literals(["entry", "fold", "lost"]),
  /** First and last entry, and number of entries. */
  entry: Schema.Int,
  last: Schema.Int,
  count: Schema.Int,
  /** Column of its branch, from 0. */
  column: Schema.Int,
  /** The branch leaves the column to its left here. */
  leaves: Schema.Boolean,
  /** First or last row of its branch. */
  begins: Schema.Boolean,
  ends: Schema.Boolean,
  active: Schema.Boolean,
  isLeaf: Schema.Boolean,
  /** Kind and details. */
  what: Schema.String,
  /** Its role, else its type. */
  entryKind: Schema.String,
  label: Schema.optionalKey(Schema.String),
  says: Schema.String,
  note: Schema.String
})
export type TreeRow = typeof TreeRow.Type

export const TreePage = Schema.Struct({ total: Schema.Int, rows: Schema.Array(TreeRow) })
export type TreePage = typeof TreePage.Type

/** A place where a search found its text. */
export const Hit = Schema.Struct({
  key: Schema.String,
  entryId: Schema.NullOr(Schema.String),
  kind: Schema.String,
  time: Schema.optionalKey(Schema.String),
  /** The line: `before`, `found`, `after`. */
  before: Schema.String,
  found: Schema.String,
  after: Schema.String
})
export type Hit = typeof Hit.Type
export const Hits = Schema.Struct({ hits: Schema.Array(Hit), isWhole: Schema.Boolean })
export type Hits = typeof Hits.Type

export const Picture = Schema.Struct({ mimeType: Schema.String, data: Schema.String })
export type Picture = typeof Picture.Type

/** By session id, or `session id/entry id`. */
export const Marks = Schema.Record(Schema.String, Mark)
export type Marks = typeof Marks.Type

export const MarkRequest = Schema.Struct({
  session: Schema.NonEmptyString,
  entry: Schema.optionalKey(Schema.NonEmptyString),
  /** Null removes the mark. */
  mark: Schema.NullOr(Mark)
})
export type MarkRequest = typeof MarkRequest.Type

const Counts = Schema.Array(Schema.Tuple([Schema.String, Schema.Number]))

/** Use of an entry in samples, or why there is none. */
export const EntryFate = Schema.Struct({
  entry: Schema.Int,
  /** The samples that have it; numbers from 1. */
  told: Schema.Array(Schema.Struct({ sample: Schema.Int, as: Schema.Literals(["target", "context", "rejected"]) })),
  reason: Schema.optionalKey(Schema.String),
  /** Its parts that no sample has. */
  lost: Schema.Array(Schema.String)
})
export type EntryFate = typeof EntryFate.Type

/** A turn of a sample before formatting. */
export const SampleTurn = Schema.Struct({
  /** `tool`: results of calls, which samples keep in user turns. */
  role: Schema.Literals(["system", "user", "assistant", "tool"]),
  as: Schema.Literals(["target", "context", "rejected"]),
  /** Its source entries; none if it does not come from the session. */
  entries: Schema.Array(Schema.Int),
  content: Schema.String,
  reasoning: Schema.optionalKey(Schema.String),
  calls: Schema.Array(Schema.Struct({ name: Schema.String, arguments: Schema.String })),
  results: Schema.Array(Schema.Struct({ name: Schema.String, content: Schema.String, isError: Schema.Boolean }))
})
export type SampleTurn = typeof SampleTurn.Type

export const SampleView = Schema.Struct({
  /** Number among the kept samples, from 1; null if it is not in the dataset. */
  number: Schema.NullOr(Schema.Int),
  reason: Schema.optionalKey(Schema.String),
  start: Schema.String,
  context: Schema.String,
  /** Source of its tools. */
  tools: Schema.String,
  targets: Schema.Int,
  /** Estimated. */
  tokens: Schema.Int,
  dropped: Counts,
  turns: Schema.Array(SampleTurn)
})
export type SampleView = typeof SampleView.Type

/** The samples of a session, and the use of each of its entries. */
export const SamplesPage = Schema.Struct({
  format: Schema.String,
  /** `kept`, or why the session has no samples. */
  outcome: Schema.String,
  samples: Schema.Array(SampleView),
  fates: Schema.Array(EntryFate)
})
export type SamplesPage = typeof SamplesPage.Type

export const DoctorFinding = Schema.Struct({
  severity: Schema.Literals(["error", "warning", "note"]),
  code: Schema.String,
  line: Schema.Int,
  entryId: Schema.optionalKey(Schema.String),
  message: Schema.String,
  /** What Pi 0.78 and 1.5 do with it. */
  pi078: Schema.String,
  pi15: Schema.String,
  mend: Schema.NullOr(Schema.String)
})
export type DoctorFinding = typeof DoctorFinding.Type

/** The state of a session's store. */
export const StoreHealth = Schema.Struct({
  container: Schema.String,
  state: Schema.NullOr(Schema.String),
  /** The active store; null without a marker. */
  active: Schema.NullOr(Schema.Struct({ format: Schema.String, path: Schema.String })),
  entries: Schema.Int,
  segments: Schema.Int,
  checkpoint: Schema.NullOr(
    Schema.Struct({ number: Schema.Int, entries: Schema.Int, behind: Schema.Int, at: Schema.String })
  ),
  ledger: Schema.Array(
    Schema.Struct({
      at: Schema.String,
      phase: Schema.String,
      outcome: Schema.String,
      reason: Schema.NullOr(Schema.String)
    })
  ),
  findings: Schema.Array(Schema.Struct({ invariant: Schema.NullOr(Schema.String), message: Schema.String })),
  /** Why the store cannot be read. */
  problem: Schema.optionalKey(Schema.String)
})
export type StoreHealth = typeof StoreHealth.Type

export const SessionHealth = Schema.Struct({
  key: Schema.String,
  findings: Schema.Array(DoctorFinding),
  /** Why the session was not examined. */
  problem: Schema.optionalKey(Schema.String),
  store: Schema.NullOr(StoreHealth)
})
export type SessionHealth = typeof SessionHealth.Type

/** A step of the funnel from files to samples. */
export const FunnelStep = Schema.Struct({
  name: Schema.String,
  count: Schema.Int,
  /** Number dropped before the next step, by reason. */
  dropped: Counts
})
export type FunnelStep = typeof FunnelStep.Type

export const Histogram = Schema.Struct({
  /** Borders of the bins; one more than `counts`. */
  borders: Schema.Array(Schema.Number),
  counts: Schema.Array(Schema.Int),
  median: Schema.Number,
  most: Schema.Number
})
export type Histogram = typeof Histogram.Type

export const DatasetSession = Schema.Struct({
  id: Schema.String,
  path: Schema.String,
  outcome: Schema.String,
  role: Schema.optionalKey(Schema.String),
  rig: Schema.optionalKey(Schema.String),
  split: Schema.optionalKey(Schema.String),
  samples: Schema.Int,
  targets: Schema.Int
})
export type DatasetSession = typeof DatasetSession.Type

export const DatasetPage = Schema.Struct({
  name: Schema.String,
  facts: Schema.Array(Schema.Tuple([Schema.String, Schema.String])),
  files: Schema.Array(
    Schema.Struct({ name: Schema.String, split: Schema.String, samples: Schema.Int, sizeBytes: Schema.Number })
  ),
  funnel: Schema.Array(FunnelStep),
  /** Tokens of the samples, estimated from their lines. */
  tokens: Histogram,
  tools: Counts,
  roles: Counts,
  models: Counts,
  /** Samples by the day on which their session began. */
  days: Counts,
  redacted: Counts,
  dropped: Counts,
  sessions: Schema.Array(DatasetSession),
  problems: Schema.Array(Schema.String)
})
export type DatasetPage = typeof DatasetPage.Type

/** Lines of a file of a dataset. */
export const SampleLines = Schema.Struct({
  total: Schema.Int,
  lines: Schema.Array(Schema.Struct({ number: Schema.Int, json: Schema.String, more: Schema.optionalKey(Schema.Int) }))
})
export type SampleLines = typeof SampleLines.Type

export type { EntryFilter } from "@pi-sessions/report/EntryFilter"
