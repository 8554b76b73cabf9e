/** Reads the files of a dataset: the report of extract, and the lines of samples. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { ExtractReport } from "@pi-sessions/extract/ExtractReport"
import { SessionFileError, fromPlatform } from "@pi-sessions/session-file/SessionFileError"

const decodeReport = Schema.decodeUnknownEffect(Schema.fromJsonString(ExtractReport))

/** Fails if the directory has no report of extract. */
export const readReport = Effect.fnUntraced(function* (directory: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const file = path.join(directory, "report.json")
  const text = yield* fs.readFileString(file).pipe(Effect.mapError(fromPlatform(file, "read")))
  return yield* decodeReport(text).pipe(
    Effect.mapError(
      ({ message }) =>
        new SessionFileError({ path: file, operation: "read", reason: `no report of extract: ${message}` })
    )
  )
})

export const linesOf = Effect.fnUntraced(function* (file: string) {
  const fs = yield* FileSystem.FileSystem
  return fs
    .stream(file, { chunkSize: 1 << 20 })
    .pipe(Stream.decodeText, Stream.splitLines, Stream.mapError(fromPlatform(file, "read")))
})
