/** Running `validate`: files and directories, what is broken in them, and what a model makes of them. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as DatasetValidation from "@pi-sessions/extract/publish/DatasetValidation"
import { type FormatName } from "@pi-sessions/formats/FormatName"
import { type ModelCheck, type ModelReport } from "@pi-sessions/formats/model/ModelCheck"
import { fromPlatform } from "@pi-sessions/session-file/SessionFileError"
import { CommandFailed, UsageError, tooSmall } from "../../Exit.ts"
import { Invocation } from "../../Invocation.ts"
import * as LossMaskText from "../../print/LossMaskText.ts"
import * as ResultPrinter from "../../print/ResultPrinter.ts"
import * as Table from "../../print/Table.ts"
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

/** The model that a person named, and what is asked of it. */
const modelCheck = Effect.fnUntraced(function* ({ maxTokens, model, show }: Input) {
  if (Option.isNone(model)) {
    const alone = Option.isSome(show) ? "--show" : Option.isSome(maxTokens) ? "--max-tokens" : undefined
    return alone === undefined ? undefined : yield* new UsageError({ text: `${alone} needs --model DIR` })
  }
  const wrong = tooSmall({ "--max-tokens": maxTokens }, 1)
  if (wrong !== undefined) return yield* wrong
  if (Option.isSome(show) && show.value < 1) return yield* new UsageError({ text: "--show counts from 1" })
  const [{ load }, { ModelCheck }] = yield* Effect.promise(() =>
    Promise.all([import("../../flags/NamedModel.ts"), import("@pi-sessions/formats/model/ModelCheck")])
  )
  const loaded = yield* load("--model", model.value)
  return new ModelCheck(loaded, {
    ...(Option.isSome(maxTokens) ? { maxTokens: maxTokens.value } : {}),
    ...(Option.isSome(show) ? { show: show.value } : {})
  })
})

export const run = Effect.fnUntraced(function* (input: Input) {
  const invocation = yield* Invocation
  const check = yield* modelCheck(input)
  const reports = yield* Effect.forEach(input.paths.map(invocation.resolve), (path) =>
    validateOne(path, input, check)
  ).pipe(
    Effect.mapError((error) => (error._tag === "SessionFileError" ? new CommandFailed({ text: error.message }) : error))
  )
  if (check !== undefined) yield* checkable(reports.map(({ format }) => format))
  const files = reports.flatMap((report) => report.files.map((file) => ({ ...file, format: report.format })))
  for (const { broken, dataset, notes } of reports) {
    for (const { byteOffset, issue, line, path } of broken) {
      const place = byteOffset === undefined ? "" : ` (byte ${byteOffset})`
      yield* invocation.note(`${path}:${line}${place}: ${issue}`)
    }
    if (dataset !== null) yield* invocation.note(dataset)
    for (const note of notes) yield* invocation.note(`note: ${note}`)
  }
  const model = check?.report
  for (const { detail, line, path, reason } of model?.first_missing ?? []) {
    yield* invocation.note(`${path}:${line}: ${REASONS[reason] ?? reason}${detail === undefined ? "" : `: ${detail}`}`)
  }
  if (model !== undefined && model.without_reasoning > 0) {
    yield* invocation.note(
      `note: the template has no place for thinking; ${model.without_reasoning} answers lose theirs`
    )
  }
  if (input.json) {
    yield* invocation.result(JSON.stringify(model === undefined ? reports : { reports, model }, null, 2))
  } else {
    const table = Table.render(
      ["format", "lines", "broken", "file"],
      files.map(({ broken, format, lines, path }) => [format, lines, broken, path])
    )
    yield* invocation.result([...table, ...(model === undefined ? [] : ["", ...modelTable(model)])].join("\n"))
    if (check !== undefined && Option.isSome(input.show)) yield* show(check, input.show.value)
  }
  const lines = files.reduce((sum, { broken }) => sum + broken, 0)
  const datasets = reports.filter(({ dataset }) => dataset !== null).length
  const missing = model === undefined ? 0 : model.answers - model.found
  if (lines + datasets + missing > 0) {
    const what = [
      ...(lines === 0 ? [] : [`${lines} ${lines === 1 ? "line" : "lines"} that a trainer would not take`]),
      ...(datasets === 0 ? [] : ["files that do not hold together"]),
      ...(missing === 0 ? [] : [`${missing} ${missing === 1 ? "answer" : "answers"} that this model cannot learn so`])
    ]
    return yield* new CommandFailed({ text: what.join("; ") })
  }
})

/** Formats that are no chat have no template to be rendered with. */
const checkable = Effect.fnUntraced(function* (formats: ReadonlyArray<FormatName>) {
  const { isChecked } = yield* Effect.promise(() => import("@pi-sessions/formats/model/ModelCheck"))
  const other = formats.find((format) => !isChecked(format))
  if (other !== undefined) {
    return yield* new UsageError({ text: `--model: lines of ${other} are no chat messages that a template renders` })
  }
})

const REASONS: { readonly [reason: string]: string } = {
  template_refused: "the chat template refuses it",
  changed_context:
    "the template shows what stands before an answer otherwise than when it is asked for it (earlier thinking? extract with --reasoning last-query)",
  lost_reasoning: "the template leaves out thinking of an earlier answer (extract with --reasoning last-query)",
  lost_answer: "an answer is not found again in the rendered text",
  control_token: "a text holds what the tokenizer takes for a control token",
  other_tokenizer: "these are no tokens of this model"
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
    [
      "model",
      "samples",
      "answers",
      "found again",
      ...Object.keys(missing).map((reason) => reason.replaceAll("_", " "))
    ],
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
  if (shown === undefined) return yield* new UsageError({ text: `--show ${number}: there are not as many samples` })
  const layout = yield* ResultPrinter.layout()
  const { learnt_tokens, line, path, tokens } = shown
  const about = `sample ${number}: ${ResultPrinter.pathText(layout, path)}:${line}, ${tokens} tokens, ${learnt_tokens} learnt`
  yield* ResultPrinter.lines(["", ResultPrinter.paint(layout, "bold", about), ...LossMaskText.lines(layout, shown)])
})
