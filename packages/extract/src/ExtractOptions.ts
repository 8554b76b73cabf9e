/** What a run of Extract is asked for. */
import type * as Effect from "effect/Effect"
import { type ExactSecret } from "./ExactSecrets.ts"
import { type GivenContext } from "./GivenContext.ts"
import { type Overflow } from "./Overflow.ts"
import { type Reasoning } from "./Reasoning.ts"
import { type ArgumentsForm, type FormatName } from "./FormatName.ts"
import { type SplitRule } from "./Splits.ts"

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
}

export interface ExtractOptions extends Selection {
  readonly format: FormatName
  /** How arguments of calls are written, where the format's trainer reads both; as the format has it unless told. */
  readonly arguments?: ArgumentsForm
  /** The directory to write to. */
  readonly out: string
  /** The active branch of each session, or all of them. */
  readonly branches?: "active" | "all"
  /** What becomes of the model's thinking. `last-query`: kept behind the last user turn, as templates like Qwen3's do. */
  readonly reasoning?: Reasoning
  /** Take hydrated sessions too, although no model produced their text in this form. */
  readonly includeHydrated?: boolean
  /** Thread files and directories of them, in which the mirror told system prompts and tools. */
  readonly threads?: ReadonlyArray<string>
  /** How secrets and names are taken out; with a key of this run alone unless told. `off` leaves them in. */
  readonly redaction?: RedactionSettings | "off"
  /** For sessions that hold no system prompt or declare no tools. */
  readonly given?: GivenContext
  /** Ids of models; samples of others are left out. None: every model. */
  readonly models?: ReadonlyArray<string>
  /** Samples of fewer turns are left out. */
  readonly minTurns?: number
  /** Samples may have so many tokens (an estimate), system prompt and tools counted in. None: any number. */
  readonly maxTokens?: number
  /** What becomes of longer ones; `window` unless told. */
  readonly overflow?: Overflow
  /** Take sessions that say nearly what another one says too. */
  readonly includeNearDuplicates?: boolean
  /** How to split; a twentieth of the families of each role for validation unless told. */
  readonly split?: SplitRule
  /** Called when a file is done with: how many are, of how many. */
  readonly onProgress?: (done: number, total: number) => Effect.Effect<void>
}
