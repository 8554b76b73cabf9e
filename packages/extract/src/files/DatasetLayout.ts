/** Which files the lines of a format go to, and which files are beside them. */
import type * as GasTown from "@pi-sessions/core/GasTown"
import { FORMATS } from "@pi-sessions/formats/Formats"
import { type DataFile, type DatasetFile, type SampleContainer, type Sidecar } from "@pi-sessions/formats/SampleFormat"
import { type Split } from "@pi-sessions/formats/Split"
import { type ExtractOptions } from "../ExtractOptions.ts"
import { type TargetFile, fileName } from "./DatasetFiles.ts"

/** The files with lines, as they were written. */
export type Files = ReadonlyArray<DataFile>

export interface DatasetLayout {
  /** The files that a line is written to. Parts remember its place in the first one. */
  readonly filesOf: (split: Split, file: DatasetFile, role: GasTown.Role) => ReadonlyArray<TargetFile>
  /** The file that exists even when it has no lines, unless each role has files of its own. */
  readonly train: TargetFile
  /** The files beside them, given the lines about sessions (for formats with a file of such). */
  readonly sidecars: (files: Files, sessionLines?: ReadonlyArray<string>) => ReadonlyArray<Sidecar>
  /** The dataset has no lines, only other files. */
  readonly isLoose: boolean
  /** The name in the dataset of a file without lines. */
  readonly placeOf: (name: string, split: Split) => string
  /** What files of lines are converted to at the end. Default: nothing. */
  readonly container?: SampleContainer
  /** Size in bytes after which another file begins. Default: no limit. */
  readonly maxFileBytes?: number
}

type LayoutOptions = Pick<ExtractOptions, "format" | "maxFileBytes" | "perRole">

export const of = ({ format: name, maxFileBytes, perRole = false }: LayoutOptions): DatasetLayout => {
  const { container, fileNames, sessions, sidecars, wholeSession } = FORMATS[name]
  const filesOf = (split: Split, file: DatasetFile, role: GasTown.Role): ReadonlyArray<TargetFile> => {
    const prescribed = fileNames?.({ split, role })
    if (prescribed !== undefined) return prescribed.map((name) => ({ name, split, file }))
    return perRole
      ? [{ name: fileName(split, file, role), split, file, role }]
      : [{ name: fileName(split, file), split, file }]
  }
  const [train = { name: "train.jsonl", split: "train", file: "train" } as const] = filesOf("train", "train", "unknown")
  return {
    filesOf,
    train,
    sidecars: (files, sessionLines = []) => [
      ...(sidecars?.(files) ?? []),
      ...(sessions === undefined
        ? []
        : [{ name: sessions.fileName, text: sessionLines.map((line) => `${line}\n`).join("") }])
    ],
    isLoose: wholeSession !== undefined,
    placeOf: (name, split) => (wholeSession === undefined ? name : `${split}/${name}`),
    ...(container === undefined ? {} : { container }),
    ...(maxFileBytes === undefined || fileNames !== undefined ? {} : { maxFileBytes })
  }
}

/** The layout of a shard: each line once and as a line, since shards are joined line by line. */
export const ofShard = (options: LayoutOptions): DatasetLayout => {
  const { container: _, ...layout } = of(options)
  return { ...layout, filesOf: (...line) => layout.filesOf(...line).slice(0, 1), sidecars: () => [] }
}
