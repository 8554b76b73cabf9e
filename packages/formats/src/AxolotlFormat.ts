/**
 * Format `axolotl`: the dataset type `chat_template` of Axolotl (067b021, July 2026). The messages are those of format
 * `messages`. Each assistant message has a field `train`, so that answers of the context are masked. The sidecar
 * `axolotl.yml` contains the settings for this: without `message_field_training` Axolotl trains on every answer.
 *
 * Some templates (Qwen3's) leave out the thinking of earlier queries. With these, the data must not contain it either
 * (`--reasoning last-query`): Axolotl locates an answer by rendering the conversation up to it, where the thinking is
 * still shown, and would train on the wrong tokens.
 *
 * Arguments and tools are JSON text by default. Axolotl also reads objects, but it loads files through Arrow, which
 * refuses two types under one key and gives every call the keys of all others, as nulls. Axolotl removes nulls, and
 * with them those that were in the data.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import {
  AssistantMessage,
  type BrokenRule,
  ChatTools,
  SystemMessage,
  TextFunctionCall,
  ToolMessage,
  UserMessage,
  brokenOrder,
  brokenTools,
  markedMessages,
  toolsOf,
  withTextArguments
} from "./chat/ChatMessages.ts"
import { DropTally, sum } from "@pi-sessions/samples/DropCounts"
import {
  type DataFile,
  type Dataset,
  InvalidDataset,
  InvalidSample,
  type ProjectOptions,
  type Projection,
  type SampleFormat,
  SampleMetadata,
  type Sidecar,
  metadataOf
} from "./SampleFormat.ts"
import { type TrainingSample } from "@pi-sessions/samples/TrainingSample"
import * as JsonText from "@pi-sessions/core/JsonText"
import * as ReadSample from "./readSample.ts"

const Trained = Schema.Struct({
  ...AssistantMessage.fields,
  train: Schema.Boolean
})

const TrainedText = Schema.Struct({
  ...Trained.fields,
  tool_calls: Schema.optionalKey(Schema.NonEmptyArray(TextFunctionCall))
})

/** Arguments and tools as objects. */
const ObjectSample = Schema.Struct({
  messages: Schema.NonEmptyArray(Schema.Union([SystemMessage, UserMessage, Trained, ToolMessage])),
  tools: ChatTools,
  metadata: SampleMetadata
})

/** Arguments and tools as JSON text. */
const TextSample = Schema.Struct({
  messages: Schema.NonEmptyArray(Schema.Union([SystemMessage, UserMessage, TrainedText, ToolMessage])),
  tools: Schema.String,
  metadata: SampleMetadata
})

export const AxolotlSample = Schema.Union([TextSample, ObjectSample])
export type AxolotlSample = typeof AxolotlSample.Type

const project = (
  sample: TrainingSample,
  { arguments: form = "string" }: ProjectOptions = {}
): Projection<AxolotlSample> => {
  const { messages: marked, trailing } = markedMessages(sample)
  const objects = marked.map(({ isTarget, message }) =>
    message.role === "assistant" ? { ...message, train: isTarget } : message
  )
  const [first, ...others] = objects
  if (first === undefined) return { _tag: "None", reason: "no_assistant_turn" }
  const dropped = new DropTally()
  dropped.add("trailing_message", trailing)
  const all = sum([sample.metadata.dropped, dropped.counts])
  const metadata = metadataOf(sample, all)
  const line: AxolotlSample =
    form === "object"
      ? { messages: [first, ...others], tools: toolsOf(sample), metadata }
      : {
          messages: [inText(first), ...others.map(inText)],
          tools: JSON.stringify(toolsOf(sample)),
          metadata
        }
  return { _tag: "Sample", sample: line, file: "train", dropped: all }
}

type InObjects = (typeof ObjectSample.Type)["messages"][number]
type InText = (typeof TextSample.Type)["messages"][number]

const inText = (message: InObjects): InText => {
  if (message.role !== "assistant") return message
  const { tool_calls, ...rest } = message
  if (tool_calls === undefined) return rest
  const [first, ...others] = tool_calls
  return { ...rest, tool_calls: [withTextArguments(first), ...others.map(withTextArguments)] }
}

const decodeTools = Schema.decodeUnknownResult(ChatTools)

/** The first violated rule that the schema cannot express. */
const brokenRule = ({ messages, metadata, tools }: AxolotlSample): BrokenRule | undefined => {
  const declared = typeof tools === "string" ? decodeTools(JsonText.parse(tools)) : Result.succeed(tools)
  if (Result.isFailure(declared)) return ["tools", "not a JSON list of tools"]
  const trained = messages.flatMap((message) => (message.role === "assistant" ? [message.train] : []))
  if (trained.at(-1) !== true) return ["messages", "the last answer is not trained"]
  if (trained.includes(false, trained.indexOf(true))) return ["messages", "a masked answer after a trained one"]
  if (trained.filter((train) => train).length !== metadata.targets) {
    return ["messages", "the number of trained answers differs from the number of targets"]
  }
  return brokenOrder(messages) ?? brokenTools(declared.success)
}

const read = ReadSample.make<AxolotlSample>("axolotl", AxolotlSample)

const validate = (line: string): Result.Result<AxolotlSample, InvalidSample> =>
  Result.flatMap(read(line), (sample) => {
    const broken = brokenRule(sample)
    if (broken === undefined) return Result.succeed(sample)
    const [at, issue] = broken
    return Result.fail(new InvalidSample({ format: "axolotl", at, issue }))
  })

const CONFIG_FILE = "axolotl.yml"

/** The entry of one file in the configuration. */
const entryOf = ({ name }: DataFile): string => `  - path: ${JSON.stringify(name)}
    ds_type: json
    type: chat_template
    field_messages: messages
    field_tools: tools
    message_field_training: train
    roles_to_train: ["assistant"]
    train_on_eos: turn
`

const sidecars = (files: ReadonlyArray<DataFile>): ReadonlyArray<Sidecar> => {
  const of = (split: DataFile["split"]) => files.filter((file) => file.split === split)
  const list = (key: string, some: ReadonlyArray<DataFile>) =>
    some.length === 0 ? "" : `${key}:\n${some.map(entryOf).join("")}`
  const text = `# What Axolotl must be told of this data; copy it into your configuration. Paths are those of the directory that
# holds this file. \`message_field_training\` keeps answers of the context from being trained on.
#
# With a template that leaves out the thinking of earlier queries (Qwen3's), the data must not hold it either (extract with
# --reasoning last-query): Axolotl looks for an answer where it would stand with its thinking, and would train on what
# follows it.
${list("datasets", of("train"))}${list("test_datasets", of("validation"))}`
  return [{ name: CONFIG_FILE, text }]
}

const validateDataset = ({ files, sidecars }: Dataset): Result.Result<ReadonlyArray<string>, InvalidDataset> => {
  const broken = (issue: string) => Result.fail(new InvalidDataset({ format: "axolotl", file: CONFIG_FILE, issue }))
  const config = sidecars.find(({ name }) => name === CONFIG_FILE)?.text
  if (config === undefined) return broken("it is not there")
  for (const file of files) {
    if (!config.includes(entryOf(file))) return broken(`no valid entry for ${file.name}`)
  }
  return Result.succeed([])
}

export const AxolotlFormat: SampleFormat<AxolotlSample> = {
  name: "axolotl",
  trainer: "Axolotl: see `axolotl.yml`. `train` on each message tells what is trained on.",
  // Templates that Axolotl is used with drop earlier thinking, and its masks would then cover other words.
  reasoning: "last-query",
  hasChatLines: true,
  project,
  validate,
  sidecars,
  validateDataset
}
