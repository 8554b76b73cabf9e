/**
 * What the formats have in common: a projection is one line of a dataset, made of a sample, with metadata beside what
 * is trained on.
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
 * Where a sample comes from. Every key is in every sample, null where nothing is known, and counts are a list: readers
 * that infer columns from the first rows (Arrow) refuse structs whose members come and go.
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
  /** Which one of the session's samples; see TrainingSample.ts for the next ones too. */
  sample: Schema.Int,
  start: SampleStart,
  context: SampleContext,
  targets: Schema.Int,
  context_answers: Schema.Int,
  /** The program that held the conversation, and the Pi whose rules gave the context. */
  harness: Schema.String,
  pi: PiProfile.PiProfile,
  system_source: SystemSource,
  tools_source: ToolsSource,
  /** Results that the tool called an error; the formats have no mark for them. */
  tool_errors: Schema.Int,
  /** Predicates that hold of the conversation; see SessionQuality.ts. */
  quality: Schema.Array(QualityPredicate),
  dropped: Schema.Array(Schema.Struct({ reason: Schema.String, count: Schema.Int }))
})
export type SampleMetadata = typeof SampleMetadata.Type

/** The metadata of a sample's line, with all that was dropped on the way to it. */
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
  /** `dpo`: nobody asked for another answer to the same context. */
  "no_pair",
  /** It would train on answers that are context here, since it has no masks. */
  "context_answers",
  /** Its trainer takes no tool of such a name. */
  "tool_name",
  /** `lora-forge`: a conversation begins with a system prompt; nobody knows one, nor whose session it is. */
  "no_system_prompt",
  /** `lora-forge`: too little in it, by the rules of its quality filter. */
  "low_quality",
  /** `tokens`: nobody said whose. */
  "no_tokenizer",
  /** `tokens`: an answer cannot be learnt with the model's template; see LossMask.ts. */
  ...Unlearnable.literals
])
export type NoLine = typeof NoLine.Type

/** What a format made of a sample. */
export type Projection<S> =
  | {
      readonly _tag: "Sample"
      readonly sample: S
      /** Which of the dataset's files it belongs to. */
      readonly file: DatasetFile
      /** What the sample lost when it was cut, and what it lost to this format. */
      readonly dropped: DropCounts
      /** Where the format has rules of its own against duplicates: of lines that share one, the first is kept. */
      readonly fingerprint?: string
    }
  | { readonly _tag: "None"; readonly reason: NoLine }

/** The lines of one file have one shape. `continued`: samples whose context holds answers that are no targets. */
export const DatasetFile = Schema.Literals(["train", "continued"])
export type DatasetFile = typeof DatasetFile.Type

/** A line that breaks its format's rules; a bug of the projection, or a dataset that somebody edited. */
export class InvalidSample extends Schema.TaggedError<InvalidSample>()("InvalidSample", {
  format: FormatName,
  /** Where in the sample, as in `messages[3].content`; empty for the whole. */
  at: Schema.String,
  /** Holds nothing of the sample's content. */
  issue: Schema.String
}) {
  override get message(): string {
    return `not a sample of ${this.format}: ${this.at === "" ? "" : `${this.at}: `}${this.issue}`
  }
}

export interface ProjectOptions {
  /** For trainers that read both; each such format has its own default, and the others look away. */
  readonly arguments?: ArgumentsForm
  /** Name the files of images, for formats that can; others look away. */
  readonly images?: boolean
  /** Which piece of its session the sample is, from 0; for formats that number them. */
  readonly piece?: number
  /** For formats that are made for one model. */
  readonly model?: LocalModel
}

/** A file of lines, as it was written. */
export interface DataFile {
  /** Within the dataset's directory. */
  readonly name: string
  readonly split: Split
  readonly file: DatasetFile
  /** Where each role has files of its own. */
  readonly role?: GasTown.Role
  readonly lines: number
}

/** A file beside the data that its trainer reads, or that a person does. */
export interface Sidecar {
  readonly name: string
  readonly text: string
}

/** What stands in a dataset's directory, as far as a format's trainer is concerned. */
export interface Dataset {
  readonly files: ReadonlyArray<DataFile>
  readonly sidecars: ReadonlyArray<Sidecar>
}

/** A dataset that its trainer would not take, whatever its lines say. */
export class InvalidDataset extends Schema.TaggedError<InvalidDataset>()("InvalidDataset", {
  format: FormatName,
  /** The file; empty for the whole. */
  file: Schema.String,
  issue: Schema.String
}) {
  override get message(): string {
    return `not a dataset of ${this.format}: ${this.file === "" ? "" : `${this.file}: `}${this.issue}`
  }
}

/** What a container's file turned out to hold. */
export interface ContainerFile {
  readonly rows: number
  readonly bytes: number
  /** Of the file, in hex. */
  readonly sha256: string
}

/**
 * A format whose files are no lines: a run writes lines as for any other, shards and merges them, and when a file of lines
 * is done turns it into one of these, which stands in the dataset in its place.
 */
export interface SampleContainer {
  /** Of its files' names, in the place of `.jsonl`. */
  readonly extension: ".parquet"
  /** Makes the file `target`, which must not exist, of the lines in another file. The same lines give the same bytes. */
  readonly fromLines: (
    lines: string,
    target: string
  ) => Effect.Effect<ContainerFile, SessionFileError, FileSystem.FileSystem>
  /** The lines that a file was made of, many at a time. */
  readonly readLines: (path: string) => Stream.Stream<ReadonlyArray<string>, SessionFileError, FileSystem.FileSystem>
}

/** A way to write sessions. */
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

/** A file that Pi would not open, or that holds what it must not. */
export interface BrokenSession {
  /** From 1. */
  readonly line: number
  readonly byteOffset: number
  readonly message: string
}

export interface WrittenSession {
  readonly fileName: string
  readonly bytes: Uint8Array
  /** What was taken out, by rule. */
  readonly redacted: DropCounts
  /** What is not in it, by reason. */
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
  /** Cuts a sample into the pieces that the format or its model prescribes. Each piece is projected by itself. */
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
