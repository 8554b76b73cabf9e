/** The options of a run, from flags that have to be read: dates, shares, files. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as GasTown from "@pi-sessions/core/GasTown"
import { type GivenContext } from "@pi-sessions/samples/GivenContext"
import * as Marks from "@pi-sessions/samples/Marks"
import { type FormatName } from "@pi-sessions/formats/FormatName"
import { type Reasoning } from "@pi-sessions/samples/Reasoning"
import { type SplitRule } from "@pi-sessions/extract/plan/Splits"
import * as RequestContexts from "@pi-sessions/samples/RequestContexts"
import { ToolDefinition } from "@pi-sessions/samples/ToolDefinition"
import { CommandFailed, UsageError, tooSmall } from "../../Exit.ts"
import { Invocation } from "../../Invocation.ts"
import * as PointInTime from "../../PointInTime.ts"
import { type SameInput } from "../extract.ts"
import { directory, parseJson, readText } from "./namedFile.ts"
import * as NamedModel from "./namedModel.ts"
import { redactionOf } from "./redaction.ts"

/** `0.1` or `time:2026-02-01`. */
const splitRule = (text: string): Effect.Effect<SplitRule, UsageError> => {
  const from = text.startsWith("time:") ? text.slice("time:".length) : undefined
  if (from !== undefined) return Effect.map(date("--split", from), (from) => ({ _tag: "Time", from }))
  const validation = text.trim() === "" ? Number.NaN : Number(text)
  return validation >= 0 && validation < 1
    ? Effect.succeed({ _tag: "Share", validation })
    : Effect.fail(new UsageError({ text: `--split ${text}: give a share from 0 to below 1, or time:DATE` }))
}

/** ISO 8601, from what a person gives. */
const date = (flag: string, text: string): Effect.Effect<string, UsageError> =>
  Effect.map(PointInTime.fromFlag(flag, text), (ms) => new Date(ms).toISOString())

const isRole = Schema.is(GasTown.Role)

/** `ROLE=FILE`, or `FILE` for all roles; a file may have such a name, so only roles count. */
const systemPrompts = Effect.fnUntraced(function* (values: ReadonlyArray<string>) {
  const system = new Map<GasTown.Role | "*", string>()
  for (const value of values) {
    const at = value.indexOf("=")
    const name = value.slice(0, Math.max(0, at))
    const [role, file] = isRole(name) ? [name, value.slice(at + 1)] : ["*" as const, value]
    system.set(role, yield* readText("--system", file))
  }
  return system
})

const decodeTools = Schema.decodeUnknownEffect(Schema.Array(ToolDefinition))

const givenContext = Effect.fnUntraced(function* ({ system, tools }: SameInput) {
  const given: GivenContext = { system: yield* systemPrompts(system) }
  if (Option.isNone(tools)) return given
  const invocation = yield* Invocation
  const value = yield* parseJson("--tools", tools.value, yield* readText("--tools", tools.value))
  const decoded = yield* decodeTools(value).pipe(
    Effect.mapError((error) => {
      const what = "no list of {name, description, parameters}"
      const [why = "", where = ""] = error.message.split("\n").map((line) => line.trim())
      return new CommandFailed({ text: `--tools: ${invocation.resolve(tools.value)}: ${what}: ${why} ${where}`.trim() })
    })
  )
  return { ...given, tools: decoded }
})

/** Templates that Axolotl is used with drop earlier thinking, and its masks would then cover other words. */
export const reasoningOf = (format: FormatName, asked: Option.Option<Reasoning>): Reasoning =>
  Option.getOrElse(asked, () => (format === "axolotl" ? "last-query" : "all"))

/** What is chosen by how conversations went. */
const quality = Effect.fnUntraced(function* ({ maxErrorRate, refuse, require }: SameInput) {
  const both = refuse.find((name) => require.includes(name))
  if (both !== undefined) {
    return yield* new UsageError({ text: `--refuse ${both} and --require ${both}: nothing is left; give one of them` })
  }
  if (Option.isNone(maxErrorRate)) return { refuse, require }
  if (maxErrorRate.value >= 0 && maxErrorRate.value <= 1) return { refuse, require, maxErrorRate: maxErrorRate.value }
  return yield* new UsageError({ text: `--max-error-rate ${maxErrorRate.value}: give a share from 0 to 1` })
})

/** The marks that are to be obeyed. */
const marksRule = Effect.fnUntraced(
  function* ({ marks, marksOnly }: SameInput) {
    const invocation = yield* Invocation
    if (Option.isSome(marks)) {
      const read = Marks.read(invocation.resolve(marks.value))
      const rule = { marks: yield* read, acceptedOnly: marksOnly }
      return { marks: rule }
    }
    return marksOnly ? yield* new UsageError({ text: "--marks-only needs --marks FILE" }) : {}
  },
  Effect.mapError((error) =>
    error._tag === "UsageError"
      ? error
      : error._tag === "MarksNotFound"
        ? new UsageError({ text: `--marks: ${error.message}` })
        : new CommandFailed({ text: `--marks: ${error.message}` })
  )
)

/** Limits of one session; nothing where none is given, so that the manifest names only limits that were chosen. */
const sessionLimits = ({ maxSessionMb, maxSteps }: SameInput) => {
  if (Option.isNone(maxSteps) && Option.isNone(maxSessionMb)) return {}
  return {
    limits: {
      ...(Option.isSome(maxSteps) ? { maxSteps: maxSteps.value } : {}),
      ...(Option.isSome(maxSessionMb) ? { maxBytes: maxSessionMb.value * 1e6 } : {})
    }
  }
}

/** The thread files that were named, each of which can be read. */
const threadPaths = Effect.fnUntraced(function* ({ threads }: SameInput) {
  const invocation = yield* Invocation
  const paths = threads.map(invocation.resolve)
  yield* RequestContexts.read(paths).pipe(
    Effect.mapError(({ message }) => new CommandFailed({ text: `--threads: ${message}` }))
  )
  return paths
})

/** What is given of the flags that have to be read. */
export const chosen = Effect.fnUntraced(function* (input: SameInput) {
  const { limit, maxFileMb, maxTokens, minTurns, since, split, tokenizer, town, until } = input
  const wrong =
    tooSmall(
      {
        "--limit": limit,
        "--max-file-mb": maxFileMb,
        "--max-session-mb": input.maxSessionMb,
        "--max-steps": input.maxSteps,
        "--max-tokens": maxTokens
      },
      1
    ) ?? tooSmall({ "--min-turns": Option.some(minTurns) }, 0)
  if (wrong !== undefined) return yield* wrong
  if (input.images && input.format !== "messages" && input.format !== "parquet") {
    return yield* new UsageError({
      text: `--images: format ${input.format} has no place for them; messages and parquet do`
    })
  }
  if (input.format === "tokens" && Option.isNone(tokenizer)) {
    return yield* new UsageError({ text: "--format tokens needs --tokenizer DIR, the directory of a local model" })
  }
  return {
    ...(Option.isSome(since) ? { since: yield* date("--since", since.value) } : {}),
    ...(Option.isSome(until) ? { until: yield* date("--until", until.value) } : {}),
    ...(Option.isSome(limit) ? { limit: limit.value } : {}),
    ...(Option.isSome(maxTokens) ? { maxTokens: maxTokens.value } : {}),
    ...(Option.isSome(tokenizer) ? { tokenizer: yield* NamedModel.directory("--tokenizer", tokenizer.value) } : {}),
    ...(Option.isSome(split) ? { split: yield* splitRule(split.value) } : {}),
    ...(Option.isSome(town) ? { town: yield* directory("--town", town.value) } : {}),
    given: yield* givenContext(input),
    threads: yield* threadPaths(input),
    models: input.model,
    ...sessionLimits(input),
    ...(yield* quality(input)),
    ...(yield* marksRule(input)),
    ...(input.images ? { images: true } : {}),
    minTurns,
    overflow: input.overflow,
    branches: input.branches,
    ...(Option.isSome(input.arguments) ? { arguments: input.arguments.value } : {}),
    reasoning: reasoningOf(input.format, input.reasoning),
    includeNearDuplicates: input.includeNearDuplicates,
    // Last, since it makes a key where there is none, and nothing is written for a call that is refused.
    redaction: yield* redactionOf(input)
  }
})
