/**
 * A sample: the targets of one run and the context before them, as turns. Every format is a projection of this record.
 */
import * as Schema from "effect/Schema"
import * as PiProfile from "@pi-sessions/core/PiProfile"
import { ExtractedSession, SessionMetadata } from "./ExtractedSession.ts"
import { QualityPredicate } from "./QualityPredicate.ts"
import { Turn } from "./Turn.ts"

/** Why a sample (or its run) starts here instead of continuing the one before it on its branch. */
export const SampleStart = Schema.Literals([
  /** The first of its branch. */
  "session",
  /** The answers before it are targets of another branch. */
  "branch",
  "compaction",
  "context_edit",
  /** Another model, or earlier messages are sent to it in another form. */
  "model",
  /** The system prompt or the tools changed. */
  "system",
  /** The answers before it may not be targets. */
  "untrained",
  /** Earlier messages changed for another reason. */
  "history"
])
export type SampleStart = typeof SampleStart.Type

/**
 * `exact`: the turns are the messages that Pi passed to its provider layer, and the tools are those of the request.
 * `reduced`: something is missing. docs/samples.md defines both, and what provider layers change afterwards.
 */
export const SampleContext = Schema.Literals(["exact", "reduced"])
export type SampleContext = typeof SampleContext.Type

/** Where the system prompt comes from: the session, a thread, a file of the user, or nowhere. */
export const SystemSource = Schema.Literals(["session", "thread", "file", "none"])
export type SystemSource = typeof SystemSource.Type

export const TrainingSample = Schema.Struct({
  ...ExtractedSession.fields,
  /** Index in `turns` of the first target. Assistant turns before it are context; all from it on are targets. */
  first_target: Schema.Int,
  /** Of a preference pair: the rejected alternative to the last turn. */
  rejected: Schema.optionalKey(Turn),
  metadata: Schema.Struct({
    ...SessionMetadata.fields,
    /** Number in the session from 0, in the order of its branches. */
    sample: Schema.Int,
    start: SampleStart,
    /** Whether the last target is on the active branch. */
    active: Schema.Boolean,
    context: SampleContext,
    /** Number of assistant turns that are targets. */
    targets: Schema.Int,
    /** Number of assistant turns that are only context. */
    context_answers: Schema.Int,
    /** The Pi version whose rules gave the context. */
    pi: PiProfile.PiProfile,
    system_source: SystemSource,
    /** The program of the conversation: the `harness` of the header, else `pi`. */
    harness: Schema.String,
    /** Predicates that hold for the branch, sorted. The active branch counts as a whole, others up to the last target. */
    quality: Schema.Array(QualityPredicate)
  })
})
export interface TrainingSample extends Omit<typeof TrainingSample.Type, "turns" | "rejected"> {
  readonly turns: ReadonlyArray<Turn>
  readonly rejected?: Turn
}

/** The numbers of targets and context answers, for the metadata. */
export const answerCounts = (
  turns: ReadonlyArray<Turn>,
  first_target: number
): Pick<TrainingSample["metadata"], "targets" | "context_answers"> => {
  let targets = 0
  let context_answers = 0
  for (const [at, { role }] of turns.entries()) {
    if (role !== "assistant") continue
    if (at < first_target) context_answers++
    else targets++
  }
  return { targets, context_answers }
}
