/**
 * Format `messages`: TRL's conversational shapes with tools, which Unsloth also reads. Arguments are objects, since the
 * templates of Qwen and Llama iterate over them. The format has no field for a failed tool result; the metadata counts
 * these.
 *
 * With `assistant_only_loss`, TRL trains on every answer in `messages`; without it, on all messages. A sample whose
 * context contains answers that are not targets is written as `prompt` and `completion`: TRL trains on the completion
 * only. A completion can contain tool and user messages too, so both shapes need `assistant_only_loss`. The second
 * shape has a file of its own.
 *
 * A sample ends with an assistant message, since nothing is trained after the last one, and never begins with a tool
 * message. Consecutive messages of one role are not joined.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import {
  type BrokenRule,
  ChatMessage,
  ChatTools,
  QuickMessages,
  brokenImages,
  brokenOrder,
  brokenTools,
  imagesOf,
  messagesOf,
  toolsOf
} from "./chat/ChatMessages.ts"
import { DropTally, sum } from "@pi-sessions/samples/DropCounts"
import {
  InvalidSample,
  type ProjectOptions,
  type Projection,
  type SampleFormat,
  SampleMetadata,
  metadataOf
} from "./SampleFormat.ts"
import { type TrainingSample } from "@pi-sessions/samples/TrainingSample"
import * as ReadSample from "./readSample.ts"

/** Present if images are exported: their files, one for each `[image]` in user and tool messages. */
const images = Schema.optionalKey(Schema.Array(Schema.String))

/** A sample in which every answer is a target. */
export const MessagesSample = Schema.Struct({
  messages: Schema.NonEmptyArray(ChatMessage),
  images,
  tools: ChatTools,
  metadata: SampleMetadata
})
export type MessagesSample = typeof MessagesSample.Type

/** A sample in which only the answers of the completion are targets. */
export const CompletionSample = Schema.Struct({
  prompt: Schema.NonEmptyArray(ChatMessage),
  completion: Schema.NonEmptyArray(ChatMessage),
  images,
  tools: ChatTools,
  metadata: SampleMetadata
})
export type CompletionSample = typeof CompletionSample.Type

type Line = MessagesSample | CompletionSample

const project = (sample: TrainingSample, options: ProjectOptions = {}): Projection<Line> => {
  const before = sample.turns.slice(0, sample.first_target).flatMap(messagesOf)
  const after = sample.turns.slice(sample.first_target).flatMap(messagesOf)
  const [first, ...others] = before
  const [target, ...rest] = after.slice(0, after.findLastIndex((message) => message.role === "assistant") + 1)
  if (target === undefined) return { _tag: "None", reason: "no_assistant_turn" }
  const dropped = new DropTally()
  dropped.add("trailing_message", after.length - rest.length - 1)
  const all = sum([sample.metadata.dropped, dropped.counts])
  const common = {
    ...(options.images === true ? { images: imagesOf(sample) } : {}),
    tools: toolsOf(sample),
    metadata: metadataOf(sample, all)
  }
  if (first !== undefined && sample.metadata.context_answers > 0) {
    const line = { prompt: [first, ...others] as const, completion: [target, ...rest] as const, ...common }
    return { _tag: "Sample", sample: line, file: "continued", dropped: all }
  }
  const messages = first === undefined ? ([target, ...rest] as const) : ([first, ...others, target, ...rest] as const)
  return { _tag: "Sample", sample: { messages, ...common }, file: "train", dropped: all }
}

/** The first violated rule that the schema cannot express. */
const brokenRule = (messages: ReadonlyArray<ChatMessage>, { images, tools }: Line): BrokenRule | undefined =>
  brokenOrder(messages) ?? brokenTools(tools) ?? brokenImages(messages, images)

const readMessages = ReadSample.make(
  "messages",
  MessagesSample,
  Schema.Struct({ messages: QuickMessages, images, tools: ChatTools, metadata: SampleMetadata })
)
const readCompletion = ReadSample.make(
  "messages",
  CompletionSample,
  Schema.Struct({
    prompt: QuickMessages,
    completion: QuickMessages,
    images,
    tools: ChatTools,
    metadata: SampleMetadata
  })
)

const read = (line: string): Result.Result<Line, InvalidSample> =>
  line.startsWith('{"prompt":') ? readCompletion(line) : readMessages(line)

const brokenBorder = ({ completion }: CompletionSample): BrokenRule | undefined =>
  completion[0].role === "assistant" ? undefined : ["completion[0]", "a completion that does not begin with an answer"]

const validate = (line: string): Result.Result<Line, InvalidSample> =>
  Result.flatMap(read(line), (sample) => {
    const broken =
      "messages" in sample
        ? brokenRule(sample.messages, sample)
        : (brokenBorder(sample) ?? brokenRule([...sample.prompt, ...sample.completion], sample))
    if (broken === undefined) return Result.succeed(sample)
    const [at, issue] = broken
    return Result.fail(new InvalidSample({ format: "messages", at, issue }))
  })

export const MessagesFormat: SampleFormat<Line> = {
  name: "messages",
  trainer:
    "TRL and Unsloth: set `assistant_only_loss=True`. Without it TRL trains on user and tool messages too, in `messages` and in the whole of a `completion`.",
  takesImages: true,
  passesTexts: true,
  hasChatLines: true,
  project,
  validate
}
