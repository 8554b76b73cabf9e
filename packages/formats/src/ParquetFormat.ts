/**
 * Format `parquet`: the samples of `messages` in columns. Each member of the metadata has a column, so that readers can
 * filter rows by it. Tools and call arguments are JSON text: as structs, Arrow would give each of them the members of
 * all others.
 *
 * With `--arguments object` these columns have Parquet's logical type JSON: readers that support it (`datasets` from
 * 4.7 on) return objects, others (pyarrow, DuckDB, polars) text. With `string` every reader returns text.
 *
 * During a run the samples are lines, as in other formats; see `container` in SampleFormat.ts.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaParser from "effect/SchemaParser"
import { AnyJson, type JsonObject } from "@pi-sessions/core/Json"
import {
  type BrokenRule,
  type ChatMessage,
  ChatTools,
  SystemMessage,
  ToolMessage,
  UserMessage,
  brokenImages,
  brokenOrder,
  brokenTools,
  withTextArguments
} from "./chat/ChatMessages.ts"
import { MessagesFormat } from "./MessagesFormat.ts"
import * as ParquetFile from "./files/ParquetFile.ts"
import {
  InvalidSample,
  type ProjectOptions,
  type Projection,
  type SampleFormat,
  SampleMetadata
} from "./SampleFormat.ts"
import { type TrainingSample } from "@pi-sessions/samples/TrainingSample"
import * as ReadSample from "./readSample.ts"

const AssistantMessage = Schema.Struct({
  role: Schema.Literal("assistant"),
  content: Schema.String,
  reasoning_content: Schema.optionalKey(Schema.String),
  tool_calls: Schema.optionalKey(
    Schema.NonEmptyArray(
      Schema.Struct({
        id: Schema.NonEmptyString,
        type: Schema.Literal("function"),
        function: Schema.Struct({
          name: Schema.String,
          arguments: Schema.Union([Schema.Record(Schema.String, AnyJson), Schema.String])
        })
      })
    )
  )
})
const Message = Schema.Union([SystemMessage, UserMessage, AssistantMessage, ToolMessage]).pipe(
  Schema.toTaggedUnion("role")
)
type Message = typeof Message.Type

const common = {
  /** Present if images are exported: their files, one for each `[image]` in user and tool messages. */
  images: Schema.optionalKey(Schema.Array(Schema.String)),
  /** JSON text if the arguments are. */
  tools: Schema.Union([ChatTools, Schema.String]),
  ...SampleMetadata.fields
}

/** A row in which every answer is a target. */
export const MessagesRow = Schema.Struct({ messages: Schema.NonEmptyArray(Message), ...common })
export type MessagesRow = typeof MessagesRow.Type

/** A row in which only the answers of the completion are targets. */
export const CompletionRow = Schema.Struct({
  prompt: Schema.NonEmptyArray(Message),
  completion: Schema.NonEmptyArray(Message),
  ...common
})
export type CompletionRow = typeof CompletionRow.Type

type Row = MessagesRow | CompletionRow

const asText = (message: ChatMessage): Message => {
  if (message.role !== "assistant" || message.tool_calls === undefined) return message
  const [first, ...others] = message.tool_calls
  return { ...message, tool_calls: [withTextArguments(first), ...others.map(withTextArguments)] }
}

type Messages = readonly [ChatMessage, ...ReadonlyArray<ChatMessage>]

const project = (sample: TrainingSample, options: ProjectOptions = {}): Projection<Row> => {
  const { arguments: form = "object" } = options
  const made = MessagesFormat.project(sample, options)
  if (made._tag === "None") return made
  const { images, metadata, tools: declared } = made.sample
  const written = ([first, ...others]: Messages): readonly [Message, ...ReadonlyArray<Message>] =>
    form === "object" ? [first, ...others] : [asText(first), ...others.map(asText)]
  const tools = form === "object" ? declared : JSON.stringify(declared)
  const rest = { ...(images === undefined ? {} : { images }), tools, ...metadata }
  const row =
    "messages" in made.sample
      ? { messages: written(made.sample.messages), ...rest }
      : { prompt: written(made.sample.prompt), completion: written(made.sample.completion), ...rest }
  return { ...made, sample: row }
}

const readMessages = ReadSample.make("parquet", MessagesRow)
const readCompletion = ReadSample.make("parquet", CompletionRow)
const decodeTools = SchemaParser.decodeUnknownResult(Schema.fromJsonString(ChatTools), { onExcessProperty: "error" })

const brokenForm = ({ tools }: Row, messages: ReadonlyArray<Message>): BrokenRule | undefined => {
  const isText = typeof tools === "string"
  const isOther = (message: Message): boolean =>
    message.role === "assistant" &&
    message.tool_calls?.some((call) => (typeof call.function.arguments === "string") !== isText) === true
  const other = messages.findIndex(isOther)
  return other < 0 ? undefined : [`messages[${other}]`, "arguments and tools are not both objects, or both text"]
}

const brokenRule = (row: Row): BrokenRule | undefined => {
  const messages = "messages" in row ? row.messages : [...row.prompt, ...row.completion]
  if ("completion" in row && row.completion[0].role !== "assistant") {
    return ["completion[0]", "a completion that does not begin with an answer"]
  }
  const tools = typeof row.tools === "string" ? decodeTools(row.tools) : Result.succeed(row.tools)
  if (Result.isFailure(tools)) return ["tools", "not a JSON list of tools"]
  return (
    brokenOrder(messages) ??
    brokenTools(tools.success) ??
    brokenImages(messages, row.images) ??
    brokenForm(row, messages)
  )
}

const validate = (line: string): Result.Result<Row, InvalidSample> => {
  const read: Result.Result<Row, InvalidSample> = line.startsWith('{"prompt":')
    ? readCompletion(line)
    : readMessages(line)
  return Result.flatMap(read, (row) => {
    const broken = brokenRule(row)
    if (broken === undefined) return Result.succeed(row)
    const [at, issue] = broken
    return Result.fail(new InvalidSample({ format: "parquet", at, issue }))
  })
}

const { flag, int, list, optional, struct, text } = ParquetFile

const METADATA: { readonly [Name in keyof SampleMetadata]: ParquetFile.Column } = {
  session_id: text,
  source_path: text,
  cwd: text,
  timestamp: text,
  session_name: optional(text),
  parent_session: optional(text),
  leaf_id: optional(text),
  role: text,
  name: optional(text),
  rig: optional(text),
  town: optional(text),
  role_source: text,
  provider: optional(text),
  model: optional(text),
  thinking_level: text,
  hydrated: flag,
  sample: int,
  start: text,
  context: text,
  targets: int,
  context_answers: int,
  harness: text,
  pi: text,
  system_source: text,
  tools_source: text,
  tool_errors: int,
  quality: list(text),
  dropped: list(struct({ reason: text, count: int }))
}

/** The columns for rows of the same shape as the first one. */
const columnsOf = (first: JsonObject | undefined): ParquetFile.Columns => {
  const json = typeof first?.["tools"] === "string" ? text : ParquetFile.json
  const call = struct({ id: text, type: text, function: struct({ name: text, arguments: json }) })
  const messages = list(
    struct({
      role: text,
      tool_call_id: optional(text),
      name: optional(text),
      content: text,
      reasoning_content: optional(text),
      tool_calls: optional(list(call))
    })
  )
  return {
    ...(first !== undefined && "prompt" in first ? { prompt: messages, completion: messages } : { messages }),
    ...(first !== undefined && "images" in first ? { images: list(text) } : {}),
    tools: json,
    ...METADATA
  }
}

export const ParquetFormat: SampleFormat<Row> = {
  name: "parquet",
  trainer:
    "TRL and Unsloth: set `assistant_only_loss=True`, and load it with `load_dataset(...).with_transform(trl.trainer.utils.remove_none_values)`, since columns have null where a message has no such member.",
  takesImages: true,
  hasChatLines: true,
  project,
  validate,
  container: {
    extension: ".parquet",
    fromLines: (lines, target) => ParquetFile.fromLines(lines, target, columnsOf),
    readLines: ParquetFile.readLines
  }
}
