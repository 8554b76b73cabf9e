/**
 * What the page is told: the answers of ViewApi, which also are what a self-contained file holds. The page takes the
 * types from here; nothing of Effect is in it.
 *
 * Entries go by their index in file order, from 0: damaged sessions have entries without ids, or several with one.
 */
import * as Schema from "effect/Schema"
import { Kind } from "@pi-sessions/report/TimelineItem"

export const Mark = Schema.Literals(["accept", "reject"])
export type Mark = typeof Mark.Type

/** What there is to see, and where the page begins. */
export const Home = Schema.Struct({
  /** Of pi-sessions. */
  version: Schema.String,
  begin: Schema.Union([
    Schema.Struct({ page: Schema.Literal("sessions") }),
    Schema.Struct({ page: Schema.Literal("session"), key: Schema.String }),
    Schema.Struct({ page: Schema.Literal("dataset") })
  ]),
  /** How many sessions are listed. */
  sessions: Schema.Int,
  /** Why the list is shorter than what there is; empty when it is whole. */
  note: Schema.String,
  hasDataset: Schema.Boolean,
  isRedacted: Schema.Boolean,
  /** The file of marks; null where marks cannot be made. */
  marksFile: Schema.NullOr(Schema.String)
})
export type Home = typeof Home.Type

/** What a listing knows of a session without reading it. */
export const SessionRow = Schema.Struct({
  /** Names the session in the address; derived from its path. */
  key: Schema.String,
  id: Schema.String,
  cwd: Schema.String,
  path: Schema.String,
  /** ISO 8601, the header's; "" where it has none. */
  startedAt: Schema.String,
  /** Unix time in milliseconds. */
  modifiedMs: Schema.Number,
  sizeBytes: Schema.Number,
  format: Schema.Literals(["jsonl", "native_v2", "sqlite_v1"]),
  /** From the session index, where its row is current. */
  name: Schema.optionalKey(Schema.String),
  messages: Schema.optionalKey(Schema.Int)
})
export type SessionRow = typeof SessionRow.Type
export const SessionRows = Schema.Array(SessionRow)

/** What it takes reading a session's beginning, or all of it, to know. */
export const SessionSummary = Schema.Struct({
  key: Schema.String,
  name: Schema.optionalKey(Schema.String),
  messages: Schema.optionalKey(Schema.Int),
  role: Schema.optionalKey(Schema.String),
  rig: Schema.optionalKey(Schema.String),
  /** What the user said first. */
  says: Schema.optionalKey(Schema.String),
  /** Why it could not be read. */
  problem: Schema.optionalKey(Schema.String)
})
export type SessionSummary = typeof SessionSummary.Type
export const SessionSummaries = Schema.Array(SessionSummary)

/** The end of a branch. */
export const BranchEnd = Schema.Struct({
  entry: Schema.Int,
  id: Schema.NullOr(Schema.String),
  time: Schema.optionalKey(Schema.String),
  /** Entries from its root. */
  entries: Schema.Int,
  isActive: Schema.Boolean,
  /** What the last entry says. */
  says: Schema.String
})
export type BranchEnd = typeof BranchEnd.Type

export const SessionPage = Schema.Struct({
  key: Schema.String,
  id: Schema.String,
  title: Schema.String,
  /** What the header says, and how large the session is. */
  facts: Schema.Array(Schema.Tuple([Schema.String, Schema.String])),
  entries: Schema.Int,
  /** The entry that Pi goes on from; null in a session without entries. */
  leaf: Schema.NullOr(Schema.Int),
  /** The ends of its branches, the active one first; the first `BRANCHES_LISTED` of them. */
  branches: Schema.Array(BranchEnd),
  branchCount: Schema.Int,
  labels: Schema.Array(Schema.Struct({ entry: Schema.Int, label: Schema.String })),
  compactions: Schema.Array(Schema.Int),
  /** Whether the training sample can be shown beside it, and why not. */
  sampleProblem: Schema.optionalKey(Schema.String)
})
export type SessionPage = typeof SessionPage.Type

/** Indexes of entries as `[first, count, first, count, ...]`. */
export const Ranges = Schema.Array(Schema.Int)
export type Ranges = typeof Ranges.Type

const More = {
  /** How many characters are left out here; the whole entry has them. */
  more: Schema.optionalKey(Schema.Int)
}

/** What an entry holds. Texts are as they stand: the page makes them harmless. */
export const EntryPart = Schema.Union([
  Schema.Struct({ part: Schema.Literal("text"), text: Schema.String, ...More }),
  Schema.Struct({ part: Schema.Literal("thinking"), text: Schema.String, redacted: Schema.Boolean, ...More }),
  Schema.Struct({
    part: Schema.Literal("tool_call"),
    callId: Schema.String,
    name: Schema.String,
    line: Schema.String,
    /** The arguments: texts by name; what is no text as JSON. */
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
  /** As Pi's edit tool tells it: lines that begin with `+`, `-` or a blank, and a number. */
  Schema.Struct({ part: Schema.Literal("diff"), text: Schema.String, ...More }),
  Schema.Struct({
    part: Schema.Literal("image"),
    mimeType: Schema.String,
    sizeBytes: Schema.Int,
    /** Which of the entry's pictures it is, from 0; null where it is not shown. */
    picture: Schema.NullOr(Schema.Int)
  }),
  Schema.Struct({ part: Schema.Literal("data"), name: Schema.String, json: Schema.String, ...More })
])
export type EntryPart = typeof EntryPart.Type

export const EntryRow = Schema.Struct({
  entry: Schema.Int,
  id: Schema.NullOr(Schema.String),
  parent: Schema.NullOr(Schema.Int),
  /** Where there is more than one. */
  children: Schema.optionalKey(Schema.Array(Schema.Int)),
  kind: Kind,
  type: Schema.String,
  /** In the file, from 1. */
  line: Schema.Int,
  time: Schema.optionalKey(Schema.String),
  about: Schema.String,
  failed: Schema.Boolean,
  label: Schema.optionalKey(Schema.String),
  damage: Schema.Array(Schema.String),
  parts: Schema.Array(EntryPart),
  /** How many parts are left out here; the whole entry has them. */
  moreParts: Schema.optionalKey(Schema.Int)
})
export type EntryRow = typeof EntryRow.Type
export const EntryRows = Schema.Array(EntryRow)

/** A line of the tree's picture: an entry, or a run of entries without a branch. */
export const TreeRow = Schema.Struct({
  kind: Schema.Literals(["entry", "fold", "lost"]),
  /** The first entry; for a run also the last, and how many they are. */
  entry: Schema.Int,
  last: Schema.Int,
  count: Schema.Int,
  /** How far to the right its branch runs, from 0. */
  column: Schema.Int,
  /** It leaves the branch to its left here. */
  leaves: Schema.Boolean,
  /** Nothing stands above or below it on its branch. */
  begins: Schema.Boolean,
  ends: Schema.Boolean,
  active: Schema.Boolean,
  isLeaf: Schema.Boolean,
  /** What it is, in words. */
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

/** A place that a search found. */
export const Hit = Schema.Struct({
  key: Schema.String,
  entryId: Schema.NullOr(Schema.String),
  kind: Schema.String,
  time: Schema.optionalKey(Schema.String),
  /** The line around, with what was found between `before` and `after`. */
  before: Schema.String,
  found: Schema.String,
  after: Schema.String
})
export type Hit = typeof Hit.Type
export const Hits = Schema.Struct({ hits: Schema.Array(Hit), isWhole: Schema.Boolean })
export type Hits = typeof Hits.Type

export const Picture = Schema.Struct({ mimeType: Schema.String, data: Schema.String })
export type Picture = typeof Picture.Type

/** Marks by what they stand on: a session's id, or `session id/entry id`. */
export const Marks = Schema.Record(Schema.String, Mark)
export type Marks = typeof Marks.Type

export const MarkRequest = Schema.Struct({
  session: Schema.NonEmptyString,
  entry: Schema.optionalKey(Schema.NonEmptyString),
  /** Null takes it away. */
  mark: Schema.NullOr(Mark)
})
export type MarkRequest = typeof MarkRequest.Type

const Counts = Schema.Array(Schema.Tuple([Schema.String, Schema.Number]))

/** What the entry became: the samples that tell it, from 1, or why none does. */
export const EntryFate = Schema.Struct({
  entry: Schema.Int,
  told: Schema.Array(Schema.Struct({ sample: Schema.Int, as: Schema.Literals(["target", "context", "rejected"]) })),
  reason: Schema.optionalKey(Schema.String),
  /** Parts of it that no sample tells. */
  lost: Schema.Array(Schema.String)
})
export type EntryFate = typeof EntryFate.Type

/** A turn of a sample, as the format got it. */
export const SampleTurn = Schema.Struct({
  /** `tool`: results of calls, which samples hold in user turns of their own and trainers get as messages of tools. */
  role: Schema.Literals(["system", "user", "assistant", "tool"]),
  as: Schema.Literals(["target", "context", "rejected"]),
  /** Of which it was made; none where it is from elsewhere. */
  entries: Schema.Array(Schema.Int),
  content: Schema.String,
  reasoning: Schema.optionalKey(Schema.String),
  calls: Schema.Array(Schema.Struct({ name: Schema.String, arguments: Schema.String })),
  results: Schema.Array(Schema.Struct({ name: Schema.String, content: Schema.String, isError: Schema.Boolean }))
})
export type SampleTurn = typeof SampleTurn.Type

export const SampleView = Schema.Struct({
  /** From 1 among those that are kept; null where it is not in the dataset. */
  number: Schema.NullOr(Schema.Int),
  reason: Schema.optionalKey(Schema.String),
  start: Schema.String,
  context: Schema.String,
  /** Where its tools come from. */
  tools: Schema.String,
  targets: Schema.Int,
  /** An estimate. */
  tokens: Schema.Int,
  dropped: Counts,
  turns: Schema.Array(SampleTurn)
})
export type SampleView = typeof SampleView.Type

/** The samples that a session gives, and what became of each of its entries. */
export const SamplesPage = Schema.Struct({
  format: Schema.String,
  /** `kept`, or why the session gave nothing. */
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
  /** What each Pi does with it. */
  pi078: Schema.String,
  pi15: Schema.String,
  mend: Schema.NullOr(Schema.String)
})
export type DoctorFinding = typeof DoctorFinding.Type

/** How a session's store stands. */
export const StoreHealth = Schema.Struct({
  container: Schema.String,
  state: Schema.NullOr(Schema.String),
  /** The active store: format and file name; null without a marker. */
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
  /** Why it cannot be read. */
  problem: Schema.optionalKey(Schema.String)
})
export type StoreHealth = typeof StoreHealth.Type

export const SessionHealth = Schema.Struct({
  key: Schema.String,
  findings: Schema.Array(DoctorFinding),
  /** Why nobody looked. */
  problem: Schema.optionalKey(Schema.String),
  store: Schema.NullOr(StoreHealth)
})
export type SessionHealth = typeof SessionHealth.Type

/** A step of the funnel, from what was found to what is in the dataset. */
export const FunnelStep = Schema.Struct({
  name: Schema.String,
  count: Schema.Int,
  /** What was left out on the way to the next step, by reason. */
  dropped: Counts
})
export type FunnelStep = typeof FunnelStep.Type

export const Histogram = Schema.Struct({
  /** The borders of the bins, one more than there are counts. */
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
  /** Tokens of each sample, estimated from its line. */
  tokens: Histogram,
  tools: Counts,
  roles: Counts,
  models: Counts,
  /** Samples by the day on which their session was begun. */
  days: Counts,
  redacted: Counts,
  dropped: Counts,
  sessions: Schema.Array(DatasetSession),
  problems: Schema.Array(Schema.String)
})
export type DatasetPage = typeof DatasetPage.Type

/** Lines of a file of the dataset. */
export const SampleLines = Schema.Struct({
  total: Schema.Int,
  lines: Schema.Array(Schema.Struct({ number: Schema.Int, json: Schema.String, more: Schema.optionalKey(Schema.Int) }))
})
export type SampleLines = typeof SampleLines.Type

export type { EntryFilter } from "@pi-sessions/report/EntryFilter"
