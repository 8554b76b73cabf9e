/** Receives the lines and files of parts: writes them, or only counts them. */
import * as Effect from "effect/Effect"
import type * as GasTown from "@pi-sessions/core/GasTown"
import { type DataFile, type DatasetFile } from "@pi-sessions/formats/SampleFormat"
import { type Split } from "@pi-sessions/formats/Split"
import { type SessionFileError } from "@pi-sessions/session-file/SessionFileError"
import { type ExtractReport } from "../ExtractReport.ts"
import { type LinesRange } from "./LinesFile.ts"
import { type LooseFile, type StoredFile } from "./LooseFile.ts"

/** A file of lines, by its name in the dataset. */
export type TargetFile = Omit<DataFile, "lines">

/** Lines and files are written in the order of the calls. */
export interface DatasetFiles {
  readonly append: (to: TargetFile, lines: ReadonlyArray<Uint8Array>) => Effect.Effect<LinesRange, SessionFileError>
  readonly copy: (to: TargetFile, range: LinesRange) => Effect.Effect<LinesRange, SessionFileError>
  /** Adds a file without lines. Two different files of one name get two names. */
  readonly keep: (file: LooseFile | StoredFile, split: Split) => Effect.Effect<StoredFile, SessionFileError>
}

/** The default name of a file of lines. */
export const fileName = (split: Split, file: DatasetFile, role?: GasTown.Role): string =>
  `${role === undefined ? "" : `${role}-`}${split}${file === "train" ? "" : `-${file}`}.jsonl`

/** Counts lines and writes nothing. */
export const counted = (): { readonly files: DatasetFiles; readonly outputs: () => ExtractReport["outputs"] } => {
  const counts = new Map<string, { readonly target: TargetFile; samples: number }>()
  const count = (target: TargetFile, lines: number): Effect.Effect<LinesRange> =>
    Effect.sync(() => {
      const file = counts.get(target.name) ?? { target, samples: 0 }
      counts.set(target.name, file)
      file.samples += lines
      return { path: "", offset: 0, bytes: 0, lines, crc32: 0 }
    })
  return {
    files: {
      append: (to, lines) => count(to, lines.length),
      copy: (to, range) => count(to, range.lines),
      keep: ({ name }) => Effect.succeed({ name, placed: name, path: "", sha256: "" })
    },
    outputs: () => ({
      train: "",
      files: [...counts.values()].map(({ samples, target: { file, split } }) => {
        return { path: "", samples, split, file, sha256: "" }
      }),
      report: ""
    })
  }
}
