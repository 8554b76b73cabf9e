/**
 * The directory a run writes to. Ours is one that is absent, empty, or holds the report of an earlier run; anything else
 * is left alone (names that begin with a dot do not count: nothing of ours is called so). A file appears whole or not at
 * all: it is written under a temporary name and renamed when it is done. The report comes last.
 */
import { createHash } from "node:crypto"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as SafeWrite from "@pi-sessions/session-file/SafeWrite"
import { SessionFileError, fromPlatform } from "@pi-sessions/session-file/SessionFileError"
import { OutputNotOurs } from "./ExtractError.ts"
import { type ExtractReport, REPORT_KIND } from "./ExtractReport.ts"
import { type DataFile, type DatasetFile, type Sidecar } from "./Sample.ts"
import { type Recorded, Split } from "./Splits.ts"

const REPORT_FILE = "report.json"

/** What lines and sidecars are called; nothing else is taken away, whatever a report says. */
const OURS = new Set([".jsonl", ".json", ".yml", ".md"])

/** The file of a split that holds lines of one shape, where the format has no names of its own. */
export const fileName = (split: Split, file: DatasetFile): string =>
  `${split}${file === "train" ? "" : `-${file}`}.jsonl`

/** How many foreign files an error names. */
const NAMED = 5

const EarlierReport = Schema.Struct({
  kind: Schema.Literals([REPORT_KIND, "pi-sessions/extract-report/1"]),
  outputs: Schema.Struct({
    files: Schema.optionalKey(Schema.Array(Schema.Struct({ path: Schema.String }))),
    sidecars: Schema.optionalKey(Schema.Array(Schema.String))
  })
})
const decodeReport = Schema.decodeUnknownResult(Schema.fromJsonString(EarlierReport))

/** The report of an earlier run in `out`; undefined when there is none. */
const earlierReport = Effect.fnUntraced(function* (out: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const text = yield* Effect.orElseSucceed(fs.readFileString(path.resolve(out, REPORT_FILE)), () => "")
  return Option.getOrUndefined(Result.getSuccess(decodeReport(text)))
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
  if ((yield* earlierReport(out)) !== undefined) return
  return yield* new OutputNotOurs({ path: out, files: files.slice(0, NAMED) })
})

/** A file of lines while it is written. */
export type TargetFile = Omit<DataFile, "lines">

/** Writes a line to one of the files. */
export type WriteLine = (to: TargetFile, line: string) => Effect.Effect<void, SessionFileError>

export interface WriteOptions {
  /** The file that is there even when it has no lines. */
  readonly train: TargetFile
  /** What stands beside the files that have lines. */
  readonly sidecars: (files: ReadonlyArray<DataFile>) => ReadonlyArray<Sidecar>
}

/**
 * Writes the lines that `use` hands over, in that order, and makes the directory when it is missing. They replace those
 * of an earlier run when `use` succeeds; when it does not, nothing has changed. Gives what `use` gave, and the files:
 * that of the training split always, others when they have lines.
 */
export const writeSamples = Effect.fnUntraced(function* <A, E, R>(
  out: string,
  options: WriteOptions,
  use: (write: WriteLine) => Effect.Effect<A, E, R>
): Effect.fn.Return<
  { readonly result: A; readonly outputs: ExtractReport["outputs"] },
  E | SessionFileError,
  R | FileSystem.FileSystem | Path.Path
> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const failed = fromPlatform(out, "write")
  yield* fs.makeDirectory(out, { recursive: true }).pipe(Effect.mapError(failed))
  return yield* Effect.scoped(
    Effect.gen(function* () {
      const services = yield* Effect.context<FileSystem.FileSystem | Path.Path | Scope.Scope>()
      const opened = new Map<string, TemporaryFile & { readonly target: TargetFile }>()
      const open = Effect.fnUntraced(function* (target: TargetFile) {
        const known = opened.get(target.name)
        if (known !== undefined) return known
        const file = yield* Effect.provideContext(openTemporary(path.resolve(out, target.name)), services)
        const made = { ...file, target }
        opened.set(target.name, made)
        return made
      })
      yield* open(options.train)
      const result = yield* use((to, line) => Effect.flatMap(open(to), ({ write }) => write(line)))
      const before = yield* earlierReport(out)
      const files = [...opened.values()].sort((a, b) => (a.target.name < b.target.name ? -1 : 1))
      const sidecars = options.sidecars(files.map(({ lines, target }) => ({ ...target, lines: lines() })))
      for (const file of files) yield* file.keep
      for (const { name, text } of sidecars) {
        const target = path.resolve(out, name)
        const bytes = new TextEncoder().encode(text)
        yield* SafeWrite.write(target, [bytes], "replace").pipe(Effect.mapError(fromPlatform(target, "write")))
      }
      // A file of an earlier run that this one has not written would pass for a part of it.
      const written = new Set([...opened.keys(), ...sidecars.map(({ name }) => name)])
      for (const told of [
        ...(before?.outputs.files ?? []).map((file) => file.path),
        ...(before?.outputs.sidecars ?? [])
      ]) {
        const old = path.resolve(out, told)
        const isOurs = path.dirname(old) === path.resolve(out) && OURS.has(path.extname(old))
        const isStale = isOurs && path.basename(old) !== REPORT_FILE && !written.has(path.basename(old))
        if (isStale) yield* fs.remove(old, { force: true }).pipe(Effect.mapError(failed))
      }
      yield* SafeWrite.syncDirectory(path.resolve(out)).pipe(Effect.mapError(failed))
      const inOut = (name: string) => path.resolve(out, name)
      const outputs = {
        train: inOut(options.train.name),
        files: files.map(({ lines, sha256, target: { file, name, split } }) => {
          return { path: inOut(name), samples: lines(), split, file, sha256: sha256() }
        }),
        ...(sidecars.length === 0 ? {} : { sidecars: sidecars.map(({ name }) => inOut(name)) }),
        report: inOut(REPORT_FILE)
      }
      return { result, outputs }
    })
  )
})

interface TemporaryFile {
  readonly lines: () => number
  /** Of what was written, once it is kept. */
  readonly sha256: () => string
  readonly write: (line: string) => Effect.Effect<void, SessionFileError>
  /** Gives it its name. */
  readonly keep: Effect.Effect<void, SessionFileError>
}

/** A file under a temporary name, which goes with the scope unless it is kept. */
const openTemporary = Effect.fnUntraced(function* (
  target: string
): Effect.fn.Return<TemporaryFile, SessionFileError, FileSystem.FileSystem | Path.Path | Scope.Scope> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const failed = fromPlatform(target, "write")
  const temporary = path.join(path.dirname(target), `.${path.basename(target)}.${globalThis.crypto.randomUUID()}.tmp`)
  const encoder = new TextEncoder()
  yield* Effect.addFinalizer(() => Effect.ignore(fs.remove(temporary, { force: true })))
  const file = yield* fs.open(temporary, { flag: "wx" }).pipe(Effect.mapError(failed))
  const hash = createHash("sha256")
  let lines = 0
  return {
    lines: () => lines,
    sha256: () => hash.copy().digest("hex"),
    write: (line: string) => {
      const bytes = encoder.encode(`${line}\n`)
      hash.update(bytes)
      lines++
      return file.writeAll(bytes).pipe(Effect.mapError(failed))
    },
    keep: file.sync.pipe(Effect.andThen(fs.rename(temporary, target)), Effect.mapError(failed))
  }
})

const SPLITS_FILE = "splits.json"
const SPLITS_KIND = "pi-sessions/splits/1"
const RecordedSplits = Schema.Struct({
  kind: Schema.Literal(SPLITS_KIND),
  /** By session id. */
  sessions: Schema.Record(Schema.String, Split)
})
const decodeSplits = Schema.decodeUnknownEffect(Schema.fromJsonString(RecordedSplits))

/** Which split each session went to in earlier runs; empty without a record. */
export const readSplits = Effect.fn("DatasetDirectory.readSplits")(function* (
  out: string
): Effect.fn.Return<Recorded, SessionFileError, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const file = path.resolve(out, SPLITS_FILE)
  const text = yield* fs.readFileString(file).pipe(
    Effect.catchReason("PlatformError", "NotFound", () => Effect.succeed(undefined)),
    Effect.mapError(fromPlatform(file, "read"))
  )
  if (text === undefined) return new Map()
  const { sessions } = yield* decodeSplits(text).pipe(
    Effect.mapError(() => new SessionFileError({ path: file, operation: "read", reason: "no record of splits" }))
  )
  return new Map(Object.entries(sessions))
})

/** Records the splits for later runs; those of sessions that are gone are kept. */
export const writeSplits = Effect.fn("DatasetDirectory.writeSplits")(function* (
  out: string,
  splits: Recorded
): Effect.fn.Return<void, SessionFileError, FileSystem.FileSystem | Path.Path> {
  const path = yield* Path.Path
  const file = path.resolve(out, SPLITS_FILE)
  const sessions = Object.fromEntries([...splits].sort(([a], [b]) => (a < b ? -1 : 1)))
  const bytes = new TextEncoder().encode(`${JSON.stringify({ kind: SPLITS_KIND, sessions }, undefined, 1)}\n`)
  yield* SafeWrite.write(file, [bytes], "replace").pipe(Effect.mapError(fromPlatform(file, "write")))
})

/** Writes a text beside the data, unless one is there that has not its `mark`; the directory must exist. */
export const writeText = Effect.fn("DatasetDirectory.writeText")(function* (
  out: string,
  name: string,
  text: string,
  mark = ""
): Effect.fn.Return<void, SessionFileError, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const target = path.resolve(out, name)
  const there = yield* fs.readFileString(target).pipe(
    Effect.catchReason("PlatformError", "NotFound", () => Effect.succeed(mark)),
    Effect.mapError(fromPlatform(target, "read"))
  )
  if (!there.includes(mark)) return
  yield* SafeWrite.write(target, [new TextEncoder().encode(text)], "replace").pipe(
    Effect.mapError(fromPlatform(target, "write"))
  )
})

/** Writes the report as it may be seen with the data; the directory must exist. */
export const writeReport = Effect.fn("DatasetDirectory.writeReport")(function* (
  out: string,
  report: ExtractReport
): Effect.fn.Return<void, SessionFileError, FileSystem.FileSystem | Path.Path> {
  const path = yield* Path.Path
  const target = path.resolve(out, REPORT_FILE)
  const bytes = new TextEncoder().encode(`${JSON.stringify(report, undefined, 2)}\n`)
  yield* SafeWrite.write(target, [bytes], "replace").pipe(Effect.mapError(fromPlatform(target, "write")))
})
