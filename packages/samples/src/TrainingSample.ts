/**
 * The sample: a run of a session's answers behind what the model was sent for each of them, as turns. Every format is a
 * projection of this record.
 */
import * as Schema from "effect/Schema"
import * as PiProfile from "@pi-sessions/core/PiProfile"
import { ExtractedSession, SessionMetadata } from "./ExtractedSession.ts"
import { QualityPredicate } from "./QualityPredicate.ts"
import { Turn } from "./Turn.ts"

/** Why a sample does not go on from the one before it; see TargetRuns.ts. */
export const SampleStart = Schema.Literals([
  "session",
  "branch",
  "compaction",
  "context_edit",
  "model",
  "system",
  "untrained",
  "history"
])
export type SampleStart = typeof SampleStart.Type

/**
 * `exact`: the turns are the messages that Pi handed to its provider layer, and the tools those that were on offer.
 * `reduced`: they say less. docs/samples.md has the definition, and what provider layers change after that.
 */
export const SampleContext = Schema.Literals(["exact", "reduced"])
export type SampleContext = typeof SampleContext.Type

/** Where the system prompt comes from. `none`: the session does not hold it, and nobody gave one. */
export const SystemSource = Schema.Literals(["session", "thread", "file", "none"])
export type SystemSource = typeof SystemSource.Type

export const TrainingSample = Schema.Struct({
  ...ExtractedSession.fields,
  /** Index in `turns` of the first target. Assistant turns before it are context; it and those after it are targets. */
  first_target: Schema.Int,
  /** For pairs: the answer that was not chosen in the place of the last turn, which was. */
  rejected: Schema.optionalKey(Turn),
  metadata: Schema.Struct({
    ...SessionMetadata.fields,
    /** From 0, in the order of the session's branches. */
    sample: Schema.Int,
    start: SampleStart,
    /** Whether its last target is on the branch that the session ends on. */
    active: Schema.Boolean,
    context: SampleContext,
    /** How many assistant turns are targets. */
    targets: Schema.Int,
    /** How many are context only. */
    context_answers: Schema.Int,
    /** The Pi whose rules gave the context. */
    pi: PiProfile.PiProfile,
    system_source: SystemSource,
    /** The program that held the conversation: `pi`, or what the header names. */
    harness: Schema.String,
    /** What holds of the branch: whole where the session ends on it, else up to the last target. Alphabetical. */
    quality: Schema.Array(QualityPredicate)
  })
})
export type TrainingSample = typeof TrainingSample.Type
