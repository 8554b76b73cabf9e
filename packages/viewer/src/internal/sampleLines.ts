/** Lines of a file of a dataset, redacted. */
import * as Effect from "effect/Effect"
import * as Path from "effect/Path"
import * as Stream from "effect/Stream"
import { nameOf } from "@pi-sessions/core/FileName"
import { type JsonObject, isObject, objectAt, stringAt } from "@pi-sessions/core/Json"
import { type Redactor } from "@pi-sessions/redaction/Redactor"
import { type SampleLines } from "../ViewModel.ts"
import { linesOf, readReport } from "./datasetFiles.ts"

/** Longer lines are cut, in UTF-16 units. */
const MOST_LINE = 200_000

/** Undefined if the report does not list the file. */
export const sampleLines = Effect.fnUntraced(function* (
  directory: string,
  redactor: Redactor | undefined,
  name: string,
  from: number,
  count: number
) {
  const path = yield* Path.Path
  const report = yield* readReport(directory)
  const file = report.outputs.files.find((one) => nameOf(one.path) === name)
  if (file === undefined) return undefined
  const lines: Array<SampleLines["lines"][number]> = []
  let number = 0
  const stream = yield* linesOf(path.join(directory, name))
  yield* Stream.runForEachWhile(stream, (line) =>
    Effect.sync(() => {
      number++
      if (number > from && number <= from + count) lines.push({ number, ...shownLine(line, redactor) })
      return number < from + count
    })
  )
  return { total: file.samples, lines } satisfies SampleLines
})

/** Redacts the line, because the dataset may have been written without redaction. */
const shownLine = (line: string, redactor: Redactor | undefined): { readonly json: string; readonly more?: number } => {
  const json = redactor === undefined ? line : redactedLine(line, redactor)
  return json.length <= MOST_LINE ? { json } : { json: json.slice(0, MOST_LINE), more: json.length - MOST_LINE }
}

const redactedLine = (line: string, redactor: Redactor): string => {
  try {
    const value: JsonObject = JSON.parse(line)
    const metadata = isObject(value) ? (objectAt(value, "metadata") ?? {}) : {}
    const paths = [stringAt(metadata, "cwd") ?? "", stringAt(metadata, "source_path") ?? ""]
    return JSON.stringify(redactor.scope(paths, [line]).json(value))
  } catch {
    return redactor.scope([]).text(line)
  }
}
