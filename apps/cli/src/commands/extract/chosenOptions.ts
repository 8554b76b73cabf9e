/** The options of `extract` and `merge` that are read from flags: dates, shares, files. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as GasTown from "@pi-sessions/core/GasTown"
import { type GivenContext } from "@pi-sessions/samples/GivenContext"
import * as Marks from "@pi-sessions/samples/Marks"
import { type FormatName } from "@pi-sessions/formats/FormatName"
import { FORMATS } from "@pi-sessions/formats/Formats"
import { type Reasoning } from "@pi-sessions/samples/Reasoning"
import { type SplitRule } from "@pi-sessions/extract/plan/Splits"
import * as RequestContexts from "@pi-sessions/samples/RequestContexts"
import { ToolDefinition } from "@pi-sessions/samples/ToolDefinition"
import { CommandFailed, UsageError } from "../../Exit.ts"
import { Invocation } from "../../Invocation.ts"
import * as FlagCheck from "../../flags/FlagCheck.ts"
import { needsTokenizer } from "../../flags/TokenizerCheck.ts"
import * as PointInTime from "../../flags/PointInTime.ts"
import { type DatasetInput } from "../extract.ts"
import { directory, parseJson, readText } from "../../flags/NamedFile.ts"
import * as NamedModel from "../../flags/NamedModel.ts"
import * as NamedRedaction from "../../flags/NamedRedaction.ts"

/** `0.1` or `time:2026-02-01`. */
const splitRule = (text: string): Effect.Effect<SplitRule, UsageError> => {
  const from = text.startsWith("time:") ? text.slice("time:".length) : undefined
  if (from !== undefined)
    return Effect.map(PointInTime.isoFromFlag("--split", from), (from) => ({ _tag: "Time", from }))
  const validation = text.trim() === "" ? Number.NaN : Number(text)
  return validation >= 0 && validation < 1
    ? Effect.succeed({ _tag: "Share", validation })
    : Effect.fail(new UsageError({ text: `--split ${text}: give a share from 0 to below 1, or time:DATE` }))
}

const isRole = Schema.is(GasTown.Role)

/** `ROLE=FILE`, or `FILE` for all roles. Before `=` only a role counts, since a file name may contain `=`. */
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

const givenContext = Effect.fnUntraced(function* ({ system, tools }: DatasetInput) {
  const given: GivenContext = { system: yield* systemPrompts(system) }
  if (Option.isNone(tools)) return given
  const invocation = yield* Invocation
  const value = yield* parseJson("--tools", tools.value, yield* readText("--tools", tools.value))
  const decoded = yield* decodeTools(value).pipe(
    Effect.mapError((error) => {
      const what = "not a list of {name, description, parameters}"
      const [why = "", where = ""] = error.message.split("\n").map((line) => line.trim())
      return new CommandFailed({ text: `--tools: ${invocation.resolve(tools.value)}: ${what}: ${why} ${where}`.trim() })
    })
  )
  return { ...given, tools: decoded }
})

/** Default for Axolotl: last-query. Its usual templates drop earlier thinking, so that its masks would cover other text. */
export const reasoningOf = (format: FormatName, asked: Option.Option<Reasoning>): Reasoning =>
  Option.getOrElse(asked, () => FORMATS[format].reasoning ?? "all")

/** The choice of samples by quality. */
const quality = Effect.fnUntraced(function* ({ maxErrorRate, refuse, require }: DatasetInput) {
  const both = refuse.find((name) => require.includes(name))
  if (both !== undefined) {
    return yield* new UsageError({ text: `--refuse ${both} and --require ${both}: nothing is left; give one of them` })
  }
  if (Option.isNone(maxErrorRate)) return { refuse, require }
  if (maxErrorRate.value >= 0 && maxErrorRate.value <= 1) return { refuse, require, maxErrorRate: maxErrorRate.value }
  return yield* new UsageError({ text: `--max-error-rate ${maxErrorRate.value}: give a share from 0 to 1` })
})

/** The marks of `--marks`. */
const marksRule = Effect.fnUntraced(
  function* ({ marks, marksOnly }: DatasetInput) {
    const invocation = yield* Invocation
    if (Option.isSome(marks)) {
      return { marks: { marks: yield* Marks.read(invocation.resolve(marks.value)), acceptedOnly: marksOnly } }
    }
    return marksOnly ? yield* new UsageError({ text: "--marks-only needs --marks FILE" }) : {}
  },
  Effect.mapError((error) => {
    if (error._tag === "UsageError") return error
    const text = `--marks: ${error.message}`
    return error._tag === "MarksNotFound" ? new UsageError({ text }) : new CommandFailed({ text })
  })
)

/** Limits of one session; no key without a flag, so that the manifest names only limits that were given. */
const sessionLimits = ({ maxSessionMb, maxSteps }: DatasetInput) => {
  if (Option.isNone(maxSteps) && Option.isNone(maxSessionMb)) return {}
  return {
    limits: {
      ...(Option.isSome(maxSteps) ? { maxSteps: maxSteps.value } : {}),
      ...(Option.isSome(maxSessionMb) ? { maxBytes: maxSessionMb.value * 1e6 } : {})
    }
  }
}

/** The paths of `--threads`, after a check that each can be read. */
const threadPaths = Effect.fnUntraced(function* ({ threads }: DatasetInput) {
  const invocation = yield* Invocation
  const paths = threads.map(invocation.resolve)
  yield* RequestContexts.read(paths).pipe(
    Effect.mapError(({ message }) => new CommandFailed({ text: `--threads: ${message}` }))
  )
  return paths
})

/** Refuses numbers and combinations that cannot work. */
const check = (input: DatasetInput) => {
  const { format, images, limit, maxFileMb, maxSessionMb, maxSteps, maxTokens, minTurns, tokenizer } = input
  return FlagCheck.all(
    FlagCheck.tooSmall(
      {
        "--limit": limit,
        "--max-file-mb": maxFileMb,
        "--max-session-mb": maxSessionMb,
        "--max-steps": maxSteps,
        "--max-tokens": maxTokens
      },
      1
    ),
    FlagCheck.tooSmall({ "--min-turns": Option.some(minTurns) }, 0),
    images && FORMATS[format].takesImages !== true
      ? new UsageError({ text: `--images: format ${format} has no place for them; ${imageFormats()} do` })
      : undefined,
    needsTokenizer("--format", format, tokenizer)
  )
}

const imageFormats = (): string =>
  Object.values(FORMATS)
    .flatMap(({ name, takesImages }) => (takesImages === true ? [name] : []))
    .join(" and ")

/** The options that the flags give. */
export const chosen = Effect.fnUntraced(function* (input: DatasetInput) {
  yield* check(input)
  const { limit, maxTokens, split, tokenizer, town } = input
  return {
    ...(yield* PointInTime.isoPeriod(input)),
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
    minTurns: input.minTurns,
    overflow: input.overflow,
    branches: input.branches,
    ...(Option.isSome(input.arguments) ? { arguments: input.arguments.value } : {}),
    reasoning: reasoningOf(input.format, input.reasoning),
    includeNearDuplicates: input.includeNearDuplicates,
    // Last, because it creates a missing key, and a refused call writes nothing.
    redaction: yield* NamedRedaction.of(input)
  }
})
