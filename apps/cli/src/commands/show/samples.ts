/** Runs `show --as`: prints the samples that extract would make of this session alone. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as SessionRole from "@pi-sessions/catalog/SessionRole"
import { type EntryFate } from "@pi-sessions/samples/EntryFates"
import { type SampleOptions } from "@pi-sessions/extract/ExtractOptions"
import { type FormatName } from "@pi-sessions/formats/FormatName"
import { type LocalModel } from "@pi-sessions/formats/model/LocalModel"
import * as SessionSamples from "@pi-sessions/extract/SessionSamples"
import { estimate, ofSample } from "@pi-sessions/samples/TokenCount"
import * as TerminalText from "@pi-sessions/report/TerminalText"
import * as Timeline from "@pi-sessions/report/Timeline"
import type * as ChosenSession from "../../ChosenSession.ts"
import { CommandFailed } from "../../Exit.ts"
import * as Interruption from "../../Interruption.ts"
import * as ResultPrinter from "../../print/ResultPrinter.ts"
import { reasoningOf } from "../extract/chosenOptions.ts"
import * as NamedModel from "../../flags/NamedModel.ts"
import * as FlagCheck from "../../flags/FlagCheck.ts"
import { needsTokenizer } from "../../flags/TokenizerCheck.ts"
import * as NamedRedaction from "../../flags/NamedRedaction.ts"
import * as FateGutter from "../../print/FateGutter.ts"
import { type Input } from "../show.ts"
import * as SampleText from "../../print/SampleText.ts"
import * as TimelineText from "../../print/TimelineText.ts"

export type SampleInput = Omit<Input, "as"> & { readonly as: FormatName }

const optionsOf = Effect.fnUntraced(function* (input: SampleInput) {
  const { as: format, branches, includeHydrated, maxTokens, noRedact, overflow, reasoning } = input
  yield* FlagCheck.all(FlagCheck.tooSmall({ "--max-tokens": maxTokens }, 1))
  return {
    format,
    includeHydrated,
    redaction: yield* NamedRedaction.byDefault(noRedact),
    reasoning: reasoningOf(format, reasoning),
    branches: Option.getOrElse(branches, () => "active" as const),
    ...(Option.isSome(maxTokens) ? { maxTokens: maxTokens.value } : {}),
    ...(Option.isSome(overflow) ? { overflow: overflow.value } : {})
  } satisfies SampleOptions
})

const modelOf = Effect.fnUntraced(function* ({ as, tokenizer }: SampleInput) {
  yield* FlagCheck.all(needsTokenizer("--as", as, tokenizer))
  return Option.isSome(tokenizer) ? yield* NamedModel.load("--tokenizer", tokenizer.value) : undefined
})

export const print = Effect.fnUntraced(function* (
  read: ChosenSession.ReadSession,
  timeline: Timeline.Timeline,
  layout: ResultPrinter.Layout,
  input: SampleInput
) {
  const model = yield* modelOf(input)
  const options = yield* optionsOf(input)
  const { ref, session } = read
  const role = SessionRole.detect(SessionRole.openingOf(session.lines), { path: ref.path })
  const made = SessionSamples.of(session, { ref, role, ...(model === undefined ? {} : { model }) }, options)
  if (made.row.outcome === "unreadable" || made.row.stage !== undefined) {
    return yield* new CommandFailed({
      text: `${ref.path}: extract cannot make samples of it: ${made.row.detail ?? "unreadable"}`
    })
  }
  yield* Interruption.point
  if (input.ndjson) return yield* ResultPrinter.lines(lines(made, layout))
  if (input.json) return yield* ResultPrinter.lines(document(read, made, input))
  return yield* ResultPrinter.lines(text(timeline, made, layout, { ...input, model }))
})

/** The dataset's lines. At a terminal, control characters are escaped, which gives the same JSON. */
function* lines({ samples }: SessionSamples.SessionSamples, layout: ResultPrinter.Layout): Generator<string> {
  for (const sample of samples) {
    if (sample._tag === "Kept") yield layout.isTerminal ? TerminalText.json(sample.line) : sample.line
  }
}

function* text(
  timeline: Timeline.Timeline,
  made: SessionSamples.SessionSamples,
  layout: ResultPrinter.Layout,
  { as, depth, model }: SampleInput & { readonly model: LocalModel | undefined }
): Generator<string> {
  yield* SampleText.summary(as, made, layout)
  yield ""
  yield* TimelineText.render(Timeline.items(timeline, depth), layout, FateGutter.of(made.fates))
  for (const sample of made.samples) {
    if (sample._tag === "Refused") continue
    yield ""
    yield* SampleText.render(sample, { depth, model }, layout)
  }
}

/** The lines of one JSON document. */
function* document(
  { ref }: ChosenSession.ReadSession,
  { fates, row, samples }: SessionSamples.SessionSamples,
  input: SampleInput
): Generator<string> {
  const { cwd, format, id, path } = ref
  const { outcome, volume } = row
  const head = { path, format, id, cwd, as: input.as, outcome, ...(volume === undefined ? {} : { volume }) }
  yield `${ResultPrinter.json(head).slice(0, -1)},"samples":[`
  yield* members(samples, sampleJson)
  yield `],"entries":[`
  yield* members(fates, fateJson)
  yield "]}"
}

function* members<A>(values: ReadonlyArray<A>, toJson: (value: A) => unknown): Generator<string> {
  for (const [at, value] of values.entries()) {
    yield `${ResultPrinter.json(toJson(value))}${at + 1 < values.length ? "," : ""}`
  }
}

const sampleJson = (one: SessionSamples.KeptSample | SessionSamples.RefusedSample) => {
  const { metadata } = one.sample
  const { context, context_answers, start, targets, tools_source } = metadata
  const turns = one.turns.map(({ as, entries, turn }) => ({
    role: turn.role,
    as,
    entries: entries.map(({ id, line }) => ({ id, line }))
  }))
  const common = { start, context, tools_source, targets, context_answers, tokens: ofSample(one.sample, estimate) }
  if (one._tag === "Refused") {
    const { detail, reason } = one
    return { outcome: reason, ...(detail === undefined ? {} : { detail }), ...common, turns }
  }
  const { dropped, file, line, number } = one
  return { outcome: "kept", sample: number, file, ...common, dropped, line, turns }
}

const fateJson = ({ entry, lost, reason, told }: EntryFate) => {
  const { id, line, role, type } = entry
  return {
    id,
    line,
    type,
    ...(role === undefined ? {} : { role }),
    told,
    ...(reason === undefined ? {} : { reason }),
    ...(lost.length === 0 ? {} : { lost })
  }
}
