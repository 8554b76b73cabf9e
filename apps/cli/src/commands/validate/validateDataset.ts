/** Running `validate`: files and directories, what is broken in them. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as DatasetValidation from "@pi-sessions/extract/DatasetValidation"
import { fromPlatform } from "@pi-sessions/session-file/SessionFileError"
import { CommandFailed, UsageError } from "../../Exit.ts"
import { Invocation } from "../../Invocation.ts"
import * as Table from "../../Table.ts"
import { type Input } from "../validate.ts"

const validateOne = Effect.fnUntraced(function* (path: string, input: Input) {
  const fs = yield* FileSystem.FileSystem
  const info = yield* fs.stat(path).pipe(
    Effect.mapError(fromPlatform(path, "read")),
    Effect.mapError((error) => new UsageError({ text: error.message }))
  )
  if (info.type === "Directory") return yield* DatasetValidation.validateDirectory(path)
  if (Option.isNone(input.format)) {
    return yield* new UsageError({ text: `${path} is a file; say what it should be with --format` })
  }
  return yield* DatasetValidation.validateFiles([path], input.format.value)
})

export const run = Effect.fnUntraced(function* (input: Input) {
  const invocation = yield* Invocation
  const reports = yield* Effect.forEach(input.paths.map(invocation.resolve), (path) => validateOne(path, input)).pipe(
    Effect.mapError((error) => (error._tag === "SessionFileError" ? new CommandFailed({ text: error.message }) : error))
  )
  const files = reports.flatMap((report) => report.files.map((file) => ({ ...file, format: report.format })))
  for (const { broken, dataset, notes } of reports) {
    for (const { byteOffset, issue, line, path } of broken) {
      yield* invocation.note(`${path}:${line} (byte ${byteOffset}): ${issue}`)
    }
    if (dataset !== null) yield* invocation.note(dataset)
    for (const note of notes) yield* invocation.note(`note: ${note}`)
  }
  yield* invocation.result(
    input.json
      ? JSON.stringify(reports, null, 2)
      : Table.render(
          ["format", "lines", "broken", "file"],
          files.map(({ broken, format, lines, path }) => [format, lines, broken, path])
        ).join("\n")
  )
  const lines = files.reduce((sum, { broken }) => sum + broken, 0)
  const datasets = reports.filter(({ dataset }) => dataset !== null).length
  if (lines + datasets > 0) {
    const what = [
      ...(lines === 0 ? [] : [`${lines} ${lines === 1 ? "line" : "lines"} that a trainer would not take`]),
      ...(datasets === 0 ? [] : ["files that do not hold together"])
    ]
    return yield* new CommandFailed({ text: what.join("; ") })
  }
})
