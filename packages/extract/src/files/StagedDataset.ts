/** Writes the files of a dataset into the folder of a run, from where they are published. */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import { type DataFile, type SampleContainer, type Sidecar } from "@pi-sessions/formats/SampleFormat"
import { type Split } from "@pi-sessions/formats/Split"
import { type SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import { type ExtractReport } from "../ExtractReport.ts"
import { REPORT_FILE, type Staged } from "../publish/Publication.ts"
import { type DatasetFiles, type TargetFile } from "./DatasetFiles.ts"
import { type DatasetLayout } from "./DatasetLayout.ts"
import { type LinesFile } from "./LinesFile.ts"
import * as LooseFile from "./LooseFile.ts"
import { type RunFolder } from "./RunFolder.ts"

type StageOptions = Omit<DatasetLayout, "filesOf">

export interface StagedDataset {
  /** For `Publication.publish`. */
  readonly staged: Staged
  /** For the report. */
  readonly outputs: ExtractReport["outputs"]
}

/** Calls `write` with the files, then closes them. */
export const stage = Effect.fnUntraced(function* <E, R>(
  out: string,
  folder: RunFolder,
  options: StageOptions,
  write: (files: DatasetFiles) => Effect.Effect<void, E, R>
): Effect.fn.Return<StagedDataset, E | SessionFileError, R | FileSystem.FileSystem | Path.Path> {
  const services = yield* Effect.context<FileSystem.FileSystem | Path.Path>()
  const path = yield* Path.Path
  const lines = new LinesFiles(folder, options)
  const loose = new LooseFiles(folder, options)
  if (options.train.role === undefined && !options.isLoose) yield* lines.open(options.train)
  yield* write({
    append: (to, added) => Effect.flatMap(lines.open(to), (file) => file.append(added)),
    copy: (to, range) => Effect.flatMap(lines.open(to), (file) => file.copy(range)),
    keep: (file, split) => Effect.provideContext(loose.keep(file, split), services)
  })
  if (lines.opened.size === 0 && !options.isLoose) yield* lines.open(options.train)

  const files = [...lines.opened.values()].sort((a, b) => (a.target.name < b.target.name ? -1 : 1))
  for (const { file } of files) yield* file.sync
  const ready = yield* Effect.forEach(files, ({ file, target }) => readyFile(file, target, options.container))
  const sidecars = options.sidecars(ready.map(({ from: _from, sha256: _sha256, ...file }) => file))
  return {
    staged: {
      files: ready.map(({ from, name }) => ({ from, name })),
      loose: [...loose.kept.values()],
      texts: sidecars
    },
    outputs: outputsOf({ ready, loose: [...loose.kept.values()], sidecars }, options, (name) => path.resolve(out, name))
  }
})

/** The files of lines in the folder. */
class LinesFiles {
  /** By name in the dataset. */
  readonly opened = new Map<string, { readonly file: LinesFile; readonly target: TargetFile }>()
  /** The file that takes the next lines, by the name of its target. */
  readonly #latest = new Map<string, { readonly file: LinesFile; readonly number: number }>()
  readonly #folder: RunFolder
  readonly #options: StageOptions

  constructor(folder: RunFolder, options: StageOptions) {
    this.#folder = folder
    this.#options = options
  }

  open(target: TargetFile): Effect.Effect<LinesFile, SessionFileError> {
    const { maxFileBytes = Infinity } = this.#options
    const latest = this.#latest.get(target.name)
    if (latest !== undefined && latest.file.bytes() < maxFileBytes) return Effect.succeed(latest.file)
    const number = (latest?.number ?? 0) + 1
    const name = nameOf(target, number, this.#options)
    return Effect.map(this.#folder.create(name), (file) => {
      this.#latest.set(target.name, { file, number })
      this.opened.set(name, { file, target: { ...target, name } })
      return file
    })
  }
}

/** The files without lines in the folder. */
class LooseFiles {
  /** By name in the dataset. */
  readonly kept = new Map<string, LooseFile.StoredFile>()
  readonly #folder: RunFolder
  readonly #options: StageOptions

  constructor(folder: RunFolder, options: StageOptions) {
    this.#folder = folder
    this.#options = options
  }

  keep(file: LooseFile.LooseFile | LooseFile.StoredFile, split: Split) {
    const { path } = this.#folder
    const write = "bytes" in file ? LooseFile.write(path, file) : LooseFile.take(path, file)
    return Effect.map(write, (stored) => {
      const placed = this.#options.placeOf(stored.name, split)
      for (let n = 1; ; n++) {
        const name = n === 1 ? placed : placed.replace(/(?=\.[^.]*$)/u, `-${n}`)
        const other = this.kept.get(name)
        if (other !== undefined && other.sha256 !== stored.sha256) continue
        const kept = { ...stored, placed: name }
        this.kept.set(name, kept)
        return kept
      }
    })
  }
}

/** The name of the n-th file of a target, from 1. */
const nameOf = ({ name }: TargetFile, n: number, { maxFileBytes }: StageOptions): string =>
  maxFileBytes === undefined ? name : name.replace(/(?=\.jsonl$)/u, `-${String(n).padStart(5, "0")}`)

/** The name of a file once its lines are in the container. */
const nameIn = (name: string, container?: SampleContainer): string =>
  container === undefined ? name : name.replace(/\.jsonl$/u, container.extension)

/** A file that is complete. */
interface ReadyFile extends DataFile {
  /** Its path in the folder of the run. */
  readonly from: string
  readonly sha256: string
}

const readyFile = Effect.fnUntraced(function* (file: LinesFile, target: TargetFile, container?: SampleContainer) {
  const plain: ReadyFile = { ...target, lines: file.lines(), from: file.path, sha256: file.sha256() }
  if (container === undefined) return plain
  const from = nameIn(file.path, container)
  const { sha256 } = yield* container.fromLines(file.path, from)
  return { ...plain, name: nameIn(target.name, container), from, sha256 }
})

interface Written {
  readonly ready: ReadonlyArray<ReadyFile>
  readonly loose: ReadonlyArray<LooseFile.StoredFile>
  readonly sidecars: ReadonlyArray<Sidecar>
}

const outputsOf = (
  { loose, ready, sidecars }: Written,
  options: StageOptions,
  inOut: (name: string) => string
): ExtractReport["outputs"] => {
  const isTrain = ({ file, name, split }: DataFile) =>
    options.train.role === undefined
      ? name === nameIn(nameOf(options.train, 1, options), options.container)
      : split === "train" && file === "train"
  return {
    train: inOut((ready.find(isTrain) ?? ready[0])?.name ?? options.train.name),
    files: ready.map(({ file, lines, name, role, sha256, split }) => {
      return { path: inOut(name), samples: lines, split, file, sha256, ...(role === undefined ? {} : { role }) }
    }),
    ...(loose.length === 0
      ? {}
      : {
          loose: loose
            .map(({ placed, sha256 }) => ({ path: placed, sha256 }))
            .sort((a, b) => (a.path < b.path ? -1 : 1))
        }),
    ...(sidecars.length === 0 ? {} : { sidecars: sidecars.map(({ name }) => inOut(name)) }),
    report: inOut(REPORT_FILE)
  }
}
