/** Runs `validate`. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as DatasetValidation from "@pi-sessions/extract/publish/DatasetValidation"
import { type FormatName } from "@pi-sessions/formats/FormatName"
import { type ModelCheck, type ModelReport } from "@pi-sessions/formats/model/ModelCheck"
import { fromPlatform } from "@pi-sessions/session-file/SessionFileError"
import { CommandFailed, UsageError } from "../../Exit.ts"
import { Invocation } from "../../Invocation.ts"
import * as LossMaskText from "../../print/LossMaskText.ts"
import * as ResultPrinter from "../../print/ResultPrinter.ts"
import * as Table from "../../print/Table.ts"
import * as FlagCheck from "../../flags/FlagCheck.ts"
import { counted, words } from "../../print/Words.ts"
import { type Input } from "../validate.ts"

const validateOne = Effect.fnUntraced(function* (path: string, input: Input, check: ModelCheck | undefined) {
  const fs = yield* FileSystem.FileSystem
  const info = yield* fs.stat(path).pipe(
    Effect.mapError(fromPlatform(path, "read")),
    Effect.mapError((error) => new UsageError({ text: error.message }))
  )
  const onLine = check === undefined ? undefined : (line: DatasetValidation.ValidLine) => check.push(line)
  if (info.type === "Directory") return yield* DatasetValidation.validateDirectory(path, onLine)
  if (Option.isNone(input.format)) {
    return yield* new UsageError({ text: `${path} is a file; say what it should be with --format` })
  }
  return yield* DatasetValidation.validateFiles([path], input.format.value, onLine)
})

/** The model of `--model`, and what to check with it. */
const modelCheck = Effect.fnUntraced(function* ({ maxTokens, model, show }: Input) {
  if (Option.isNone(model)) {
    const alone = Option.isSome(show) ? "--show" : Option.isSome(maxTokens) ? "--max-tokens" : undefined
    return alone === undefined ? undefined : yield* new UsageError({ text: `${alone} needs --model DIR` })
  }
  yield* FlagCheck.all(FlagCheck.tooSmall({ "--max-tokens": maxTokens, "--show": show }, 1))
  const [{ load }, { ModelCheck }] = yield* Effect.promise(() =>
    Promise.all([import("../../flags/NamedModel.ts"), import("@pi-sessions/formats/model/ModelCheck")])
  )
  const loaded = yield* load("--model", model.value)
  return new ModelCheck(loaded, {
    ...(Option.isSome(maxTokens) ? { maxTokens: maxTokens.value } : {}),
    ...(Option.isSome(show) ? { show: show.value } : {})
  })
})

type Reports = ReadonlyArray<DatasetValidation.ValidationReport>

/** Problems of the files. */
const noteBroken = Effect.fnUntraced(function* (reports: Reports) {
  const { note } = yield* Invocation
  for (const { broken, dataset, notes } of reports) {
    for (const { byteOffset, issue, line, path } of broken) {
      const place = byteOffset === undefined ? "" : ` (byte ${byteOffset})`
      yield* note(`${path}:${line}${place}: ${issue}`)
    }
    if (dataset !== null) yield* note(dataset)
    for (const text of notes) yield* note(`note: ${text}`)
  }
})

/** Answers that the model cannot learn. */
const noteMissing = Effect.fnUntraced(function* ({ first_missing, without_reasoning }: ModelReport) {
  const { note } = yield* Invocation
  for (const { detail, line, path, reason } of first_missing) {
    yield* note(`${path}:${line}: ${REASONS[reason] ?? reason}${detail === undefined ? "" : `: ${detail}`}`)
  }
  if (without_reasoning > 0) {
    yield* note(`note: the template has no place for thinking; ${without_reasoning} answers lose theirs`)
  }
})

/** Fails if a trainer would refuse anything. */
const failIfRefused = (reports: Reports, model: ModelReport | undefined): Effect.Effect<void, CommandFailed> => {
  const lines = reports.flatMap(({ files }) => files).reduce((sum, { broken }) => sum + broken, 0)
  const datasets = reports.filter(({ dataset }) => dataset !== null).length
  const missing = model === undefined ? 0 : model.answers - model.found
  const what = [
    ...(lines === 0 ? [] : [`${counted(lines, "line")} that a trainer would not take`]),
    ...(datasets === 0 ? [] : ["files that do not fit together"]),
    ...(missing === 0 ? [] : [`${counted(missing, "answer")} that this model cannot learn so`])
  ]
  return what.length === 0 ? Effect.void : Effect.fail(new CommandFailed({ text: what.join("; ") }))
}

export const run = Effect.fnUntraced(function* (input: Input) {
  const invocation = yield* Invocation
  const check = yield* modelCheck(input)
  const reports = yield* Effect.forEach(input.paths.map(invocation.resolve), (path) => validateOne(path, input, check))
  if (check !== undefined) yield* checkable(reports.map(({ format }) => format))
  const model = check?.report
  yield* noteBroken(reports)
  if (model !== undefined) yield* noteMissing(model)
  if (input.json) {
    yield* invocation.result(JSON.stringify(model === undefined ? reports : { reports, model }, null, 2))
  } else {
    const table = Table.render(
      ["format", "lines", "broken", "file"],
      reports.flatMap(({ files, format }) => files.map(({ broken, lines, path }) => [format, lines, broken, path]))
    )
    yield* invocation.result([...table, ...(model === undefined ? [] : ["", ...modelTable(model)])].join("\n"))
    if (check !== undefined && Option.isSome(input.show)) yield* show(check, input.show.value)
  }
  yield* failIfRefused(reports, model)
})

/** Fails for formats without chat messages, which no template can render. */
const checkable = Effect.fnUntraced(function* (formats: ReadonlyArray<FormatName>) {
  const { isChecked } = yield* Effect.promise(() => import("@pi-sessions/formats/model/ModelCheck"))
  const other = formats.find((format) => !isChecked(format))
  if (other !== undefined) {
    return yield* new UsageError({ text: `--model: lines of ${other} have no chat messages for a template` })
  }
})

const REASONS: { readonly [reason: string]: string } = {
  template_refused: "the chat template refuses it",
  changed_context:
    "the template renders the text before an answer differently than in the request for it (earlier thinking? extract with --reasoning last-query)",
  lost_reasoning: "the template leaves out thinking of an earlier answer (extract with --reasoning last-query)",
  lost_answer: "an answer is not found in the rendered text",
  control_token: "a text contains a control token of the tokenizer",
  other_tokenizer: "the tokens are of another tokenizer"
}

const modelTable = ({
  answers,
  conversations,
  found,
  max_tokens,
  missing,
  model,
  over_budget,
  tokens
}: ModelReport) => [
  ...Table.render(
    ["model", "samples", "answers", "found again", ...Object.keys(missing).map((reason) => words(reason))],
    [[model, conversations, answers, found, ...Object.values(missing)]]
  ),
  ...(tokens === undefined
    ? []
    : [
        "",
        ...Table.render(
          ["tokens", "learnt", "min", "median", "p90", "max", ...(max_tokens === null ? [] : [`over ${max_tokens}`])],
          [
            [
              tokens.total,
              tokens.learnt,
              tokens.min,
              tokens.median,
              tokens.p90,
              tokens.max,
              ...(max_tokens === null ? [] : [over_budget])
            ]
          ]
        )
      ])
]

const show = Effect.fnUntraced(function* (check: ModelCheck, number: number) {
  const { shown } = check
  if (shown === undefined) return yield* new UsageError({ text: `--show ${number}: there are fewer samples` })
  const layout = yield* ResultPrinter.layout()
  const { learnt_tokens, line, path, tokens } = shown
  const about = `sample ${number}: ${ResultPrinter.pathText(layout, path)}:${line}, ${tokens} tokens, ${learnt_tokens} learnt`
  yield* ResultPrinter.lines(["", ResultPrinter.paint(layout, "bold", about), ...LossMaskText.lines(layout, shown)])
})
