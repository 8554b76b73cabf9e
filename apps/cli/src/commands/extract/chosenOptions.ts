/** The options of a run, from flags that have to be read: dates, shares, files. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as GasTown from "@pi-sessions/core/GasTown"
import { type GivenContext } from "@pi-sessions/extract/GivenContext"
import { type SplitRule } from "@pi-sessions/extract/Splits"
import { ToolDefinition } from "@pi-sessions/extract/ToolDefinition"
import { UsageError } from "../../Exit.ts"
import { Invocation } from "../../Invocation.ts"
import * as PointInTime from "../../PointInTime.ts"
import { type Input } from "../extract.ts"
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

const givenContext = Effect.fnUntraced(function* ({ system, tools }: Input) {
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

/** What is given of the flags that have to be read. */
export const chosen = Effect.fnUntraced(function* (input: Input) {
  const invocation = yield* Invocation
  const { limit, maxTokens, since, split, town, until } = input
  return {
    ...(Option.isSome(since) ? { since: yield* date("--since", since.value) } : {}),
    ...(Option.isSome(until) ? { until: yield* date("--until", until.value) } : {}),
    ...(Option.isSome(limit) ? { limit: limit.value } : {}),
    ...(Option.isSome(maxTokens) ? { maxTokens: maxTokens.value } : {}),
    ...(Option.isSome(split) ? { split: yield* splitRule(split.value) } : {}),
    ...(Option.isSome(town) ? { town: invocation.resolve(town.value) } : {}),
    given: yield* givenContext(input),
    redaction: yield* redactionOf(input),
    threads: input.threads.map(invocation.resolve),
    models: input.model,
    minTurns: input.minTurns,
    overflow: input.overflow,
    branches: input.branches,
    ...(Option.isSome(input.arguments) ? { arguments: input.arguments.value } : {}),
    // Templates that Axolotl is used with drop earlier thinking, and its masks would then cover other words.
    reasoning: Option.getOrElse(input.reasoning, () => (input.format === "axolotl" ? "last-query" : "all")),
    includeNearDuplicates: input.includeNearDuplicates
  }
})
