/** The files of a dataset while a run writes them: which lines go to which, and what they will be called. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import type * as GasTown from "@pi-sessions/core/GasTown"
import { SessionFileError, fromPlatform } from "@pi-sessions/session-file/SessionFileError"
import { type ExtractReport } from "../ExtractReport.ts"
import * as LooseFile from "./LooseFile.ts"
import { type LinesFile, type LinesRange } from "./LinesFile.ts"
import { REPORT_FILE, type Staged, type Text } from "../publish/Publication.ts"
import { type RunFolder } from "./RunFolder.ts"
import { type DataFile, type DatasetFile, type SampleContainer, type Sidecar } from "@pi-sessions/formats/Sample"
import { Split } from "@pi-sessions/formats/Split"
import { type Recorded, keyOf } from "../plan/Splits.ts"

/** The file of a split that holds lines of one shape, where the format has no names of its own; or of one role's. */
export const fileName = (split: Split, file: DatasetFile, role?: GasTown.Role): string =>
  `${role === undefined ? "" : `${role}-`}${split}${file === "train" ? "" : `-${file}`}.jsonl`

/** The n-th file of those that lines of one kind are spread over, from 1. */
const numbered = (name: string, n: number): string => name.replace(/(?=\.jsonl$)/u, `-${String(n).padStart(5, "0")}`)

const byPath = (a: { readonly path: string }, b: { readonly path: string }): number => (a.path < b.path ? -1 : 1)

/** One of the files of a dataset, by its name in the directory. */
export type TargetFile = Omit<DataFile, "lines">

/** The files of a dataset while they are written. */
export interface DatasetFiles {
  readonly append: (to: TargetFile, lines: ReadonlyArray<Uint8Array>) => Effect.Effect<LinesRange, SessionFileError>
  readonly copy: (to: TargetFile, range: LinesRange) => Effect.Effect<LinesRange, SessionFileError>
  /** Keeps a file that holds no lines; two of one name have the same bytes, or get two names. */
  readonly keep: (
    file: LooseFile.LooseFile | LooseFile.StoredFile,
    split: Split
  ) => Effect.Effect<LooseFile.StoredFile, SessionFileError>
}

export interface WriteOptions {
  /** The file that is there even when it has no lines, unless each role has files of its own. */
  readonly train: TargetFile
  /** A file that has so many bytes is followed by another one. None: each file takes all. */
  readonly maxFileBytes?: number
  /** What stands beside the files that have lines. */
  readonly sidecars: (files: ReadonlyArray<DataFile>) => ReadonlyArray<Sidecar>
  /** What the files of lines become at the end, where they do not stay such. */
  readonly container?: SampleContainer
  /** Whether nothing is written but files that hold no lines. */
  readonly isLoose: boolean
  /** What a file that holds no lines is called in the dataset. */
  readonly placeOf: (name: string, split: Split) => string
}

/**
 * Writes the lines that `use` hands over, in that order, into the folder of a run. Gives what is to be published, and what
 * the report will say of it: the file of the training split always, others when they have lines.
 */
export const stage = Effect.fnUntraced(function* <E, R>(
  out: string,
  folder: RunFolder,
  options: WriteOptions,
  use: (files: DatasetFiles) => Effect.Effect<void, E, R>
): Effect.fn.Return<
  { readonly staged: Staged; readonly outputs: ExtractReport["outputs"] },
  E | SessionFileError,
  R | FileSystem.FileSystem | Path.Path
> {
  const path = yield* Path.Path
  const opened = new Map<string, { readonly file: LinesFile; readonly target: TargetFile }>()
  const latest = new Map<string, { readonly file: LinesFile; readonly number: number }>()
  const open = Effect.fnUntraced(function* (target: TargetFile) {
    const known = latest.get(target.name)
    if (known !== undefined && known.file.bytes() < (options.maxFileBytes ?? Infinity)) return known.file
    const number = (known?.number ?? 0) + 1
    const name = nameOf(target, number, options)
    const file = yield* folder.create(name)
    latest.set(target.name, { file, number })
    opened.set(name, { file, target: { ...target, name } })
    return file
  })
  const loose = new Map<string, LooseFile.StoredFile>()
  const services = yield* Effect.context<FileSystem.FileSystem | Path.Path>()
  const keep = Effect.fnUntraced(function* (file: LooseFile.LooseFile | LooseFile.StoredFile, split: Split) {
    const stored = yield* "bytes" in file ? LooseFile.write(folder.path, file) : LooseFile.take(folder.path, file)
    const placed = options.placeOf(stored.name, split)
    for (let n = 1; ; n++) {
      const name = n === 1 ? placed : placed.replace(/(?=\.[^.]*$)/u, `-${n}`)
      const other = loose.get(name)
      if (other !== undefined && other.sha256 !== stored.sha256) continue
      const kept = { ...stored, placed: name }
      loose.set(name, kept)
      return kept
    }
  })
  if (options.train.role === undefined && !options.isLoose) yield* open(options.train)
  yield* use({
    append: (to, lines) => Effect.flatMap(open(to), (file) => file.append(lines)),
    copy: (to, range) => Effect.flatMap(open(to), (file) => file.copy(range)),
    keep: (file, split) => Effect.provideContext(keep(file, split), services)
  })
  if (opened.size === 0 && !options.isLoose) yield* open(options.train)
  const files = [...opened.values()].sort((a, b) => (a.target.name < b.target.name ? -1 : 1))
  for (const { file } of files) yield* file.sync
  const ready = yield* Effect.forEach(files, ({ file, target }) => readyFile(file, target, options.container))
  const sidecars = options.sidecars(ready.map(({ from: _from, sha256: _sha256, ...file }) => file))
  const inOut = (name: string) => path.resolve(out, name)
  const isTrain = ({ file, name, split }: DataFile) =>
    options.train.role === undefined
      ? name === nameIn(nameOf(options.train, 1, options), options.container)
      : split === "train" && file === "train"
  const outputs = {
    train: inOut((ready.find(isTrain) ?? ready[0])?.name ?? options.train.name),
    files: ready.map(({ file, lines, name, role, sha256, split }) => {
      return { path: inOut(name), samples: lines, split, file, sha256, ...(role === undefined ? {} : { role }) }
    }),
    ...(loose.size === 0
      ? {}
      : { loose: [...loose.values()].map(({ placed, sha256 }) => ({ path: placed, sha256 })).sort(byPath) }),
    ...(sidecars.length === 0 ? {} : { sidecars: sidecars.map(({ name }) => inOut(name)) }),
    report: inOut(REPORT_FILE)
  }
  const staged = {
    files: ready.map(({ from, name }) => ({ from, name })),
    loose: [...loose.values()],
    texts: sidecars
  }
  return { staged, outputs }
})

/** The n-th file that lines of one kind are written to. */
const nameOf = ({ name }: TargetFile, n: number, { maxFileBytes }: WriteOptions): string =>
  maxFileBytes === undefined ? name : numbered(name, n)

/** What a file of lines is called once its lines are in a container. */
const nameIn = (name: string, container?: SampleContainer): string =>
  container === undefined ? name : name.replace(/\.jsonl$/u, container.extension)

/** A file in the folder of a run as it is to stand in the dataset. */
const readyFile = Effect.fnUntraced(function* (file: LinesFile, target: TargetFile, container?: SampleContainer) {
  const plain = { ...target, lines: file.lines(), from: file.path, sha256: file.sha256() }
  if (container === undefined) return plain
  const name = nameIn(target.name, container)
  const from = nameIn(file.path, container)
  const { sha256 } = yield* container.fromLines(file.path, from)
  return { ...plain, name, from, sha256 }
})

const SPLITS_FILE = "splits.json"

/** What stands in every dataset of ours beside lines and report; a card may be a person's own. */
export const BESIDE: ReadonlyArray<string> = [SPLITS_FILE, "manifest.json"]

const SPLITS_KIND = "pi-sessions/splits/2"
/** Had the ids themselves as keys. */
const SPLITS_BY_ID = "pi-sessions/splits/1"
const RecordedSplits = Schema.Struct({
  kind: Schema.Literals([SPLITS_KIND, SPLITS_BY_ID]),
  /** By `Splits.keyOf` of the session id. */
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
  const { kind, sessions } = yield* decodeSplits(text).pipe(
    Effect.mapError(() => new SessionFileError({ path: file, operation: "read", reason: "no record of splits" }))
  )
  return new Map(
    Object.entries(sessions).map(([key, split]) => [kind === SPLITS_BY_ID ? keyOf(key) : key, split] as const)
  )
})

/** The record for later runs; that of sessions that are gone is kept. */
export const splitsText = (splits: { readonly [key: string]: Split }): Text => {
  const sessions = Object.fromEntries(Object.entries(splits).sort(([a], [b]) => (a < b ? -1 : 1)))
  return { name: SPLITS_FILE, text: `${JSON.stringify({ kind: SPLITS_KIND, sessions }, undefined, 1)}\n` }
}
