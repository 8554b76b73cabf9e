/**
 * Format `dpo`: TRL's conversational preference pairs: a prompt, the chosen answer and the rejected one.
 * PreferencePairs.ts finds the pairs.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import {
  AssistantMessage,
  type BrokenRule,
  ChatMessage,
  ChatTools,
  brokenOrder,
  brokenTools,
  messagesOf,
  toolsOf
} from "./chat/ChatMessages.ts"
import { InvalidSample, type Projection, type SampleFormat, SampleMetadata, metadataOf } from "./SampleFormat.ts"
import { type TrainingSample } from "@pi-sessions/samples/TrainingSample"
import * as ReadSample from "./readSample.ts"

export const DpoSample = Schema.Struct({
  prompt: Schema.NonEmptyArray(ChatMessage),
  chosen: Schema.Tuple([AssistantMessage]),
  rejected: Schema.Tuple([AssistantMessage]),
  tools: ChatTools,
  /** `active_branch`: the session continued with the chosen answer. */
  preference_source: Schema.Literal("active_branch"),
  metadata: SampleMetadata
})
export type DpoSample = typeof DpoSample.Type

const project = (sample: TrainingSample): Projection<DpoSample> => {
  const last = sample.turns.at(-1)
  if (sample.rejected === undefined || last === undefined) return { _tag: "None", reason: "no_pair" }
  const [first, ...others] = sample.turns.slice(0, -1).flatMap(messagesOf)
  const [chosen] = messagesOf(last)
  const [rejected] = messagesOf(sample.rejected)
  if (first === undefined || chosen?.role !== "assistant" || rejected?.role !== "assistant") {
    return { _tag: "None", reason: "no_pair" }
  }
  const { dropped } = sample.metadata
  return {
    _tag: "Sample",
    sample: {
      prompt: [first, ...others],
      chosen: [chosen],
      rejected: [rejected],
      tools: toolsOf(sample),
      preference_source: "active_branch",
      metadata: metadataOf(sample, dropped)
    },
    file: "train",
    dropped
  }
}

const brokenRule = ({ chosen, prompt, rejected, tools }: DpoSample): BrokenRule | undefined => {
  const broken = brokenOrder([...prompt, ...chosen]) ?? brokenOrder([...prompt, ...rejected]) ?? brokenTools(tools)
  if (broken !== undefined) return broken
  return JSON.stringify(chosen) === JSON.stringify(rejected) ? ["rejected", "the chosen answer again"] : undefined
}

const read = ReadSample.make("dpo", DpoSample)

const validate = (line: string): Result.Result<DpoSample, InvalidSample> =>
  Result.flatMap(read(line), (sample) => {
    const broken = brokenRule(sample)
    if (broken === undefined) return Result.succeed(sample)
    const [at, issue] = broken
    return Result.fail(new InvalidSample({ format: "dpo", at, issue }))
  })

export const DpoFormat: SampleFormat<DpoSample> = {
  name: "dpo",
  trainer: "TRL: `DPOTrainer`.",
  isPairs: true,
  hasChatLines: true,
  project,
  validate
}
