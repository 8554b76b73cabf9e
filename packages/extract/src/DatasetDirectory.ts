/**
 * The directory a run writes to. Ours is one that is absent, empty, or holds the report of an earlier run; anything else
 * is left alone (names that begin with a dot do not count: nothing of ours is called so). A file appears whole or not at
 * all: it is written under a temporary name and renamed when it is done. The report comes last.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as SafeWrite from "@pi-sessions/session-file/SafeWrite"
import { type SessionFileError, fromPlatform } from "@pi-sessions/session-file/SessionFileError"
import { OutputNotOurs } from "./ExtractError.ts"
import { type ExtractReport, REPORT_KIND } from "./ExtractReport.ts"
import { type DatasetFile } from "./Sample.ts"

/** File names by what they hold. */
const FILES: { readonly [F in DatasetFile]: string } = { train: "train.jsonl", continued: "train-continued.jsonl" }
const REPORT_FILE = "report.json"

/** How many foreign files an error names. */
const NAMED = 5

/** Of this version, and of earlier ones. */
const isReport = Schema.decodeUnknownResult(
  Schema.fromJsonString(Schema.Struct({ kind: Schema.Literals([REPORT_KIND, "pi-sessions/extract-report/1"]) }))
)

/** Absolute paths of what a run writes into `out`. */
const pathsIn = Effect.fnUntraced(function* (out: string) {
  const path = yield* Path.Path
  return {
    train: path.resolve(out, FILES.train),
    continued: path.resolve(out, FILES.continued),
    report: path.resolve(out, REPORT_FILE)
  }
})

/** Fails when `out` holds what is not ours. Changes nothing. */
export const check = Effect.fn("DatasetDirectory.check")(function* (
  out: string
): Effect.fn.Return<void, OutputNotOurs | SessionFileError, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const names = yield* fs.readDirectory(out).pipe(
    Effect.catchReason("PlatformError", "NotFound", () => Effect.succeed([])),
    Effect.mapError(fromPlatform(out, "write"))
  )
  const files = names.filter((name) => !name.startsWith(".")).sort()
  if (files.length === 0) return
  const { report } = yield* pathsIn(out)
  const text = yield* Effect.orElseSucceed(fs.readFileString(report), () => "")
  if (isReport(text)._tag === "Success") return
  return yield* new OutputNotOurs({ path: out, files: files.slice(0, NAMED) })
})

/** Writes a line to one of the files. */
export type WriteLine = (file: DatasetFile, line: string) => Effect.Effect<void, SessionFileError>

/**
 * Writes the lines that `use` hands over, in that order, and makes the directory when it is missing. They replace those
 * of an earlier run when `use` succeeds; when it does not, nothing has changed. Gives what `use` gave, and the files.
 */
export const writeSamples = Effect.fnUntraced(function* <A, E, R>(
  out: string,
  use: (write: WriteLine) => Effect.Effect<A, E, R>
): Effect.fn.Return<
  { readonly result: A; readonly outputs: ExtractReport["outputs"] },
  E | SessionFileError,
  R | FileSystem.FileSystem | Path.Path
> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const paths = yield* pathsIn(out)
  yield* fs.makeDirectory(out, { recursive: true }).pipe(Effect.mapError(fromPlatform(out, "write")))
  return yield* Effect.scoped(
    Effect.gen(function* () {
      const train = yield* openTemporary(paths.train)
      const continued = yield* openTemporary(paths.continued)
      const files = { train, continued }
      const result = yield* use((file, line) => files[file].write(line))
      yield* train.keep
      // An empty file would be a dataset without columns; one of an earlier run is not this run's.
      const hasContinued = continued.lines() > 0
      if (hasContinued) yield* continued.keep
      else
        yield* fs.remove(paths.continued, { force: true }).pipe(Effect.mapError(fromPlatform(paths.continued, "write")))
      yield* SafeWrite.syncDirectory(path.resolve(out)).pipe(Effect.mapError(fromPlatform(out, "write")))
      const { report, train: trainPath } = paths
      return {
        result,
        outputs: { train: trainPath, ...(hasContinued ? { continued: paths.continued } : {}), report }
      }
    })
  )
})

/** A file under a temporary name, which goes with the scope unless it is kept. */
const openTemporary = Effect.fnUntraced(function* (target: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const failed = fromPlatform(target, "write")
  const temporary = path.join(path.dirname(target), `.${path.basename(target)}.${globalThis.crypto.randomUUID()}.tmp`)
  const encoder = new TextEncoder()
  yield* Effect.addFinalizer(() => Effect.ignore(fs.remove(temporary, { force: true })))
  const file = yield* fs.open(temporary, { flag: "wx" }).pipe(Effect.mapError(failed))
  let lines = 0
  return {
    lines: () => lines,
    write: (line: string) => {
      lines++
      return file.writeAll(encoder.encode(`${line}\n`)).pipe(Effect.mapError(failed))
    },
    keep: file.sync.pipe(Effect.andThen(fs.rename(temporary, target)), Effect.mapError(failed))
  }
})

/** Writes the report; the directory must exist. */
export const writeReport = Effect.fn("DatasetDirectory.writeReport")(function* (
  report: ExtractReport
): Effect.fn.Return<void, SessionFileError, FileSystem.FileSystem | Path.Path> {
  const target = report.outputs.report
  const bytes = new TextEncoder().encode(`${JSON.stringify(report, undefined, 2)}\n`)
  yield* SafeWrite.write(target, [bytes], "replace").pipe(Effect.mapError(fromPlatform(target, "write")))
})
