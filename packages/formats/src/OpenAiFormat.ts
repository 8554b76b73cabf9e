/**
 * Format `openai`: a file for supervised fine-tuning at OpenAI (by its guide and the types of the openai package
 * 3.52.0; Azure, Together and Fireworks document the same lines). Arguments are JSON text, and each answer has a
 * `weight`. The service refuses unknown keys, so a line has no metadata. With tools, `parallel_tool_calls` is true, as
 * in Pi's requests.
 *
 * Thinking is dropped. Call ids that are longer than 40 characters or contain others than letters, digits, `_` and `-`
 * are replaced by a hash; ids of the Responses API are both. Tool names must match `[A-Za-z0-9_-]{1,64}`; a sample with
 * another name has no line.
 *
 * The service requires at least ten lines in a training file.
 */
import { createHash } from "node:crypto"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { type BrokenRule, toolsOf } from "./chat/ChatMessages.ts"
import { DropTally, sum } from "@pi-sessions/samples/DropCounts"
import { type Dataset, type InvalidDataset, InvalidSample, type Projection, type SampleFormat } from "./SampleFormat.ts"
import { type TrainingSample } from "@pi-sessions/samples/TrainingSample"
import * as ReadSample from "./readSample.ts"
import * as WeightedChat from "./chat/weightedChat.ts"

const CALL_ID = /^[a-zA-Z0-9_-]{1,40}$/u

export const OpenAiSample = Schema.Struct({
  ...WeightedChat.WeightedSample.fields,
  parallel_tool_calls: Schema.optionalKey(Schema.Literal(true))
})
export type OpenAiSample = typeof OpenAiSample.Type

/** The id if the service accepts it, else a hash of it. */
const idOf = (id: string): string =>
  CALL_ID.test(id) ? id : `call_${createHash("sha256").update(id).digest("hex").slice(0, 24)}`

const project = (sample: TrainingSample): Projection<OpenAiSample> => {
  if (!WeightedChat.takesTools(sample)) return { _tag: "None", reason: "tool_name" }
  const dropped = new DropTally()
  const [first, ...others] = WeightedChat.weightedMessages(sample, idOf, dropped)
  if (first === undefined) return { _tag: "None", reason: "no_assistant_turn" }
  const ids = sample.turns.flatMap((turn) => turn.tool_calls.map(({ id }) => id))
  dropped.add("replaced_call_id", ids.filter((id) => idOf(id) !== id).length)
  const tools = toolsOf(sample)
  return {
    _tag: "Sample",
    sample: {
      messages: [first, ...others],
      ...(tools.length === 0 ? {} : { tools, parallel_tool_calls: true as const })
    },
    file: "train",
    dropped: sum([sample.metadata.dropped, dropped.counts])
  }
}

/** The first violated rule that the schema cannot express. */
const brokenRule = (sample: OpenAiSample): BrokenRule | undefined => {
  const { parallel_tool_calls, tools = [] } = sample
  if (parallel_tool_calls !== undefined && tools.length === 0) return ["parallel_tool_calls", "there are no tools"]
  return WeightedChat.brokenRule(sample, CALL_ID)
}

const read = ReadSample.make("openai", OpenAiSample)

const validate = (line: string): Result.Result<OpenAiSample, InvalidSample> =>
  Result.flatMap(read(line), (sample) => {
    const broken = brokenRule(sample)
    if (broken === undefined) return Result.succeed(sample)
    const [at, issue] = broken
    return Result.fail(new InvalidSample({ format: "openai", at, issue }))
  })

const FEWEST_LINES = 10

const validateDataset = ({ files }: Dataset): Result.Result<ReadonlyArray<string>, InvalidDataset> =>
  Result.succeed(
    files.flatMap(({ lines, name, split }) =>
      split === "train" && lines < FEWEST_LINES
        ? [`${name} has ${lines} lines; OpenAI takes files of at least ${FEWEST_LINES}`]
        : []
    )
  )

export const OpenAiFormat: SampleFormat<OpenAiSample> = {
  name: "openai",
  trainer: "OpenAI and services like it: `weight` tells what is trained on. Ten lines at least.",
  hasChatLines: true,
  project,
  validate,
  validateDataset
}
