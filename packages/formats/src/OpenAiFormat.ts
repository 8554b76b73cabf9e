/**
 * Format `openai`: a file for supervised fine-tuning at OpenAI (by its guide, and the types of the openai package 3.52.0;
 * Azure, Together and Fireworks document the same lines). Arguments are JSON text, `weight` says of each answer whether it
 * is learnt, and a line holds nothing but what is trained on: the service refuses keys that it does not know, so there is
 * no metadata. Where there are tools, parallel calls are on, as they are in Pi's requests.
 *
 * Thinking has no place here and is dropped. Ids of more than 40 characters, or with others than letters, digits, `_` and
 * `-` (those of the Responses API are both), become ones made of their hash; a tool whose name is not of such characters,
 * at most 64, leaves no line.
 *
 * The service wants at least ten lines in a training file.
 */
import { createHash } from "node:crypto"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { type BrokenRule, toolsOf } from "./chat/ChatMessages.ts"
import { DropTally, sum } from "@pi-sessions/samples/DropCounts"
import { type Dataset, type InvalidDataset, InvalidSample, type Projection, type SampleFormat } from "./Sample.ts"
import { type TrainingSample } from "@pi-sessions/samples/TrainingSample"
import * as ReadSample from "./readSample.ts"
import * as WeightedChat from "./chat/weightedChat.ts"

const CALL_ID = /^[a-zA-Z0-9_-]{1,40}$/u

export const OpenAiSample = Schema.Struct({
  ...WeightedChat.WeightedSample.fields,
  parallel_tool_calls: Schema.optionalKey(Schema.Literal(true))
})
export type OpenAiSample = typeof OpenAiSample.Type

/** The id, or one that is taken and depends on nothing but it. */
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

/** The first broken rule among those that a shape cannot say. */
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
