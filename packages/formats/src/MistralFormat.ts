/**
 * Format `mistral`: Mistral's fine-tuning format, by the rules of mistral-common (1.13.1, its validator in fine-tuning
 * mode, tokenizers v7 and later; v3 allows no text beside calls). The messages are those of `openai`: `weight` on each
 * answer, arguments as JSON text. Call ids have nine letters and digits, derived from the session's ids by a hash.
 * Thinking is dropped. A conversation begins with a user message or a system prompt, so answers (with their results)
 * before the first user message are dropped too. Tool names must match `[A-Za-z0-9_-]{1,64}`; a sample with another
 * name has no line.
 */
import { createHash } from "node:crypto"
import * as Result from "effect/Result"
import { type BrokenRule, toolsOf } from "./chat/ChatMessages.ts"
import { DropTally, sum } from "@pi-sessions/samples/DropCounts"
import { InvalidSample, type Projection, type SampleFormat } from "./SampleFormat.ts"
import { type TrainingSample } from "@pi-sessions/samples/TrainingSample"
import * as ReadSample from "./readSample.ts"
import * as WeightedChat from "./chat/weightedChat.ts"

export type MistralSample = WeightedChat.WeightedSample

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
const ID_LENGTH = 9
const CALL_ID = /^[a-zA-Z0-9]{9}$/u

/** Nine base-62 digits, derived from the id alone. */
const idOf = (id: string): string => {
  let rest = createHash("sha256").update(id).digest().readBigUInt64BE()
  let digits = ""
  for (let at = 0; at < ID_LENGTH; at++) {
    digits += DIGITS[Number(rest % 62n)]
    rest /= 62n
  }
  return digits
}

/** The messages from the first one that can begin a conversation. */
const withoutLeadingAnswers = (
  messages: ReadonlyArray<WeightedChat.WeightedMessage>,
  dropped: DropTally
): ReadonlyArray<WeightedChat.WeightedMessage> => {
  const found = messages.findIndex(({ role }) => role === "system" || role === "user")
  const first = found === -1 ? messages.length : found
  const leading = messages.slice(0, first)
  dropped.add("leading_assistant_turn", leading.filter(({ role }) => role === "assistant").length)
  dropped.add("orphan_tool_result", leading.filter(({ role }) => role === "tool").length)
  return messages.slice(first)
}

/** The first violated rule that the schema cannot express. */
const brokenRule = (sample: MistralSample): BrokenRule | undefined => {
  const { role } = sample.messages[0]
  if (role === "assistant") return ["messages[0]", "a conversation that begins with an answer"]
  return WeightedChat.brokenRule(sample, CALL_ID)
}

const project = (sample: TrainingSample): Projection<MistralSample> => {
  if (!WeightedChat.takesTools(sample)) return { _tag: "None", reason: "tool_name" }
  const dropped = new DropTally()
  const messages = WeightedChat.weightedMessages(sample, idOf, dropped)
  const [first, ...others] = withoutLeadingAnswers(messages, dropped)
  if (first === undefined || others.length === 0) return { _tag: "None", reason: "no_assistant_turn" }
  const tools = toolsOf(sample)
  return {
    _tag: "Sample",
    sample: { messages: [first, ...others], ...(tools.length === 0 ? {} : { tools }) },
    file: "train",
    dropped: sum([sample.metadata.dropped, dropped.counts])
  }
}

const read = ReadSample.make("mistral", WeightedChat.WeightedSample)

const validate = (line: string): Result.Result<MistralSample, InvalidSample> =>
  Result.flatMap(read(line), (sample) => {
    const broken = brokenRule(sample)
    if (broken === undefined) return Result.succeed(sample)
    const [at, issue] = broken
    return Result.fail(new InvalidSample({ format: "mistral", at, issue }))
  })

export const MistralFormat: SampleFormat<MistralSample> = {
  name: "mistral",
  trainer: "Mistral: `weight` tells what is trained on.",
  hasChatLines: true,
  project,
  validate
}
