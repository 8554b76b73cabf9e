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

const TRAIN_FILE = "train.jsonl"
const REPORT_FILE = "report.json"

/** How many foreign files an error names. */
const NAMED = 5

const isReport = Schema.decodeUnknownResult(Schema.fromJsonString(Schema.Struct({ kind: Schema.Literal(REPORT_KIND) })))

/** Absolute paths of what a run writes into `out`. */
export const outputs = Effect.fnUntraced(function* (
  out: string
): Effect.fn.Return<ExtractReport["outputs"], never, Path.Path> {
  const path = yield* Path.Path
  return { train: path.resolve(out, TRAIN_FILE), report: path.resolve(out, REPORT_FILE) }
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
  const { report } = yield* outputs(out)
  const text = yield* Effect.orElseSucceed(fs.readFileString(report), () => "")
  if (isReport(text)._tag === "Success") return
  return yield* new OutputNotOurs({ path: out, files: files.slice(0, NAMED) })
})

/**
 * Writes the samples that `use` hands over, in that order, and makes the directory when it is missing. They replace those
 * of an earlier run when `use` succeeds; when it does not, nothing has changed.
 */
export const writeSamples = Effect.fnUntraced(function* <A, E, R>(
  out: string,
  use: (write: (line: string) => Effect.Effect<void, SessionFileError>) => Effect.Effect<A, E, R>
): Effect.fn.Return<A, E | SessionFileError, R | FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const { train } = yield* outputs(out)
  const failed = fromPlatform(train, "write")
  const temporary = path.join(path.dirname(train), `.${TRAIN_FILE}.${globalThis.crypto.randomUUID()}.tmp`)
  const encoder = new TextEncoder()
  yield* fs.makeDirectory(out, { recursive: true }).pipe(Effect.mapError(failed))
  return yield* Effect.scoped(
    Effect.gen(function* () {
      const file = yield* fs.open(temporary, { flag: "wx" }).pipe(Effect.mapError(failed))
      const result = yield* use((line) => file.writeAll(encoder.encode(`${line}\n`)).pipe(Effect.mapError(failed)))
      yield* file.sync.pipe(Effect.mapError(failed))
      return result
    })
  ).pipe(
    Effect.tap(() =>
      Effect.andThen(fs.rename(temporary, train), SafeWrite.syncDirectory(path.dirname(train))).pipe(
        Effect.mapError(failed)
      )
    ),
    Effect.ensuring(Effect.ignore(fs.remove(temporary, { force: true })))
  )
})

/** Writes the report; the directory must exist. */
export const writeReport = Effect.fn("DatasetDirectory.writeReport")(function* (
  report: ExtractReport
): Effect.fn.Return<void, SessionFileError, FileSystem.FileSystem | Path.Path> {
  const target = report.outputs.report
  const bytes = new TextEncoder().encode(`${JSON.stringify(report, undefined, 2)}\n`)
  yield* SafeWrite.write(target, [bytes], "replace").pipe(Effect.mapError(fromPlatform(target, "write")))
})
