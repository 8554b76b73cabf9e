/**
 * Format `lora-forge`: the files, fields and rules of lora-forge (3b08742, March 2026), which trains Gas Town's roles.
 * It has conversations of `system`, `human` and `gpt` that alternate, calls and results as XML in their text, windows
 * of 16 turns (LoraForgeWindows.ts), its quality filter and score, its rule against duplicates, and files for all roles
 * and for each role.
 *
 * It has no masks and trains on everything that `gpt` says. Answers that are context are therefore quoted within
 * `<context>` in the first `human` message; they are targets in another line. Consecutive messages of one side are
 * joined by a newline. Thinking is dropped. Every loss is counted.
 *
 * A conversation begins with a system prompt: the session's; else the output of `gt prime`, which lora-forge reads from
 * a file of its own; else `[GAS TOWN ROLE: mayor]` or the like, which is counted. Without a known role there is no
 * line. `outcome_score` is null: lora-forge sets it only for sessions that it observed.
 */
import { createHash } from "node:crypto"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { HARNESS } from "@pi-sessions/core/ClaudeCodeSession"
import * as GasTown from "@pi-sessions/core/GasTown"
import { type BrokenRule } from "./chat/ChatMessages.ts"
import { DropTally, sum } from "@pi-sessions/samples/DropCounts"
import * as LoraForgeWindows from "./lora-forge/LoraForgeWindows.ts"
import { InvalidSample, type ProjectOptions, type Projection, type SampleFormat } from "./SampleFormat.ts"
import { type TrainingSample } from "@pi-sessions/samples/TrainingSample"
import { type ToolCall } from "@pi-sessions/samples/Turn"
import * as JsonText from "@pi-sessions/core/JsonText"
import * as LoraForgeQuality from "./lora-forge/loraForgeQuality.ts"
import * as LoraForgeText from "./lora-forge/loraForgeText.ts"
import * as ReadSample from "./readSample.ts"
import { type TurnGroup, answersTo, callsOf, dropTrailing, groupsOf, textsOf } from "./chat/turnGroups.ts"

/** lora-forge's names for the source of a session. */
const PI = { source: "pi-session", runtime_type: "pi" } as const
const CLAUDE_CODE = { source: "claude-session", runtime_type: "claudecode" } as const

const originOf = ({ harness }: TrainingSample["metadata"]) => (harness === HARNESS ? CLAUDE_CODE : PI)

export const LoraForgeMessage = Schema.Struct({
  from: Schema.Literals(["system", "human", "gpt"]),
  value: Schema.String
})
export type LoraForgeMessage = typeof LoraForgeMessage.Type

export const LoraForgeSample = Schema.Struct({
  conversations: Schema.NonEmptyArray(LoraForgeMessage),
  metadata: Schema.Struct({
    role: GasTown.Role,
    session_id: Schema.String,
    /** The window's number in the session, from 0. */
    chunk_index: Schema.Int,
    quality_score: Schema.Number,
    source: Schema.Literals([PI.source, CLAUDE_CODE.source]),
    runtime_type: Schema.Literals([PI.runtime_type, CLAUDE_CODE.runtime_type]),
    mcp_servers: Schema.Array(Schema.String),
    outcome_score: Schema.NullOr(Schema.Number)
  })
})
export type LoraForgeSample = typeof LoraForgeSample.Type

const humanText = (group: TurnGroup, calls: ReadonlyArray<ToolCall>, dropped: DropTally): string => {
  const texts = textsOf(group).map((text) => LoraForgeText.plain(text, dropped))
  const results = answersTo(calls, group).map((result) => LoraForgeText.resultText(result, dropped))
  if (results.length > 0) dropped.add("user_text_in_observation", texts.length)
  else dropped.add("merged_user_turn", texts.length - 1)
  return [...results, ...texts].join("\n")
}

const gptText = (group: TurnGroup, dropped: DropTally): string => {
  dropped.add("merged_assistant_turn", group.turns.length - 1)
  dropped.add("reasoning", group.turns.filter((turn) => turn.metadata.reasoning !== undefined).length)
  const texts = textsOf(group).map((text) => LoraForgeText.plain(text, dropped))
  return [...texts, ...callsOf(group).map(LoraForgeText.callText)].join("\n")
}

/** A turn group as text. */
interface Written extends LoraForgeQuality.WrittenTurn {
  readonly isTarget: boolean
  /** Number of turns in the group. */
  readonly turns: number
}

const writtenOf = (groups: ReadonlyArray<TurnGroup>, dropped: DropTally): ReadonlyArray<Written> => {
  let calls: ReadonlyArray<ToolCall> = []
  return groups.map((group): Written => {
    const { isTarget, role } = group
    const text = role === "user" ? humanText(group, calls, dropped) : gptText(group, dropped)
    calls = role === "user" ? [] : callsOf(group)
    return { role, isTarget, text, calls: calls.length, turns: group.turns.length }
  })
}

/** Everything before the first target as one message: the first prompt, the earlier answers, the last prompt. */
const beginning = (before: ReadonlyArray<Written>): string => {
  const last = before.at(-1)
  if (before.length === 1 && last?.role === "user") return last.text
  const [first] = before
  const head = first?.role === "user" ? [first.text] : []
  const tail = last?.role === "user" ? [last.text] : []
  const middle = before
    .slice(head.length, before.length - tail.length)
    .map(({ role, text }) => `[${role === "user" ? "human" : "gpt"}]\n${text}`)
  return [...head, `<context>\n${middle.join("\n")}\n</context>`, ...tail].join("\n\n")
}

/** The alternating messages; empty if there is no prompt before the first answer. */
const conversationOf = (written: ReadonlyArray<Written>, dropped: DropTally): ReadonlyArray<LoraForgeMessage> => {
  const firstTarget = written.findIndex(({ isTarget }) => isTarget)
  // An answer without a prompt cannot be a `gpt` message, so its text goes into the context.
  const at = firstTarget > 0 ? firstTarget : written.findIndex(({ isTarget }, index) => index > 0 && isTarget)
  if (at < 1) return []
  const before = written.slice(0, at)
  for (const { isTarget, role, turns } of before) {
    if (role === "assistant") dropped.add(isTarget ? "leading_assistant_turn" : "answer_as_text", turns)
  }
  return [
    { from: "human", value: beginning(before) },
    ...written.slice(at).map(({ role, text }): LoraForgeMessage => {
      return { from: role === "user" ? "human" : "gpt", value: text }
    })
  ]
}

/** The system prompt, and the sample without the turns that provide it. */
const systemOf = (
  sample: TrainingSample,
  dropped: DropTally
): { readonly prompt: string; readonly rest: TrainingSample } | undefined => {
  const own = sample.turns.find((turn) => turn.role === "system")
  if (own !== undefined) return { prompt: own.content, rest: sample }
  const first = sample.turns.findIndex((turn) => !LoraForgeWindows.isPrime(turn))
  const primes = sample.turns.slice(0, Math.max(0, first))
  const { role } = sample.metadata
  if (primes.length === 0) {
    if (role === "unknown") return undefined
    dropped.add("made_system_prompt")
    return { prompt: `[GAS TOWN ROLE: ${role}]`, rest: sample }
  }
  dropped.add("prime_as_system", primes.length)
  return {
    prompt: primes.map(({ content }) => content).join("\n\n"),
    rest: { ...sample, turns: sample.turns.slice(primes.length), first_target: sample.first_target - primes.length }
  }
}

const mcpServersOf = (samples: ReadonlyArray<TrainingSample>): ReadonlyArray<string> => {
  const names = samples.flatMap(({ turns }) => turns.flatMap((turn) => turn.tool_calls.map(({ name }) => name)))
  return [...new Set(names.flatMap((name) => LoraForgeText.mcpServerOf(name) ?? []))].sort()
}

const project = (sample: TrainingSample, { piece = 0 }: ProjectOptions = {}): Projection<LoraForgeSample> => {
  const dropped = new DropTally()
  const system = systemOf(sample, dropped)
  if (system === undefined) return { _tag: "None", reason: "no_system_prompt" }
  const groups = groupsOf(system.rest)
  dropTrailing(groups, dropped)
  const written = writtenOf(groups, dropped)
  const conversation = conversationOf(written, dropped)
  if (conversation.length === 0) return { _tag: "None", reason: "no_assistant_turn" }
  const score = LoraForgeQuality.scoreOf(written)
  if (score === undefined) return { _tag: "None", reason: "low_quality" }
  return {
    _tag: "Sample",
    sample: {
      conversations: [{ from: "system", value: system.prompt }, ...conversation],
      metadata: {
        role: sample.metadata.role,
        session_id: sample.session_id,
        chunk_index: piece,
        quality_score: score,
        ...originOf(sample.metadata),
        mcp_servers: mcpServersOf([sample]),
        outcome_score: null
      }
    },
    file: "train",
    dropped: sum([sample.metadata.dropped, dropped.counts]),
    fingerprint: fingerprintOf(conversation)
  }
}

/** lora-forge treats lines as duplicates if their `gpt` texts are equal. */
const fingerprintOf = (conversation: ReadonlyArray<LoraForgeMessage>): string => {
  const said = conversation.filter(({ from }) => from === "gpt").map(({ value }) => value)
  return createHash("sha256").update(said.join("\n---\n")).digest("hex").slice(0, 16)
}

/** The rule that a message violates, given the one before it. */
const brokenMessage = (conversations: LoraForgeSample["conversations"], index: number): string | undefined => {
  const { from, value } = conversations[index] ?? conversations[0]
  const due = index === 0 ? "system" : index % 2 === 1 ? "human" : "gpt"
  if (from !== due) return `${from} in the place of ${due}`
  if (value.trim() === "") return "an empty message"
  if (from === "gpt") {
    const calls = LoraForgeText.callsIn(value)
    const isBroken = calls === undefined || calls.some((json) => JsonText.parseObject(json) === undefined)
    return isBroken ? "a call that is none" : undefined
  }
  if (from === "system") return undefined
  if (index === 1) return value.startsWith("<tool_result") ? "a conversation that begins with a tool result" : undefined
  const results = LoraForgeText.resultsIn(value)
  if (results === undefined) return "a result that is none"
  if (results.some((result) => result.length > LoraForgeText.RESULT_CHARS_MAX)) return "a result above the length limit"
  const calls = LoraForgeText.callsIn(conversations[index - 1]?.value ?? "")
  return calls?.length === results.length ? undefined : "the numbers of results and calls differ"
}

/** The first violated rule that the schema cannot express. */
const brokenRule = ({ conversations, metadata }: LoraForgeSample): BrokenRule | undefined => {
  for (const index of conversations.keys()) {
    const issue = brokenMessage(conversations, index)
    if (issue !== undefined) return [`conversations[${index}]`, issue]
  }
  if (conversations.length < 3 || conversations.at(-1)?.from !== "gpt") {
    return ["conversations", "it does not end with gpt"]
  }
  const { quality_score } = metadata
  return quality_score >= 0 && quality_score <= 1 ? undefined : ["metadata.quality_score", "not from 0 to 1"]
}

const read = ReadSample.make("lora-forge", LoraForgeSample)

const validate = (line: string): Result.Result<LoraForgeSample, InvalidSample> =>
  Result.flatMap(read(line), (sample) => {
    const broken = brokenRule(sample)
    if (broken === undefined) return Result.succeed(sample)
    const [at, issue] = broken
    return Result.fail(new InvalidSample({ format: "lora-forge", at, issue }))
  })

/** A summary of a session, with the field names of lora-forge's own readers. */
const sessionLineOf = (samples: readonly [TrainingSample, ...ReadonlyArray<TrainingSample>]): string => {
  const [{ metadata, session_id, source_path }] = samples
  const turns = samples.flatMap((sample) => sample.turns)
  const mcp_servers = mcpServersOf(samples)
  const { runtime_type } = originOf(metadata)
  return JSON.stringify({
    session_id,
    source_path,
    // A turn can be in several samples, as context and as target. It counts once.
    num_turns: new Set(turns.map(({ content, role, uuid }) => (uuid === "" ? `${role} ${content}` : uuid))).size,
    runtime_type,
    mcp_servers,
    metadata: {
      total_records: metadata.entries.file,
      conversation_records: Math.max(...samples.map((sample) => sample.metadata.entries.context)),
      runtime_type,
      mcp_servers,
      omp_model: metadata.model,
      omp_provider: metadata.provider,
      omp_api: turns.findLast((turn) => turn.metadata.api !== undefined)?.metadata.api ?? null,
      role: metadata.role
    }
  })
}

export const LoraForgeFormat: SampleFormat<LoraForgeSample> = {
  name: "lora-forge",
  trainer: "lora_forge: its own files; every `gpt` is trained on.",
  divide: LoraForgeWindows.divide,
  project,
  validate,
  fileNames: ({ role, split }) =>
    split === "train" ? ["gastown_train.jsonl", `${role}_train.jsonl`] : ["gastown_val.jsonl"],
  sessions: { fileName: "raw_sessions.jsonl", lineOf: sessionLineOf }
}
