/**
 * What a run remembers for the next one: what files looked like, what it made of each session and where in the dataset
 * that lies. It names paths of this machine, so it lies with the program's state and not in the dataset.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SafeWrite from "@pi-sessions/session-file/SafeWrite"
import { type SessionFileError, fromPlatform } from "@pi-sessions/session-file/SessionFileError"
import { type StoredPart } from "../parts/DatasetPart.ts"
import { ExtractReport } from "../ExtractReport.ts"
import { JournaledPart } from "../files/RunFolder.ts"
import { Look } from "../plan/SessionSurvey.ts"

const KIND = "pi-sessions/dataset-ledger/1"

/** A file of the dataset, as the run left it. */
export const LeftFile = Schema.Struct({ path: Schema.String, sizeBytes: Schema.Number, modifiedMs: Schema.Number })
export type LeftFile = typeof LeftFile.Type

const Head = Schema.Struct({
  kind: Schema.Literal(KIND),
  /** Hash of the settings and of what all sessions looked like. */
  run: Schema.String,
  files: Schema.Array(LeftFile),
  report: ExtractReport
})
const decodeHead = Schema.decodeUnknownResult(Schema.fromJsonString(Head))

/** What a file turned out to be, under the key of what it looked like. */
const KeyedLook = Schema.Struct({ key: Schema.String, look: Look })
export type KeyedLook = typeof KeyedLook.Type

const decodeRow = Schema.decodeUnknownResult(Schema.fromJsonString(Schema.Union([KeyedLook, JournaledPart])))

export interface DatasetLedger extends Omit<typeof Head.Type, "kind"> {
  readonly looks: ReadonlyMap<string, Look>
  readonly parts: ReadonlyMap<string, StoredPart>
}

/** The ledger at `file`; undefined when there is none, or none that this version reads: then all is made anew. */
export const read = Effect.fn("DatasetLedger.read")(function* (
  file: string
): Effect.fn.Return<DatasetLedger | undefined, never, FileSystem.FileSystem> {
  const fs = yield* FileSystem.FileSystem
  const text = yield* Effect.orElseSucceed(fs.readFileString(file), () => "")
  const [first = "", ...rows] = text.split("\n")
  const head = decodeHead(first)
  if (Result.isFailure(head)) return undefined
  const looks = new Map<string, Look>()
  const parts = new Map<string, StoredPart>()
  let isRead = false
  const readRows = (): void => {
    if (isRead) return
    isRead = true
    for (const row of rows) {
      const decoded = decodeRow(row)
      if (Result.isFailure(decoded)) continue
      if ("look" in decoded.success) looks.set(decoded.success.key, decoded.success.look)
      else parts.set(decoded.success.key, decoded.success.part)
    }
  }
  return {
    ...head.success,
    // A run that finds nothing changed asks for neither.
    get looks() {
      readRows()
      return looks
    },
    get parts() {
      readRows()
      return parts
    }
  }
})

/** Whether all files of the dataset are still as the run left them. */
export const isIntact = Effect.fnUntraced(function* ({
  files
}: Pick<DatasetLedger, "files">): Effect.fn.Return<boolean, never, FileSystem.FileSystem> {
  const now = yield* Effect.option(Effect.forEach(files, ({ path }) => lookAt(path)))
  return (
    now._tag === "Some" &&
    now.value.every((file, at) => file.sizeBytes === files[at]?.sizeBytes && file.modifiedMs === files[at].modifiedMs)
  )
})

/** What a file looks like now. */
export const lookAt = Effect.fnUntraced(function* (
  path: string
): Effect.fn.Return<LeftFile, SessionFileError, FileSystem.FileSystem> {
  const fs = yield* FileSystem.FileSystem
  const info = yield* fs.stat(path).pipe(Effect.mapError(fromPlatform(path, "read")))
  const modifiedMs = info.mtime._tag === "Some" ? info.mtime.value.getTime() : 0
  return { path, sizeBytes: Number(info.size), modifiedMs }
})

/** Writes the ledger; its directory is made when it is missing. Both are for their owner alone. */
export const write = Effect.fn("DatasetLedger.write")(function* (
  file: string,
  ledger: DatasetLedger
): Effect.fn.Return<void, SessionFileError, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const { files, looks, parts, report, run } = ledger
  const encoder = new TextEncoder()
  function* lines() {
    yield encoder.encode(`${JSON.stringify({ kind: KIND, run, files, report })}\n`)
    for (const [key, look] of looks) yield encoder.encode(`${JSON.stringify({ key, look })}\n`)
    for (const [key, part] of parts) yield encoder.encode(`${JSON.stringify({ key, part })}\n`)
  }
  yield* fs
    .makeDirectory(path.dirname(file), { recursive: true, mode: 0o700 })
    .pipe(
      Effect.andThen(SafeWrite.write(file, lines(), "replace", { fileMode: 0o600 })),
      Effect.mapError(fromPlatform(file, "write"))
    )
})
