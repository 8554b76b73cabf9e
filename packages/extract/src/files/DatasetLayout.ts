/** Which files the lines of a format go to, and what stands beside them. */
import type * as GasTown from "@pi-sessions/core/GasTown"
import * as DatasetDirectory from "./DatasetDirectory.ts"
import { type ExtractOptions } from "../ExtractOptions.ts"
import { FORMATS } from "@pi-sessions/formats/Formats"
import { type DataFile, type DatasetFile, type Sidecar } from "@pi-sessions/formats/Sample"
import { type Split } from "@pi-sessions/formats/Split"

export const of = ({
  format: name,
  maxFileBytes,
  perRole = false
}: Pick<ExtractOptions, "format" | "maxFileBytes" | "perRole">) => {
  const format = FORMATS[name]
  const filesOf = (split: Split, file: DatasetFile, role: GasTown.Role): ReadonlyArray<DatasetDirectory.TargetFile> => {
    const told = format.fileNames?.({ split, role })
    if (told !== undefined) return told.map((name) => ({ name, split, file }))
    return perRole
      ? [{ name: DatasetDirectory.fileName(split, file, role), split, file, role }]
      : [{ name: DatasetDirectory.fileName(split, file), split, file }]
  }
  const [train = { name: "train.jsonl", split: "train", file: "train" } as const] = filesOf("train", "train", "unknown")
  const sidecars = (files: ReadonlyArray<DataFile>, sessionLines: ReadonlyArray<string>): ReadonlyArray<Sidecar> => [
    ...(format.sidecars?.(files) ?? []),
    ...(format.sessions === undefined
      ? []
      : [{ name: format.sessions.fileName, text: sessionLines.map((line) => `${line}\n`).join("") }])
  ]
  return {
    filesOf,
    train,
    sidecars,
    isLoose: format.wholeSession !== undefined,
    placeOf: (name: string, split: Split) => (format.wholeSession === undefined ? name : `${split}/${name}`),
    ...(format.container === undefined ? {} : { container: format.container }),
    ...(maxFileBytes === undefined || format.fileNames !== undefined ? {} : { maxFileBytes })
  }
}
