/**
 * Validates a dataset: each line with its format's validator, then the rules that concern several lines. Files are read as
 * streams.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { isArray } from "@pi-sessions/core/Json"
import { SessionFileError, fromPlatform } from "@pi-sessions/session-file/SessionFileError"
import { ExtractReport } from "../ExtractReport.ts"
import { FORMATS } from "@pi-sessions/formats/Formats"
import { type FormatName } from "@pi-sessions/formats/FormatName"
import { type DataFile, type Sidecar, type WholeSession } from "@pi-sessions/formats/SampleFormat"
import * as Publication from "./Publication.ts"
import * as JsonText from "@pi-sessions/core/JsonText"
import * as LineStream from "@pi-sessions/formats/files/LineStream"
import { isImageOf } from "@pi-sessions/samples/SessionImages"

/** An invalid line. */
export interface BrokenLine {
  readonly path: string
  /** From 1. */
  readonly line: number
  /** Absent for containers, whose lines have no offset. */
  readonly byteOffset?: number
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
  /** The first 20 of each file. */
  readonly broken: ReadonlyArray<BrokenLine>
  /** What is wrong apart from single lines, such as a bad sidecar or a missing image. Null: nothing. */
  readonly dataset: string | null
  /** Notes for people on a valid dataset. */
  readonly notes: ReadonlyArray<string>
}

/** A valid line. */
export interface ValidLine {
  readonly format: FormatName
  readonly path: string
  /** From 1. */
  readonly line: number
  readonly text: string
}

export type OnLine = (line: ValidLine) => void

/** Broken lines that are listed for one file. */
const BROKEN_MAX = 20

interface DataLine {
  readonly text: string
  readonly byteOffset?: number
}

/** The lines of a file: JSONL, or the container of the format. */
const linesOf = (path: string, format: FormatName) => {
  const { container } = FORMATS[format]
  if (container !== undefined && path.endsWith(container.extension)) {
    return Stream.map(container.readLines(path), (lines) => lines.map((text): DataLine => ({ text })))
  }
  const decoder = new TextDecoder()
  return Stream.map(LineStream.lines(path), (lines) =>
    lines.map(({ byteOffset, bytes }): DataLine => ({ text: decoder.decode(bytes), byteOffset }))
  )
}

const validateFile = Effect.fnUntraced(function* (path: string, format: FormatName, onLine?: OnLine) {
  const { validate } = FORMATS[format]
  const broken: Array<BrokenLine> = []
  let lines = 0
  let bad = 0
  const take = ({ text, ...place }: DataLine): void => {
    lines++
    const checked = validate(text)
    if (Result.isSuccess(checked)) return onLine?.({ format, path, line: lines, text })
    bad++
    if (broken.length < BROKEN_MAX) broken.push({ path, line: lines, ...place, issue: checked.failure.message })
  }
  yield* linesOf(path, format).pipe(Stream.runForEach((lines) => Effect.sync(() => lines.forEach(take))))
  return { file: { path, lines, broken: bad } satisfies ValidatedFile, broken }
})

/** Validates the lines of files from any source. Calls `onLine` with each valid line. */
export const validateFiles = Effect.fn("DatasetValidation.validateFiles")(function* (
  paths: ReadonlyArray<string>,
  format: FormatName,
  onLine?: OnLine
): Effect.fn.Return<ValidationReport, SessionFileError, FileSystem.FileSystem> {
  const checked = yield* Effect.forEach(paths, (path) => validateFile(path, format, onLine))
  return {
    format,
    files: checked.map(({ file }) => file),
    broken: checked.flatMap(({ broken }) => broken),
    dataset: null,
    notes: []
  }
})

const decodeReport = Schema.decodeUnknownResult(Schema.fromJsonString(ExtractReport))

/** The report in a dataset. */
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

/** Validates a directory that `extract` wrote: its lines and all other files. It may have been moved. */
export const validateDirectory = Effect.fn("DatasetValidation.validateDirectory")(function* (
  directory: string,
  onLine?: OnLine
): Effect.fn.Return<ValidationReport, SessionFileError, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  if (yield* Publication.isUnfinished(directory)) {
    const reason = "a run stopped while it gave its files their names; run extract again"
    return yield* new SessionFileError({ path: directory, operation: "read", reason })
  }
  const { format, outputs } = yield* reportOf(directory)
  const here = (file: string): string => path.join(directory, path.basename(file))
  const { validateDataset, wholeSession } = FORMATS[format]
  if (wholeSession !== undefined) {
    const files = yield* validateSessions(directory, outputs.loose ?? [], wholeSession)
    return { format, ...files, dataset: null, notes: [] }
  }
  const images = new Set<string>()
  const report = yield* validateFiles(
    outputs.files.map((file) => here(file.path)),
    format,
    (line) => {
      for (const name of imagesIn(line.text)) images.add(name)
      onLine?.(line)
    }
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
  const whole = validateDataset?.({ files, sidecars }) ?? Result.succeed([])
  if (Result.isFailure(whole)) return { ...report, dataset: whole.failure.message }
  return { ...report, notes: whole.success, dataset: yield* brokenImages(directory, images) }
})

/** Validates files of whole sessions. The first problem of a file counts as a broken line. */
const validateSessions = Effect.fnUntraced(function* (
  directory: string,
  sessions: ReadonlyArray<{ readonly path: string }>,
  { validate }: WholeSession
): Effect.fn.Return<Pick<ValidationReport, "files" | "broken">, SessionFileError, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const broken: Array<BrokenLine> = []
  const files = yield* Effect.forEach(sessions, ({ path: name }) =>
    Effect.gen(function* () {
      const at = path.join(directory, ...name.split("/"))
      const bytes = yield* fs.readFile(at).pipe(Effect.mapError(fromPlatform(at, "read")))
      const checked = validate(bytes)
      if (Result.isFailure(checked)) {
        const { byteOffset, line, message } = checked.failure
        broken.push({ path: at, line, byteOffset, issue: message })
      }
      const lines = bytes.reduce((count, byte) => (byte === 0x0a ? count + 1 : count), 0)
      return { path: at, lines, broken: Result.isFailure(checked) ? 1 : 0 }
    })
  )
  return { files, broken }
})

/** The names of images in a valid line. */
const imagesIn = (line: string): ReadonlyArray<string> => {
  if (!line.includes('"images":["')) return []
  const images = JsonText.parseObject(line)?.["images"]
  return isArray(images) ? images.filter((name) => typeof name === "string") : []
}

/** What is wrong with the images that lines name. Null: nothing. */
const brokenImages = Effect.fnUntraced(function* (directory: string, names: ReadonlySet<string>) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const broken: Array<string> = []
  for (const name of names) {
    const bytes = yield* Effect.option(fs.readFile(path.join(directory, ...name.split("/"))))
    if (Option.isNone(bytes) || !isImageOf(name, bytes.value)) broken.push(name)
  }
  const [first] = broken.sort()
  if (first === undefined) return null
  const others = broken.length === 1 ? "" : `, and ${broken.length - 1} more`
  return `${first}: the image that lines name is not there, or it is another one${others}`
})
