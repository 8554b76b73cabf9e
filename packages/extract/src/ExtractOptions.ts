/** What a run of Extract is asked for. */
import type * as Effect from "effect/Effect"
import { type ExactSecret } from "@pi-sessions/redaction/ExactSecrets"
import { type GivenContext } from "@pi-sessions/samples/GivenContext"
import { type MarksRule } from "@pi-sessions/samples/Marks"
import { type Overflow } from "@pi-sessions/samples/Overflow"
import { type QualityPredicate } from "@pi-sessions/samples/QualityPredicate"
import { type SessionLimits } from "@pi-sessions/core/SessionBudget"
import { type Reasoning } from "@pi-sessions/samples/Reasoning"
import { type ArgumentsForm, type FormatName } from "@pi-sessions/formats/FormatName"
import { type SplitRule } from "./plan/Splits.ts"

export interface RedactionSettings {
  /** Of the placeholders' numbers; the same key gives the same bytes. See RedactionKey.ts. */
  readonly key: string
  /** Values that are secret whatever they look like. */
  readonly exact?: ReadonlyArray<ExactSecret>
}

/** Which sessions. What is not given takes all. */
export interface Selection {
  /** Selectors of `GasTown.matchesRig`; a session that one of them takes is selected. None: every rig. */
  readonly rigs: ReadonlyArray<string>
  /** Roles by name. None: every role. */
  readonly roles: ReadonlyArray<string>
  /** `--rig deacon` takes boot and the dogs too. */
  readonly includeDogs?: boolean
  /** The town's root directory, where paths do not show it. */
  readonly town?: string
  /** Sessions begun at this time (ISO 8601) or later. */
  readonly since?: string
  /** Sessions begun before this time (ISO 8601). */
  readonly until?: string
  /** The first so many of those selected, in the order in which they were begun. The others are not read. */
  readonly limit?: number
  /** What a person marked as good to learn from, or not; see Marks.ts. */
  readonly marks?: MarksRule
}

/** What becomes of each session that is taken. */
export interface SampleOptions {
  readonly format: FormatName
  /** How arguments of calls are written, where the format's trainer reads both; as the format has it unless told. */
  readonly arguments?: ArgumentsForm
  /** Write images as files beside the data, for formats that name them (`messages`, `parquet`); see docs/formats.md. */
  readonly images?: boolean
  /** The active branch of each session, or all of them. */
  readonly branches?: "active" | "all"
  /** What becomes of the model's thinking. `last-query`: kept behind the last user turn, as templates like Qwen3's do. */
  readonly reasoning?: Reasoning
  /** Take hydrated sessions too, although no model produced their text in this form. */
  readonly includeHydrated?: boolean
  /** How secrets and names are taken out; with a key of this run alone unless told. `off` leaves them in. */
  readonly redaction?: RedactionSettings | "off"
  /** For sessions that hold no system prompt or declare no tools. */
  readonly given?: GivenContext
  /** Answers that are rejected in it are context alone. */
  readonly marks?: MarksRule
  /** Ids of models; samples of others are left out. None: every model. */
  readonly models?: ReadonlyArray<string>
  /** What one of these holds of is left out; see SessionQuality.ts. None: nothing is. */
  readonly refuse?: ReadonlyArray<QualityPredicate>
  /** What one of these does not hold of is left out. */
  readonly require?: ReadonlyArray<QualityPredicate>
  /** The share of results, 0 to 1, above which `error_rate` holds. */
  readonly maxErrorRate?: number
  /** Samples of fewer turns are left out. */
  readonly minTurns?: number
  /** Samples may have so many tokens (an estimate, unless a model is given), system prompt and tools counted in. None: any number. */
  readonly maxTokens?: number
  /** What becomes of longer ones; `window` unless told. */
  readonly overflow?: Overflow
  /** Tell how long the samples are, whatever the budget: costs a count of every sample. */
  readonly lengths?: boolean
  /** How much work one session may take; see SessionBudget.ts for the defaults. */
  readonly limits?: SessionLimits
}

export interface ExtractOptions extends Selection, SampleOptions {
  /** The directory to write to. */
  readonly out: string
  /** Write the samples of each role to files of their own, where the format does not name its files itself. */
  readonly perRole?: boolean
  /** Begin another file when one has so many bytes, where the format does not name its files itself. */
  readonly maxFileBytes?: number
  /**
   * A file in which runs to one directory remember what they made of each session, so that the next one makes only what
   * changed. It names paths of this machine. None: all is made anew.
   */
  readonly ledger?: string
  /**
   * Directory of a model (`tokenizer.json`, `tokenizer_config.json`, chat template), whose tokens format `tokens` writes and
   * `maxTokens` means. None: tokens are estimated.
   */
  readonly tokenizer?: string
  /** Thread files and directories of them, in which the mirror told system prompts and tools. */
  readonly threads?: ReadonlyArray<string>
  /** Take sessions that say nearly what another one says too. */
  readonly includeNearDuplicates?: boolean
  /** How to split; a twentieth of the families of each role for validation unless told. */
  readonly split?: SplitRule
  /** Make everything anew, also what an earlier run left or remembers. */
  readonly fresh?: boolean
  /** Of the program that runs it: another version may make something else of the same sessions. */
  readonly program?: string
  /** Called where the dataset stands there already, made of the same sessions with the same settings. */
  readonly onUnchanged?: Effect.Effect<void>
  /** Called when a file is done with. */
  readonly onProgress?: (progress: ExtractProgress) => Effect.Effect<void>
}

/** How far a run is. */
export interface ExtractProgress {
  /** Files that are done with. */
  readonly done: number
  readonly total: number
  readonly doneBytes: number
  readonly totalBytes: number
}
