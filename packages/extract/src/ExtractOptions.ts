/** The options of `Extract`. */
import type * as Effect from "effect/Effect"
import { type SessionLimits } from "@pi-sessions/core/SessionBudget"
import { type ArgumentsForm, type FormatName } from "@pi-sessions/formats/FormatName"
import { type ExactSecret } from "@pi-sessions/redaction/ExactSecrets"
import { type GivenContext } from "@pi-sessions/samples/GivenContext"
import { type MarksRule } from "@pi-sessions/samples/Marks"
import { type Overflow } from "@pi-sessions/samples/Overflow"
import { type QualityPredicate } from "@pi-sessions/samples/QualityPredicate"
import { type Reasoning } from "@pi-sessions/samples/Reasoning"
import { type SplitRule } from "./plan/Splits.ts"

export interface RedactionSettings {
  /** Key of the placeholders' numbers. The same key gives the same bytes. See RedactionKey.ts. */
  readonly key: string
  /** Values that are secret whatever they look like. Default: none. */
  readonly exact?: ReadonlyArray<ExactSecret>
}

/** Which sessions are extracted. A field that is absent excludes none. */
export interface Selection {
  /** Selectors of `GasTown.matchesRig`; one match is enough. Empty: every rig. */
  readonly rigs: ReadonlyArray<string>
  /** Roles by name. Empty: every role. */
  readonly roles: ReadonlyArray<string>
  /** Rig `deacon` includes boot and the dogs. Default: false. */
  readonly includeDogs?: boolean
  /** The town's root directory, where paths do not show it. */
  readonly town?: string
  /** Sessions begun at this time (ISO 8601) or later. */
  readonly since?: string
  /** Sessions begun before this time (ISO 8601). */
  readonly until?: string
  /** At most this many sessions, the earliest ones. Default: all. */
  readonly limit?: number
  /** Marks of people on sessions and answers; see Marks.ts. */
  readonly marks?: MarksRule
}

/** How a session becomes samples and lines. */
export interface SampleOptions {
  readonly format: FormatName
  /** How a call's arguments are written, where the format's trainer reads both forms. Default: the format's. */
  readonly arguments?: ArgumentsForm
  /** Write images as files beside the data, for formats with `takesImages`; see docs/formats.md. Default: false. */
  readonly images?: boolean
  /** The active branch of each session, or all. Default: "active". */
  readonly branches?: "active" | "all"
  /** Which thinking is kept: all, only that after the last user turn ("last-query"), or none. Default: "all". */
  readonly reasoning?: Reasoning
  /** Include hydrated sessions, although no model produced their text in this form. Default: false. */
  readonly includeHydrated?: boolean
  /** How secrets and names are removed; "off" keeps them. Default: with a new random key. */
  readonly redaction?: RedactionSettings | "off"
  /** System prompt and tools for sessions without. */
  readonly given?: GivenContext
  /** Answers that are rejected in it are context, not targets. */
  readonly marks?: MarksRule
  /** Ids of models; samples of other models are dropped. Default: every model. */
  readonly models?: ReadonlyArray<string>
  /** Drops samples for which one of these predicates holds; see SessionQuality.ts. Default: none. */
  readonly refuse?: ReadonlyArray<QualityPredicate>
  /** Drops samples for which one of these predicates does not hold. Default: none. */
  readonly require?: ReadonlyArray<QualityPredicate>
  /** The share of failed results, 0 to 1, above which `error_rate` holds. */
  readonly maxErrorRate?: number
  /** Drops samples with fewer turns. Default: 0. */
  readonly minTurns?: number
  /**
   * Tokens of a sample at most, with system prompt and tools. Exact with a model, else an estimate. Default: no limit.
   */
  readonly maxTokens?: number
  /** What becomes of longer samples. Default: "window". */
  readonly overflow?: Overflow
  /** Report the tokens of each sample. Costs a count of every sample. Default: false. */
  readonly lengths?: boolean
  /** Limits on the work for one session. Default: those of SessionBudget.ts. */
  readonly limits?: SessionLimits
}

export interface ExtractOptions extends Selection, SampleOptions {
  /** The directory of the dataset. */
  readonly out: string
  /** Separate files for each role, unless the format prescribes names. Default: false. */
  readonly perRole?: boolean
  /** Size in bytes after which another file begins, unless the format prescribes names. Default: no limit. */
  readonly maxFileBytes?: number
  /**
   * File in which runs to one directory record the parts that they made, so that the next run reuses them. It names paths of
   * this machine. Default: nothing is recorded.
   */
  readonly ledger?: string
  /**
   * Directory of a model (`tokenizer.json`, `tokenizer_config.json`, chat template). Its tokens are written (format
   * `tokens`) and counted (`maxTokens`). Default: tokens are estimated.
   */
  readonly tokenizer?: string
  /** Thread files and directories of them, in which the mirror recorded system prompts and tools. */
  readonly threads?: ReadonlyArray<string>
  /** Keep near-duplicates of other sessions. Default: false. */
  readonly includeNearDuplicates?: boolean
  /** Default: a twentieth of the families of each role for validation. */
  readonly split?: SplitRule
  /** Reuse nothing of earlier runs. Default: false. */
  readonly fresh?: boolean
  /** Name and version of the program. Other versions may make other datasets of the same sessions. */
  readonly program?: string
  /** Called when the dataset is there and no session or setting has changed. */
  readonly onUnchanged?: Effect.Effect<void>
  /** Called when a file is done. */
  readonly onProgress?: (progress: ExtractProgress) => Effect.Effect<void>
}

/** Options of operations that write no dataset. */
export type SurveyOptions = Omit<ExtractOptions, "out" | "ledger">

export interface ExtractProgress {
  /** Files that are done. */
  readonly done: number
  readonly total: number
  readonly doneBytes: number
  readonly totalBytes: number
}
