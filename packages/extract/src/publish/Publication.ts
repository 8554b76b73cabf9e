/**
 * The moment when what a run has made becomes the dataset. Everything lies whole in the folder of the run before anything
 * gets its name. From the first to the last name a marker stands in the directory: whoever stops in between leaves a
 * directory that says so, and that the next run may go on with.
 *
 * Ours is a directory that is absent, empty, or holds the marker or the report of an earlier run; anything else is left
 * alone (names that begin with a dot do not count: nothing else of ours is called so).
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

/** How many foreign files an error names. */
const NAMED = 5

/** What runs may have written; nothing else is taken away, whatever a report says. A card may be a person's own. */
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

/** The marker of a run that did not come to its end here; undefined when there is none. */
const markerIn = (out: string) =>
  Effect.map(textOf(out, MARKER_FILE), (text) => Option.getOrUndefined(Result.getSuccess(decodeMarker(text))))

/** Whether a run stopped while its files got their names: then they are some of the old and some of the new ones. */
export const isUnfinished = (directory: string): Effect.Effect<boolean, never, FileSystem.FileSystem | Path.Path> =>
  Effect.map(markerIn(directory), (marker) => marker !== undefined)

/** The names that earlier runs wrote, as far as they may have. */
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

/** Fails when `out` holds what is not ours. Changes nothing. */
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
  /** Whether only the owner may read it: it names places of the machine. */
  readonly isPrivate?: boolean
  /** A text that is there and has not this line is a person's own, and stays. */
  readonly mark?: string
}

/** What is to become of a run. */
export interface Staged {
  /** Files in the folder of the run. */
  readonly files: ReadonlyArray<{ readonly from: string; readonly name: string }>
  readonly loose: ReadonlyArray<LooseFile.StoredFile>
  /** The last one says that all is there. */
  readonly texts: ReadonlyArray<Text>
}

/** Gives all files their names in `out`, and takes away those of earlier runs that are no part of it any more. */
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
      // What this run has not written would pass for a part of it.
      const kept = new Set([...names, ...texts.map(({ name }) => name)])
      for (const name of before.names.filter((name) => !kept.has(name))) {
        // A link leads to somebody else's place.
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
