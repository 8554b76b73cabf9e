/**
 * Reading a dataset again: every line by its format's validator, then what no line can break alone. Files are read line
 * by line, so their size does not matter.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { SessionFileError, fromPlatform } from "@pi-sessions/session-file/SessionFileError"
import { type ExtractReport } from "./ExtractReport.ts"
import { ExtractReport as Report } from "./ExtractReport.ts"
import { FORMATS } from "./Formats.ts"
import { type FormatName } from "./FormatName.ts"
import { type DataFile, type Sidecar } from "./Sample.ts"

/** A line that its trainer would not take. */
export interface BrokenLine {
  readonly path: string
  /** From 1. */
  readonly line: number
  readonly byteOffset: number
  /** Holds nothing of the line's content. */
  readonly issue: string
}

export interface ValidatedFile {
  readonly path: string
  readonly lines: number
  readonly broken: number
}

export interface ValidationReport {
  readonly format: FormatName
  readonly files: ReadonlyArray<ValidatedFile>
  /** The first ones of each file. */
  readonly broken: ReadonlyArray<BrokenLine>
  /** Why the trainer would not take the dataset, whatever its lines say. */
  readonly dataset: string | null
  /** What may be, and matters. */
  readonly notes: ReadonlyArray<string>
}

/** Broken lines that are told of one file. */
const TOLD = 20
const NEWLINE = 0x0a

/** Checks the lines of one file. */
const validateFile = Effect.fnUntraced(function* (path: string, format: FormatName) {
  const fs = yield* FileSystem.FileSystem
  const { validate } = FORMATS[format]
  const broken: Array<BrokenLine> = []
  const decoder = new TextDecoder()
  let lines = 0
  let bad = 0
  let byteOffset = 0
  /** The beginning of a line that goes on in the next chunk. */
  let parts: Array<Uint8Array> = []
  const take = (bytes: Uint8Array): void => {
    lines++
    const checked = validate(decoder.decode(bytes))
    if (Result.isFailure(checked)) {
      bad++
      if (broken.length < TOLD) broken.push({ path, line: lines, byteOffset, issue: checked.failure.message })
    }
    byteOffset += bytes.length + 1
  }
  yield* fs.stream(path, { chunkSize: 1 << 20 }).pipe(
    Stream.mapError(fromPlatform(path, "read")),
    Stream.runForEach((chunk) =>
      Effect.sync(() => {
        let start = 0
        for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
          take(parts.length === 0 ? chunk.subarray(start, end) : Buffer.concat([...parts, chunk.subarray(start, end)]))
          parts = []
          start = end + 1
        }
        if (start < chunk.length) parts.push(chunk.slice(start))
      })
    )
  )
  if (parts.length > 0) take(Buffer.concat(parts))
  return { file: { path, lines, broken: bad } satisfies ValidatedFile, broken }
})

/** Checks files by their format alone: they may come from anywhere. */
export const validateFiles = Effect.fn("DatasetValidation.validateFiles")(function* (
  paths: ReadonlyArray<string>,
  format: FormatName
): Effect.fn.Return<ValidationReport, SessionFileError, FileSystem.FileSystem> {
  const checked = yield* Effect.forEach(paths, (path) => validateFile(path, format))
  return {
    format,
    files: checked.map(({ file }) => file),
    broken: checked.flatMap(({ broken }) => broken),
    dataset: null,
    notes: []
  }
})

const decodeReport = Schema.decodeUnknownResult(Schema.fromJsonString(Report))

/** The report of the run that made a dataset. */
const reportOf = Effect.fnUntraced(function* (
  directory: string
): Effect.fn.Return<ExtractReport, SessionFileError, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const file = path.join(directory, "report.json")
  const text = yield* fs.readFileString(file).pipe(Effect.mapError(fromPlatform(file, "read")))
  const report = decodeReport(text)
  if (Result.isSuccess(report)) return report.success
  return yield* new SessionFileError({ path: file, operation: "read", reason: "no report of an extraction" })
})

/** Checks a directory that a run of Extract wrote: its files, and what stands beside them. It may have been moved. */
export const validateDirectory = Effect.fn("DatasetValidation.validateDirectory")(function* (
  directory: string
): Effect.fn.Return<ValidationReport, SessionFileError, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const { format, outputs } = yield* reportOf(directory)
  const here = (file: string): string => path.join(directory, path.basename(file))
  const report = yield* validateFiles(
    outputs.files.map((file) => here(file.path)),
    format
  )
  const files = outputs.files.map(({ file, path: at, split }, i): DataFile => {
    return { name: path.basename(at), split, file, lines: report.files[i]?.lines ?? 0 }
  })
  const sidecars = yield* Effect.forEach(outputs.sidecars ?? [], (at) =>
    fs.readFileString(here(at)).pipe(
      Effect.map((text): Sidecar => ({ name: path.basename(at), text })),
      Effect.mapError(fromPlatform(here(at), "read"))
    )
  )
  const whole = FORMATS[format].validateDataset?.({ files, sidecars }) ?? Result.succeed([])
  return Result.isSuccess(whole) ? { ...report, notes: whole.success } : { ...report, dataset: whole.failure.message }
})
