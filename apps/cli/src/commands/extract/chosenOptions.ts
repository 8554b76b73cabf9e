/** The options of a run, from flags that have to be read: dates, shares, files. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as GasTown from "@pi-sessions/core/GasTown"
import { type GivenContext } from "@pi-sessions/extract/GivenContext"
import * as Marks from "@pi-sessions/extract/Marks"
import { type FormatName } from "@pi-sessions/extract/FormatName"
import { type Reasoning } from "@pi-sessions/extract/Reasoning"
import { type SplitRule } from "@pi-sessions/extract/Splits"
import { ToolDefinition } from "@pi-sessions/extract/ToolDefinition"
import { UsageError, tooSmall } from "../../Exit.ts"
import { Invocation } from "../../Invocation.ts"
import * as PointInTime from "../../PointInTime.ts"
import { type SameInput } from "../extract.ts"
import { readFile } from "./namedFile.ts"
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
    system.set(role, yield* readFile("--system", file))
  }
  return system
})

const decodeTools = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Array(ToolDefinition)))

const givenContext = Effect.fnUntraced(function* ({ system, tools }: SameInput) {
  const given: GivenContext = { system: yield* systemPrompts(system) }
  if (Option.isNone(tools)) return given
  const text = yield* readFile("--tools", tools.value)
  const decoded = yield* decodeTools(text).pipe(
    Effect.mapError(
      () => new UsageError({ text: `--tools ${tools.value}: no JSON list of {name, description, parameters}` })
    )
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
    error._tag === "UsageError" ? error : new UsageError({ text: `--marks: ${error.message}` })
  )
)

/** What is given of the flags that have to be read. */
export const chosen = Effect.fnUntraced(function* (input: SameInput) {
  const invocation = yield* Invocation
  const { limit, maxFileMb, maxTokens, minTurns, since, split, tokenizer, town, until } = input
  const wrong =
    tooSmall({ "--limit": limit, "--max-file-mb": maxFileMb, "--max-tokens": maxTokens }, 1) ??
    tooSmall({ "--min-turns": Option.some(minTurns) }, 0)
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
    ...(Option.isSome(tokenizer) ? { tokenizer: invocation.resolve(tokenizer.value) } : {}),
    ...(Option.isSome(split) ? { split: yield* splitRule(split.value) } : {}),
    ...(Option.isSome(town) ? { town: invocation.resolve(town.value) } : {}),
    given: yield* givenContext(input),
    redaction: yield* redactionOf(input),
    threads: input.threads.map(invocation.resolve),
    models: input.model,
    ...(yield* quality(input)),
    ...(yield* marksRule(input)),
    ...(input.images ? { images: true } : {}),
    minTurns,
    overflow: input.overflow,
    branches: input.branches,
    ...(Option.isSome(input.arguments) ? { arguments: input.arguments.value } : {}),
    reasoning: reasoningOf(input.format, input.reasoning),
    includeNearDuplicates: input.includeNearDuplicates
  }
})
