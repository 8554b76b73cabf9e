/**
 * Moves the files of a run from its folder into the dataset's directory. All files are complete before the first one is
 * moved. Between the first and the last move a marker file is in the directory: a run that stops there leaves the marker,
 * so that readers refuse the dataset and the next run replaces it.
 *
 * The directory must be absent, empty, or hold the marker or the report of an earlier run. Names that begin with a dot are
 * ignored. Any other directory is not changed.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SafeWrite from "@pi-sessions/session-file/SafeWrite"
import { type SessionFileError, fromPlatform } from "@pi-sessions/session-file/SessionFileError"
import { OutputNotOurs } from "../ExtractError.ts"
import { REPORT_KIND } from "../ExtractReport.ts"
import * as LooseFile from "../files/LooseFile.ts"
import { type RunFolder } from "../files/RunFolder.ts"

export const REPORT_FILE = "report.json"

const MARKER_FILE = ".unfinished"
const MARKER_KIND = "pi-sessions/unfinished-dataset/1"
const Marker = Schema.Struct({ kind: Schema.Literal(MARKER_KIND), names: Schema.Array(Schema.String) })
const decodeMarker = Schema.decodeUnknownResult(Schema.fromJsonString(Marker))

/** Files that an error names at most. */
const NAMED = 5

/** Names that runs write. Other names are never deleted, even when a report lists them. The card may be the user's. */
const LINES_OR_SIDECAR = /^[A-Za-z0-9][^/\\]*\.(?:jsonl|json|yml|parquet)$/u

const EarlierReport = Schema.Struct({
  kind: Schema.Literals([REPORT_KIND, "pi-sessions/extract-report/1"]),
  outputs: Schema.Struct({
    files: Schema.optionalKey(Schema.Array(Schema.Struct({ path: Schema.String }))),
    sidecars: Schema.optionalKey(Schema.Array(Schema.String)),
    loose: Schema.optionalKey(Schema.Array(Schema.Struct({ path: Schema.String })))
  })
})
const decodeReport = Schema.decodeUnknownResult(Schema.fromJsonString(EarlierReport))

const textOf = Effect.fnUntraced(function* (out: string, name: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  return yield* Effect.orElseSucceed(fs.readFileString(path.resolve(out, name)), () => "")
})

/** The marker of an interrupted publication. Undefined: there is none. */
const markerIn = (out: string) =>
  Effect.map(textOf(out, MARKER_FILE), (text) => Option.getOrUndefined(Result.getSuccess(decodeMarker(text))))

/** Whether a publication was interrupted, so that old and new files may be mixed. */
export const isUnfinished = (directory: string): Effect.Effect<boolean, never, FileSystem.FileSystem | Path.Path> =>
  Effect.map(markerIn(directory), (marker) => marker !== undefined)

/** The files of earlier runs. */
const writtenBefore = Effect.fnUntraced(function* (out: string) {
  const path = yield* Path.Path
  const marker = yield* markerIn(out)
  const report = Option.getOrUndefined(Result.getSuccess(decodeReport(yield* textOf(out, REPORT_FILE))))
  const { files = [], loose = [], sidecars = [] } = report?.outputs ?? {}
  const named = [...files.map((file) => path.basename(file.path)), ...sidecars.map((name) => path.basename(name))]
  const names = [...named, ...loose.map((file) => file.path), ...(marker?.names ?? [])]
  return {
    isOurs: marker !== undefined || report !== undefined,
    names: names.filter((name) => LINES_OR_SIDECAR.test(name) || (name.includes("/") && LooseFile.isName(name)))
  }
})

/** Fails when `out` holds files that no earlier run wrote. */
export const check = Effect.fn("Publication.check")(function* (
  out: string
): Effect.fn.Return<void, OutputNotOurs | SessionFileError, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const names = yield* fs.readDirectory(out).pipe(
    Effect.catchReason("PlatformError", "NotFound", () => Effect.succeed([])),
    Effect.mapError(fromPlatform(out, "write"))
  )
  const files = names.filter((name) => !name.startsWith(".")).sort()
  if (files.length === 0 || (yield* writtenBefore(out)).isOurs) return
  return yield* new OutputNotOurs({ path: out, files: files.slice(0, NAMED) })
})

/** A text beside the data. */
export interface Text {
  readonly name: string
  readonly text: string
  /** Readable by the owner alone, because it names paths of the machine. Default: false. */
  readonly isPrivate?: boolean
  /** An existing file without this line was written by the user, and is not replaced. */
  readonly mark?: string
}

/** Files that are ready to be published. */
export interface Staged {
  /** Files in the folder of the run. */
  readonly files: ReadonlyArray<{ readonly from: string; readonly name: string }>
  readonly loose: ReadonlyArray<LooseFile.StoredFile>
  /** In order. The last one marks the directory as complete. */
  readonly texts: ReadonlyArray<Text>
}

/** Moves all files to their names in `out`, and deletes files of earlier runs that are not among them. */
export const publish = Effect.fn("Publication.publish")(function* (
  out: string,
  folder: RunFolder,
  { files, loose, texts }: Staged
): Effect.fn.Return<void, SessionFileError, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const failed = fromPlatform(out, "write")
  const encoder = new TextEncoder()
  const written: Array<{ readonly from: string; readonly name: string }> = [...files]
  for (const [at, { isPrivate = false, mark, name, text }] of texts.entries()) {
    const there = mark === undefined ? "" : yield* textOf(out, name)
    if (mark !== undefined && there !== "" && !there.includes(mark)) continue
    const from = path.join(folder.path, `text-${at}`)
    const mode = isPrivate ? { fileMode: 0o600 } : {}
    yield* SafeWrite.write(from, [encoder.encode(text)], "replace", mode).pipe(Effect.mapError(failed))
    written.push({ from, name })
  }
  const before = yield* writtenBefore(out)
  const names = [...written, ...loose.map(({ placed }) => ({ name: placed }))].map(({ name }) => name)
  const marker = encoder.encode(JSON.stringify({ kind: MARKER_KIND, names: [...names, ...before.names] }))
  const marked = path.resolve(out, MARKER_FILE)
  yield* Effect.uninterruptible(
    Effect.gen(function* () {
      yield* SafeWrite.write(marked, [marker], "replace").pipe(Effect.mapError(failed))
      yield* LooseFile.place(out, loose)
      for (const { from, name } of written) {
        const to = path.resolve(out, name)
        yield* fs.rename(from, to).pipe(Effect.mapError(fromPlatform(to, "write")))
      }
      const kept = new Set([...names, ...texts.map(({ name }) => name)])
      for (const name of before.names.filter((name) => !kept.has(name))) {
        // A link leads outside of the dataset.
        const isLinked = yield* Effect.isSuccess(fs.readLink(path.dirname(path.resolve(out, name))))
        if (name.includes("/") && isLinked) continue
        yield* fs.remove(path.resolve(out, name), { force: true }).pipe(Effect.mapError(failed))
      }
      yield* SafeWrite.syncDirectory(path.resolve(out)).pipe(Effect.mapError(failed))
      yield* fs.remove(marked, { force: true }).pipe(Effect.mapError(failed))
      yield* folder.done
    })
  )
})
