/**
 * What all formats share: a projection turns a sample into one line of a dataset, with metadata beside the trained
 * text.
 */
import type * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import type * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import * as GasTown from "@pi-sessions/core/GasTown"
import * as PiProfile from "@pi-sessions/core/PiProfile"
import { type SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import type * as Session from "@pi-sessions/core/Session"
import { type Redactor } from "@pi-sessions/redaction/Redactor"
import { type DropCounts } from "@pi-sessions/samples/DropCounts"
import { type ArgumentsForm, FormatName } from "./FormatName.ts"
import { type LocalModel } from "./model/LocalModel.ts"
import { Unlearnable } from "./model/LossMask.ts"
import { QualityPredicate } from "@pi-sessions/samples/QualityPredicate"
import { type SessionBudget } from "@pi-sessions/core/SessionBudget"
import { type Reasoning } from "@pi-sessions/samples/Reasoning"
import { type Split } from "./Split.ts"
import { ToolsSource } from "@pi-sessions/samples/ToolDefinition"
import { SampleContext, SampleStart, SystemSource, type TrainingSample } from "@pi-sessions/samples/TrainingSample"

/**
 * Where a sample comes from. Each key is in every sample, null if unknown, and counts are lists: readers that infer
 * columns from the first rows (Arrow) refuse structs with varying members.
 */
export const SampleMetadata = Schema.Struct({
  session_id: Schema.String,
  source_path: Schema.String,
  cwd: Schema.String,
  timestamp: Schema.String,
  session_name: Schema.NullOr(Schema.String),
  parent_session: Schema.NullOr(Schema.String),
  leaf_id: Schema.NullOr(Schema.String),
  role: GasTown.Role,
  name: Schema.NullOr(Schema.String),
  rig: Schema.NullOr(Schema.String),
  town: Schema.NullOr(Schema.String),
  role_source: GasTown.RoleSource,
  provider: Schema.NullOr(Schema.String),
  model: Schema.NullOr(Schema.String),
  thinking_level: Schema.String,
  hydrated: Schema.Boolean,
  /** The sample's number in its session; see TrainingSample.ts, also for the next fields. */
  sample: Schema.Int,
  start: SampleStart,
  context: SampleContext,
  targets: Schema.Int,
  context_answers: Schema.Int,
  /** The program that ran the conversation, and the Pi version whose rules built the context. */
  harness: Schema.String,
  pi: PiProfile.PiProfile,
  system_source: SystemSource,
  tools_source: ToolsSource,
  /** Tool results marked as errors, which the formats have no field for. */
  tool_errors: Schema.Int,
  /** Predicates that are true of the conversation; see SessionQuality.ts. */
  quality: Schema.Array(QualityPredicate),
  dropped: Schema.Array(Schema.Struct({ reason: Schema.String, count: Schema.Int }))
})
export type SampleMetadata = typeof SampleMetadata.Type

/** The metadata of a sample's line, with everything dropped on the way to it. */
export const metadataOf = (sample: TrainingSample, dropped: DropCounts): SampleMetadata => {
  const { metadata } = sample
  return {
    session_id: sample.session_id,
    source_path: sample.source_path,
    cwd: sample.cwd,
    timestamp: metadata.timestamp,
    session_name: metadata.session_name ?? null,
    parent_session: metadata.parent_session ?? null,
    leaf_id: metadata.leaf_id,
    role: metadata.role,
    name: metadata.name ?? null,
    rig: metadata.rig ?? null,
    town: metadata.town ?? null,
    role_source: metadata.role_source,
    provider: metadata.provider,
    model: metadata.model,
    thinking_level: metadata.thinking_level,
    hydrated: metadata.hydrated,
    sample: metadata.sample,
    start: metadata.start,
    context: metadata.context,
    targets: metadata.targets,
    context_answers: metadata.context_answers,
    harness: metadata.harness,
    pi: metadata.pi,
    system_source: metadata.system_source,
    tools_source: metadata.tools_source,
    tool_errors: metadata.tool_errors,
    quality: metadata.quality,
    dropped: Object.entries(dropped).map(([reason, count]) => ({ reason, count }))
  }
}

/** Why a format has no line for a sample. */
export const NoLine = Schema.Literals([
  "no_assistant_turn",
  /** `dpo`: no second answer to the same context. */
  "no_pair",
  /** The format has no masks, so it would train on answers that are context here. */
  "context_answers",
  /** The trainer refuses a tool's name. */
  "tool_name",
  /** `lora-forge`: neither a system prompt nor a role is known. */
  "no_system_prompt",
  /** `lora-forge`: fails its quality filter. */
  "low_quality",
  /** `tokens`: no tokenizer was given. */
  "no_tokenizer",
  /** `tokens`: an answer cannot be trained with the model's template; see LossMask.ts. */
  ...Unlearnable.literals
])
export type NoLine = typeof NoLine.Type

/** What a format makes of a sample: a line, or the reason why there is none. */
export type Projection<S> =
  | {
      readonly _tag: "Sample"
      readonly sample: S
      /** The file of the dataset that the line belongs to. */
      readonly file: DatasetFile
      /** Everything the sample lost when it was cut, and in this format. */
      readonly dropped: DropCounts
      /**
       * Present if the format has its own rule against duplicates: of lines with one fingerprint, the first is kept.
       */
      readonly fingerprint?: string
    }
  | { readonly _tag: "None"; readonly reason: NoLine }

/** Lines of one file have one shape. `continued`: samples whose context contains answers that are not targets. */
export const DatasetFile = Schema.Literals(["train", "continued"])
export type DatasetFile = typeof DatasetFile.Type

/** A line that violates its format's rules: a bug in the projection, or an edited dataset. */
export class InvalidSample extends Schema.TaggedError<InvalidSample>()("InvalidSample", {
  format: FormatName,
  /** Position in the sample, such as `messages[3].content`; empty for the whole. */
  at: Schema.String,
  /** Contains no text of the sample. */
  issue: Schema.String
}) {
  override get message(): string {
    return `not a sample of ${this.format}: ${this.at === "" ? "" : `${this.at}: `}${this.issue}`
  }
}

export interface ProjectOptions {
  /** Ignored by formats that have only one form. Default: the format's own. */
  readonly arguments?: ArgumentsForm
  /** Name the files of images. Ignored by formats that cannot. */
  readonly images?: boolean
  /** The piece of the session that the sample is, from 0; for formats that number them. */
  readonly piece?: number
  /** Used by formats that are made for one model. */
  readonly model?: LocalModel
}

/** A written file of lines. */
export interface DataFile {
  /** Relative to the dataset's directory. */
  readonly name: string
  readonly split: Split
  readonly file: DatasetFile
  /** Present if each role has its own files. */
  readonly role?: GasTown.Role
  readonly lines: number
}

/** A file beside the data, for the trainer or for people. */
export interface Sidecar {
  readonly name: string
  readonly text: string
}

/** The files of a dataset that a format's trainer looks at. */
export interface Dataset {
  readonly files: ReadonlyArray<DataFile>
  readonly sidecars: ReadonlyArray<Sidecar>
}

/** A dataset that the trainer would refuse, although its lines are valid. */
export class InvalidDataset extends Schema.TaggedError<InvalidDataset>()("InvalidDataset", {
  format: FormatName,
  /** The file; empty for the whole dataset. */
  file: Schema.String,
  issue: Schema.String
}) {
  override get message(): string {
    return `not a dataset of ${this.format}: ${this.file === "" ? "" : `${this.file}: `}${this.issue}`
  }
}

/** The contents of a container file. */
export interface ContainerFile {
  readonly rows: number
  readonly bytes: number
  /** SHA-256 of the file, in hex. */
  readonly sha256: string
}

/**
 * A format whose files do not consist of lines. A run writes lines, as for any other format; shards and merges handle
 * lines. When a file of lines is complete, it is converted into a container file, which replaces it in the dataset.
 */
export interface SampleContainer {
  /** Replaces `.jsonl` in file names. */
  readonly extension: ".parquet"
  /** Converts a file of lines into the file `target`, which must not exist. Equal lines give equal bytes. */
  readonly fromLines: (
    lines: string,
    target: string
  ) => Effect.Effect<ContainerFile, SessionFileError, FileSystem.FileSystem>
  /** The lines that a container file was made of, in batches. */
  readonly readLines: (path: string) => Stream.Stream<ReadonlyArray<string>, SessionFileError, FileSystem.FileSystem>
}

/** How a format writes a session as one file. */
export interface WholeSession {
  readonly project: (
    session: Session.Session,
    redactor: Redactor | undefined,
    sourcePath: string,
    budget?: SessionBudget
  ) => WrittenSession
  /** Parses a file of output and checks it. */
  readonly validate: (bytes: Uint8Array) => Result.Result<unknown, BrokenSession>
}

/** A file that Pi would refuse, or that contains something which must be redacted. */
export interface BrokenSession {
  /** From 1. */
  readonly line: number
  readonly byteOffset: number
  readonly message: string
}

export interface WrittenSession {
  readonly fileName: string
  readonly bytes: Uint8Array
  /** Number of redactions, by rule. */
  readonly redacted: DropCounts
  /** Number of removed parts, by reason. */
  readonly dropped: DropCounts
}

/**
 * The descriptor of a format: all that the rest of the program knows about it. Programs ask these fields; only a format's
 * own module compares its name.
 */
export interface SampleFormat<S> {
  readonly name: FormatName
  /** One sentence of the dataset's card: what the trainer has to be configured with. */
  readonly trainer: string
  /** Tags that the dataset's card has beside the common ones. */
  readonly cardTags?: ReadonlyArray<string>
  /** Its samples are preference pairs, which are found among all branches of a session. */
  readonly isPairs?: true
  /** Its lines can name files of images. */
  readonly takesImages?: true
  /** Its lines are tokens, so it has lines only where a model is given. */
  readonly needsModel?: true
  /** A chat template can render its lines, see ChatLine.ts. */
  readonly hasChatLines?: true
  /** What becomes of thinking unless the user chooses. Default: "all". */
  readonly reasoning?: Reasoning
  /** Cuts a sample into the pieces that the format or its model requires. Each piece is projected on its own. */
  readonly divide?: (sample: TrainingSample, options?: ProjectOptions) => ReadonlyArray<TrainingSample>
  readonly project: (sample: TrainingSample, options?: ProjectOptions) => Projection<S>
  /**
   * Texts come into the line unchanged, each as a JSON string, and neither `project` nor `validate` reads a long one.
   * Then long texts are set aside while a line is made, see SessionOutline.ts of core.
   */
  readonly passesTexts?: true
  /** Parses a line of output and checks the format's rules. */
  readonly validate: (line: string) => Result.Result<S, InvalidSample>
  /** The files of a line, where the format prescribes their names. */
  readonly fileNames?: (line: { readonly split: Split; readonly role: GasTown.Role }) => ReadonlyArray<string>
  /** A file with one line for each session, made of the session's samples in the dataset. */
  readonly sessions?: {
    readonly fileName: string
    readonly lineOf: (samples: readonly [TrainingSample, ...ReadonlyArray<TrainingSample>]) => string
  }
  /**
   * Each session becomes one file. Then no lines are written, but a session is in the dataset only when it would have
   * lines.
   */
  readonly wholeSession?: WholeSession
  /** The file type that lines are converted to at the end of a run. Default: JSONL. */
  readonly container?: SampleContainer
  /** Files beside the data, for the trainer. */
  readonly sidecars?: (files: ReadonlyArray<DataFile>) => ReadonlyArray<Sidecar>
  /** Parses the sidecars and checks the rules that concern several lines. Succeeds with notes for people. */
  readonly validateDataset?: (dataset: Dataset) => Result.Result<ReadonlyArray<string>, InvalidDataset>
}
